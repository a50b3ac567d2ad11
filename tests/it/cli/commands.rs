//! `isolane sdk`, `tools`, `call`, `completions`, help and versions.

use serde_json::json;

use super::Folder;

/// I-4, SDK-2
#[test]
fn two_processes_print_the_same_sdk() {
    let folder = Folder::new();
    let [first, second] = [(); 2].map(|()| folder.isolane(&["sdk"]));
    assert_eq!(first, second);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    assert!(first.stdout.contains("declare const tools: {"), "{first}");
}

/// I-4
#[test]
fn the_size_of_the_sdk_is_told_apart_from_it() {
    let folder = Folder::new();
    let report = folder.isolane(&["sdk", "--json", "--allow-write"]).json();
    assert_eq!(report["names"], json!(["edit", "glob", "grep", "list", "read", "write"]));
    let stats = &report["stats"];
    let keys: Vec<_> = stats.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["tools", "bytes", "tokens", "native", "tokenizer"]);
    assert_eq!((&stats["tools"], &stats["tokenizer"]), (&json!(6), &json!("o200k_base")));
    assert_eq!(stats["bytes"], report["text"].as_str().unwrap().len());
    // The native schemas are what `tools --json` lists, printed without white space.
    let native = folder.isolane(&["tools", "--json", "--allow-write"]).json();
    let mut native = native.as_array().unwrap().clone();
    native.retain(|tool| tool["name"] != "run_code");
    assert_eq!(stats["native"]["bytes"], json!(native).to_string().len());
    for size in [stats, &stats["native"]] {
        let [bytes, tokens] = ["bytes", "tokens"].map(|key| size[key].as_u64().unwrap());
        assert!((bytes / 8..bytes / 2).contains(&tokens), "{size}");
    }
    let told = folder.isolane(&["sdk", "--lang", "ts", "--allow-write", "--stats"]);
    assert_eq!(
        told.stderr,
        format!(
            "6 tools: {} bytes, {} tokens (o200k_base); as native schemas {} bytes, {} tokens\n",
            told.stdout.len(),
            stats["tokens"],
            stats["native"]["bytes"],
            stats["native"]["tokens"]
        )
    );
    assert_eq!(report["lang"], "ts");
}

