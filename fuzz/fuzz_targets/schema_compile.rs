//! Fuzzes the compilation of a schema from an unknown server (T-7, T-8).
//!
//! Owns three properties: compiling any JSON value ends, without a panic and without overflowing the stack; what the
//! author-side subset accepts compiles or is malformed, never outside the subset; and a compiled schema can be asked
//! about any value. It never looks at what the answer is: `validation_messages` does.
#![no_main]

use isolane::schema::{Schema, SchemaError, check_subset};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    // Depth is under test as well; the parser itself needs little stack for what fits an input.
    parser.disable_recursion_limit();
    let Ok(source) = <Value as serde::Deserialize>::deserialize(&mut parser) else { return };

    let subset = check_subset(&source);
    if let Err(SchemaError::Subset(error)) = Schema::compile_author(source.clone()) {
        assert_eq!(subset, Err(error));
    }
    let Ok(schema) = Schema::compile(source.clone()) else { return };
    assert_eq!(**schema.source(), source);
    for value in [json!(null), json!(1.5), json!("text"), json!([[], {}]), json!({"a": {"a": [1]}}), source] {
        let _ = schema.validate(&value);
    }
});
