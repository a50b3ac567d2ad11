//! Behaviour of `prepare` as a whole: shapes, positions, refusals, hostile texts, laws.
//!
//! Helpers only; each file below has one area. Nothing here may depend on V8.

mod hostile;
mod laws;
mod positions;
mod refusals;
mod shapes;

use super::{PreparedProgram, ProgramError, ProgramLimits, ToolHints, prepare};

const HINTS: ToolHints<'static> =
    ToolHints { names: &["read", "write", "exec_command", "my-tool"], arguments: &[] };

fn program(source: &str) -> PreparedProgram {
    match prepare(source, &ProgramLimits::default(), &HINTS) {
        Ok(program) => program,
        Err(error) => panic!("{source}\n{error:?}"),
    }
}

fn refused(source: &str) -> ProgramError {
    match prepare(source, &ProgramLimits::default(), &HINTS) {
        Ok(program) => panic!("{source}\n{}", program.script()),
        Err(error) => error,
    }
}

/// The script without its wrapper.
fn body(source: &str) -> String {
    let program = program(source);
    let script = program.script();
    let body = script.strip_prefix("\"use strict\";(async () => {").and_then(|rest| rest.strip_suffix("})"));
    body.unwrap_or_else(|| panic!("{script}")).to_owned()
}
