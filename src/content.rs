//! Content blocks: what a model reads of a result.
//!
//! Owns the block vocabulary, which maps one to one on MCP content (T-13). It never decides how a value is
//! rendered. It calls nobody.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One block of a result as a model reads it (T-13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The bytes in standard base64.
        data: String,
        /// For example `image/png`.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// The bytes in standard base64.
        data: String,
        /// For example `audio/wav`.
        mime_type: String,
    },
    /// A pointer to something that the client can fetch.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// A name for people.
        name: String,
        /// Its media type; absent when unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// A JSON value that a client may show as it likes.
    Json {
        /// The value.
        value: Value,
    },
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text block; nothing for other blocks.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}
