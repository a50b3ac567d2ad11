//! `docs/coverage.md` tells the truth about which rule of the contract has which tests.
//!
//! Owns the reading of test functions with the ids in their doc comments, and the comparison with the page. An id
//! behind the word `see` is spoken of and not covered. Run with `ISOLANE_WRITE_COVERAGE=1`, it writes the page's lists
//! anew and keeps all else of it. It runs no test itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The parts of the contract, by the letters that their ids begin with.
const PARTS: &[&str] = &["T", "R", "P", "S", "CM", "SDK", "E", "L", "PO", "C", "B", "I"];

/// A test function: where it is, and the ids that its doc comment names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    file: String,
    name: String,
    ids: Vec<String>,
}

/// An id's line on the page, with the lines below it.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    id: String,
    open: bool,
    /// File and name of each test.
    tests: Vec<(String, String)>,
    /// Lines written by hand, as they are: what shows the rule other than a test (`see`), and what of it nothing
    /// shows (`open`).
    notes: Vec<String>,
}

impl Row {
    /// Whether something written by hand shows the rule.
    fn is_shown_elsewhere(&self) -> bool {
        self.notes.iter().any(|note| note.starts_with("  - see "))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every id in a line of text, such as `CM-7`.
fn ids(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| {
            word.split_once('-').is_some_and(|(part, number)| {
                PARTS.contains(&part)
                    && !number.is_empty()
                    && number.bytes().all(|byte| byte.is_ascii_digit())
            })
        })
        .map(str::to_owned)
        .collect()
}

/// The ids that a line of a doc comment claims to cover: those before the word `see`.
fn claimed(doc: &str) -> Vec<String> {
    let words = doc.split(' ').take_while(|word| !word.trim_matches('(').eq_ignore_ascii_case("see"));
    ids(&words.collect::<Vec<_>>().join(" "))
}

/// The test functions of a file: those with an attribute whose path ends in `test`, and the probes of `tests/confined`,
/// which has no harness: functions that give `Tried`.
fn tests(file: &str, text: &str) -> Vec<Test> {
    let mut found = Vec::new();
    let (mut named, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            named.extend(claimed(doc));
        } else if let Some(attribute) = line.strip_prefix("#[") {
            let path = attribute.split(['(', ']']).next().unwrap_or_default();
            is_test |= path == "test" || path.ends_with("::test");
        } else {
            let function = line
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub ")
                .trim_start_matches("async ")
                .strip_prefix("fn ");
            if let Some(function) = function.filter(|function| is_test || function.ends_with("-> Tried {")) {
                let name = function.split(['(', '<']).next().unwrap_or_default();
                found.push(Test {
                    file: file.to_owned(),
                    name: name.to_owned(),
                    ids: std::mem::take(&mut named),
                });
            }
            named.clear();
            is_test = false;
        }
    }
    found
}

/// The ids of the page with what it says of them.
fn rows(page: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in page.lines() {
        if let Some((id, rest)) = line.strip_prefix("- **").and_then(|line| line.split_once("** ")) {
            let open = rest.ends_with(": open");
            rows.push(Row { id: id.to_owned(), open, tests: Vec::new(), notes: Vec::new() });
        } else if let (Some(row), Some(item)) = (rows.last_mut(), line.strip_prefix("  - ")) {
            match item.split('`').collect::<Vec<_>>().as_slice() {
                ["", file, ": ", name, ""] => row.tests.push(((*file).to_owned(), (*name).to_owned())),
                _ => row.notes.push(line.to_owned()),
            }
        }
    }
    rows
}

