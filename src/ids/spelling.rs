//! How a program writes a name: `tools.read`, `tools["my-tool"]`, `{file_path: ...}`.
//!
//! Owns the one answer to which names may stand bare, and the string literal for those that may not. What it writes
//! means exactly the name it was given, and shows a reader nothing else than what is there. It knows no schema and
//! no type. It calls nobody.

/// How a program names a tool (CM-10, R-12): `tools.read` or `tools["my-tool"]`.
pub fn tool_reference(name: &str) -> String {
    if is_plain_identifier(name) {
        format!("tools.{name}")
    } else {
        format!("tools[{}]", string_literal(name))
    }
}

/// Whether a name may be written without quotes after a dot and as the key of an object.
///
/// Reserved words may (`tools.delete`). Letters beyond ASCII may not, though JavaScript allows most of them: too many
/// look alike.
pub(crate) fn is_plain_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '$'))
        && characters.all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '$'))
}

/// A string literal, of JSON and of JavaScript alike, that decodes to exactly the text.
///
/// Whatever is invisible, or would reorder, steer or end the text around it, is escaped; so is a Markdown fence.
pub(crate) fn string_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => push_visible(&mut out, other),
        }
    }
    out.push('"');
    if out.contains("```") { without_fences(&out, "\\u0060") } else { out }
}

/// Writes a character as it is, or as an escape where nobody would see it.
pub(crate) fn push_visible(out: &mut String, character: char) {
    if is_unseen(character) {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            out.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                out.extend(char::from_digit(u32::from(*unit >> shift & 15), 16));
            }
        }
    } else {
        out.push(character);
    }
}

/// Whether a character is invisible, reorders what stands around it, or steers a terminal.
pub(crate) fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character steers a terminal or reorders the text around it. What scripts and emoji are joined with is
/// none of these.
pub fn is_steering(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces each backtick of a run of three or more.
pub(crate) fn without_fences(text: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("```") {
        let (before, run) = rest.split_at(start);
        out.push_str(before);
        let length = run.bytes().take_while(|byte| *byte == b'`').count();
        out.push_str(&instead.repeat(length));
        rest = run.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CM-10, R-12
    #[test]
    fn tools_are_named_as_a_program_reaches_them() {
        for (name, expected) in [
            ("read", "tools.read"),
            ("_$9", "tools._$9"),
            ("delete", "tools.delete"),
            ("__proto__", "tools.__proto__"),
            ("my-tool", r#"tools["my-tool"]"#),
            ("2fa", r#"tools["2fa"]"#),
            ("a.b", r#"tools["a.b"]"#),
            ("größe", r#"tools["größe"]"#),
            ("", r#"tools[""]"#),
            ("say \"\\\"", r#"tools["say \"\\\""]"#),
        ] {
            assert_eq!(tool_reference(name), expected);
        }
    }

    /// A reader sees what is there; nothing ends a line, reorders it or opens a fence.
    #[test]
    fn literals_show_all_that_is_in_them() {
        for (text, expected) in [
            ("a\tb\r\n", r#""a\tb\r\n""#),
            ("\0\u{1b}\u{7f}", r#""\u0000\u001b\u007f""#),
            ("\u{85}\u{2028}\u{2029}", r#""\u0085\u2028\u2029""#),
            ("\u{202e}\u{200b}\u{feff}", r#""\u202e\u200b\ufeff""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
            ("``a````", r#""``a\u0060\u0060\u0060\u0060""#),
            ("é 🙂 `x`", r#""é 🙂 `x`""#),
        ] {
            assert_eq!(string_literal(text), expected);
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let odd =
            prop::sample::select(&["\"", "\\", "```", "\u{2028}", "\u{202e}", "\n", "\u{1}", "u0041"][..]);
        let piece = prop_oneof![odd.prop_map(str::to_owned), any::<char>().prop_map(String::from)];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// R-12: no two names are spelled alike, since each is read back as it was.
        #[test]
        fn a_name_is_read_back_from_its_spelling(name in text()) {
            let literal = string_literal(&name);
            prop_assert_eq!(&serde_json::from_str::<String>(&literal).unwrap(), &name);
            prop_assert!(!literal.contains(is_unseen) && !literal.contains("```"));
            let read = match tool_reference(&name) {
                bracketed if bracketed.starts_with("tools[") => {
                    serde_json::from_str(&bracketed["tools[".len()..bracketed.len() - 1]).unwrap()
                }
                dotted => dotted["tools.".len()..].to_owned(),
            };
            prop_assert_eq!(read, name);
        }
    }
}
