//! Every rule bites: a bad snippet is caught, at its line, and a good one is let through.
//!
//! Owns the negative tests of the rules. It reads no file of the project.

use crate::runtime_files::in_load_order;
use crate::runtime_js::RuntimeFile;
use crate::source::{SourceFile, tokenize};
use crate::{ranks, rules, runtime_js};

fn file(name: &str, text: &str) -> SourceFile {
    SourceFile::new(name, text)
}

fn texts(source: &str) -> Vec<String> {
    tokenize(source).into_iter().map(|token| token.text).collect()
}

#[test]
fn comments_strings_and_characters_are_passed_over() {
    let source =
        "a // unsafe\n/* v8 /* nested */ unsafe */ b \"uns\\\"afe\" r#\"v8 \" \"# b'x' '\\'' 'c' br\"v8\" d";
    assert_eq!(texts(source), ["a", "b", "\"", "\"", "\"", "\"", "\"", "\"", "d"]);
}

#[test]
fn lifetimes_and_raw_names_are_not_literals() {
    assert_eq!(texts("&'a str r#type"), ["&", "'", "a", "str", "type"]);
    assert_eq!(texts("'outer: loop {}"), ["'", "outer", ":", "loop", "{", "}"]);
}

#[test]
fn an_upward_arrow_is_caught_in_every_spelling() {
    let found = |text: &str| ranks::check(&file("src/schema/mod.rs", text));
    let expected = |line: u32| {
        vec![format!("src/schema/mod.rs:{line}: `schema` has rank 3 and may not name `tool` of rank 4")]
    };
    assert_eq!(found("use crate::tool::Tool;"), expected(1));
    assert_eq!(found("\nfn f(_: &crate::tool::Tool) {}"), expected(2));
    assert_eq!(found("use crate::{ids::ToolName,\n tool::{Tool, ToolContext as C}};").len(), 2);
    assert_eq!(found("use super::tool::Tool;"), expected(1));
    assert_eq!(found("mod inner { use super::super::tool::Tool; }"), expected(1));
    assert_eq!(found("#[cfg(test)] mod tests { fn f() { crate::tool::Tool::new(); } }"), expected(1));
    assert_eq!(found("macro_rules! m { () => { $crate::tool::Tool } }"), expected(1));
    assert_eq!(found("fn f() { g::<crate::tool::Tool>(); }"), expected(1));
}

