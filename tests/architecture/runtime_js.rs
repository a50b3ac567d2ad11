//! What holds for the JavaScript that runs before a program.
//!
//! Owns the size under which it can be audited, and what each file begins with. It reads the text and knows nothing of
//! what it does; the order of loading is the build script's own rule.

use std::io;
use std::path::{Path, PathBuf};

/// Fewer lines than this in all files together.
const TOO_MANY_LINES: usize = 1500;

/// A file with its text.
#[derive(Debug)]
pub(crate) struct RuntimeFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Reads files in the order given.
pub(crate) fn read(files: &[PathBuf]) -> io::Result<Vec<RuntimeFile>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files
        .iter()
        .map(|path| Ok(RuntimeFile { name: name(path), text: std::fs::read_to_string(path)? }))
        .collect()
}

/// What is wrong with these files.
pub(crate) fn check(files: &[RuntimeFile]) -> Vec<String> {
    let mut violations: Vec<String> = files.iter().filter_map(head).collect();
    let lines: usize = files.iter().map(|file| file.text.lines().count()).sum();
    if lines >= TOO_MANY_LINES {
        violations.push(format!("runtime-js has {lines} lines; it must stay under {TOO_MANY_LINES}"));
    }
    violations
}

/// The file starts with what it owns and what it must never do.
fn head(file: &RuntimeFile) -> Option<String> {
    let head: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix("// ")).collect();
    let said = head.first().is_some_and(|first| first.starts_with("Owns "))
        && head.iter().any(|line| line.contains("t must "));
    (!said).then(|| {
        format!(
            "runtime-js/{}:1: the file does not begin with what it owns and what it must never do",
            file.name
        )
    })
}
