//! A complete agent host (I-1): `cargo run --example host`. A scripted model stands where a real one would be asked.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use isolane::builtin::files::{FileToolOptions, Root, file_tools};
use isolane::host::{Host, Prompt, SessionOptions};
use isolane::ledger::Ledger;
use isolane::outcome::{CallFailure, CallResult};
use isolane::registry::PresentationMode;
use serde_json::{Value, json};

/// A step of a model: it calls a tool, or it has its answer.
enum Step {
    Call(&'static str, Value),
    Answer(String),
}

/// Stands for a model: it has one program, and tells what came back. A real one would read a failure and try again.
fn model(prompt: &Prompt, results: &[CallResult]) -> Result<Step, CallFailure> {
    match results.last() {
        None => {
            let functions = prompt.sdk.as_ref().map_or(0, |sdk| sdk.tools);
            println!("model: I see {} schema, and {functions} functions for programs", prompt.schemas.len());
            let code = r#"
                const { paths } = await tools.glob({ pattern: "examples/*" });
                const files = await Promise.all(paths.map((path) => tools.read({ file_path: path })));
                return `${paths.length} files with ${files.reduce((sum, file) => sum + file.total_lines, 0)} lines`;"#;
            Ok(Step::Call("run_code", json!({"description": "Count the lines", "code": code})))
        }
        Some(Ok(success)) => {
            let text: String = success.content.iter().filter_map(|block| block.as_text()).collect();
            Ok(Step::Answer(format!("The examples are {text}.")))
        }
        Some(Err(failure)) => Err(failure.clone()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    isolane::child::run_if_child(); // Programs run in child processes, which are this executable again.
    converse()
}

#[tokio::main]
async fn converse() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder()
        .tools(file_tools(Root::open(".".as_ref())?, FileToolOptions::default())?)
        .mode(PresentationMode::Code)
        .build()?;
    let (ledger, events) = Ledger::in_memory("conversation-1".into(), host.clock().clone());
    let session = host.session(SessionOptions::new("conversation-1").ledger(ledger))?;
    let mut results = Vec::new();
    loop {
        match model(&session.prompt()?, &results)? {
            Step::Call(tool, arguments) => results.push(session.call(tool, arguments).await),
            Step::Answer(text) => break println!("model: {text}"),
        }
    }
    println!("host: {} events", events.events().len());
    Ok(())
}
