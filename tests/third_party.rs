//! What `third_party/` carries is what the repository vouches for, and the build uses it.
//!
//! Owns the check of `third_party/` and of the places that must agree on the version of V8. It includes the build
//! script's own check and shows what that lets through. It links no V8.

#[path = "../build/checksum.rs"]
mod checksum;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ARCHIVE: &str = "librusty_v8_simdutf_release_x86_64-unknown-linux-gnu.a.gz";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> PathBuf {
    root().join("third_party/v8")
}

/// The text between `before` and the next `"` or line end.
fn between<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split(['"', '\n', ' ']).next()
}

/// E-15
#[test]
fn the_archive_has_the_checksum_that_is_checked_in() {
    assert_eq!(checksum::verify(&folder().join(ARCHIVE), &folder().join("SHA256SUMS")), Ok(()));
}

/// E-15
#[test]
fn cargo_links_the_archive_that_is_checked_in() {
    let config = std::fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
    let expected = format!(r#"RUSTY_V8_ARCHIVE = {{ value = "third_party/v8/{ARCHIVE}", relative = true }}"#);
    assert!(config.lines().any(|line| line == expected), "{config}");
    let sums = std::fs::read_to_string(folder().join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 1);
    assert!(sums.ends_with(&format!("  {ARCHIVE}\n")), "{sums}");
}

/// CM-27
#[test]
fn the_compiler_has_the_checksum_that_is_checked_in() {
    let folder = root().join("third_party/typescript");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let (_, package) = sums.trim_end().split_once("  ").unwrap();
    assert_eq!(checksum::verify(&folder.join(package), &folder.join("SHA256SUMS")), Ok(()));
    let version = package.strip_prefix("typescript-").and_then(|rest| rest.strip_suffix(".tgz")).unwrap();
    for page in ["third_party/typescript/README.md", "NOTICE", "build/checker.rs"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        assert!(text.contains(version), "{page} does not name {version}");
    }
}

#[test]
fn third_party_holds_what_is_carried_and_nothing_else() {
    let names = |path: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let expected =
        |names: &[&str]| -> BTreeSet<String> { names.iter().map(|&name| name.to_owned()).collect() };
    assert_eq!(names(&root().join("third_party")), expected(&["typescript", "v8"]));
    assert_eq!(
        names(&root().join("third_party/typescript")),
        expected(&["README.md", "SHA256SUMS", "typescript-6.0.3.tgz"])
    );
    assert_eq!(
        names(&folder()),
        expected(&[
            "COPYING.LGPL-2.1",
            "README.md",
            "SHA256SUMS",
            "build.sh",
            "cc-wrapper",
            ARCHIVE,
            "precompile.py"
        ])
    );
}

/// E-15
#[test]
fn manifest_recipe_and_pages_agree_on_the_version() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let manifest = read("Cargo.toml");
    let pinned = between(&manifest, "v8 = { version = \"=").unwrap();
    assert_eq!(between(&read("third_party/v8/build.sh"), "V8_CRATE="), Some(pinned), "build.sh");
    for page in ["third_party/v8/README.md", "docs/upgrading-v8.md", "NOTICE"] {
        assert!(read(page).contains(pinned), "{page} does not name {pinned}");
    }
}

#[test]
fn the_notice_names_all_that_the_archive_carries() {
    let notice = std::fs::read_to_string(root().join("NOTICE")).unwrap();
    for name in ["V8", "ICU", "Abseil", "Highway", "libc++", "simdutf", "dragonbox", "fast_float", "fp16"] {
        assert!(notice.lines().any(|line| line.trim_start().starts_with(name)), "{name} is missing");
    }
}

#[cfg(test)]
mod checking {
    //! What the build script's check says of other archives.

    use super::checksum::verify;

    const SUM_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn sums(line: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let sums = folder.path().join("SHA256SUMS");
        std::fs::write(&sums, line).unwrap();
        (folder, sums)
    }

    #[test]
    fn a_file_that_matches_passes() {
        let (folder, sums) = sums(&format!("{SUM_OF_ABC}  a.gz\n"));
        let archive = folder.path().join("a.gz");
        std::fs::write(&archive, "abc").unwrap();
        assert_eq!(verify(&archive, &sums), Ok(()));
    }

    #[test]
    fn a_changed_file_is_refused_with_both_sums() {
        let (folder, sums) = sums(&format!("{SUM_OF_ABC}  a.gz\n"));
        let archive = folder.path().join("a.gz");
        std::fs::write(&archive, "").unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(
            verify(&archive, &sums),
            Err(format!(
                "{} is not the archive that was checked in: SHA-256 is {empty}, not {SUM_OF_ABC}",
                archive.display()
            ))
        );
    }

    #[test]
    fn a_file_that_is_not_listed_is_refused() {
        let (folder, sums) = sums(&format!("{SUM_OF_ABC}  a.gz\n"));
        let archive = folder.path().join("b.gz");
        std::fs::write(&archive, "abc").unwrap();
        assert_eq!(verify(&archive, &sums), Err(format!("{} has no checksum for b.gz", sums.display())));
    }

    #[test]
    fn a_missing_file_is_refused() {
        let (folder, sums) = sums(&format!("{SUM_OF_ABC}  a.gz\n"));
        let message = verify(&folder.path().join("a.gz"), &sums).unwrap_err();
        assert!(
            message.starts_with("cannot read ") && message.ends_with("is the checkout complete?"),
            "{message}"
        );
    }

    #[test]
    fn an_archive_from_elsewhere_is_the_users_own() {
        let (_folder, sums) = sums("");
        let elsewhere = tempfile::tempdir().unwrap();
        let archive = elsewhere.path().join("a.gz");
        std::fs::write(&archive, "other").unwrap();
        assert_eq!(verify(&archive, &sums), Ok(()));
        assert_eq!(verify("https://example.org/v8.a.gz".as_ref(), &sums), Ok(()));
    }
}