#[test]
fn an_arrow_down_or_inside_is_let_through() {
    let found = ranks::check(&file(
        "src/schema/ir/mod.rs",
        "use crate::{ids, json::kind};\nuse crate::schema::Schema;\nuse super::Problem;\nuse std::fmt; pub(crate) fn f() {}",
    ));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_sibling_is_named_only_where_the_table_says_so() {
    assert_eq!(
        ranks::check(&file("src/pipeline/mod.rs", "use crate::registry::Registry;")),
        Vec::<String>::new()
    );
    assert_eq!(
        ranks::check(&file("src/registry/mod.rs", "use crate::pipeline::Pipeline;")),
        ["src/registry/mod.rs:1: `registry` has rank 5 and may not name `pipeline` of rank 5"]
    );
}

#[test]
fn a_module_outside_the_table_is_caught() {
    assert_eq!(
        ranks::check(&file("src/helpers.rs", "")),
        ["src/helpers.rs: the module `helpers` is not in the table of ranks"]
    );
    assert_eq!(
        ranks::check(&file("src/tool/mod.rs", "use crate::Everything;")),
        [
            "src/tool/mod.rs:1: `Everything` is not a module in the table of ranks; name an item by the module that owns it"
        ]
    );
}

#[test]
fn a_page_with_another_table_is_caught() {
    assert_eq!(ranks::check_document("| 0 | `ids`, `json` | things |").len(), 1);
}

#[test]
fn a_file_without_a_head_is_caught() {
    let complaint = ["src/a.rs:1: the file does not begin with a `//!` head"];
    assert_eq!(rules::head(&file("src/a.rs", "use std::fmt;\n//! late")), complaint);
    assert_eq!(rules::head(&file("src/a.rs", "//!\n")), complaint);
    assert_eq!(rules::head(&file("src/a.rs", "//! Owns a.")), Vec::<String>::new());
}

#[test]
fn a_long_file_is_mentioned_and_a_very_long_one_caught() {
    let long = file("src/a.rs", &"x\n".repeat(401));
    assert_eq!(rules::length_warning(&long).as_deref(), Some("src/a.rs: 401 lines, the aim is 400"));
    assert_eq!(rules::length(&long), Vec::<String>::new());
    assert_eq!(
        rules::length(&file("src/a.rs", &"x\n".repeat(601))),
        ["src/a.rs: 601 lines, the most is 600; split it by concept"]
    );
}

#[test]
fn unsafe_code_outside_its_files_is_caught() {
    let text = "fn f() {\n unsafe { g() } }";
    for place in ["src/tool/mod.rs", "src/engine/turn.rs", "tests/it/main.rs"] {
        assert_eq!(
            rules::unsafe_code(&file(place, text)),
            [format!(
                "{place}:2: `unsafe`: only the files listed in tests/architecture/rules.rs may be unsafe"
            )]
        );
    }
    let spoken_of = file("src/engine_room.rs", "#![deny(unsafe_code)] // unsafe");
    assert_eq!(rules::unsafe_code(&spoken_of), Vec::<String>::new());
}

#[test]
fn unsafe_code_without_its_reason_is_caught() {
    let found = |text: &str| rules::unsafe_code(&file("src/engine/isolate.rs", text));
    let headless = ["src/engine/isolate.rs: the head has no section `# Safety`, or nothing in it"];
    assert_eq!(found("//! A.\nunsafe extern \"C\" fn f() {}"), headless);
    assert_eq!(found("//! A.\n//!\n//! # Safety\n//!\nunsafe fn f() {}"), headless);
    assert_eq!(
        found("//! # Safety\n//! B."),
        ["src/engine/isolate.rs: nothing is unsafe here; take it off the list in rules.rs"]
    );
    let bare = |line: u32| {
        vec![format!("src/engine/isolate.rs:{line}: `unsafe`: there is no `// SAFETY:` comment above")]
    };
    let head = "//! # Safety\n//! B.\n";
    for (text, expected) in [
        ("unsafe { f() }", bare(3)),
        ("// SAFETY: for the first alone.\nunsafe { f() }\nunsafe { f() }", bare(5)),
        ("// Why not.\nunsafe extern \"C\" { fn f(); }", bare(4)),
        ("fn f() {\n g!(unsafe scope); }", bare(4)),
        ("// SAFETY: it\n// is.\n#[expect(unsafe_code)]\n  unsafe { f() }", Vec::new()),
        ("// SAFETY: it is.\nlet a = g(|x| unsafe { f(x) });", Vec::new()),
        ("// SAFETY: it is.\nlet (a, b) =\n  unsafe { f() };", Vec::new()),
        ("// SAFETY: of another.\nlet a = 1;\nlet b =\n  unsafe { f() };", bare(6)),
        ("/// Called by V8.\npub(super) unsafe extern \"C\" fn f() {}", Vec::new()),
    ] {
        assert_eq!(found(&format!("{head}{text}")), expected, "{text}");
    }
}

#[test]
fn runtime_javascript_that_grows_or_does_not_say_what_it_is_is_caught() {
    let head = "// Owns a.\n// It must never b.\n";
    let files = |texts: &[&str]| -> Vec<RuntimeFile> {
        let file = |text: &&str| RuntimeFile { name: "10_a.js".to_owned(), text: (*text).to_owned() };
        texts.iter().map(file).collect()
    };
    let long = format!("{head}{}", "f();\n".repeat(748));
    assert_eq!(runtime_js::check(&files(&[&long, head])), Vec::<String>::new());
    assert_eq!(
        runtime_js::check(&files(&[&long, &long])),
        ["runtime-js has 1500 lines; it must stay under 1500"]
    );
    for text in ["\"use strict\";", "// Owns a.\nf(); // must", "// A file.\n// It must never b.\n", ""] {
        assert_eq!(
            runtime_js::check(&files(&[text])),
            ["runtime-js/10_a.js:1: the file does not begin with what it owns and what it must never do"]
        );
    }
}

#[test]
fn runtime_javascript_is_loaded_by_its_numbers() {
    let order = |names: &[&str]| in_load_order(names.iter().map(|&name| name.to_owned()).collect());
    assert_eq!(
        order(&["99_z.js", "tests", "05_b.js", "00_a.js", "README.md", "10_A.js"]).unwrap(),
        ["00_a.js", "05_b.js", "10_A.js", "99_z.js"]
    );
    assert_eq!(
        order(&["10_b.js", "10_a.js"]).unwrap_err(),
        "10_a.js and 10_b.js have the same place in the order"
    );
    for name in ["a.js", "1_a.js", "100_a.js", "5.js"] {
        let refused = format!("{name}: the name of a runtime file begins with two digits and `_`");
        assert_eq!(order(&["00_a.js", name]).unwrap_err(), refused);
    }
}

#[test]
fn a_crate_away_from_home_is_caught() {
    for (place, text, home) in [
        ("src/codemode/lane/mod.rs", "use v8::Isolate;", "src/engine/isolate.rs"),
        ("src/host/mod.rs", "fn f() { deno_core::x() }", "src/engine/isolate.rs"),
        ("src/codemode/bindings.rs", "use serde_v8;", "src/engine/mod.rs"),
        ("src/codemode/run.rs", "use swc_ecma_ast::Module;", "src/codemode/program/parse.rs"),
        ("src/ledger/store/memory.rs", "use rusqlite::Connection;", "src/ledger/store/sqlite.rs"),
        ("src/host/mod.rs", "use async_nats::Client;", "src/fleet/mod.rs"),
        ("src/builtin/mod.rs", "use rmcp::Service;", "src/mcp/client.rs"),
        ("src/tool/mod.rs", "fn f() -> anyhow::Result<()> {}", "src/cli/mod.rs"),
    ] {
        assert_eq!(rules::homes(&file(place, text)).len(), 1, "{text} in {place}");
        assert_eq!(rules::homes(&file(home, text)), Vec::<String>::new(), "{text} in {home}");
    }
}

#[test]
fn a_channel_without_a_bound_is_caught() {
    for text in [
        "fn f() { let (s, r) = tokio::sync::mpsc::unbounded_channel(); }",
        "use std::sync::mpsc; fn f() { let (s, r) = mpsc::channel(); }",
        "fn f() { let (s, r) = mpsc::channel::<Vec<u8>>(); }",
        "use std::sync::mpsc::{Receiver, channel};",
        "use std::sync::mpsc::*;",
        "struct A { sender: UnboundedSender<u8> }",
        "use futures_channel::mpsc::unbounded;",
    ] {
        assert_eq!(rules::bounded_channels(&file("src/ledger/queue.rs", text)).len(), 1, "{text}");
    }
    for text in [
        "fn f() { let (s, r) = mpsc::channel(16); let (a, b) = oneshot::channel(); }",
        "use std::sync::mpsc::sync_channel;",
        "#[cfg(test)] mod tests { fn f() { mpsc::channel(); } }",
    ] {
        assert_eq!(
            rules::bounded_channels(&file("src/ledger/queue.rs", text)),
            Vec::<String>::new(),
            "{text}"
        );
    }
    let all_test = file("src/ledger/tests/queue.rs", "fn f() { mpsc::channel(); }");
    assert_eq!(rules::bounded_channels(&all_test), Vec::<String>::new());
}

#[test]
fn reading_time_away_from_the_clock_is_caught() {
    for text in [
        "fn f() { std::time::SystemTime::now(); }",
        "use std::time::Instant; fn f() { Instant::now(); }",
        "async fn f() { tokio::time::sleep(d).await; }",
        "use tokio::{sync::Mutex, time::sleep};",
        "fn f() { std::thread::sleep(d); }",
        "#[cfg(test)] mod tests { fn f() { thread::sleep(d); } }",
    ] {
        assert_eq!(rules::time(&file("src/codemode/run.rs", text)).len(), 1, "{text}");
        assert_eq!(rules::time(&file("src/clock.rs", text)), Vec::<String>::new(), "{text}");
    }
    assert_eq!(rules::time(&file("src/codemode/run.rs", "use std::time::Duration;")), Vec::<String>::new());
    let waits = "fn f() { changed.wait_timeout(guard, d); channel.recv_timeout(d); }";
    assert_eq!(rules::time(&file("src/codemode/run.rs", waits)).len(), 2);
    assert_eq!(rules::time(&file("src/ledger/writer.rs", waits)), Vec::<String>::new());
}

#[test]
fn reading_the_environment_in_the_library_is_caught() {
    for text in ["use std::{env, fmt};", "fn f() { std::env::var(k); }"] {
        assert_eq!(rules::environment(&file("src/host/mod.rs", text)).len(), 1, "{text}");
        assert_eq!(rules::environment(&file("src/cli/mod.rs", text)), Vec::<String>::new(), "{text}");
    }
    let compiled_in = "const V: &str = env!(\"CARGO_PKG_VERSION\");";
    assert_eq!(rules::environment(&file("src/host/mod.rs", compiled_in)), Vec::<String>::new());
}

#[test]
fn a_renderer_that_looks_around_is_caught() {
    for text in ["use std::{fmt, process};", "fn f() { std::env::var(k); }", "use std::fs;"] {
        assert_eq!(rules::pure(&file("src/sdk/typescript.rs", text)).len(), 1, "{text}");
        assert_eq!(rules::pure(&file("src/host/mod.rs", text)), Vec::<String>::new(), "{text}");
    }
}
