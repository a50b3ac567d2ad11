//! Where in its arguments a type refuses a value.
//!
//! Owns the second reading of arguments that fit their schema and not their type, which finds the place, and the
//! words for it. It must never be the first reading: it is slower, and what it reads is thrown away. Its recursion
//! is over the author's types and over arguments whose depth the pipeline has bounded.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value, map};

use crate::json::pointer_step;
use crate::tool::ToolError;

/// Reads the arguments in their type; the error names the place of what the type refuses (P-16).
pub(super) fn read_arguments<Args: DeserializeOwned>(args: &Value) -> Result<Args, ToolError> {
    Args::deserialize(args).map_err(|first| {
        let path = RefCell::new(Vec::new());
        let reader = Reader { value: args, path: &path, depth: 0 };
        // A type whose second answer differs has no place to name.
        let error = Args::deserialize(reader).err().unwrap_or(first);
        let pointer = path.into_inner().concat();
        let message = refusal(args.pointer(&pointer), &error.to_string());
        ToolError::invalid_arguments(pointer, message)
    })
}

/// What a type says of a value that it refuses, in the words of JSON where it speaks of Rust's integers.
fn refusal(value: Option<&Value>, said: &str) -> String {
    let range = said.rsplit_once("expected ").and_then(|(_, name)| range_of(name));
    match (value, range) {
        (Some(Value::Number(number)), Some((least, most))) => {
            format!("expected an integer from {least} to {most}, got {number}")
        }
        _ => said.to_owned(),
    }
}

/// The least and the largest value of an integer type, as far as JSON can hold them here.
fn range_of(name: &str) -> Option<(i64, u64)> {
    Some(match name {
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "u64" | "usize" | "u128" => (0, u64::MAX),
        "i8" => (i8::MIN.into(), i8::MAX.unsigned_abs().into()),
        "i16" => (i16::MIN.into(), i16::MAX.unsigned_abs().into()),
        "i32" => (i32::MIN.into(), i32::MAX.unsigned_abs().into()),
        "i64" | "isize" => (i64::MIN, i64::MAX.unsigned_abs()),
        "i128" => (i64::MIN, u64::MAX),
        _ => return None,
    })
}

/// A value and the way to it. The steps to what is refused are left on the path.
struct Reader<'de> {
    value: &'de Value,
    path: &'de RefCell<Vec<String>>,
    /// Steps to the value.
    depth: usize,
}

impl<'de> Reader<'de> {
    /// Reads what is one step below.
    fn below<T: DeserializeSeed<'de>>(
        &self,
        step: &str,
        value: &'de Value,
        seed: T,
    ) -> Result<T::Value, Error> {
        {
            let mut path = self.path.borrow_mut();
            // A type may have tried something else before.
            path.truncate(self.depth);
            path.push(format!("/{}", pointer_step(step)));
        }
        let read = seed.deserialize(Self { value, path: self.path, depth: self.depth + 1 })?;
        self.path.borrow_mut().truncate(self.depth);
        Ok(read)
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => visitor.visit_seq(Items { rest: items.iter().enumerate(), of: self }),
            Value::Object(members) => {
                visitor.visit_map(Members { rest: members.iter(), member: None, of: self })
            }
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// The place of what is wrong in a variant is the place of the whole variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    of: Reader<'de>,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((index, item)) = self.rest.next() else { return Ok(None) };
        self.of.below(&index.to_string(), item, seed).map(Some)
    }
}

struct Members<'de> {
    rest: map::Iter<'de>,
    /// The member whose name has been given.
    member: Option<(&'de str, &'de Value)>,
    of: Reader<'de>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.member = Some((name, value));
        let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let (name, value) = self.member.take().unwrap_or(("", &Value::Null));
        self.of.below(name, value, seed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU8;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read only by the derived code")]
    struct Outer {
        small: Option<u8>,
        inner: Vec<Inner>,
        #[serde(default)]
        by_name: BTreeMap<String, i32>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read only by the derived code")]
    struct Inner {
        id: u64,
        letter: Option<char>,
        count: Option<NonZeroU8>,
        choice: Option<Choice>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "read only by the derived code")]
    enum Choice {
        Number(u8),
        Text(String),
    }

    fn refused(args: &Value) -> String {
        let error = read_arguments::<Outer>(args).unwrap_err();
        assert!(error.invalid_arguments);
        error.message
    }

    /// P-16
    #[test]
    fn what_a_type_refuses_is_named_with_its_place() {
        let said: Vec<_> = [
            json!({"small": 256, "inner": []}),
            json!({"inner": [{"id": 1}, {"id": 1e21}]}),
            json!({"inner": [{"id": -1}]}),
            json!({"inner": [], "by_name": {"a/b~": 2_147_483_648_u32}}),
            json!({"inner": [{"id": 1, "letter": "two"}]}),
            json!({"inner": [{"id": 1, "count": 0}]}),
            json!({"inner": [{"id": 1, "choice": 300}]}),
            json!({"inner": [{}]}),
        ]
        .iter()
        .map(refused)
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        expected an integer from 0 to 255, got 256 at /small
        expected an integer from 0 to 18446744073709551615, got 1e+21 at /inner/1/id
        expected an integer from 0 to 18446744073709551615, got -1 at /inner/0/id
        expected an integer from -2147483648 to 2147483647, got 2147483648 at /by_name/a~1b~0
        invalid value: string "two", expected a character at /inner/0/letter
        invalid value: integer `0`, expected a nonzero u8 at /inner/0/count
        data did not match any variant of untagged enum Choice at /inner/0/choice
        missing field `id` at /inner/0
        "#);
    }

    /// P-16
    #[test]
    fn what_fits_is_read() {
        let args =
            json!({"small": 255, "inner": [{"id": u64::MAX, "letter": "x", "choice": "y"}], "more": 1});
        assert_eq!(read_arguments::<Outer>(&args).unwrap().small, Some(255));
    }
}
