//! Content blocks: what a model reads of a result.
//!
//! Owns the block vocabulary, which maps one to one on MCP content (T-13). It never decides how a value is
//! rendered. It calls nobody.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The address by which a JSON block of ours is known among the embedded resources of MCP.
const JSON_URI: &str = "isolane:json";

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

    /// The block as MCP content (T-13): `text`, `image`, `audio`, `resource_link`, and for JSON an embedded `resource`.
    pub fn to_mcp(&self) -> Value {
        match self {
            Self::Text { text } => json!({"type": "text", "text": text}),
            Self::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
            Self::Audio { data, mime_type } => json!({"type": "audio", "data": data, "mimeType": mime_type}),
            Self::ResourceLink { uri, name, mime_type: None } => {
                json!({"type": "resource_link", "uri": uri, "name": name})
            }
            Self::ResourceLink { uri, name, mime_type } => {
                json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": mime_type})
            }
            Self::Json { value } if is_foreign_resource(value) => value.clone(),
            Self::Json { value } => {
                let text = value.to_string();
                json!({"type": "resource", "resource": {"uri": JSON_URI, "mimeType": "application/json", "text": text}})
            }
        }
    }

    /// The block that MCP content stands for; nothing when it is no content that MCP knows.
    ///
    /// A resource that a server embeds becomes a JSON block that holds the content as it is, and goes out again as it
    /// came. Annotations of the other kinds are not kept.
    pub fn from_mcp(content: &Value) -> Option<Self> {
        let text = |member: &str| content.get(member)?.as_str().map(str::to_owned);
        Some(match content.get("type")?.as_str()? {
            "text" => Self::Text { text: text("text")? },
            "image" => Self::Image { data: text("data")?, mime_type: text("mimeType")? },
            "audio" => Self::Audio { data: text("data")?, mime_type: text("mimeType")? },
            "resource_link" => {
                Self::ResourceLink { uri: text("uri")?, name: text("name")?, mime_type: text("mimeType") }
            }
            "resource" if is_foreign_resource(content) => Self::Json { value: content.clone() },
            "resource" => {
                let value = content.pointer("/resource/text")?.as_str()?;
                Self::Json { value: serde_json::from_str(value).ok()? }
            }
            _ => return None,
        })
    }
}

/// Whether the value is an embedded resource of MCP that is not one of our own JSON blocks.
fn is_foreign_resource(value: &Value) -> bool {
    value.get("type").is_some_and(|kind| kind == "resource")
        && value.pointer("/resource/uri").and_then(Value::as_str).is_some_and(|uri| uri != JSON_URI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// T-13
    #[test]
    fn each_kind_of_block_is_a_kind_of_mcp_content() {
        let text = |text: &str| text.to_owned();
        for (block, content) in [
            (ContentBlock::text("hi"), json!({"type": "text", "text": "hi"})),
            (
                ContentBlock::Image { data: text("AA=="), mime_type: text("image/png") },
                json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            ),
            (
                ContentBlock::Audio { data: text("AA=="), mime_type: text("audio/wav") },
                json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
            ),
            (
                ContentBlock::ResourceLink { uri: text("file:///a"), name: text("a"), mime_type: None },
                json!({"type": "resource_link", "uri": "file:///a", "name": "a"}),
            ),
            (
                ContentBlock::ResourceLink {
                    uri: text("x:y"),
                    name: text("a"),
                    mime_type: Some(text("text/csv")),
                },
                json!({"type": "resource_link", "uri": "x:y", "name": "a", "mimeType": "text/csv"}),
            ),
            (
                ContentBlock::Json { value: json!({"a": [1, null]}) },
                json!({"type": "resource", "resource": {
                    "uri": "isolane:json", "mimeType": "application/json", "text": "{\"a\":[1,null]}",
                }}),
            ),
        ] {
            assert_eq!(block.to_mcp(), content);
            assert_eq!(ContentBlock::from_mcp(&content), Some(block));
        }
    }

    /// T-13: what a server embeds goes out again as it came; what MCP does not know is nothing.
    #[test]
    fn foreign_resources_are_kept_and_strangers_are_not() {
        let embedded =
            json!({"type": "resource", "resource": {"uri": "file:///a", "blob": "AA=="}, "_meta": {"k": 1}});
        let block = ContentBlock::from_mcp(&embedded).unwrap();
        assert_eq!(block.to_mcp(), embedded);
        for stranger in [
            json!({"type": "hologram"}),
            json!({"type": "text"}),
            json!({"type": "image", "data": "AA=="}),
            json!({"type": "resource", "resource": {}}),
            json!({"type": "resource", "resource": {"uri": "isolane:json", "text": "{"}}),
            json!("text"),
            Value::Null,
        ] {
            assert_eq!(ContentBlock::from_mcp(&stranger), None, "{stranger}");
        }
    }

    fn block() -> impl Strategy<Value = ContentBlock> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), ".*".prop_map(Value::from)];
        let key = prop_oneof![
            prop::sample::select(&["type", "resource", "uri", "text"][..]).prop_map(str::to_owned),
            any::<String>()
        ];
        let json = leaf.prop_recursive(3, 16, 4, move |inner| {
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect()))
        });
        prop_oneof![
            any::<String>().prop_map(ContentBlock::text),
            any::<(String, String)>().prop_map(|(data, mime_type)| ContentBlock::Image { data, mime_type }),
            any::<(String, String)>().prop_map(|(data, mime_type)| ContentBlock::Audio { data, mime_type }),
            any::<(String, String, Option<String>)>()
                .prop_map(|(uri, name, mime_type)| ContentBlock::ResourceLink { uri, name, mime_type }),
            json.prop_map(|value| ContentBlock::Json { value }),
        ]
    }

    proptest! {
        /// T-13: one to one.
        #[test]
        fn a_block_is_read_back_as_it_was(block in block()) {
            prop_assert_eq!(ContentBlock::from_mcp(&block.to_mcp()), Some(block));
        }
    }
}
