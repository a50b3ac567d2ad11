//! Schemas that ask for more work than a value is worth (P-16, T-8).

use super::*;

/// What is said of a value that is refused.
fn refused(schema: &Schema, value: &Value) -> String {
    schema.validate(value).unwrap_err().to_string()
}

/// A chain of definitions in which each refers to the next one twice, and the last one is `end`.
fn doubling(levels: usize, end: &Value, twice: impl Fn(Value, Value) -> Value) -> Value {
    let link = |level: usize| json!({"$ref": format!("#/$defs/x{level}")});
    let chain = (0..levels).map(|level| (format!("x{level}"), twice(link(level + 1), link(level + 1))));
    let defs: serde_json::Map<_, _> = chain.chain([(format!("x{levels}"), end.clone())]).collect();
    json!({"$ref": "#/$defs/x0", "$defs": defs})
}

fn nested(depth: usize, value: Value) -> Value {
    (0..depth).fold(value, |value, _| json!({"not": value}))
}

/// A formula, as a type that refers to itself in three of its forms.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is of use")]
enum Formula {
    Not(Box<Formula>),
    And(Vec<Formula>),
    Or { one: Box<Formula>, other: Box<Formula> },
    Name(String),
}

/// P-16: a leaf that is wrong at the bottom of a recursive union is found, or its place is told at least.
#[test]
fn a_recursive_union_is_explained_in_bounded_work() {
    let schema = schemars::schema_for!(Formula).to_value();
    let schema = Schema::compile(schema).unwrap();
    assert_eq!(schema.validate(&nested(100, json!({"name": "a"}))), Ok(()));
    insta::assert_snapshot!(refused(&schema, &nested(1, json!({"name": 1}))), @"expected string, got an integer at /not/name");
    let deep = schema.validate(&nested(100, json!({"name": 1}))).unwrap_err();
    assert_eq!(deep.listed[0].pointer, format!("{}/name", "/not".repeat(100)));
    assert_eq!(deep.listed[0].message, "expected string, got an integer");

    // Every branch goes down the same way, so that there are as many errors as ways: 3 to the power of the depth.
    let form = |op: &str| {
        json!({
            "type": "object", "required": ["op", "arg"],
            "properties": {"op": {"pattern": format!("^{op}")}, "arg": {"$ref": "#/$defs/form"}},
        })
    };
    let forms = json!({"anyOf": [{"type": "string"}, form("a"), form("ab"), form("abc")]});
    let schema = Schema::compile(json!({"$ref": "#/$defs/form", "$defs": {"form": forms}})).unwrap();
    let value = |leaf: Value| (0..100).fold(leaf, |arg, _| json!({"op": "abc", "arg": arg}));
    assert_eq!(schema.validate(&value(json!("x"))), Ok(()));
    let problems = schema.validate(&value(json!(1))).unwrap_err();
    assert_eq!(problems.listed[0].pointer, "/arg".repeat(100));
    insta::assert_snapshot!(problems.listed[0].message, @"fits no form that the schema allows here (got an integer)");
    insta::assert_snapshot!(problems.listed[0].hint, @"; it can be wrong in too many ways to list them");
}

/// P-16: as many errors as values times branches are never made.
#[test]
fn a_long_list_of_what_fits_no_branch_is_explained_in_bounded_work() {
    let branch = |n| json!({"type": "object", "required": [format!("a{n}")]});
    let branches: Vec<_> = (0..20).map(branch).collect();
    let schema = Schema::compile(json!({"type": "array", "items": {"oneOf": branches}})).unwrap();
    insta::assert_snapshot!(refused(&schema, &Value::from(vec![1; 100_000])), @"fits none of the 20 allowed forms: expected object, got an integer, or expected object, got an integer, or expected object, got an integer at /0; and more");
}

/// P-16: what is listed is all that is explained, be there ever so much.
#[test]
fn unknown_members_are_explained_as_far_as_they_are_listed() {
    let properties: serde_json::Map<_, _> =
        (0..1_000).map(|n| (format!("property_{n}"), json!({}))).collect();
    let required = ["needed", "member__1"];
    let closed = json!({"properties": properties, "additionalProperties": false, "required": required});
    let value: serde_json::Map<_, _> = (0..130_000).map(|n| (format!("member_{n}"), json!(n))).collect();
    let problems = Schema::compile(closed).unwrap().validate(&Value::Object(value)).unwrap_err();
    assert!(problems.listed.len() == Problems::MAX && problems.more, "{problems}");
}

