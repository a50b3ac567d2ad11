//! What every language's renderer does before and after it writes types: order, prefixes, the frame.
//!
//! Owns the order of tools and the merging of their documentation, so that all languages declare the same tools
//! in the same places (SDK-2). Must never write a word of any language. Used by the renderers.

use crate::schema::ir::Doc;

use super::names::tool_prefixes;
use super::{SdkBundle, SdkTool};

/// Tools in the order in which they are declared, each name once.
#[derive(Debug)]
pub(super) struct Prepared<'t, 'a> {
    tools: Vec<&'t SdkTool<'a>>,
    /// Of the names of each tool's types.
    prefixes: Vec<String>,
}

impl<'t, 'a> Prepared<'t, 'a> {
    /// Of several tools with one name the first by description and then in the given order counts.
    pub(super) fn new(tools: &'t [SdkTool<'a>]) -> Self {
        let mut sorted: Vec<&SdkTool<'a>> = tools.iter().collect();
        sorted.sort_by_key(|tool| (tool.name, tool.description));
        sorted.dedup_by_key(|tool| tool.name);
        let names: Vec<&str> = sorted.iter().map(|tool| tool.name).collect();
        let prefixes = tool_prefixes(&names);
        Self { tools: sorted, prefixes }
    }

    /// Each tool with the prefix of its types.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'t SdkTool<'a>, &str)> {
        self.tools.iter().copied().zip(self.prefixes.iter().map(String::as_str))
    }

    /// The finished text with what it declares.
    pub(super) fn bundle(&self, text: String) -> SdkBundle {
        SdkBundle {
            bytes: text.len(),
            tools: self.tools.len(),
            names: self.tools.iter().map(|tool| tool.name.to_owned()).collect(),
            text,
        }
    }
}

/// The documentation of a tool: its description, then what the schema of its arguments says of itself.
pub(super) fn about(tool: &SdkTool<'_>, parameters: Doc) -> Doc {
    let mut about = parameters;
    let described = Some(tool.description.trim()).filter(|text| !text.is_empty());
    about.text = match (described, about.text) {
        (Some(tool), Some(schema)) if tool != schema.trim() => Some(format!("{tool}\n\n{}", schema.trim())),
        (Some(tool), _) => Some(tool.to_owned()),
        (None, schema) => schema,
    };
    about
}

/// Fills placeholders in one pass: a filled-in text that looks like one stays as it is.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let length = values.iter().map(|(_, value)| value.len()).sum::<usize>() + template.len();
    let mut out = String::with_capacity(length);
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, at) = rest.split_at(start);
        out.push_str(before);
        if let Some((placeholder, value)) = values.iter().find(|(name, _)| at.starts_with(name)) {
            out.push_str(value);
            rest = at.get(placeholder.len()..).unwrap_or_default();
        } else {
            out.push_str("{{");
            rest = at.get(2..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}
