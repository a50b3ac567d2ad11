//! The check of what `third_party/` carries against its checksums.
//!
//! Owns one question: is this the archive that the repository vouches for? It reads, and never repairs or fetches.
//! The build script asks before it does anything with V8 or the compiler; `tests/third_party.rs` includes this file and
//! tests it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Checks `archive` against the line for its name in `sums` (the format of `sha256sum`).
///
/// An archive that is not in the folder of `sums` (another file, or an address) was chosen by the user with
/// `RUSTY_V8_ARCHIVE` and is none of ours: that passes. Inside the folder, a file that is missing, not listed or
/// different is an error with the words for it.
pub(crate) fn verify(archive: &Path, sums: &Path) -> Result<(), String> {
    if !is_beside(archive, sums) {
        return Ok(());
    }
    let name = archive.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let listed =
        std::fs::read_to_string(sums).map_err(|error| format!("cannot read {}: {error}", sums.display()))?;
    let expected = listed
        .lines()
        .filter_map(|line| line.split_once("  "))
        .find_map(|(sum, file)| (file == name).then_some(sum))
        .ok_or_else(|| format!("{} has no checksum for {name}", sums.display()))?;
    let found = sha256(archive)
        .map_err(|error| format!("cannot read {}: {error}; is the checkout complete?", archive.display()))?;
    if found == expected {
        return Ok(());
    }
    Err(format!(
        "{} is not the archive that was checked in: SHA-256 is {found}, not {expected}",
        archive.display()
    ))
}

fn is_beside(archive: &Path, sums: &Path) -> bool {
    let folder = |path: &Path| path.parent().and_then(|parent| parent.canonicalize().ok());
    match (folder(archive), folder(sums)) {
        (Some(archive), Some(sums)) => archive == sums,
        _ => false,
    }
}

/// The digest of a file of any size, in lower-case hexadecimal.
fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
    }
    let mut digest = String::new();
    for byte in hasher.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Ok(digest)
}
