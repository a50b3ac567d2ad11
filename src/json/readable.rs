//! Whether text can be read as a value, without making one.
//!
//! Owns that question alone. Its depth is bounded by the parser, as that of a value is. It calls nobody.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The reason why text is no JSON that [`Value`] holds; nothing when it is. Costs no allocation for what is.
pub(crate) fn unreadable(text: &str) -> Option<serde_json::Error> {
    match serde_json::from_str::<Looked>(text) {
        Ok(_) => None,
        // What has a meaning of its own to the parser, it alone can judge.
        Err(_) => serde_json::from_str::<Value>(text).err(),
    }
}

/// A value that was looked at and let go.
struct Looked;

impl<'de> Deserialize<'de> for Looked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Looking)
    }
}

/// The name of a member.
struct Name;

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Naming)
    }
}

struct Naming;

impl Visitor<'_> for Naming {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
        // Under such names the parser hands over text as it stands.
        if name.starts_with("$serde_json::") {
            Err(E::custom("a name of the parser's own"))
        } else {
            Ok(Name)
        }
    }
}

struct Looking;

impl<'de> Visitor<'de> for Looking {
    type Value = Looked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Looked, E> {
        Ok(Looked)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Looked, E> {
        Ok(Looked)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Looked, E> {
        Ok(Looked)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Looked, E> {
        Ok(Looked)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Looked, E> {
        Ok(Looked)
    }

    fn visit_str<E>(self, _: &str) -> Result<Looked, E> {
        Ok(Looked)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Looked, A::Error> {
        while items.next_element::<Looked>()?.is_some() {}
        Ok(Looked)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Looked, A::Error> {
        while members.next_entry::<Name, Looked>()?.is_some() {}
        Ok(Looked)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agrees(text: &str) -> bool {
        unreadable(text).map(|error| error.to_string())
            == serde_json::from_str::<Value>(text).err().map(|error| error.to_string())
    }

    /// CM-14
    #[test]
    fn what_can_be_read_is_what_a_value_can_be_made_of() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let texts = [
            "",
            "1",
            "-0",
            "1e999",
            "18446744073709551616",
            "1.5e-7",
            "\"\\ud800\"",
            "\"\\ud83d\\ude00\"",
            "{\"a\":1,}",
            "{\"a\":1,\"a\":2}",
            "[1 2]",
            "nul",
            "true x",
            "{1:2}",
            "{\"$serde_json::private::RawValue\":5}",
            "{\"$serde_json::private::RawValue\":\"[1]\"}",
            "{\"a\":{\"$serde_json::private::RawValue\":\"[1\"}}",
            "{\"$serde_json::private::Number\":\"1\"}",
        ];
        for text in texts.iter().map(ToString::to_string).chain([deep(127), deep(128), deep(5_000)]) {
            assert!(agrees(&text), "{text}");
        }
    }

    proptest! {
        /// CM-14
        #[test]
        fn any_text_is_judged_as_the_parser_judges_it(text in "[\\[\\]{}\",:0-9eEu\\\\ntrfals. -]{0,40}") {
            prop_assert!(agrees(&text), "{}", text);
        }
    }
}
