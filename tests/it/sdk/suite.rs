//! The official JSON Schema suite, read for what schemas mean: a value that a schema accepts is of its type.
//!
//! Owns the count of values that a schema refuses and its type does too, a figure of `docs/benchmarks.md`; types cannot
//! say all that schemas can. It calls the compiler once a file.

use serde::Deserialize;
use serde_json::Value;

use super::{Assignments, Named, Verdict, say, sdk_of, shared};

#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

impl Group {
    /// The suite's folder says which draft is meant; a schema that stands alone says it itself.
    fn say_draft_7(&mut self) {
        if let Value::Object(schema) = &mut self.schema {
            schema.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
        }
    }
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

/// The files about what a type can say.
const FILES: [&str; 20] = [
    "additionalProperties",
    "allOf",
    "anchor",
    "anyOf",
    "boolean_schema",
    "const",
    "defs",
    "dependentSchemas",
    "enum",
    "if-then-else",
    "items",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "ref",
    "required",
    "type",
];

/// SDK-5, SDK-6
#[tokio::test]
async fn a_value_that_a_schema_accepts_is_of_its_type() {
    let Some(suite) = shared("data/json-schema-test-suite") else { return };
    let mut refused = (0_usize, 0_usize);
    let mut accepted = 0_usize;
    let mut problems = Vec::new();
    for draft in ["draft2020-12", "draft7"] {
        for file in FILES {
            let path = suite.join(draft).join(format!("{file}.json"));
            let Ok(text) = std::fs::read(&path) else { continue };
            let mut groups: Vec<Group> = serde_json::from_slice(&text).unwrap();
            if draft == "draft7" {
                groups.iter_mut().for_each(Group::say_draft_7);
            }
            let named: Vec<Named<'_>> = groups
                .iter()
                .enumerate()
                .map(|(index, group)| Named { name: format!("s{index}"), schema: &group.schema })
                .collect();
            let declarations = sdk_of(&named);
            let mut program = Assignments::default();
            let mut lines = Vec::new();
            for (group, Named { name, .. }) in groups.iter().zip(&named) {
                for case in &group.tests {
                    let line = program.assign(&format!("ToolOutputMap[{name:?}]"), &case.data);
                    lines.push((line, group, case));
                }
            }
            let verdict = Verdict::of(&declarations, &program.text).await;
            for finding in &verdict.declarations {
                problems.push(format!("{draft}/{file} does not compile: {finding:?}"));
            }
            let wrong = verdict.wrong_lines();
            for (line, group, case) in lines {
                match (case.valid, wrong.contains(&line)) {
                    (true, false) => accepted += 1,
                    (true, true) => problems.push(format!(
                        "{draft}/{file}, {}, {}: {} is refused: {}\n{}",
                        group.description,
                        case.description,
                        case.data,
                        verdict.message(line),
                        group.schema
                    )),
                    (false, is_refused) => {
                        refused.0 += usize::from(is_refused);
                        refused.1 += 1;
                    }
                }
            }
        }
    }
    let (types, all) = refused;
    say(&format!(
        "JSON Schema suite by types: {accepted} valid values accepted, {} refused; of {all} invalid values {types} refused",
        problems.len()
    ));
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(types * 10 > all * 6, "only {types} of {all} invalid values are refused");
}
