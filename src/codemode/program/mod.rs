//! From what a model wrote to a script that V8 can run, with positions that stay exact.
#![allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramLimits {
    pub max_bytes: usize,
    pub max_nesting: usize,
}
#[derive(Debug)]
pub struct ToolHints<'a> {
    pub names: &'a [&'a str],
}
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}
#[derive(Debug)]
pub struct PreparedProgram {
    script: String,
    written: String,
    notes: Vec<String>,
}
#[derive(Debug)]
pub enum ProgramErrorKind {
    Syntax,
    TooLarge,
    TooDeep,
    Import,
    NotAProgram,
}
#[derive(Debug)]
pub struct ProgramError {
    pub kind: ProgramErrorKind,
    pub message: String,
    pub position: Option<Position>,
    pub frame: Option<String>,
}
pub fn prepare(
    source: &str,
    _limits: &ProgramLimits,
    _hints: &ToolHints<'_>,
) -> Result<PreparedProgram, ProgramError> {
    Ok(PreparedProgram {
        script: format!("\"use strict\";(async () => {{{source}\n}})"),
        written: source.to_owned(),
        notes: vec![],
    })
}
pub fn explain_missing_global(_name: &str, _hints: &ToolHints<'_>) -> Option<String> {
    None
}
impl PreparedProgram {
    pub fn script(&self) -> &str {
        &self.script
    }
    pub fn written(&self) -> &str {
        &self.written
    }
    pub fn locate(&self, line: u32, column: u32) -> Option<Position> {
        Some(Position { line, column: if line == 1 { column.saturating_sub(27).max(1) } else { column } })
    }
    pub fn frame(&self, p: Position) -> String {
        format!("{p:?}")
    }
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
