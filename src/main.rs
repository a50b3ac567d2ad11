//! The program `isolane`: programs, tools and the SDK from a command line.
//!
//! Owns nothing but the entry; [`cli`] does the work through the public API of the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    isolane::child::run_if_child();
    cli::main()
}