/// What on the page is not so.
fn problems(rows: &[Row], tests: &[Test]) -> Vec<String> {
    let mut problems = Vec::new();
    let exist: BTreeSet<(&str, &str)> =
        tests.iter().map(|test| (test.file.as_str(), test.name.as_str())).collect();
    let by_id = by_id(tests);
    let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    for (id, tests) in by_id.iter().filter(|(id, _)| !known.contains(**id)) {
        let places: Vec<_> = tests.iter().map(|test| format!("{} `{}`", test.file, test.name)).collect();
        problems.push(format!("{id} is not in docs/coverage.md and is named by {}", places.join(", ")));
    }
    for row in rows {
        let id = &row.id;
        let named = by_id.get(id.as_str()).map(Vec::as_slice).unwrap_or_default();
        for (file, name) in &row.tests {
            if !exist.contains(&(file, name)) {
                problems.push(format!("{id} lists `{name}` of {file}, and there is no such test"));
            } else if !named.iter().any(|test| (&test.file, &test.name) == (file, name)) {
                problems.push(format!("{id} lists `{name}` of {file}, which does not name it"));
            }
        }
        for test in named.iter().filter(|_| !row.open) {
            if !row.tests.iter().any(|(file, name)| (file, name) == (&test.file, &test.name)) {
                problems.push(format!("{id} does not list `{}` of {}", test.name, test.file));
            }
        }
        if row.open && !named.is_empty() {
            problems.push(format!("{id} is said to be open and has tests"));
        }
        if !row.open && row.tests.is_empty() && !row.is_shown_elsewhere() {
            problems.push(format!("{id} has no test and is not said to be open"));
        }
        let known = ["  - see ", "  - open: "];
        for note in row.notes.iter().filter(|note| !known.iter().any(|start| note.starts_with(start))) {
            problems.push(format!("{id}: `{note}` begins neither with `see` nor with `open:`"));
        }
    }
    problems
}

fn by_id(tests: &[Test]) -> BTreeMap<&str, Vec<&Test>> {
    let mut by_id: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
    for test in tests {
        for id in &test.ids {
            let listed = by_id.entry(id).or_default();
            if !listed.contains(&test) {
                listed.push(test);
            }
        }
    }
    by_id
}

/// The page with its lists made anew; everything written by hand stays.
fn rewritten(page: &str, tests: &[Test]) -> String {
    let by_id = by_id(tests);
    let mut rows = rows(page).into_iter();
    let mut text = String::new();
    for line in page.lines() {
        let Some((id, rest)) = line.strip_prefix("- **").and_then(|line| line.split_once("** ")) else {
            // The items below an id come with its line.
            if !line.starts_with("  - ") {
                let _ = writeln!(text, "{line}");
            }
            continue;
        };
        let title = rest.strip_suffix(": open").unwrap_or(rest);
        let Some(row) = rows.next() else { continue };
        let listed = by_id.get(id).map(Vec::as_slice).unwrap_or_default();
        let open = if listed.is_empty() && !row.is_shown_elsewhere() { ": open" } else { "" };
        let _ = writeln!(text, "- **{id}** {title}{open}");
        for note in row.notes {
            let _ = writeln!(text, "{note}");
        }
        for test in listed {
            let _ = writeln!(text, "  - `{}`: `{}`", test.file, test.name);
        }
    }
    text
}

/// Every Rust file under the folders, from the root, in order.
fn rust_files(folders: &[&str]) -> std::io::Result<BTreeMap<String, String>> {
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            files.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(files)
}

#[test]
fn the_page_tells_which_rule_has_which_tests() {
    let files = rust_files(&["src", "tests"]).unwrap();
    // This file's own samples are no tests.
    let others = files.iter().filter(|(name, _)| *name != "tests/coverage.rs");
    let found: Vec<Test> = others.flat_map(|(name, text)| tests(name, text)).collect();
    let place = root().join("docs/coverage.md");
    let mut page = std::fs::read_to_string(&place).unwrap();
    if std::env::var_os("ISOLANE_WRITE_COVERAGE").is_some() {
        page = rewritten(&page, &found);
        std::fs::write(&place, &page).unwrap();
    }
    let problems = problems(&rows(&page), &found);
    assert!(
        problems.is_empty(),
        "\n{}\nMake the lists anew with ISOLANE_WRITE_COVERAGE=1 cargo test --test coverage\n",
        problems.join("\n")
    );
}

/// The parts in order, and in each part the numbers from 1 without a gap.
#[test]
fn the_page_has_every_id_once_and_in_order() {
    let page = std::fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let rows = rows(&page);
    let mut expected = Vec::new();
    for part in PARTS {
        let count = rows.iter().filter(|row| row.id.split('-').next() == Some(part)).count();
        assert!(count > 0, "the page has nothing of {part}");
        expected.extend((1..=count).map(|number| format!("{part}-{number}")));
    }
    let found: Vec<String> = rows.into_iter().map(|row| row.id).collect();
    assert_eq!(found, expected);
}

#[cfg(test)]
mod checking {
    //! The check itself bites.

    use super::*;

    const SOURCE: &str = "
        /// CM-7, T-17. UTF-8 and v8-150 are no ids.
        /// What it is for, see CM-6.
        #[tokio::test(flavor = \"current_thread\")]
        async fn programs_run() {}

        /// R-1
        fn helper() {}

        #[test]
        fn nameless() {}";