/// P-16, T-8: two references to one place double the work with every level; no such schema is worked through, and
/// none is taken for one that the value fits.
#[test]
fn doubled_references_end() {
    const TOO_MUCH: &str = "the schema asks for too much work for this value, so that it was not judged; \
        pass a smaller or simpler one";
    let object = json!({"type": "object", "required": ["a"]});
    let ends = [json!(false), json!({"not": {}}), json!({"allOf": [false]}), object];
    let compiled = |twice: &str, end: &Value, draft: Option<&str>| {
        let mut schema = doubling(40, end, |one, other| json!({twice: [one, other]}));
        if let Some(draft) = draft {
            schema["$schema"] = json!(draft);
        }
        Schema::compile(schema).unwrap()
    };
    for draft in [None, Some("http://json-schema.org/draft-07/schema#")] {
        for end in &ends {
            // The first branch that fails decides.
            assert!(!refused(&compiled("allOf", end, draft), &json!("x")).contains("too much"), "{end}");
            assert_eq!(refused(&compiled("anyOf", end, draft), &json!("x")), TOO_MUCH, "{end}");
            assert_eq!(refused(&compiled("oneOf", end, draft), &json!("x")), TOO_MUCH, "{end}");
        }
        assert_eq!(refused(&compiled("allOf", &json!({"type": "string"}), draft), &json!("x")), TOO_MUCH);
        assert_eq!(compiled("anyOf", &json!({"type": "string"}), draft).validate(&json!("x")), Ok(()));
    }
    // Ten levels are little work.
    let few = doubling(10, &json!({"type": "string"}), |one, other| json!({"allOf": [one, other]}));
    assert_eq!(Schema::compile(few).unwrap().validate(&json!("x")), Ok(()));
}

/// P-16, T-8: one definition that goes down the same member twice, on a value as deep as may be.
#[test]
fn recursion_that_doubles_is_judged_rightly_or_refused() {
    let down = json!({"properties": {"a": {"$ref": "#/$defs/x"}}});
    for twice in ["allOf", "anyOf"] {
        let x = json!({"type": ["object", "null"], twice: [down, down]});
        let schema = Schema::compile(json!({"$ref": "#/$defs/x", "$defs": {"x": x}})).unwrap();
        let deep = |leaf: Value| (0..100).fold(leaf, |value, _| json!({"a": value}));
        assert_eq!(schema.validate(&deep(json!(null))), Ok(()), "{twice}");
        let problems = schema.validate(&deep(json!(1))).unwrap_err();
        assert_eq!(problems.listed[0].pointer, "/a".repeat(100), "{twice}: {problems}");
    }
    // Without recursion nothing is remembered from one way to the next.
    let chain = doubling(
        60,
        &json!({"type": "null"}),
        |one, other| json!({"allOf": [{"required": ["a"], "properties": {"a": one}}, {"properties": {"a": other}}]}),
    );
    let deep = (0..60).fold(json!(1), |value, _| json!({"a": value}));
    assert!(Schema::compile(chain).unwrap().validate(&deep).is_err());
}

/// P-16: a value that fits too many branches is not told that it fits none.
#[test]
fn a_value_that_fits_two_of_three_is_told_so() {
    let schema = json!({"oneOf": [{"type": "integer"}, {"type": "string"}, {"minimum": 1}]});
    let schema = Schema::compile(schema).unwrap();
    insta::assert_snapshot!(refused(&schema, &json!(2)), @"fits 2 of the 3 allowed forms; exactly one is wanted (got an integer)");
}

/// P-16: a long pointer is cut where it is shown, and nowhere else.
#[test]
fn a_pointer_leads_to_its_place_however_long_it_is() {
    let name = "a/".repeat(200);
    let value = json!({name.clone(): {"b": 1}, "c": 1});
    let schema = json!({"additionalProperties": {"properties": {}, "additionalProperties": false}});
    let problems = Schema::compile(schema).unwrap().validate(&value).unwrap_err();
    assert_eq!(value.pointer(&problems.listed[0].pointer), Some(&json!(1)));
    assert_eq!(
        serde_json::to_value(&problems).unwrap()["listed"][0]["pointer"],
        json!(problems.listed[0].pointer)
    );
    assert!(problems.to_string().len() < 300, "{problems}");
}
