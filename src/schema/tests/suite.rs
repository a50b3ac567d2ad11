//! The official JSON Schema test suite, where it is at hand.
//!
//! It is read in place, from `data/json-schema-test-suite` in the folder that `ISOLANE_SHARED` named when the tests were
//! built (absent: `../shared`); without it these tests check nothing, and say
//! so whatever is captured. What does not come out as the suite says is listed here with its reason and the
//! number of cases, and the lists must be exact: a case more or a case less fails. The rates are always printed, the
//! cases one by one with `--nocapture`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::*;

#[derive(serde::Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

/// Why something does not come out as the suite says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// The schema refers to something outside of itself. It is refused, for nothing is ever fetched.
    Elsewhere,
    /// The schema is of a language of its own, described by a meta-schema elsewhere. It is refused.
    UnknownDraft,
    /// `format` is told and not checked, as draft 2020-12 has it unless asked otherwise. The value is accepted.
    FormatIsTold,
    /// The rules of internationalised names are not built in. The value is accepted.
    International,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elsewhere => {
                "refused: the schema refers to something outside of itself, and nothing is fetched"
            }
            Self::UnknownDraft => "refused: the schema is of a language of its own, described elsewhere",
            Self::FormatIsTold => "accepted: `format` is told and not checked in draft 2020-12",
            Self::International => "accepted: the rules of internationalised names are not built in",
        })
    }
}

/// What is known to differ: a file (or a folder, with a slash at its end), a group, why, and how many cases.
///
/// `*` for the group stands for a whole file about something that is not supported on purpose: references to
/// elsewhere, languages of one's own, formats where they are told only, internationalised names.
type Known = (&'static str, &'static str, Reason, usize);

struct Draft {
    folder: &'static str,
    /// Given to schemas that name no draft.
    uri: Option<&'static str>,
    known: &'static [Known],
}

const DRAFT_2020_12: Draft = Draft {
    folder: "draft2020-12",
    uri: None,
    known: &[
        ("refRemote.json", "*", Reason::Elsewhere, 31),
        ("dynamicRef.json", "strict-tree schema, guards against misspelled properties", Reason::Elsewhere, 2),
        (
            "dynamicRef.json",
            "tests for implementation dynamic anchor and reference link",
            Reason::Elsewhere,
            3,
        ),
        (
            "dynamicRef.json",
            "$ref and $dynamicAnchor are independent of order - $defs first",
            Reason::Elsewhere,
            3,
        ),
        (
            "dynamicRef.json",
            "$ref and $dynamicAnchor are independent of order - $ref first",
            Reason::Elsewhere,
            3,
        ),
        ("dynamicRef.json", "$ref to $dynamicRef finds detached $dynamicAnchor", Reason::Elsewhere, 2),
        (
            "optional/cross-draft.json",
            "refs to historic drafts are processed as historic drafts",
            Reason::Elsewhere,
            1,
        ),
        ("vocabulary.json", "*", Reason::UnknownDraft, 5),
        ("optional/format-assertion.json", "*", Reason::UnknownDraft, 4),
        ("optional/format/", "*", Reason::FormatIsTold, 388),
    ],
};

const DRAFT_7: Draft = Draft {
    folder: "draft7",
    uri: Some("http://json-schema.org/draft-07/schema#"),
    known: &[
        ("refRemote.json", "*", Reason::Elsewhere, 23),
        (
            "optional/cross-draft.json",
            "refs to future drafts are processed as future drafts",
            Reason::Elsewhere,
            2,
        ),
        ("optional/format/idn-email.json", "*", Reason::International, 2),
        ("optional/format/idn-hostname.json", "*", Reason::International, 54),
    ],
};

/// What came out instead of what the suite says.
enum Outcome {
    Refused(SchemaError),
    Accepted,
    Rejected(Problems),
}

struct Difference {
    file: String,
    group: String,
    case: String,
    /// That of the schema when it was refused.
    outcome: Arc<Outcome>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {} / {}", self.file, self.group, self.case)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Accepted => f.write_str("accepted"),
            Self::Rejected(problems) => problems.fmt(f),
        }
    }
}

impl Difference {
    fn is(&self, (file, group, reason, _): &Known) -> bool {
        let here = if file.ends_with('/') { self.file.starts_with(file) } else { self.file == *file };
        here && (*group == "*" || self.group == *group)
            && match (reason, &*self.outcome) {
                (Reason::Elsewhere, Outcome::Refused(SchemaError::Elsewhere { reference })) => {
                    reference.starts_with("http://localhost:1234/")
                }
                (Reason::UnknownDraft, Outcome::Refused(SchemaError::UnknownDraft { name })) => {
                    name.starts_with("http://localhost:1234/")
                }
                (Reason::FormatIsTold | Reason::International, outcome) => {
                    matches!(outcome, Outcome::Accepted)
                }
                _ => false,
            }
    }
}

fn suite() -> Option<PathBuf> {
    let shared = option_env!("ISOLANE_SHARED").unwrap_or("../shared");
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join(shared).join("data/json-schema-test-suite");
    if suite.is_dir() {
        return Some(suite);
    }
    say(&format!("skipped: no shared data, {} is not there", suite.display()));
    None
}

