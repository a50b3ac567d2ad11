//! How much of a model's context a text takes, and what the same tools would take as native schemas (SDK-10).
//!
//! Owns the tokenizer, whose vocabulary is embedded: nothing is read or fetched. It never takes longer than a text is
//! long, whatever the text. It renders nothing.

use serde::Serialize;

use crate::registry::RegistryView;
use crate::tool::ModelFace;

/// The name of the tokenizer that counts, as its makers give it: the one of OpenAI's models since GPT-4o. Others count
/// otherwise; for the same kind of text the proportions are alike.
pub const TOKENIZER: &str = "o200k_base";

/// A text goes to the tokenizer in pieces of about so many bytes: what it keeps for a piece grows with its length.
const PIECE: usize = 32 * 1024;

/// How large a text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TextSize {
    /// Its length in UTF-8.
    pub bytes: usize,
    /// Its length in tokens of [`TOKENIZER`], without any that frame a message. Exact for all text that has the end of
    /// an ASCII word in every 64 KiB; else off by at most a few tokens for each 64 KiB.
    pub tokens: usize,
}

impl TextSize {
    /// Counts. The first count of a process also reads the vocabulary, a tenth of a second.
    pub fn of(text: &str) -> Self {
        let tokenizer = tiktoken_rs::o200k_base_singleton();
        let mut tokens = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cut(rest));
            tokens += tokenizer.count_ordinary(piece);
            rest = after;
        }
        Self { bytes: text.len(), tokens }
    }
}

/// Where the first piece of a text ends. The tokenizer always ends a token behind an ASCII letter or digit that anything
/// else of ASCII follows, but for the apostrophe of `it's`.
fn cut(text: &str) -> usize {
    if text.len() <= 2 * PIECE {
        return text.len();
    }
    let bytes = text.as_bytes().get(PIECE..2 * PIECE).unwrap_or_default();
    let ends_word = |pair: &[u8]| matches!(pair, [last, next] if last.is_ascii_alphanumeric() && next.is_ascii() && !next.is_ascii_alphanumeric() && *next != b'\'');
    match bytes.windows(2).position(ends_word) {
        Some(at) => PIECE + at + 1,
        None => text.floor_char_boundary(2 * PIECE),
    }
}

/// What a provider is sent of the tools that a view lets programs call, were they presented natively: one JSON list of
/// `{"name", "description", "parameters"}`, without white space, in the view's order. What a provider wraps around each
/// tool is not counted, nor are the schemas of results, which native presentation does not show.
pub fn native_schemas(view: &RegistryView) -> String {
    let faces: Vec<&ModelFace> = view.callable().map(|tool| tool.definition().model()).collect();
    serde_json::to_string(&faces).unwrap_or_default()
}
