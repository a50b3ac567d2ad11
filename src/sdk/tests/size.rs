//! Counts that were checked by hand.

use serde_json::{Value, json};

use crate::registry::{Registry, Target};
use crate::sdk::{TextSize, native_schemas};
use crate::tool::{Tool, ToolContext, ToolError};

fn size(text: &str) -> (usize, usize) {
    let TextSize { bytes, tokens } = TextSize::of(text);
    (bytes, tokens)
}

/// SDK-10: the examples that the tokenizer's makers publish, and the tokens of one line told one by one.
#[test]
fn tokens_are_those_of_o200k_base() {
    assert_eq!(size(""), (0, 0));
    assert_eq!(size("antidisestablishmentarianism"), (28, 6));
    assert_eq!(size("2 + 2 = 4"), (9, 7));
    assert_eq!(size("お誕生日おめでとう"), (27, 8));
    let line = [
        "type", " Json", "Object", " =", " {", " [", "key", ":", " string", "]:", " Json", "Value", " };",
        "\n",
    ];
    for token in line {
        assert_eq!(TextSize::of(token).tokens, 1, "{token:?}");
    }
    assert_eq!(size(&line.concat()), (48, line.len() - 1), "the brace and the line break are one token");
}

/// SDK-10: special tokens are text like any other.
#[test]
fn text_that_names_a_special_token_is_text() {
    assert!(TextSize::of("<|endoftext|>").tokens > 1);
}

/// SDK-10: a long text counts what its parts count.
#[test]
fn long_text_is_counted_in_pieces_that_change_nothing() {
    let line = "  /** It's the owner's name: 12345 of `x`, \"quoted\". */\n";
    let whole = line.repeat(2_500);
    assert!(whole.len() > 2 * 64 * 1024);
    assert_eq!(TextSize::of(&whole).tokens, 2_500 * TextSize::of(line).tokens);
}

/// SDK-10, T-8: text without words ends too.
#[test]
fn text_without_words_is_counted() {
    for text in [" ".repeat(1_200_000) + "x", "道".repeat(50_000), "'".repeat(150_000)] {
        assert!(TextSize::of(&text).tokens > 1_000);
    }
}

/// SDK-10
#[test]
fn native_schemas_are_what_a_provider_would_get() {
    let registry = Registry::new();
    let nothing = |_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) };
    for (name, schema) in [
        ("b", json!({"type": "object"})),
        ("a", json!({"type": "object", "properties": {"n": {"type": "integer"}}})),
    ] {
        let tool = Tool::builder(name).description("Says \"a\".").foreign_parameters(schema);
        registry
            .register(&Target::Global, tool.output(json!({"type": "null"})).handler(nothing).unwrap())
            .unwrap()
            .keep();
    }
    assert_eq!(
        native_schemas(&registry.view(None).unwrap()),
        concat!(
            r#"[{"name":"a","description":"Says \"a\".","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}},"#,
            r#"{"name":"b","description":"Says \"a\".","parameters":{"type":"object"}}]"#
        )
    );
}
