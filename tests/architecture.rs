//! The shape of the source tree, held by tests.
//!
//! Reads the project's own Rust files, and the runtime's JavaScript, as text: who names whom, which crate is named
//! where, and what must not be there at all. It never runs anything of the library and links nothing of it, so it
//! builds without V8. The table of ranks is in `ranks.rs`, the other rules are in `rules.rs` and `runtime_js.rs`, and
//! each is shown to catch a bad snippet in `selftest.rs`. `docs/architecture.md` says the same to people.

#[path = "architecture/paths.rs"]
mod paths;
#[path = "architecture/ranks.rs"]
mod ranks;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "../build/runtime_files.rs"]
mod runtime_files;
#[path = "architecture/runtime_js.rs"]
mod runtime_js;
#[path = "architecture/selftest.rs"]
mod selftest;
#[path = "architecture/source.rs"]
mod source;

use std::path::Path;

use source::SourceFile;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Asks one rule about every file of the library, and reports all that it found at once.
fn hold(rule: impl Fn(&SourceFile) -> Vec<String>) {
    hold_in(&["src"], rule);
}

fn hold_in(folders: &[&str], rule: impl Fn(&SourceFile) -> Vec<String>) {
    let violations: Vec<String> = match source::read_tree(root(), folders) {
        Ok(files) if files.is_empty() => vec!["there is no source to check".to_owned()],
        Ok(files) => files.iter().flat_map(rule).collect(),
        Err(error) => vec![format!("cannot read the source: {error}")],
    };
    report(&violations);
}

fn report(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn a_module_names_only_modules_of_lower_rank() {
    hold(ranks::check);
}

#[test]
fn the_documented_ranks_are_the_ones_held_here() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    report(&ranks::check_document(&text));
}

/// Every Rust file of the project, those of tests, benchmarks and fuzz targets too.
#[test]
fn every_file_begins_by_saying_what_it_owns() {
    hold_in(rules::ALL_RUST, rules::head);
}

#[test]
fn no_file_is_longer_than_600_lines() {
    hold_in(rules::ALL_RUST, |file| {
        if let Some(warning) = rules::length_warning(file) {
            println!("{warning}");
        }
        rules::length(file)
    });
}

/// I-2: the list of files is exact, and each `unsafe` is accounted for.
#[test]
fn unsafe_code_is_in_few_files_and_justified() {
    hold_in(rules::ALL_RUST, rules::unsafe_code);
    for name in rules::UNSAFE {
        assert!(root().join(name).is_file(), "{name} is listed as unsafe and is not there");
    }
}

/// E-5: under 1,500 lines, loaded by number, each with a head. That the snapshot holds it is for `tests/it` to show.
#[test]
fn the_runtime_javascript_is_small_enough_to_audit() {
    let paths = runtime_files::runtime_files(&root().join("runtime-js")).unwrap();
    let files = runtime_js::read(&paths).unwrap();
    let ends = [files.first(), files.last()].map(|file| file.map(|file| file.name.as_str()));
    assert_eq!(ends, [Some("00_intrinsics.js"), Some("99_seal.js")]);
    report(&runtime_js::check(&files));
}

#[test]
fn a_foreign_crate_is_named_in_its_home_alone() {
    hold_in(rules::ALL_RUST, rules::homes);
}

#[test]
fn every_channel_is_bounded() {
    hold(rules::bounded_channels);
}

#[test]
fn the_clock_alone_reads_time_and_waits() {
    hold_in(&["src", "tests", "examples"], rules::time);
}

#[test]
fn the_library_reads_no_environment() {
    hold(rules::environment);
}

/// SDK-2
#[test]
fn what_is_rendered_depends_on_its_input_alone() {
    hold(rules::pure);
}
