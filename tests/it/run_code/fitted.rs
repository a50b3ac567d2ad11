//! Output that is too large to be shown whole (CM-28).
//!
//! Owns what a model reads then, and how the next program reads on. How a value is fitted is told beside that code.

use isolane::ledger::EventBody;
use isolane::limits::RunLimits;
use serde_json::{Value, json};

use super::{failed, read, run_code, session, session_with};

const ROWS: &str = "return Array.from({length: 400}, (_, id) => ({id, name: 'n'.repeat(80)}))";

fn small() -> RunLimits {
    let mut limits = RunLimits::default();
    limits.shown_bytes = 8_000;
    limits
}

/// CM-28: what is left is valid JSON and says what was left out, and the next program pages through the whole.
#[tokio::test]
async fn what_does_not_fit_is_counted_and_stays_within_reach() {
    let (session, store) = session_with(small(), Vec::new());
    let text = read(&run_code(&session, ROWS).await);
    let (json, note) = text.split_once("\nnote: ").unwrap();
    assert!(json.len() <= 8_000, "{}", json.len());
    let items = serde_json::from_str::<Vec<Value>>(json).unwrap();
    assert_eq!(items[3]["id"], 3);
    assert_eq!(items.last().unwrap(), &json!(format!("… {} of 400 items left out", 401 - items.len())));
    assert_eq!(
        note,
        "this is a part of about 40312 bytes of output; 8000 are shown. A program has all of it, {logs, result}, in \
         state.get(\"output:1\"): read on in pieces"
    );
    let next = "const rows = state.get('output:1').result; return [rows.length, rows[399].id, state.keys()]";
    assert_eq!(read(&run_code(&session, next).await), "[\n  400,\n  399,\n  []\n]");
    for write in ["state.set('output:1', 1)", "state.delete('output:1')", "state.set('output:mine', 1)"] {
        let message = failed(run_code(&session, write).await).message;
        assert!(message.contains("they can be read, and not written or deleted"), "{message}");
    }
    let kept = store.events().into_iter().filter_map(|event| match event.body {
        EventBody::StatePut(put) => Some((put.key, put.value.unwrap()["result"].as_array().unwrap().len())),
        _ => None,
    });
    assert_eq!(kept.collect::<Vec<_>>(), [("output:1".to_owned(), 400)]);
}

/// CM-28: lines are left out in the middle, and neither lines nor result push the other out.
#[tokio::test]
async fn lines_and_result_share_the_room() {
    let (session, _) = session_with(small(), Vec::new());
    let code = format!("for (let i = 0; i < 1000; i++) console.log('line', i); {ROWS}");
    let text = read(&run_code(&session, &code).await);
    let (shown, _) = text.split_once("\nnote: ").unwrap();
    assert!(shown.len() <= 8_000, "{}", shown.len());
    assert!(shown.starts_with("line 0\nline 1\n"), "{shown}");
    assert!(shown.contains("\nline 999\n[{\"id\":0,"), "{shown}");
    assert!(
        shown.contains(" of 1000 lines left out\n") && shown.contains(" of 400 items left out\"]"),
        "{shown}"
    );
}

/// CM-6, CM-28: a call shows less than the host would, and never more.
#[tokio::test]
async fn a_call_may_show_less() {
    let (high, low) = (session(), session_with(small(), Vec::new()).0);
    for (session, most, room) in [
        (&high, json!(400), 400),
        (&high, json!(4e2), 400),
        (&low, json!(9_000_000), 8_000),
        (&low, json!(u64::MAX), 8_000),
        (&high, json!(10), 10),
    ] {
        for code in ["console.log('x'.repeat(50_000))", "return 'x'.repeat(50_000)", ROWS] {
            let args = json!({"code": code, "description": "Too much", "max_output_bytes": most});
            let text = read(&session.call("run_code", args).await);
            let (shown, note) = text.split_once("\nnote: ").unwrap();
            assert!(shown.len() <= room && shown.len() > room / 2, "{code} {most}: {shown}");
            assert!(note.contains(&format!("; {room} are shown.")), "{note}");
        }
    }
}
