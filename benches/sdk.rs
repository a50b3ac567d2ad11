//! What the text of an SDK costs: rendered for the first time, after a change, and of a schema made to grow.
//!
//! `cargo bench --bench sdk --no-default-features`. Each figure is the time of one text, the registry's view of it
//! being there already; nothing here is a test.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod table;

use std::hint::black_box;
use std::sync::Arc;

use isolane::clock::{Clock, SystemClock};
use isolane::registry::{Disposer, Registry, RegistryView, Target};
use isolane::sdk::{SdkCache, SdkLanguage, SdkOptions, SdkTool, render_typescript};
use isolane::tool::{Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};
use table::{heading, row, since};

const TOOLS: usize = 1_000;
const ROUNDS: usize = 50;

fn main() {
    heading();
    catalogue();
    doubling();
}

/// SDK-9: a catalogue whose entries are of the size that those of real servers have, about 850 bytes each.
fn catalogue() {
    let clock = SystemClock::new();
    let options = SdkOptions::default();
    let registry = Registry::new();
    let mut disposers: Vec<Disposer> = (0..TOOLS).map(|index| register(&registry, index, 0)).collect();
    let first = view(&registry);
    let (mut cold, mut changed, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let cache = SdkCache::new();
        let begun = clock.monotonic();
        bytes = black_box(cache.render(SdkLanguage::TypeScript, &first, &options)).bytes;
        cold.push(since(&clock, begun));
    }
    let cache = SdkCache::new();
    cache.render(SdkLanguage::TypeScript, &first, &options);
    drop(first);
    for round in 1..=ROUNDS {
        let index = round * 17 % TOOLS;
        drop(disposers.swap_remove(index));
        disposers.push(register(&registry, TOOLS + round, round));
        let view = view(&registry);
        let begun = clock.monotonic();
        black_box(cache.render(SdkLanguage::TypeScript, &view, &options));
        changed.push(since(&clock, begun));
        let begun = clock.monotonic();
        for _ in 0..1_000 {
            black_box(cache.render(SdkLanguage::TypeScript, &view, &options));
        }
        unchanged.push(since(&clock, begun) / 1_000);
    }
    row(&format!("{TOOLS} tools for the first time, {bytes} bytes"), &mut cold);
    row("the same after a change of one tool", &mut changed);
    row("the same without a change", &mut unchanged);
}

fn view(registry: &Registry) -> Arc<RegistryView> {
    registry.view(None).unwrap()
}

fn register(registry: &Registry, index: usize, edition: usize) -> Disposer {
    let tool = Tool::builder(format!("service_{}_action_{index}", index % 20))
        .description(format!(
            "Lists what the service knows of an item, edition {edition}.\nUse this tool to look at one item by its \
             number, or at all of a group: give `group` and leave `number` out."
        ))
        .foreign_parameters(parameters(index))
        .foreign_output(json!({"type": "array", "items": {"$ref": "#/$defs/item"}, "$defs": {"item": {
            "type": "object", "required": ["id"],
            "properties": {"id": {"type": "integer"}, "title": {"type": "string"}, "parent": {"$ref": "#/$defs/item"}},
        }}}))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) })
        .unwrap();
    registry.register(&Target::Global, tool).unwrap()
}

fn parameters(index: usize) -> Value {
    json!({
        "type": "object",
        "required": ["method", "owner"],
        "properties": {
            "method": {"enum": ["get", "list", format!("list_{index}")], "description": "What to do."},
            "owner": {"type": "string", "description": "Account that owns the item, without the leading sign."},
            "number": {"type": "integer", "description": "Number of the item.", "minimum": 1},
            "per_page": {"type": "integer", "description": "Results in a page.", "minimum": 1, "maximum": 100, "default": 30},
            "filter": {
                "type": "object", "description": "Which items count.",
                "properties": {
                    "labels": {"type": "array", "items": {"type": "string"}},
                    "since": {"type": "string", "format": "date-time"},
                },
            },
            "target": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}]},
        },
    })
}

/// SDK-8: thirty definitions, each of which holds the next one twice.
fn doubling() {
    let clock = SystemClock::new();
    let nothing = json!({"type": "null"});
    for keyword in ["properties", "allOf", "anyOf", "prefixItems"] {
        let schema = doubled(keyword);
        let tool = SdkTool { name: "demo", description: "", parameters: &schema, output: &nothing };
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let begun = clock.monotonic();
            bytes = black_box(render_typescript(&[tool], &SdkOptions::default())).bytes;
            times.push(since(&clock, begun));
        }
        row(&format!("doubled 30 times by `{keyword}`, {bytes} bytes"), &mut times);
    }
}

fn doubled(keyword: &str) -> Value {
    let mut definitions: Map<String, Value> = Map::new();
    for index in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
        let again = json!({"$ref": format!("#/$defs/d{}", index + 1), "title": "again"});
        let twice = match keyword {
            "properties" => json!({"type": "object", keyword: {"a": next, "b": again}}),
            _ => json!({keyword: [next, again]}),
        };
        definitions.insert(format!("d{index}"), twice);
    }
    definitions.insert("d30".to_owned(), json!({"type": "object", "properties": {"x": {"type": "string"}}}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}
