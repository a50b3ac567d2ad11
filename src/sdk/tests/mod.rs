//! Behaviour of the renderers: the text of each construct, what it means, and hostile input.
//!
//! Reads TypeScript back with its parser, which no code outside tests may do here. Python is read back by Python
//! itself, in `tests/python_types.rs`.

mod cache;
mod constructs;
mod fixtures;
mod hostile;
mod meaning;
mod python;
mod random;
#[cfg(feature = "tokens")]
mod size;

use serde_json::{Value, json};
use swc_common::BytePos;
use swc_ecma_parser::{Parser, StringInput, Syntax, TsSyntax};

use super::prepare::Place;
use super::python::PYTHON;
use super::{SdkBundle, SdkOptions, SdkTool, render_tool_declaration, render_typescript};

fn tool<'a>(name: &'a str, parameters: &'a Value, output: &'a Value) -> SdkTool<'a> {
    SdkTool { name, description: "", parameters, output }
}

fn render(tools: &[SdkTool<'_>]) -> SdkBundle {
    render_typescript(tools, &SdkOptions::default())
}

/// The types and the arguments entry of a tool with these parameters.
fn declared(parameters: &Value) -> String {
    let text = render_tool_declaration(&tool("demo", parameters, &json!(true)), &SdkOptions::default());
    let end = text.find("interface ToolOutputMap").unwrap();
    text[..end].to_owned()
}

/// The types and the method of a tool with these parameters, in Python.
fn declared_in_python(parameters: &Value) -> String {
    python_entry(&tool("demo", parameters, &json!(true)))
}

/// What one tool adds to a Python SDK.
fn python_entry(tool: &SdkTool<'_>) -> String {
    let entry = (PYTHON.entry)(tool, "Demo", &SdkOptions::default());
    match entry.place {
        Place::Method(text) | Place::Subscript(text) => entry.types + &text,
        Place::Maps { .. } => panic!("that is TypeScript's"),
    }
}

/// What the TypeScript parser says against a text.
fn syntax_errors(text: &str) -> Vec<String> {
    let end = BytePos(u32::try_from(text.len()).unwrap() + 1);
    let input = StringInput::new(text, BytePos(1), end);
    let mut parser = Parser::new(Syntax::Typescript(TsSyntax::default()), input, None);
    let failed = parser.parse_module().err();
    parser.take_errors().into_iter().chain(failed).map(|error| format!("{:?}", error.kind())).collect()
}
