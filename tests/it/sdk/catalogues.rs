//! Whole catalogues of real servers: rendered, compiled, and read once as text.
//!
//! Owns the snapshots of those texts. A catalogue is a folder of tool definitions as a server lists them.

use std::path::Path;

use isolane::sdk::{SdkOptions, SdkTool, render_typescript};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Verdict, shared};

#[derive(Deserialize)]
struct Definition {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(rename = "inputSchema")]
    input: Value,
    #[serde(rename = "outputSchema", default = "anything")]
    output: Value,
}

fn anything() -> Value {
    json!(true)
}

fn read(folder: &Path) -> Vec<Definition> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "snap" || end == "json") {
            let text = std::fs::read(&path).unwrap();
            found.push(serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
    found
}

fn render(definitions: &[Definition]) -> String {
    let tools: Vec<SdkTool<'_>> = definitions
        .iter()
        .map(|tool| SdkTool {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input,
            output: &tool.output,
        })
        .collect();
    render_typescript(&tools, &SdkOptions::default()).text
}

/// SDK-6: every type of a large catalogue compiles, and none is `any` or `unknown`.
#[tokio::test]
async fn a_large_catalogue_compiles() {
    let Some(folder) = shared("data/github-mcp-tools") else { return };
    let definitions = read(&folder);
    assert_eq!(definitions.len(), 117);
    let text = render(&definitions);
    let verdict = Verdict::of(&text, "").await;
    assert_eq!(verdict.declarations, []);
    insta::assert_snapshot!("github_mcp_tools", text);
    for vague in ["any", "unknown"] {
        assert!(!types(&text).contains(&vague), "a type is `{vague}`");
    }
}

/// The words of a text that are neither in a comment nor in a string.
fn types(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let unquoted = code.flat_map(|line| line.split('"').step_by(2));
    unquoted.flat_map(|piece| piece.split(|character: char| !character.is_alphanumeric())).collect()
}
