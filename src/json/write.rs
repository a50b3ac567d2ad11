//! Values as compact JSON text, the same as `serde_json` writes and faster for long texts.
//!
//! Owns the walk and the escapes. It never recurses, so that no depth can overflow the stack (T-8), and looks at long
//! texts a piece at a time. It calls nobody.

use serde_json::Value;
use smallvec::SmallVec;

/// Bytes that are looked at together.
const PIECE: usize = 32;

/// A container that is being written, and whether it has a member already.
enum Open<'a> {
    Items(std::slice::Iter<'a, Value>, bool),
    Members(serde_json::map::Iter<'a>, bool),
}

/// The value as compact JSON.
pub(crate) fn text_of(value: &Value) -> String {
    let mut out = Vec::new();
    write_value(&mut out, value);
    // What is written is made of texts and ASCII.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the value as compact JSON.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &Value) {
    let mut open: SmallVec<[Open<'_>; 16]> = SmallVec::new();
    let mut current = Some(value);
    loop {
        match current.take() {
            None => {}
            Some(Value::Null) => out.extend_from_slice(b"null"),
            Some(Value::Bool(true)) => out.extend_from_slice(b"true"),
            Some(Value::Bool(false)) => out.extend_from_slice(b"false"),
            Some(Value::Number(number)) => write_number(out, number),
            Some(Value::String(text)) => write_string(out, text),
            Some(Value::Array(items)) => {
                out.push(b'[');
                open.push(Open::Items(items.iter(), false));
            }
            Some(Value::Object(members)) => {
                out.push(b'{');
                open.push(Open::Members(members.iter(), false));
            }
        }
        let (next, end) = match open.last_mut() {
            None => return,
            Some(Open::Items(items, begun)) => {
                let next = items.next();
                if next.is_some() && std::mem::replace(begun, true) {
                    out.push(b',');
                }
                (next, b']')
            }
            Some(Open::Members(members, begun)) => {
                let next = members.next();
                if let Some((name, _)) = next {
                    if std::mem::replace(begun, true) {
                        out.push(b',');
                    }
                    write_string(out, name);
                    out.push(b':');
                }
                (next.map(|(_, member)| member), b'}')
            }
        };
        current = next;
        if current.is_none() {
            out.push(end);
            open.pop();
        }
    }
}

fn write_number(out: &mut Vec<u8>, number: &serde_json::Number) {
    // Writing to memory cannot fail, nor can a number.
    let _ = serde_json::to_writer(out, number);
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let bytes = text.as_bytes();
    // What has been looked at and not been written yet begins here.
    let mut from = 0;
    let mut at = 0;
    while let Some(piece) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let piece = piece.get(..PIECE).unwrap_or(piece);
        // Without branches, so that the machine looks at all of them at once.
        if piece.iter().fold(0_u8, |found, byte| found | needs_escape(*byte)) == 0 {
            at += piece.len();
            continue;
        }
        for byte in piece {
            if needs_escape(*byte) != 0 {
                out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
                write_escape(out, *byte);
                from = at + 1;
            }
            at += 1;
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out.push(b'"');
}

fn needs_escape(byte: u8) -> u8 {
    u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend([byte >> 4, byte & 0xf].iter().filter_map(|digit| HEX.get(usize::from(*digit))));
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::json::size::any_json;
    use crate::json::{dismantle, nested};

    /// CM-15
    #[test]
    fn every_character_is_written_as_the_library_writes_it() {
        for code in 0..=0x2fff_u32 {
            let letter = char::from_u32(code).unwrap();
            for text in [letter.to_string(), format!("{}{letter}{letter}b", "a".repeat(PIECE - 1))] {
                assert_eq!(text_of(&json!(text)), json!(text).to_string());
            }
        }
        for empty in [json!([]), json!({}), json!([[], {}, [{}]]), json!({"": {"": []}})] {
            assert_eq!(text_of(&empty), empty.to_string());
        }
    }

    /// T-8
    #[test]
    fn no_depth_overflows_the_stack() {
        let deep = nested(100_000);
        assert!(text_of(&deep).len() >= 200_000);
        dismantle(deep);
    }

    proptest! {
        /// CM-15
        #[test]
        fn any_value_is_written_as_the_library_writes_it(value in any_json()) {
            prop_assert_eq!(text_of(&value), value.to_string());
        }
    }
}