/// Prints a line that is not captured.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "JSON Schema suite: {line}");
}

/// Every file of a draft with its groups, by its path in the draft's folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<Group>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "json") {
                let groups = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                files.insert(path.strip_prefix(folder).unwrap().to_string_lossy().into_owned(), groups);
            }
        }
    }
    files
}

#[derive(Default)]
struct Tally {
    cases: usize,
    as_said: usize,
    differs: Vec<Difference>,
}

impl Tally {
    fn run(&mut self, compiled: &Schema, file: &str, group: &str, cases: Vec<Case>) {
        for Case { description, data, valid } in cases {
            let outcome = match compiled.validate(&data) {
                outcome if outcome.is_ok() == valid => {
                    self.as_said += 1;
                    continue;
                }
                Ok(()) => Outcome::Accepted,
                Err(problems) => Outcome::Rejected(problems),
            };
            self.differs(file, group, &description, &Arc::new(outcome));
        }
    }

    fn differs(&mut self, file: &str, group: &str, case: &str, outcome: &Arc<Outcome>) {
        let [file, group, case] = [file, group, case].map(str::to_owned);
        self.differs.push(Difference { file, group, case, outcome: Arc::clone(outcome) });
    }
}

fn run(draft: &Draft, suite: &Path, optional: bool) -> Tally {
    let mut tally = Tally::default();
    for (file, groups) in files(&suite.join(draft.folder)) {
        if file.starts_with("optional") != optional {
            continue;
        }
        for Group { description, mut schema, tests } in groups {
            if let (Some(uri), Some(members)) = (draft.uri, schema.as_object_mut()) {
                members.entry("$schema").or_insert_with(|| json!(uri));
            }
            tally.cases += tests.len();
            match Schema::compile(schema) {
                Ok(compiled) => tally.run(&compiled, &file, &description, tests),
                Err(error) => {
                    let outcome = Arc::new(Outcome::Refused(error));
                    for case in tests {
                        tally.differs(&file, &description, &case.description, &outcome);
                    }
                }
            }
        }
    }
    tally
}

fn check(draft: &Draft) {
    let Some(suite) = suite() else { return };
    let mut met = vec![0; draft.known.len()];
    let mut unknown = Vec::new();
    for optional in [false, true] {
        let tally = run(draft, &suite, optional);
        let part = if optional { "optional" } else { "required" };
        let Tally { cases, as_said, differs } = tally;
        assert_eq!(as_said + differs.len(), cases);
        say(&format!("{}, {part}: {as_said} of {cases} cases as it says", draft.folder));
        for difference in differs {
            if let Some(known) = draft.known.iter().position(|known| difference.is(known)) {
                met[known] += 1;
                println!("{} / {difference}: {}", draft.folder, draft.known[known].2);
            } else {
                unknown.push(format!("{difference}: {}", difference.outcome));
            }
        }
    }
    assert!(unknown.is_empty(), "not known to differ:\n{}", unknown.join("\n"));
    let wrong: Vec<_> = draft.known.iter().zip(met).filter(|(known, met)| known.3 != *met).collect();
    assert!(wrong.is_empty(), "these differ in another number of cases than is known: {wrong:#?}");
}

/// T-7
#[test]
fn draft_2020_12_comes_out_as_the_suite_says() {
    check(&DRAFT_2020_12);
}

/// T-7
#[test]
fn draft_7_comes_out_as_the_suite_says() {
    check(&DRAFT_7);
}

/// T-7: what the author-side subset lets pass means what the suite says, without exception; the rest is refused at a
/// place that is there.
#[test]
fn the_authors_subset_has_no_exceptions() {
    let Some(suite) = suite() else { return };
    let mut tally = Tally::default();
    let mut refused = 0;
    for folder in [DRAFT_2020_12.folder, DRAFT_7.folder] {
        for (file, groups) in files(&suite.join(folder)) {
            for Group { description, mut schema, tests } in groups {
                // The author's schemas say nothing of drafts.
                if let Some(members) = schema.as_object_mut() {
                    members.shift_remove("$schema");
                }
                match Schema::compile_author(schema.clone()) {
                    Ok(compiled) => {
                        tally.cases += tests.len();
                        tally.run(&compiled, &file, &description, tests);
                    }
                    Err(SchemaError::Subset(error)) => {
                        assert!(schema.pointer(&error.pointer).is_some(), "{file}: {description}: {error}");
                        refused += 1;
                    }
                    Err(error) => panic!("{file}: {description}: {error}"),
                }
            }
        }
    }
    let differs: Vec<_> = tally.differs.iter().map(ToString::to_string).collect();
    assert!(differs.is_empty(), "{differs:#?}");
    assert!(tally.as_said > 300 && refused > 100, "{} cases, {refused} schemas refused", tally.as_said);
    say(&format!("the author's subset: all {} cases as it says, {refused} schemas refused", tally.as_said));
}
