//! What every language's renderer does beside writing types: a tool's parts, its documentation, and the frame.
//!
//! Owns what a renderer is, and what it makes of a tool. Must never write a word of any language. Used by the renderers,
//! and by `cache`.

use crate::schema::ir::{Doc, TypeIr, compile, compile_object};

use super::names::DeclaredNames;
use super::python::PYTHON;
use super::typescript::TYPESCRIPT;
use super::{SdkBundle, SdkLanguage, SdkOptions, SdkTool};

/// What one tool adds to a text.
#[derive(Debug)]
pub(super) struct Entry {
    /// The declarations of its types.
    pub(super) types: String,
    /// What can be called.
    pub(super) place: Place,
}

/// The text of a tool itself, by where it stands in its language's frame.
#[derive(Debug)]
pub(super) enum Place {
    /// TypeScript: a member of `ToolArgsMap`, and one of `ToolOutputMap`.
    Maps { args: String, output: String },
    /// Python: a method.
    Method(String),
    /// Python: what a subscript gives.
    Subscript(String),
}

impl Place {
    /// The members of the two maps.
    pub(super) fn in_maps(&self) -> Option<(&str, &str)> {
        match self {
            Self::Maps { args, output } => Some((args, output)),
            Self::Method(_) | Self::Subscript(_) => None,
        }
    }
}

/// A language's way from tools to text, tool by tool: an entry depends on its tool, its prefix and the options alone.
#[derive(Debug)]
pub(super) struct Renderer {
    /// Renders one tool, whose types are named with the prefix.
    pub(super) entry: fn(tool: &SdkTool<'_>, prefix: &str, options: &SdkOptions) -> Entry,
    /// Puts the entries together, given in the byte order of their tools' names.
    pub(super) assemble: fn(entries: &[&Entry]) -> String,
}

impl Renderer {
    pub(super) fn of(language: SdkLanguage) -> &'static Self {
        match language {
            SdkLanguage::TypeScript => &TYPESCRIPT,
            SdkLanguage::Python => &PYTHON,
        }
    }

    pub(super) fn bundle(&self, names: Vec<String>, entries: &[&Entry]) -> SdkBundle {
        let text = (self.assemble)(entries);
        SdkBundle { bytes: text.len(), tools: names.len(), names, text }
    }
}

/// A tool whose types are printed.
#[derive(Debug)]
pub(super) struct Prepared<T> {
    /// The declarations of its types.
    pub(super) types: String,
    /// The types of its arguments, which are objects.
    pub(super) parameters: TypeIr,
    pub(super) args: T,
    pub(super) result: T,
    /// What is said of it.
    pub(super) about: Doc,
    /// What is said of its result.
    pub(super) returned: Doc,
}

/// Compiles the schemas of a tool and prints their types: those of the result after those of the arguments, whose
/// declarations it shares.
pub(super) fn prepare<T>(
    tool: &SdkTool<'_>,
    prefix: &str,
    options: &SdkOptions,
    print: fn(&TypeIr, &'static str, &mut DeclaredNames<'_>, &mut String) -> T,
) -> Prepared<T> {
    let mut parameters = compile_object(tool.parameters, &options.budget);
    let output = compile(tool.output, &options.budget);
    let mut names = DeclaredNames::new(prefix);
    let mut types = String::new();
    let args = print(&parameters, "Args", &mut names, &mut types);
    let result = print(&output, "Output", &mut names, &mut types);
    let about = about(tool, std::mem::take(&mut parameters.doc));
    Prepared { types, parameters, args, result, about, returned: output.doc }
}

/// The texts of all entries in one place.
pub(super) fn pieces<'a>(entries: &[&'a Entry], part: fn(&Entry) -> Option<&str>) -> Vec<&'a str> {
    let mut pieces = Vec::with_capacity(entries.len() + 1);
    pieces.extend(entries.iter().copied().filter_map(part).filter(|piece| !piece.is_empty()));
    pieces
}

/// The documentation of a tool: its description, then what the schema of its arguments says of itself.
fn about(tool: &SdkTool<'_>, parameters: Doc) -> Doc {
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
