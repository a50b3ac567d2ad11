//! One spelling for whole numbers.
//!
//! Owns the rule that `1.0` and `1` are the same number, which JSON Schema and JavaScript share and `serde` does
//! not. It never rounds: what does not fit an integer of 64 bits stays as it is. It calls nobody.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// Spells every whole number that fits 64 bits, signed or unsigned, as an integer, at every depth.
pub fn spell_whole_numbers(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) => {
                if let Some(whole) = number.is_f64().then(|| number.as_f64().and_then(whole)).flatten() {
                    *number = whole;
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
}

/// The value with its whole numbers spelled as integers; borrowed when they are already.
///
/// A copy recurses, so the value must not be too deep for that.
pub fn whole_numbers_spelled(value: &Value) -> Cow<'_, Value> {
    let mut open = vec![value];
    while let Some(inner) = open.pop() {
        match inner {
            Value::Number(number) if number.is_f64() && number.as_f64().and_then(whole).is_some() => {
                let mut spelled = value.clone();
                spell_whole_numbers(&mut spelled);
                return Cow::Owned(spelled);
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Cow::Borrowed(value)
}

/// The integer that a float stands for, if it is one.
fn whole(float: f64) -> Option<Number> {
    // 2^64 and 2^63, which as floats are exact; the largest integers below them are not.
    const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;
    const SIGNED_START: f64 = -9_223_372_036_854_775_808.0;
    if float.fract() != 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and within the range")]
    if (0.0..UNSIGNED_END).contains(&float) {
        Some(Number::from(float as u64))
    } else if (SIGNED_START..0.0).contains(&float) {
        Some(Number::from(float as i64))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spelled(mut value: Value) -> String {
        let given = value.to_string();
        let copied = whole_numbers_spelled(&value);
        let (borrowed, copied) = (matches!(copied, Cow::Borrowed(_)), copied.to_string());
        spell_whole_numbers(&mut value);
        let spelled = value.to_string();
        assert_eq!((borrowed, &copied), (given == spelled, &spelled));
        spelled
    }

    /// P-16
    #[test]
    fn whole_numbers_are_integers_whatever_their_spelling() {
        let value = json!({"a": [1.0, -2.0, {"b": 1e15}], "c": 0.0, "d": -0.0});
        assert_eq!(spelled(value), r#"{"a":[1,-2,{"b":1000000000000000}],"c":0,"d":0}"#);
    }

    /// P-16
    #[test]
    fn what_is_no_integer_of_64_bits_stays() {
        for text in ["1.5", "1e+21", "-1e+21", "18446744073709551616.0", "5e-324", "18446744073709551615"] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(spelled(value.clone()), value.to_string(), "{text}");
        }
        assert_eq!(spelled(json!(-9_223_372_036_854_775_808.0)), "-9223372036854775808");
        assert_eq!(spelled(json!(18_446_744_073_709_549_568.0)), "18446744073709549568");
        assert_eq!(spelled(json!(-9_223_372_036_854_777_856.0)), "-9.223372036854778e+18");
    }

    proptest::proptest! {
        /// P-16
        #[test]
        fn no_number_changes_its_value(float in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            let mut value = json!(float);
            spell_whole_numbers(&mut value);
            proptest::prop_assert_eq!(value.as_f64(), Some(float));
        }
    }
}