/// I-4
#[test]
fn tools_are_listed_with_their_class() {
    insta::assert_snapshot!(Folder::new().isolane(&["tools", "--allow-write"]), @r"
    exit: 0
    stdout:
    edit   exclusive     Replaces exact text in a file; `read` it first.
    glob   parallel      Finds files by their path, sorted.
    grep   parallel      Finds lines of text files that match a regular expression, sorted by path and line.
    list   parallel      Lists a directory, sorted by path.
    read   parallel      Reads a UTF-8 text file by lines.
    write  exclusive     Writes a whole file: makes it, or replaces what it held.
    stderr:
    ");
}

/// I-4, T-1
#[test]
fn tools_as_json_are_what_a_model_is_shown() {
    let listed = Folder::new().isolane(&["tools", "--json"]).json();
    let first = &listed[0];
    assert_eq!(first["name"], "glob");
    let members: Vec<_> = first.as_object().unwrap().keys().collect();
    assert_eq!(members, ["name", "description", "parameters"]);
    assert_eq!(first["parameters"]["type"], "object");
    assert_eq!(listed.as_array().unwrap().len(), 4);
}

/// I-4
#[test]
fn a_call_prints_what_a_model_would_read() {
    let folder = Folder::new();
    folder.file("a.txt", "one\ntwo \u{1b}[1m\n");
    insta::assert_snapshot!(folder.isolane(&["call", "read", r#"{"file_path": "a.txt"}"#]), @r"
    exit: 0
    stdout:
         1	one
         2	two \u{1b}[1m
    stderr:
    ");
    insta::assert_snapshot!(folder.isolane(&["call", "list"]), @r"
    exit: 0
    stdout:
    a.txt
    stderr:
    ");
    let piped = folder.isolane_reading(&["call", "read", "-"], r#"{"file_path": "a.txt", "limit": 1}"#);
    insta::assert_snapshot!(piped, @r"
    exit: 0
    stdout:
         1	one
    (lines 1 to 1 of 2)
    stderr:
    ");
}

/// I-4
#[test]
fn a_call_as_json_has_value_content_and_error() {
    let folder = Folder::new();
    folder.file("a.txt", "");
    insta::assert_json_snapshot!(folder.isolane(&["call", "list", "--json"]).json(), @r#"
    {
      "ok": true,
      "value": {
        "entries": [
          {
            "path": "a.txt",
            "kind": "file",
            "size": 0
          }
        ],
        "truncated": false
      },
      "content": [
        {
          "type": "text",
          "text": "a.txt\n"
        }
      ],
      "error": null,
      "notes": []
    }
    "#);
    let failed = folder.isolane(&["call", "read", r#"{"file_path": "b"}"#, "--json"]);
    assert_eq!(failed.code, Some(1));
    insta::assert_json_snapshot!(failed.json(), @r#"
    {
      "ok": false,
      "value": null,
      "content": [
        {
          "type": "text",
          "text": "no such file or directory: `b`; use `list` or `glob` to find it"
        }
      ],
      "error": {
        "code": "TOOL_FAILED",
        "message": "no such file or directory: `b`; use `list` or `glob` to find it",
        "details": {
          "kind": "not_found",
          "path": "b",
          "missing": "b"
        }
      },
      "notes": []
    }
    "#);
}

/// I-4, P-16
#[test]
fn a_call_that_fails_names_its_code() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.isolane(&["call", "nope"]), @r"
    exit: 1
    stdout:
    stderr:
    UNKNOWN_TOOL: there is no tool `nope`
    ");
    insta::assert_snapshot!(folder.isolane(&["call", "read", "{}"]), @r"
    exit: 1
    stdout:
    stderr:
    TOOL_ARGS_INVALID: arguments of `read`: required property `file_path` is missing
    ");
    insta::assert_snapshot!(folder.isolane(&["call", "reed", "{}"]), @r"
    exit: 1
    stdout:
    stderr:
    UNKNOWN_TOOL: there is no tool `reed`; did you mean `read`?
    ");
    insta::assert_snapshot!(folder.isolane(&["call", "read", r#"{"file_path": ""}"#]), @r"
    exit: 1
    stdout:
    stderr:
    TOOL_FAILED: the argument at /file_path must not be empty; give a path relative to the root, which itself is `.`
    ");
}

/// I-4, B-1
#[test]
fn a_tool_that_would_be_there_with_leave_to_write_is_told_of() {
    let folder = Folder::new();
    let arguments = r#"{"file_path": "a", "content": "x"}"#;
    insta::assert_snapshot!(folder.isolane(&["call", "write", arguments]), @r"
    exit: 1
    stdout:
    stderr:
    UNKNOWN_TOOL: there is no tool `write`
    note: the tool `write` is there with --allow-write
    ");
    let report = folder.isolane(&["call", "edit", "{}", "--json"]).json();
    assert_eq!(report["notes"], json!(["the tool `edit` is there with --allow-write"]));
    let failed = folder.eval("await tools.write({file_path: 'a', content: 'x'})");
    assert!(failed.stderr.ends_with("note: the tool `write` is there with --allow-write\n"), "{failed}");
    let failed = folder.isolane(&["call", "write", "{}", "--allow-write"]);
    assert!(!failed.stderr.contains("--allow-write"), "{failed}");
}

/// I-4, P-16
#[test]
fn an_integer_may_be_spelled_with_a_fraction_and_must_fit() {
    let folder = Folder::new();
    folder.file("a.txt", "one\ntwo\n");
    let read = |offset: &str| {
        folder.isolane(&["call", "read", &format!(r#"{{"file_path": "a.txt", "offset": {offset}}}"#)])
    };
    assert_eq!(read("2.0").stdout, "     2\ttwo\n(lines 2 to 2 of 2)\n");
    assert_eq!(read("2e0").code, Some(0));
    insta::assert_snapshot!(read("1e21"), @r"
    exit: 1
    stdout:
    stderr:
    TOOL_ARGS_INVALID: arguments of `read`: expected an integer from 0 to 18446744073709551615, got 1e+21 at /offset
    ");
    insta::assert_snapshot!(read("1.5"), @r"
    exit: 1
    stdout:
    stderr:
    TOOL_ARGS_INVALID: arguments of `read`: expected integer, got a number at /offset
    ");
}

/// I-4
#[test]
fn arguments_that_are_not_json_are_a_usage_error() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.isolane(&["call", "read", "file.txt"]), @r#"
    exit: 2
    stdout:
    stderr:
    error: the arguments are not JSON: expected ident at line 1 column 2; give one JSON object, as '{"file_path": "README.md"}'
    "#);
    insta::assert_snapshot!(folder.isolane_reading(&["call", "read", "-"], " \n"), @r#"
    exit: 2
    stdout:
    stderr:
    error: there are no arguments in the text; give one JSON object, as '{"file_path": "README.md"}'
    "#);
    let twice = r#"{"pattern": "x", "deep": [{"a/b": 1, "c": {}, "a/b": 2}], "pattern": "y"}"#;
    insta::assert_snapshot!(folder.isolane(&["call", "grep", twice]), @r"
    exit: 2
    stdout:
    stderr:
    error: the arguments are ambiguous: /deep/0/a~1b is given twice; leave one out at line 1 column 51
    ");
    let twice = "{\"pattern\": \"x\",\n \"p\\u0061ttern\": \"y\"}";
    insta::assert_snapshot!(folder.isolane_reading(&["call", "grep", "-"], twice), @r"
    exit: 2
    stdout:
    stderr:
    error: the arguments are ambiguous: /pattern is given twice; leave one out at line 2 column 15
    ");
    let large = format!("\"{}\"", "x".repeat(1024 * 1024));
    insta::assert_snapshot!(folder.isolane_reading(&["call", "read", "-"], large), @r"
    exit: 2
    stdout:
    stderr:
    error: the arguments take more than 1048576 bytes, which no call may carry
    ");
}

/// I-4
#[test]
fn every_command_has_help_with_examples() {
    let folder = Folder::new();
    for command in ["run", "sdk", "tools", "call", "completions"] {
        let ended = folder.isolane(&[command, "--help"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let examples = ended.stdout.split("\nExamples:\n").nth(1).unwrap();
        assert!(examples.starts_with(&format!("  isolane {command}")), "{ended}");
    }
    let run = folder.isolane(&["run", "--help"]).stdout;
    assert!(run.contains("The program calls the tools as `await tools.NAME({...})`"), "{run}");
    let all = folder.isolane(&["--help"]);
    assert!(all.stdout.contains("\n  128 + n  signal n ended"), "{all}");
    assert!(all.stdout.contains("Exit codes:\n  0  all went well\n"), "{all}");
}

/// I-4
#[test]
fn a_missing_command_is_a_usage_error() {
    let ended = Folder::new().isolane(&[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("Usage: isolane <COMMAND>"), "{ended}");
}

/// I-4
#[test]
fn the_long_version_has_that_of_the_engine() {
    let folder = Folder::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(folder.isolane(&["-V"]).stdout, format!("isolane {version}\n"));
    let expected = format!("isolane {version}\nV8 {}\n", isolane::engine::v8_version());
    assert_eq!(folder.isolane(&["--version"]).stdout, expected);
}

/// I-4
#[test]
fn shells_complete_the_commands() {
    for shell in ["bash", "fish", "zsh"] {
        let script = Folder::new().isolane(&["completions", shell]);
        assert_eq!((script.code, script.stderr.as_str()), (Some(0), ""));
        assert!(script.stdout.contains("busy-timeout"));
    }
}

/// I-4
#[test]
fn diagnostics_are_logged_only_on_demand() {
    let folder = Folder::new();
    let mut command = folder.command(&["tools"]);
    let ended = super::Ended::new(&command.env("ISOLANE_LOG", "isolane=loud").output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.starts_with("error: ISOLANE_LOG is neither a level"), "{ended}");
    let mut command = folder.command(&["run", "-e", "return 1"]);
    let ended = super::Ended::new(&command.env("ISOLANE_LOG", "isolane=debug").output().unwrap());
    let told = ["a program starts", "a program has ended"].iter().all(|text| ended.stderr.contains(text));
    assert!(ended.stdout == "1\n" && told && !ended.stderr.contains('\u{1b}'), "{ended}");
}

/// I-4, SDK-7
#[test]
fn the_sdk_is_there_in_python() {
    let report = Folder::new().isolane(&["sdk", "--json", "--lang", "python"]).json();
    assert_eq!((&report["lang"], &report["stats"]["tools"]), (&json!("python"), &json!(4)));
    assert!(report["text"].as_str().unwrap().contains("async def glob(self, args: "), "{report}");
}

/// I-4, E-4: `doctor` shows every layer of the sandbox, and that programs run in it; its exit code says whether all holds.
#[test]
fn the_doctor_tells_what_holds_here() {
    let folder = Folder::new();
    let report = folder.isolane(&["doctor", "--json"]);
    let told = report.json();
    let layers = told["process"]["sandbox"].as_array().unwrap();
    let names: Vec<_> = layers.iter().map(|layer| layer["layer"].as_str().unwrap()).collect();
    assert_eq!(names, isolane::engine::Layer::ALL.map(isolane::engine::Layer::name));
    assert_eq!(told["process"].get("error"), None);
    let whole = layers.iter().all(|layer| layer["state"] == "on");
    assert_eq!((&told["ok"], report.code), (&json!(whole), Some(i32::from(!whole))));
    let shown = folder.isolane(&["doctor"]);
    assert_eq!(shown.code, report.code);
    assert!(shown.stdout.contains("\n  a program ran\n"), "{shown}");
    for layer in layers {
        let line =
            format!("\n  {:18} {}", layer["layer"].as_str().unwrap(), layer["state"].as_str().unwrap());
        assert!(shown.stdout.contains(&line), "{line}: {shown}");
    }
}

/// E-4: what asks for the sandbox, or for V8 without machine code, is not run where neither can be had.
#[test]
fn what_is_asked_for_in_vain_is_refused() {
    let folder = Folder::new();
    for option in ["--require-sandbox", "--jitless"] {
        let refused = folder.isolane(&["run", "-e", "return 1", "--isolation", "in-process", option]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused}");
        assert!(refused.stderr.contains("not for `--isolation in-process`"), "{refused}");
    }
    assert_eq!(folder.isolane(&["run", "-e", "return 1", "--jitless"]).stdout, "1\n");
}
