//! What every language's renderer does beside writing types: a tool's documentation, and the frame.
//!
//! Must never write a word of any language. Used by the renderers.

use crate::schema::ir::Doc;

use super::SdkTool;

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

/// Fills each placeholder with its pieces, in one pass: a filled-in text that looks like one stays as it is.
pub(super) fn fill(template: &str, places: &[(&str, Vec<&str>)]) -> String {
    let length = places.iter().flat_map(|(_, pieces)| pieces).map(|piece| piece.len()).sum::<usize>();
    let mut out = String::with_capacity(length + template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, at) = rest.split_at(start);
        out.push_str(before);
        if let Some((placeholder, pieces)) = places.iter().find(|(name, _)| at.starts_with(name)) {
            out.extend(pieces.iter().copied());
            rest = at.get(placeholder.len()..).unwrap_or_default();
        } else {
            out.push_str("{{");
            rest = at.get(2..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}
