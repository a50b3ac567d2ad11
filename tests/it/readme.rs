//! What the README shows of the crate (I-1).
//!
//! Owns the comparison of its first example with the file that it comes from, and of the figures in it with what is
//! there to count. The example itself is run as the doc test of `isolane::host`.

use std::fmt::Write as _;
use std::path::Path;

const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../../examples/host.rs");

/// I-1: the first example of use as a crate is a complete host in under 60 lines, and the same as in `examples/`.
#[test]
fn the_first_example_is_the_complete_host() {
    let (_, after) = README.split_once("```rust\n").expect("there is an example");
    let (shown, _) = after.split_once("```\n").expect("it has an end");
    let (head, body) = EXAMPLE.split_once("\n\nuse ").expect("it begins with what it is");
    assert_eq!(shown, format!("use {body}"));
    assert!(head.contains("cargo run --example host"), "{head}");
    assert!(EXAMPLE.lines().count() < 60, "{}", EXAMPLE.lines().count());
}

/// I-1: what the README says that the examples print is what they print.
#[test]
fn the_figures_of_the_examples_are_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut list, mut sum) = (String::new(), 0);
    for file in &files {
        let lines = std::fs::read_to_string(file).unwrap().lines().count();
        sum += lines;
        writeln!(list, "{lines} examples/{}", file.file_name().unwrap().to_str().unwrap()).unwrap();
    }
    let value = format!("{{\n  \"files\": {},\n  \"lines\": {sum}\n}}\n", files.len());
    assert!(README.contains(&format!("$ isolane run lines.ts\n{list}{value}```")), "{list}{value}");
    let answer = format!("model: The examples are {} files with {sum} lines.\n", files.len());
    assert!(README.contains(&answer), "{answer}");
    // Both events of `glob` and of each `read`, of the run and of the call.
    let events = format!("host: {} events\n", 2 * (1 + files.len() + 2));
    assert!(README.contains(&events), "{events}");
}
