//! Fuzzes what is said of a value that does not fit its schema (P-16).
//!
//! The input is a schema, a newline and a value. Owns these properties: a refusal lists one to five problems, each
//! with words and with a pointer that leads somewhere in the value; saying it twice gives the same text; a value
//! that was read back from its own text is judged the same; and it ends, whatever the schema asks for.
#![no_main]

use isolane::schema::{Problems, Schema};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let Some(split) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    let (source, value) = bytes.split_at(split);
    let (Ok(source), Ok(value)) = (serde_json::from_slice(source), serde_json::from_slice::<Value>(value))
    else {
        return;
    };
    let Ok(schema) = Schema::compile(source) else { return };
    let judged = schema.validate(&value);
    assert_eq!(judged, schema.validate(&value));
    let again: Value = serde_json::from_str(&value.to_string()).expect("JSON text reads back");
    assert_eq!(judged, schema.validate(&again));

    let Err(problems) = judged else { return };
    assert!((1..=Problems::MAX).contains(&problems.listed.len()), "{problems:?}");
    for problem in &problems.listed {
        assert!(!problem.message.trim().is_empty(), "{problems:?}");
        assert!(value.pointer(&problem.pointer).is_some(), "{problem:?} points nowhere in {value}");
    }
    assert!(!problems.to_string().is_empty());
});
