//! Renders the declarations of the tools that a scope may see: what the model reads before it writes.
//!
//! A renderer takes tools as borrowed faces and knows no registry, scope or cache; `cache` keeps what was rendered of
//! the views of a registry. Must never read a clock, the environment, a file at run time or the order of a hash map:
//! the same tools give the same bytes (SDK-2). Types come from `schema::ir`; prose and frame lie in `sdk-templates/`,
//! one file per language.

mod cache;
mod escape;
mod language;
mod layout;
mod names;
#[cfg(feature = "tokens")]
mod size;
#[cfg(test)]
mod tests;
mod typescript;

use serde_json::Value;

use crate::schema::ir::{IrBudget, compile, compile_object};
use crate::tool::ToolDefinition;

pub use cache::{SdkCache, SdkWork};
pub use language::{SdkError, SdkLanguage};
#[cfg(feature = "tokens")]
pub use size::{TOKENIZER, TextSize, native_schemas};

use names::{DeclaredNames, tool_prefixes};
use typescript::{Printer, entry};

const TYPESCRIPT_FRAME: &str = include_str!("../../sdk-templates/typescript.txt");

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

/// The parts of one tool's entry.
#[derive(Debug)]
struct Entry {
    types: String,
    args: String,
    output: String,
}

/// A language's way from tools to text, tool by tool: an entry depends on its tool, its prefix and the options alone.
struct Renderer {
    language: SdkLanguage,
    /// Renders one tool, whose types are named with the prefix.
    entry: fn(tool: &SdkTool<'_>, prefix: &str, options: &SdkOptions) -> Entry,
    /// Puts the entries together, given in the byte order of their tools' names.
    assemble: fn(names: Vec<String>, entries: &[&Entry]) -> SdkBundle,
}

const TYPESCRIPT: Renderer =
    Renderer { language: SdkLanguage::TypeScript, entry: render_entry, assemble: assemble_typescript };

/// Renders the TypeScript SDK of these tools, in any order. SDK-2, SDK-3.
///
/// Of several tools with one name the first by description and then in the given order counts.
pub fn render_typescript(tools: &[SdkTool<'_>], options: &SdkOptions) -> SdkBundle {
    let mut sorted: Vec<&SdkTool<'_>> = tools.iter().collect();
    sorted.sort_by_key(|tool| (tool.name, tool.description));
    sorted.dedup_by_key(|tool| tool.name);
    let names: Vec<&str> = sorted.iter().map(|tool| tool.name).collect();
    let entries: Vec<Entry> = sorted
        .iter()
        .zip(tool_prefixes(&names))
        .map(|(tool, prefix)| (TYPESCRIPT.entry)(tool, &prefix, options))
        .collect();
    let names = names.into_iter().map(str::to_owned).collect();
    (TYPESCRIPT.assemble)(names, &entries.iter().collect::<Vec<_>>())
}

fn assemble_typescript(names: Vec<String>, entries: &[&Entry]) -> SdkBundle {
    let joined = |part: fn(&Entry) -> &str| entries.iter().map(|entry| part(entry)).collect::<String>();
    let mut types = joined(|entry| &entry.types);
    if !types.is_empty() {
        types.push('\n');
    }
    let (args, outputs) = (joined(|entry| &entry.args), joined(|entry| &entry.output));
    let text =
        fill(TYPESCRIPT_FRAME, &[("{{types}}", &types), ("{{args}}", &args), ("{{outputs}}", &outputs)]);
    SdkBundle { bytes: text.len(), tools: names.len(), names, text }
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
    let args_type = Printer::new(&parameters, "Args", &mut names, &mut types).root();
    let output_type = Printer::new(&output, "Output", &mut names, &mut types).root();
    let mut about = parameters.doc;
    let described = Some(tool.description.trim()).filter(|text| !text.is_empty());
    about.text = match (described, about.text) {
        (Some(tool), Some(schema)) if tool != schema.trim() => Some(format!("{tool}\n\n{}", schema.trim())),
        (Some(tool), _) => Some(tool.to_owned()),
        (None, schema) => schema,
    };
    Entry {
        types,
        args: entry(tool.name, &about, &args_type),
        output: entry(tool.name, &output.doc, &output_type),
    }
}

/// Fills placeholders in one pass: a filled-in text that looks like one stays as it is.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
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
