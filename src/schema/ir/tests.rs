//! Behaviour of the compiler to the intermediate form that no renderer shows.

use serde_json::json;

use super::{IrBudget, Reason, Type, Widening, compile, compile_object};

fn widenings(schema: &serde_json::Value) -> Vec<Widening> {
    compile(schema, &IrBudget::default()).widenings
}

/// SDK-5
#[test]
fn a_dangling_reference_is_reported_with_its_place() {
    let schema = json!({"properties": {"a/b": {"items": {"$ref": "#/$defs/none"}}}});
    let expected =
        Widening { pointer: "#/properties/a~1b/items".to_owned(), reason: Reason::DanglingReference };
    assert_eq!(widenings(&schema), [expected]);
}

/// SDK-8
#[test]
fn a_cut_at_the_depth_limit_is_reported() {
    let budget = IrBudget { max_depth: 1, ..IrBudget::default() };
    let schema = json!({"type": "array", "items": {"type": "array"}});
    let expected = Widening { pointer: "#/items".to_owned(), reason: Reason::TooDeep };
    assert_eq!(compile(&schema, &budget).widenings, [expected]);
}

/// SDK-5
#[test]
fn unions_that_consist_of_each_other_are_any_value() {
    let schema = json!({
        "type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]},
            "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "number"}]}
        }
    });
    assert_eq!(widenings(&schema).iter().filter(|widening| widening.reason == Reason::Circular).count(), 1);
}

/// SDK-5
#[test]
fn arguments_are_objects_whatever_else_the_schema_allows() {
    let schema = json!({"properties": {"a": {"type": "string"}}});
    let budget = IrBudget::default();
    let open = compile(&schema, &budget);
    let arguments = compile_object(&schema, &budget);
    assert!(matches!(open.get(open.root), Type::Union(_)));
    assert!(matches!(arguments.get(arguments.root), Type::Object(_)));
}

/// SDK-8
#[test]
fn equal_parts_are_one_type() {
    let schema = json!({"type": "array", "prefixItems": [
        {"type": "array", "items": {"type": "string"}}, {"items": {"type": "string"}, "type": "array"}
    ]});
    let ir = compile(&schema, &IrBudget::default());
    let Type::Tuple { items, .. } = ir.get(ir.root) else { panic!("{ir:?}") };
    assert_eq!(items.first(), items.get(1));
}

/// SDK-5
#[test]
fn references_in_older_drafts_stand_alone() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a", "maxItems": 0,
        "definitions": {"a": {"type": "array"}}
    });
    let ir = compile(&schema, &IrBudget::default());
    assert!(matches!(ir.get(ir.root), Type::Array(_)), "{ir:?}");
}

/// T-7, SDK-5: what says no draft is of the one that the validator takes it for.
#[test]
fn references_stand_alone_where_a_list_of_items_tells_an_older_draft() {
    let schema = json!({
        "$ref": "#/definitions/a", "maxItems": 0,
        "definitions": {"a": {"type": "array", "items": [{"type": "string"}]}}
    });
    let ir = compile(&schema, &IrBudget::default());
    let Type::Named(name) = ir.get(ir.root) else { panic!("{ir:?}") };
    let body = ir.definition(*name).unwrap().body;
    assert!(matches!(ir.get(body), Type::Tuple { rest: Some(_), .. }), "{ir:?}");
}

/// SDK-5: a word that is no keyword of its draft constrains nothing.
#[test]
fn keywords_of_other_drafts_are_words() {
    let drafts = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    let integer = json!({"type": "integer"});
    for (keyword, value, known) in [
        ("const", json!(1), [false, true, true, true, true]),
        ("prefixItems", json!([integer]), [false, false, false, false, true]),
        ("unevaluatedProperties", json!(false), [false, false, false, true, true]),
        ("propertyNames", json!({"enum": ["a"]}), [false, true, true, true, true]),
        ("$recursiveRef", json!("#/$defs/a"), [false, false, false, true, false]),
        ("$dynamicRef", json!("#/$defs/a"), [false, false, false, false, true]),
    ] {
        let found = drafts.map(|draft| {
            let ir = compile(
                &json!({"$schema": draft, keyword: value, "$defs": {"a": integer}}),
                &IrBudget::default(),
            );
            *ir.get(ir.root) != Type::Json
        });
        assert_eq!(found, known, "{keyword}");
    }
}
