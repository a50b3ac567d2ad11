//! Renders the declarations of the tools that a scope may see: what the model reads before it writes.
//!
//! Takes tools as borrowed faces and knows no registry, scope or cache. Must never read a clock, the
//! environment, a file at run time or the order of a hash map: the same tools give the same bytes (SDK-2).
//! Types come from `schema::ir`; prose and frame lie in `sdk-templates/`, one file per language.

mod definitions;
mod escape;
mod layout;
mod names;
mod prepare;
mod python;
#[cfg(test)]
mod tests;
mod typescript;

use serde_json::Value;

use crate::schema::ir::{IrBudget, compile, compile_object};

use names::{DeclaredNames, tool_prefixes};
use prepare::{Prepared, about, fill};
pub use python::render_python;
use typescript::{entry, print};

const TYPESCRIPT: &str = include_str!("../../sdk-templates/typescript.txt");

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

/// How to render.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// The parts of one tool's entry.
struct Entry {
    types: String,
    args: String,
    output: String,
}

/// Renders the TypeScript SDK of these tools, in any order. SDK-2, SDK-3.
///
/// Of several tools with one name the first by description and then in the given order counts.
pub fn render_typescript(tools: &[SdkTool<'_>], options: &SdkOptions) -> SdkBundle {
    let prepared = Prepared::new(tools);
    let mut types = String::new();
    let mut args = String::new();
    let mut outputs = String::new();
    for (tool, prefix) in prepared.iter() {
        let entry = render_entry(tool, prefix, options);
        types.push_str(&entry.types);
        args.push_str(&entry.args);
        outputs.push_str(&entry.output);
    }
    if !types.is_empty() {
        types.push('\n');
    }
    let text = fill(TYPESCRIPT, &[("{{types}}", &types), ("{{args}}", &args), ("{{outputs}}", &outputs)]);
    prepared.bundle(text)
}

/// Renders one tool alone, as an addition to an SDK: its types, and its entries in `ToolArgsMap` and
/// `ToolOutputMap`, which TypeScript merges with the interfaces of the same name.
pub fn render_tool_declaration(tool: &SdkTool<'_>, options: &SdkOptions) -> String {
    let prefix = tool_prefixes(&[tool.name]).pop().unwrap_or_default();
    let Entry { types, args, output } = render_entry(tool, &prefix, options);
    format!("{types}interface ToolArgsMap {{\n{args}}}\ninterface ToolOutputMap {{\n{output}}}\n")
}

fn render_entry(tool: &SdkTool<'_>, prefix: &str, options: &SdkOptions) -> Entry {
    let parameters = compile_object(tool.parameters, &options.budget);
    let output = compile(tool.output, &options.budget);
    let mut names = DeclaredNames::new(prefix);
    let mut types = String::new();
    let args_type = print(&parameters, "Args", &mut names, &mut types);
    let output_type = print(&output, "Output", &mut names, &mut types);
    let about = about(tool, parameters.doc);
    Entry {
        types,
        args: entry(tool.name, &about, &args_type),
        output: entry(tool.name, &output.doc, &output_type),
    }
}
