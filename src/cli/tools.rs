//! `isolane tools` (I-4).
//!
//! Owns the table of tools. What a model is shown natively is printed as the prompt has it.

use std::fmt::Write as _;

use isolane::host::SessionOptions;
use isolane::registry::RegistryView;
use isolane::tool::{Concurrency, ConcurrencyRule, ToolDefinition};

use super::Ending;
use super::args::ToolsArgs;
use super::deployment::Deployment;
use super::output::say;
use super::text::{inert, json_line};

/// Lists the tools.
pub(super) fn tools(args: &ToolsArgs) -> anyhow::Result<Ending> {
    let host = Deployment::open(&args.deployment)?.host()?;
    let session = host.session(SessionOptions::new("cli"))?;
    let view = session.view()?;
    let text = if args.json { json_line(&view.schemas())? } else { table(&view) };
    say(&text)?;
    Ok(Ending::Success)
}

fn table(view: &RegistryView) -> String {
    let rows: Vec<_> = view
        .visible()
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            let name = inert(definition.name().as_str()).into_owned();
            (name, class(definition), inert(first_sentence(&definition.model().description)).into_owned())
        })
        .collect();
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, class, description) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:width$}  {class:12}  {description}");
    }
    text
}

/// How the scheduler treats calls of the tool (T-5).
fn class(definition: &ToolDefinition) -> &'static str {
    match definition.scheduler().concurrency {
        ConcurrencyRule::Always(Concurrency::Parallel) => "parallel",
        ConcurrencyRule::Always(Concurrency::Exclusive) | ConcurrencyRule::Undeclared => "exclusive",
        ConcurrencyRule::Classify(_) => "by arguments",
    }
}

fn first_sentence(description: &str) -> &str {
    let first = description.trim().lines().next().unwrap_or_default();
    let end = first.find(". ").map_or(first.len(), |end| end + 1);
    first.get(..end).unwrap_or(first)
}
