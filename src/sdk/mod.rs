//! Renders the declarations of the tools that a scope may see: what the model reads before it writes.
//!
//! A renderer takes tools as borrowed faces and knows no registry, scope or cache; `cache` keeps what was rendered of
//! the views of a registry. Must never read a clock, the environment, a file at run time or the order of a hash map:
//! the same tools give the same bytes (SDK-2). Types come from `schema::ir`; prose and frame lie in `sdk-templates/`,
//! one file per language.

mod cache;
mod definitions;
mod escape;
mod language;
mod names;
mod prepare;
mod python;
#[cfg(feature = "tokens")]
mod size;
#[cfg(test)]
mod tests;
mod typescript;

use serde_json::Value;

use crate::schema::ir::IrBudget;
use crate::tool::ToolDefinition;

pub use cache::{SdkCache, SdkWork};
pub use language::SdkLanguage;
#[cfg(feature = "tokens")]
pub use size::{TOKENIZER, TextSize, native_schemas};

use names::tool_prefixes;
use prepare::{Entry, Renderer};

/// The faces of a tool that a model sees.
#[derive(Debug, Clone, Copy)]
pub struct SdkTool<'a> {
    /// The name under which a program calls it; any text.
    pub name: &'a str,
    /// What it does, as plain text or Markdown. Empty: nothing is said.
    pub description: &'a str,
    /// JSON Schema of its arguments, of which only the objects count.
    pub parameters: &'a Value,
    /// JSON Schema of its result. `true` or `{}`: any JSON value.
    pub output: &'a Value,
}

impl<'a> SdkTool<'a> {
    /// The faces of a sealed definition.
    pub fn of(definition: &'a ToolDefinition) -> Self {
        let model = definition.model();
        Self {
            name: model.name.as_str(),
            description: &model.description,
            parameters: &model.parameters,
            output: definition.output().schema.source(),
        }
    }
}

/// How to render.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SdkOptions {
    /// Bounds of each schema's types. SDK-8.
    pub budget: IrBudget,
}

/// A rendered SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdkBundle {
    /// The text. Lines end with `\n`, the last one too.
    pub text: String,
    /// The names that the text declares, and so all that a program can call; by byte order. SDK-1.
    pub names: Vec<String>,
    /// How many tools it declares.
    pub tools: usize,
    /// The length of the text in bytes.
    pub bytes: usize,
}

/// Renders the SDK of these tools, in any order. SDK-2, SDK-3, SDK-7.
///
/// Of several tools with one name the first by description and then in the given order counts. TypeScript is a text of
/// ambient declarations; Python is a module for Python 3.11 or later.
pub fn render(language: SdkLanguage, tools: &[SdkTool<'_>], options: &SdkOptions) -> SdkBundle {
    let renderer = Renderer::of(language);
    let mut sorted: Vec<&SdkTool<'_>> = tools.iter().collect();
    sorted.sort_by_key(|tool| (tool.name, tool.description));
    sorted.dedup_by_key(|tool| tool.name);
    let names: Vec<&str> = sorted.iter().map(|tool| tool.name).collect();
    let prefixes = tool_prefixes(&names);
    let entries: Vec<Entry> =
        sorted.iter().zip(&prefixes).map(|(tool, prefix)| (renderer.entry)(tool, prefix, options)).collect();
    let names = names.into_iter().map(str::to_owned).collect();
    renderer.bundle(names, &entries.iter().collect::<Vec<_>>())
}

/// [`render`] in TypeScript.
pub fn render_typescript(tools: &[SdkTool<'_>], options: &SdkOptions) -> SdkBundle {
    render(SdkLanguage::TypeScript, tools, options)
}

/// Renders one tool alone, as an addition to an SDK: its types, and its entries in `ToolArgsMap` and
/// `ToolOutputMap`, which TypeScript merges with the interfaces of the same name.
pub fn render_tool_declaration(tool: &SdkTool<'_>, options: &SdkOptions) -> String {
    let prefix = tool_prefixes(&[tool.name]).pop().unwrap_or_default();
    typescript::declare(tool, &prefix, options)
}
