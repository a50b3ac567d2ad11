//! `isolane run --json`: one object and nothing else.

use serde_json::{Value, json};

use super::Folder;

fn run(code: &str) -> (Option<i32>, Value) {
    let ended = Folder::new().isolane(&["run", "--json", "-e", code]);
    assert_eq!(ended.stderr, "");
    let mut report = ended.json();
    // Times differ from run to run.
    for time in ["wall_ms", "busy_ms"] {
        assert!(report["stats"][time].is_u64());
        report["stats"][time] = json!(0);
    }
    (ended.code, report)
}

/// I-3
#[test]
fn a_success_has_five_members() {
    let (code, report) = run("console.log('hi'); return {n: (await tools.list()).entries.length}");
    assert_eq!(code, Some(0));
    insta::assert_json_snapshot!(report, @r#"
    {
      "ok": true,
      "logs": [
        "hi"
      ],
      "result": {
        "n": 0
      },
      "error": null,
      "stats": {
        "wall_ms": 0,
        "busy_ms": 0,
        "sub_calls": 1,
        "failed_sub_calls": 0,
        "peak_parallel": 1,
        "peak_in_flight": 1,
        "notes": []
      }
    }
    "#);
}

/// I-3
#[test]
fn a_program_without_a_value_has_no_result() {
    let (code, report) = run("let x = 1");
    assert_eq!((code, &report["ok"], &report["result"]), (Some(0), &json!(true), &Value::Null));
    assert_eq!(report["stats"]["notes"], json!(["the program printed nothing and returned nothing"]));
}

/// I-3, CM-23, CM-31
#[test]
fn a_failure_has_its_place_logs_and_calls() {
    let (code, report) = run("console.log('before'); await tools.read({file_path: 'nope'})");
    assert_eq!(code, Some(1));
    insta::assert_json_snapshot!(report, @r#"
    {
      "ok": false,
      "logs": [
        "before"
      ],
      "result": null,
      "error": {
        "kind": "exception",
        "message": "ToolCallError (read, TOOL_FAILED): no such file or directory: `nope`; use `list` or `glob` to find it",
        "line": 1,
        "column": 36,
        "frame": "   1 | console.log('before'); await tools.read({file_path: 'nope'})\n     |                                    ^",
        "stack": "    at program:1:36",
        "sub_calls": [
          {
            "id": "call-1:code:1",
            "tool": "read",
            "state": "failed",
            "code": "TOOL_FAILED",
            "message": "no such file or directory: `nope`; use `list` or `glob` to find it",
            "delivered": true
          }
        ]
      },
      "stats": {
        "wall_ms": 0,
        "busy_ms": 0,
        "sub_calls": 1,
        "failed_sub_calls": 1,
        "peak_parallel": 1,
        "peak_in_flight": 1,
        "notes": []
      }
    }
    "#);
}

/// I-3, CM-23
#[test]
fn a_failure_without_a_place_has_the_same_members() {
    let (code, report) = run("");
    assert_eq!(code, Some(1));
    insta::assert_json_snapshot!(report, @r#"
    {
      "ok": false,
      "logs": [],
      "result": null,
      "error": {
        "kind": "syntax",
        "message": "there is no program in the text; pass TypeScript, for example `return await tools.glob({...})`",
        "line": null,
        "column": null,
        "frame": null,
        "sub_calls": []
      },
      "stats": {
        "wall_ms": 0,
        "busy_ms": 0,
        "sub_calls": 0,
        "failed_sub_calls": 0,
        "peak_parallel": 0,
        "peak_in_flight": 0,
        "notes": []
      }
    }
    "#);
}

/// I-3, CM-29
#[test]
fn nothing_but_json_is_printed_whatever_the_program_prints() {
    let code = r"console.log('\x1b[2J\x9b1m\x7f\r\n{}'); print('}'); console.error('\u2028'); return '\x1b'";
    let ended = Folder::new().isolane(&["run", "--json", "-e", code]);
    let report = ended.json();
    assert_eq!(report["logs"], json!(["\u{1b}[2J\u{9b}1m\u{7f}\r\n{}", "}", "\u{2028}"]));
    assert_eq!(report["result"], "\u{1b}");
    assert!(!ended.stdout.trim_end().contains(char::is_control), "{ended:?}");
}

/// I-3, CM-15
#[test]
fn integers_keep_their_digits() {
    let (_, report) = run("return 18446744073709551615n");
    assert_eq!(report["result"].to_string(), "18446744073709551615");
}

/// I-3: what is shown as JSON is JSON for whoever it is piped to, and steers no terminal.
#[test]
fn json_for_people_is_json_still() {
    let folder = Folder::new();
    let shown = folder.isolane(&["run", "-e", r"return { a: 'x\u202ey\u009bz\u001b' }"]);
    assert_eq!(shown.stdout, "{\n  \"a\": \"x\\u202ey\\u009bz\\u001b\"\n}\n");
}
