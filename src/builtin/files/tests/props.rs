//! Properties of reading, writing and editing.

use proptest::prelude::*;

use super::*;

/// Text with many line endings of every kind.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => Just("\n".to_owned()),
        3 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        3 => "[ab ]{0,3}",
        1 => any::<String>(),
    ];
    let mixed = prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat());
    let uniform = mixed.clone().prop_map(|text| text.replace('\r', "").replace('\n', "\r\n"));
    prop_oneof![mixed, uniform]
}

fn rebuilt(output: &ReadOutput) -> String {
    let separator = output.line_ending.separator();
    let texts: Vec<&str> = output.lines.iter().map(|line| line.text.as_str()).collect();
    let end = if output.final_newline { separator } else { "" };
    texts.join(separator) + end
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// B-2, B-4
    #[test]
    fn what_was_written_is_read(content in text()) {
        let fixture = Fixture::new(&[]);
        fixture.write("f", &content).unwrap();
        let output = fixture.read("f").unwrap();
        prop_assert_eq!(rebuilt(&output), content);
        prop_assert_eq!(output.total_lines, output.lines.len() as u64);
    }

    /// B-1, B-4
    #[test]
    fn an_edit_does_what_replacen_does(content in "[ab\n]{0,12}", old in "[ab\n]{1,2}", new in "[abc\n]{0,3}", all: bool) {
        let fixture = Fixture::new(&[("f", &content)]);
        let args = EditArgs { all, ..edit_args("f", &old, &new) };
        let result = edit(&fixture.root, &args, &FileLimits::default());
        // Occurrences that overlap are several, of which `all` replaces the first.
        let count = content.char_indices().filter(|(at, _)| content[*at..].starts_with(&old)).count();
        let expected = if old == new || count == 0 || (count > 1 && !all) {
            prop_assert!(result.is_err());
            content
        } else {
            prop_assert!(result.is_ok());
            content.replacen(&old, &new, if all { usize::MAX } else { 1 })
        };
        prop_assert_eq!(fixture.content("f"), expected);
    }
}
