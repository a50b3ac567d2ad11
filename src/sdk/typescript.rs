//! Renders tools as TypeScript: entries of two interfaces, keyed by name, and the types that these use.
//!
//! Owns the shape of a tool's entry. The text is one of ambient declarations; nothing here may depend on more than the
//! tools themselves. Types are `printer`'s, foreign text goes through `escape`, and what all languages share is
//! `prepare`'s. SDK-3.

mod layout;
mod printer;

use super::prepare::{Entry, Place, Renderer, fill, pieces, prepare};
use super::{SdkOptions, SdkTool};
use printer::print;

const FRAME: &str = include_str!("../../sdk-templates/typescript.txt");

pub(super) static TYPESCRIPT: Renderer = Renderer { entry: render_entry, assemble };

fn render_entry(tool: &SdkTool<'_>, prefix: &str, options: &SdkOptions) -> Entry {
    let prepared = prepare(tool, prefix, options, print);
    let args = prepared.args.entry(tool.name, &prepared.about);
    let output = prepared.result.entry(tool.name, &prepared.returned);
    Entry { types: prepared.types, place: Place::Maps { args, output } }
}

fn assemble(entries: &[&Entry]) -> String {
    let mut types = pieces(entries, |entry| Some(&entry.types));
    if !types.is_empty() {
        types.push("\n");
    }
    let args = pieces(entries, |entry| entry.place.in_maps().map(|(args, _)| args));
    let outputs = pieces(entries, |entry| entry.place.in_maps().map(|(_, output)| output));
    fill(FRAME, &[("{{types}}", types), ("{{args}}", args), ("{{outputs}}", outputs)])
}

/// The declaration of one tool as an addition to an SDK.
pub(super) fn declare(tool: &SdkTool<'_>, prefix: &str, options: &SdkOptions) -> String {
    let Entry { types, place } = render_entry(tool, prefix, options);
    let (args, output) = place.in_maps().unwrap_or_default();
    format!("{types}interface ToolArgsMap {{\n{args}}}\ninterface ToolOutputMap {{\n{output}}}\n")
}
