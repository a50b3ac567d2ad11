//! The runtime JavaScript in load order (E-5).
//!
//! Owns the rule of the names: two digits, `_`, a word, `.js`; the digits are the place in the order. It never guesses
//! the place of a file that breaks the rule. The build script loads by it; `tests/architecture.rs` includes this file
//! and tests it.

use std::path::{Path, PathBuf};

/// The files of a folder in the order in which they are loaded. Files of other kinds are passed over.
pub(crate) fn runtime_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        names.push(name.into_string().map_err(|name| format!("{}: no text", name.display()))?);
    }
    let names = in_load_order(names)?;
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn is_javascript(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "js")
}

/// The `.js` files among these names, by their numbers. A name without a number, or a number that is there twice, has
/// no place, and that is an error.
pub(crate) fn in_load_order(names: Vec<String>) -> Result<Vec<String>, String> {
    let mut numbered = Vec::new();
    for name in names.into_iter().filter(|name| is_javascript(name)) {
        let number = match name.as_bytes() {
            [tens @ b'0'..=b'9', ones @ b'0'..=b'9', b'_', ..] => (*tens, *ones),
            _ => return Err(format!("{name}: the name of a runtime file begins with two digits and `_`")),
        };
        numbered.push((number, name));
    }
    numbered.sort();
    for pair in numbered.windows(2) {
        if let [(one, first), (other, second)] = pair
            && one == other
        {
            return Err(format!("{first} and {second} have the same place in the order"));
        }
    }
    Ok(numbered.into_iter().map(|(_, name)| name).collect())
}
