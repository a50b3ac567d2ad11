//! Whole catalogues of real servers: rendered, compiled, and read once as text.
//!
//! Owns the snapshots of those texts. A catalogue is tool definitions as a server lists them; `tests/catalogues/list.py`
//! asks the reference servers for theirs.

use std::path::{Path, PathBuf};

use isolane::sdk::{SdkOptions, SdkTool, render_typescript};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Verdict, say, shared};

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
            found.push(
                serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            );
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
    check("github_mcp_tools", &definitions).await;
}

/// SDK-6: so do the catalogues of the reference servers.
#[tokio::test]
async fn the_catalogues_of_the_reference_servers_compile() {
    let Some(folder) = std::env::var_os("ISOLANE_CATALOGUES").map(PathBuf::from) else {
        return say("skipped: no catalogues of the reference servers; tests/catalogues/list.py makes them");
    };
    for server in ["server-everything", "server-filesystem", "server-memory", "server-sequential-thinking"] {
        let text = std::fs::read(folder.join(format!("{server}.json"))).unwrap();
        check(server, &serde_json::from_slice::<Vec<Definition>>(&text).unwrap()).await;
    }
}

/// The text compiles, is as it was read, and has no vague type.
async fn check(name: &str, definitions: &[Definition]) {
    let text = render(definitions);
    let verdict = Verdict::of(&text, "").await;
    assert_eq!(verdict.declarations, [], "{name}");
    insta::assert_snapshot!(name, text);
    for vague in ["any", "unknown"] {
        assert!(!types(&text).contains(&vague), "{name}: a type is `{vague}`");
    }
}

/// The words of a text that are neither in a comment nor in a string.
fn types(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let unquoted = code.flat_map(|line| line.split('"').step_by(2));
    unquoted.flat_map(|piece| piece.split(|character: char| !character.is_alphanumeric())).collect()
}
