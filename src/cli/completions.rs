//! `isolane completions`.
//!
//! Owns nothing but the way from the description of the commands to a shell's script.

use clap::CommandFactory as _;

use super::Ending;
use super::args::{Cli, CompletionsArgs};
use super::output::say;

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "isolane", &mut script);
    say(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Success)
}
