//! The command line (I-3, I-4, I-6).
//!
//! Owns the way from arguments to an exit code: 0 when all went well, 1 when a program or a call failed, 2 when the
//! command could not be carried out, 128 + n when signal n ended it. It holds no rule of Code Mode: it assembles a
//! host, asks it, and shows what it says. Nothing that a program or a tool says reaches the terminal but through [`text::inert`] or as JSON.
//!
//! [`args`] says what can be asked for, one module per command does it; [`deployment`] and [`events`] assemble what
//! they share, [`printer`], [`output`], [`progress`] and [`signals`] face the terminal.

mod args;
mod call;
mod check;
mod completions;
mod deployment;
mod doctor;
mod events;
mod failure;
mod input;
mod logging;
mod output;
mod printer;
mod progress;
mod recorded;
mod report;
mod run;
mod runtime;
mod sdk;
mod signals;
mod strict;
mod text;
mod tools;
mod values;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use isolane::ids::is_steering;
use output::{StdoutError, complain};
use text::inert;

/// How a command that could be carried out ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// All went well.
    Success,
    /// The program, or the call, failed.
    Failure,
    /// This signal ended the program, or the call.
    Stopped(i32),
}

/// Exit code of usage and configuration errors; clap uses the same.
const UNUSABLE: u8 = 2;

/// Parses the arguments, does what they ask for, and says how it went.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too. Whoever reads them may have seen enough and gone.
            let printed =
                if std::env::args_os().any(|argument| argument.to_string_lossy().chars().any(is_steering)) {
                    complain(&inert(&error.render().to_string()));
                    Ok(())
                } else {
                    error.print()
                };
            let lost = printed.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
            let code = if lost { None } else { u8::try_from(error.exit_code()).ok() };
            return ExitCode::from(code.unwrap_or(UNUSABLE));
        }
    };
    let json = cli.command.prints_json();
    let ending = logging::start().and_then(|()| match cli.command {
        Command::Run(args) => run::run(args),
        Command::Replay(args) => run::replay(&args),
        Command::Resume(args) => run::resume(args),
        Command::Check(args) => check::check(args),
        Command::Sdk(args) => sdk::sdk(&args),
        Command::Tools(args) => tools::tools(&args),
        Command::Call(args) => call::call(args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completions(args) => completions::completions(&args),
    });
    match ending {
        Ok(Ending::Success) => ExitCode::SUCCESS,
        Ok(Ending::Failure) => ExitCode::FAILURE,
        Ok(Ending::Stopped(signal)) => ExitCode::from(signals::exit_code(signal)),
        // The reader has all that it wanted; but part of a JSON value is of no use to anybody.
        Err(error) if !json && error.downcast_ref().is_some_and(StdoutError::reader_is_gone) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("error: {}", output::chain(&error)));
            ExitCode::from(UNUSABLE)
        }
    }
}
