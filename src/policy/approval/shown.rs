//! A question as a person reads it on a terminal.
//!
//! Owns the text. Whatever comes from a model or a tool is shown, never sent: nothing of it can steer the terminal,
//! reorder the line or pass for the text around it. What is left out is said to be left out. It calls `ids`.

use crate::ids::spelling::push_visible;
use crate::pipeline::ApprovalQuestion;

/// Arguments with more characters than this are shown by their beginning and their end.
const SHOWN_CHARS: usize = 4_000;

/// How much of long arguments is kept for their end.
const SHOWN_END: usize = 1_000;

/// The question, ready to be written; the cursor stays behind the prompt.
pub(super) fn question_text(question: &ApprovalQuestion<'_>) -> String {
    let mut text = format!("\nA call of `{}` needs approval", inert(question.tool.as_str()));
    if let Some(reason) = question.reason {
        text.push_str(": ");
        text.push_str(&inert(reason));
    }
    text.push('\n');
    let arguments = shortened(&inert_lines(&format!("{:#}", question.args)));
    for line in arguments.lines() {
        text.push_str("  | ");
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("Allow this one call? y: yes; Enter: no; anything else: no, and the model is told why: ");
    text
}

/// The text on one line, with all that nobody would see as an escape such as `\u001b`.
pub(super) fn inert(text: &str) -> String {
    inert_lines(text).replace('\n', "\\n")
}

/// The same, keeping ends of lines.
fn inert_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' { shown.push('\n') } else { push_visible(&mut shown, character) }
    }
    shown
}

fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= SHOWN_CHARS {
        return text.to_owned();
    }
    let left_out = length - SHOWN_CHARS;
    let head: String = text.chars().take(SHOWN_CHARS - SHOWN_END).collect();
    let tail: String = text.chars().skip(length - SHOWN_END).collect();
    format!("{head}\n[{left_out} characters are not shown here]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    fn shown(tool: &str, args: &Value, reason: Option<&str>) -> String {
        let (call, tool, scope, session) = ("c".into(), tool.into(), "agent".into(), "s".into());
        let cancel = CancellationToken::new();
        question_text(&ApprovalQuestion {
            call: &call,
            tool: &tool,
            args,
            scope: &scope,
            session: &session,
            reason,
            event: None,
            cancel: &cancel,
        })
    }

    /// PO-8, PO-10
    #[test]
    fn a_question_shows_tool_reason_and_arguments() {
        insta::assert_snapshot!(shown("write", &json!({"path": "a.txt", "text": "say \"hi\""}), Some("it writes")), @r#"

        A call of `write` needs approval: it writes
          | {
          |   "path": "a.txt",
          |   "text": "say \"hi\""
          | }
        Allow this one call? y: yes; Enter: no; anything else: no, and the model is told why: 
        "#);
    }

    /// PO-8: what a model writes cannot move the cursor, colour, reorder or hide anything.
    #[test]
    fn nothing_foreign_steers_the_terminal() {
        let args = json!({"a\u{1b}[2J": "x\u{9b}1A\ny\u{202e}z\u{200b}\u{7f}\u{2028}", "日本": "é 🙂"});
        insta::assert_snapshot!(shown("rm\u{202e}", &args, Some("one\ntwo\u{7}\r")), @r#"

        A call of `rm\u202e` needs approval: one\ntwo\u0007\u000d
          | {
          |   "a\u001b[2J": "x\u009b1A\ny\u202ez\u200b\u007f\u2028",
          |   "日本": "é 🙂"
          | }
        Allow this one call? y: yes; Enter: no; anything else: no, and the model is told why: 
        "#);
    }

    /// PO-8
    #[test]
    fn what_is_left_out_is_said() {
        let text = shown("write", &json!("x".repeat(10_000)), None);
        assert!(text.contains("[6002 characters are not shown here]"), "{text}");
        assert!(text.chars().count() < 4_400);
        assert!(text.contains("x\"\n"), "the end is shown");
    }

    proptest! {
        /// PO-8
        #[test]
        fn no_control_character_gets_through(tool in any::<String>(), text in any::<String>(), reason in any::<String>()) {
            let shown = shown(&tool, &json!({text.clone(): [text]}), Some(&reason));
            prop_assert!(!shown.chars().any(|shown| shown.is_control() && shown != '\n'));
            // Every line of the arguments is marked as such, so none can pass for the prompt.
            let lines: Vec<_> = shown.lines().skip(2).collect();
            prop_assert!(lines.iter().rev().skip(1).all(|line| line.starts_with("  | ")), "{shown}");
        }
    }
}
