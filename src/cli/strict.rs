//! JSON in which no name is given twice.
//!
//! Owns the refusal of what JSON's parsers settle in silence: of two members with one name, one would be lost. It
//! never changes a value. It calls nobody.

use std::fmt;

use isolane::json::pointer_step;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a value; a name that is given twice is an error with its place.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Strict { step: Step::Index(0), outer: None }.deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
}

/// Reads the value at this place.
#[derive(Clone, Copy)]
struct Strict<'a> {
    /// What leads here from the value around.
    step: Step<'a>,
    /// The value around; absent for the whole.
    outer: Option<&'a Strict<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Index(usize),
    Name(&'a str),
}

impl Strict<'_> {
    /// Its JSON pointer, which only an error needs.
    fn pointer(&self) -> String {
        let Some(outer) = self.outer else { return String::new() };
        match self.step {
            Step::Index(index) => format!("{}/{index}", outer.pointer()),
            Step::Name(name) => format!("{}/{}", outer.pointer(), pointer_step(name)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) =
            items.next_element_seed(Strict { step: Step::Index(array.len()), outer: Some(&self) })?
        {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let below = Strict { step: Step::Name(&name), outer: Some(&self) };
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("{} is given twice; leave one out", below.pointer())));
            }
            let value = members.next_value_seed(below)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
