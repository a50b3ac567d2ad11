//! Every keyword of both drafts, by instances that fit and instances that do not (T-7).
//!
//! The examples are data, in `constructs.json`: one entry a construct, with the draft that it belongs to.

use std::collections::BTreeSet;

use super::*;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Construct {
    /// The keyword, or a combination of keywords.
    about: String,
    /// `2020-12`, `draft-07`, or both when absent.
    draft: Option<String>,
    schema: Value,
    fits: Vec<Value>,
    breaks: Vec<Value>,
}

fn constructs() -> Vec<Construct> {
    serde_json::from_str(include_str!("constructs.json")).unwrap()
}

const DRAFTS: [(&str, &str); 2] = [
    ("2020-12", "https://json-schema.org/draft/2020-12/schema"),
    ("draft-07", "http://json-schema.org/draft-07/schema#"),
];

/// T-7: a schema from outside means what its draft says.
#[test]
fn every_construct_means_what_its_draft_says() {
    for construct in constructs() {
        let drafts =
            DRAFTS.iter().filter(|(name, _)| construct.draft.as_deref().is_none_or(|draft| draft == *name));
        assert_ne!(drafts.clone().count(), 0, "{}", construct.about);
        for (name, uri) in drafts {
            let mut schema = construct.schema.clone();
            if let Some(members) = schema.as_object_mut() {
                members.insert("$schema".to_owned(), json!(uri));
            }
            let compiled =
                Schema::compile(schema).unwrap_or_else(|error| panic!("{}: {error}", construct.about));
            for instance in &construct.fits {
                assert_eq!(compiled.validate(instance), Ok(()), "{} in {name}: {instance}", construct.about);
            }
            for instance in &construct.breaks {
                let problems = compiled.validate(instance).expect_err(&construct.about);
                assert!(!problems.listed.is_empty(), "{}: {instance}", construct.about);
                assert!(problems.listed.iter().all(|problem| !problem.message.is_empty()));
            }
        }
    }
}

/// T-7: an author's schema is refused at the keyword, or means the same as it would from outside.
#[test]
fn an_authors_schema_is_refused_at_the_keyword_or_means_the_same() {
    let (mut taken, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for construct in constructs() {
        match Schema::compile_author(construct.schema.clone()) {
            Ok(compiled) => {
                assert!(construct.fits.iter().all(|instance| compiled.validate(instance).is_ok()));
                assert!(construct.breaks.iter().all(|instance| compiled.validate(instance).is_err()));
                taken.insert(construct.about);
            }
            Err(SchemaError::Subset(error)) => {
                let place = construct.schema.pointer(&error.pointer);
                assert!(place.is_some(), "{}: there is nothing at `{}`", construct.about, error.pointer);
                refused.insert(construct.about);
            }
            Err(other) => panic!("{}: {other}", construct.about),
        }
    }
    let listed = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    insta::assert_snapshot!(listed(taken), @"additional of a kind, annotations, closed object, const, const null, empty, enum, items, nested objects, oneOf, oneOf of objects, properties, required, type array, type boolean, type integer, type null, type number, type object, type string");
    insta::assert_snapshot!(listed(refused), @"$dynamicRef, $id and $anchor, $ref and $defs, $ref and definitions, $ref to itself, allOf, anyOf, contains, contentEncoding and contentMediaType, dependencies, dependentRequired, dependentSchemas, exclusive bounds, false, format is checked, format is told, not checked, if then else, items false, length of strings, minimum and maximum, multipleOf, not, number of contained, number of items, number of properties, other annotations, pattern, pattern of letters, patternProperties, patternProperties, closed, propertyNames, true, tuple, tuple of draft-07, type list, unevaluatedItems, unevaluatedProperties, uniqueItems, unknown keywords");
}

/// T-7: no keyword is left out.
#[test]
fn the_constructs_are_complete() {
    const KEYWORDS: &str = "$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref additionalItems \
        additionalProperties allOf anyOf const contains contentEncoding contentMediaType default definitions \
        dependencies dependentRequired dependentSchemas deprecated description else enum examples exclusiveMaximum \
        exclusiveMinimum format if items maxContains maxItems maxLength maxProperties maximum minContains minItems \
        minLength minProperties minimum multipleOf not oneOf pattern patternProperties prefixItems properties \
        propertyNames readOnly required then title type unevaluatedItems unevaluatedProperties uniqueItems writeOnly";
    let text: Vec<_> = constructs().into_iter().map(|construct| construct.schema.to_string()).collect();
    let missing: Vec<_> = KEYWORDS
        .split_whitespace()
        .filter(|keyword| !text.iter().any(|text| text.contains(&format!("\"{keyword}\":"))))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