    fn found() -> Vec<Test> {
        tests("src/a.rs", SOURCE)
    }

    fn told(page: &str) -> Vec<String> {
        problems(&rows(page), &found())
    }

    #[test]
    fn tests_are_found_with_their_ids() {
        let test = |name: &str, ids: &[&str]| Test {
            file: "src/a.rs".to_owned(),
            name: name.to_owned(),
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
        };
        assert_eq!(found(), [test("programs_run", &["CM-7", "T-17"]), test("nameless", &[])]);
    }

    #[test]
    fn probes_are_found_without_an_attribute() {
        let source =
            "/// E-4: text\npub(super) fn forking(_: &mut Setup) -> Tried {\n}\n/// E-5\nfn helper() {}\n";
        let probe = Test { file: "a.rs".to_owned(), name: "forking".to_owned(), ids: vec!["E-4".to_owned()] };
        assert_eq!(tests("a.rs", source), [probe]);
    }

    #[test]
    fn a_true_page_passes() {
        let page = "- **CM-7** a\n  - `src/a.rs`: `programs_run`\n- **T-17** b\n  - see the benchmark\n  \
            - `src/a.rs`: `programs_run`\n- **R-1** c: open\n";
        assert_eq!(told(page), Vec::<String>::new());
    }

    #[test]
    fn an_id_that_the_page_lacks_is_told() {
        assert_eq!(
            told("- **CM-7** a\n  - `src/a.rs`: `programs_run`\n"),
            ["T-17 is not in docs/coverage.md and is named by src/a.rs `programs_run`"]
        );
    }

    #[test]
    fn a_test_that_is_gone_is_told() {
        let page = "- **CM-7** a\n  - `src/a.rs`: `gone`\n- **T-17** b\n  - `src/a.rs`: `programs_run`\n";
        assert_eq!(
            told(page),
            [
                "CM-7 lists `gone` of src/a.rs, and there is no such test",
                "CM-7 does not list `programs_run` of src/a.rs"
            ]
        );
    }

    #[test]
    fn a_test_that_does_not_name_the_id_is_told() {
        let page = "- **CM-7** a\n  - `src/a.rs`: `programs_run`\n  - `src/a.rs`: `nameless`\n- **T-17** b\n  \
            - `src/a.rs`: `programs_run`\n";
        assert_eq!(told(page), ["CM-7 lists `nameless` of src/a.rs, which does not name it"]);
    }

    #[test]
    fn open_with_tests_and_closed_without_are_told() {
        let page = "- **CM-7** a: open\n- **T-17** b\n  - `src/a.rs`: `programs_run`\n- **R-1** c\n- **R-2** d\n  - see x\n";
        assert_eq!(
            told(page),
            ["CM-7 is said to be open and has tests", "R-1 has no test and is not said to be open"]
        );
    }

    #[test]
    fn what_is_only_spoken_of_is_not_covered() {
        assert_eq!(claimed(" CM-7 (see CM-8), R-1"), ["CM-7"]);
        assert_eq!(claimed(" See S-4"), Vec::<String>::new());
        assert_eq!(claimed(" L-5: a host that oversees T-1"), ["L-5", "T-1"]);
    }

    #[test]
    fn a_note_is_no_test_unless_it_names_what_shows_the_rule() {
        let page = "- **CM-7** a\n  - open: b\n  - `src/a.rs`: `programs_run`\n- **T-17** c\n  \
            - `src/a.rs`: `programs_run`\n- **R-1** c\n  - open: d\n  - so so\n";
        assert_eq!(
            told(page),
            [
                "R-1 has no test and is not said to be open",
                "R-1: `  - so so` begins neither with `see` nor with `open:`"
            ]
        );
        let page = "- **R-1** a\n  - open: b\n- **R-2** c\n  - see d\n";
        assert_eq!(rewritten(page, &[]), "- **R-1** a: open\n  - open: b\n- **R-2** c\n  - see d\n");
    }

    #[test]
    fn writing_anew_keeps_what_is_written_by_hand() {
        let page =
            "# Page\n\n- **CM-7** a: open\n- **T-17** b\n  - see x\n  - `src/b.rs`: `gone`\n- **R-1** c\n";
        let expected = "# Page\n\n- **CM-7** a\n  - `src/a.rs`: `programs_run`\n- **T-17** b\n  - see x\n  \
            - `src/a.rs`: `programs_run`\n- **R-1** c: open\n";
        assert_eq!(rewritten(page, &found()), expected);
        assert_eq!(rewritten(expected, &found()), expected);
    }
}
