//! Every case of a folder renders to text that TypeScript can read.
//!
//! The folder is given by `ISOLANE_SDK_CORPUS`, or lies next to the package; without one the test passes.

use std::path::PathBuf;

use serde_json::Value;

use super::{render, syntax_errors, tool};

fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("ISOLANE_SDK_CORPUS").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/cases/sdk");
    Some(given.unwrap_or_else(beside)).filter(|folder| folder.is_dir())
}

/// SDK-6
#[test]
fn sdk_corpus() {
    let Some(folder) = folder() else {
        println!("skipped: no SDK corpus (set ISOLANE_SDK_CORPUS)");
        return;
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let case: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let schema = &case["schema"];
        let bundle = render(&[tool("demo", schema, schema)]);
        assert_eq!(syntax_errors(&bundle.text), Vec::<String>::new(), "{}\n{}", file.display(), bundle.text);
    }
}
