//! A complete agent host (I-1). A scripted model stands where a real one would be asked.
//!
//! `cargo run --example host`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use isolane::builtin::files::{FileToolOptions, Root, file_tools};
use isolane::engine::{InProcessOptions, InProcessRuntime};
use isolane::host::{Host, Prompt, SessionOptions};
use isolane::ledger::Ledger;
use isolane::registry::PresentationMode;
use serde_json::{Value, json};

/// A step of a model: it calls a tool, or it has its answer.
enum Step {
    Call(&'static str, Value),
    Answer(String),
}

/// Stands for a model. It reads the schemas and the SDK, writes one program, and tells what came back.
fn model(prompt: &Prompt, results: &[String]) -> Step {
    let Some(result) = results.last() else {
        let sdk = prompt.sdk.as_ref().map_or(0, |sdk| sdk.tools);
        println!("model: I see {} schema, and {sdk} functions for programs", prompt.schemas.len());
        let code = r#"
            const { paths } = await tools.glob({ pattern: "src/**/*.rs" });
            const files = await Promise.all(paths.map((path) => tools.read({ file_path: path })));
            const lines = files.reduce((sum, file) => sum + file.total_lines, 0);
            return `${paths.length} files with ${lines} lines`;"#;
        return Step::Call(
            "run_code",
            json!({"description": "Count the lines of the sources", "code": code}),
        );
    };
    Step::Answer(format!("The sources are {result}."))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder()
        .tools(file_tools(Root::open(".".as_ref())?, FileToolOptions::default())?)
        .runtime(InProcessRuntime::new(&InProcessOptions::default()))
        .mode(PresentationMode::Code)
        .build()?;
    let (ledger, events) = Ledger::in_memory("conversation-1".into(), host.clock().clone());
    let session = host.session(SessionOptions::new("conversation-1").ledger(ledger));
    let mut results = Vec::new();
    loop {
        match model(&session.prompt()?, &results) {
            Step::Call(tool, arguments) => {
                let result = session.call(tool, arguments).await;
                let content = result.map_or_else(|failure| failure.content, |success| success.content);
                results.extend(content.iter().filter_map(|block| block.as_text()).map(str::to_owned));
            }
            Step::Answer(text) => break println!("model: {text}"),
        }
    }
    println!("host: {} events", events.events().len());
    Ok(())
}
