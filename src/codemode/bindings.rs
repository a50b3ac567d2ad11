//! What a program can call: the meeting point of the define side and the run side.
//!
//! Owns the list of bindings of one view, in the form that the isolate's own JavaScript reads. It is made from a
//! sealed view and changes with it only (SDK-1). It calls the registry's view.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::codemode::program::ArgumentNames;
use crate::ids::spelling::{is_plain_identifier, string_literal};
use crate::ids::{ToolName, tool_reference};
use crate::registry::RegistryView;

/// The callable tools of one view, in the view's order.
///
/// Its serialised form is for another process of the same version.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bindings {
    generation: u64,
    names: Vec<ToolName>,
    arguments: Vec<ArgumentNames>,
    json: String,
}

impl Bindings {
    /// The bindings of a view. `run_code` is never among them (CM-5).
    pub fn new(view: &RegistryView, argument_bytes: usize) -> Self {
        let mut names = Vec::new();
        let (mut tools, mut arguments) = (Vec::new(), Vec::new());
        for tool in view.callable() {
            let model = tool.definition().model();
            tools.push(json!({
                "name": model.name,
                "call": example_call(&model.name, &model.parameters),
            }));
            names.push(model.name.clone());
            arguments.push(argument_names(&model.parameters));
        }
        let hidden: Vec<_> =
            view.known_names().iter().filter(|name| view.get(name.as_str()).is_none()).collect();
        let json = json!({"tools": tools, "hidden": hidden, "maxArgBytes": argument_bytes}).to_string();
        Self { generation: view.generation(), names, arguments, json }
    }

    /// The generation of the view that these were made from.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The tool behind an index that the isolate sends; nothing when there is no such tool.
    pub fn tool(&self, index: usize) -> Option<&ToolName> {
        self.names.get(index)
    }

    /// The names, in the view's order.
    pub fn names(&self) -> &[ToolName] {
        &self.names
    }

    /// What the arguments of each tool are called, in the order of the names.
    pub fn arguments(&self) -> &[ArgumentNames] {
        &self.arguments
    }

    /// The text that the isolate's own JavaScript builds `tools` from.
    pub fn json(&self) -> &str {
        &self.json
    }
}

fn argument_names(parameters: &Value) -> ArgumentNames {
    let required: Vec<_> = required_names(parameters).map(str::to_owned).collect();
    let declared = parameters.get("properties").and_then(Value::as_object).into_iter().flatten();
    let optional = declared.map(|(name, _)| name.clone()).filter(|name| !required.contains(name)).collect();
    ArgumentNames { required, optional }
}

fn required_names(parameters: &Value) -> impl Iterator<Item = &str> {
    parameters.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Most properties that an example call spells out.
const SHOWN_PROPERTIES: usize = 6;

/// `await tools.read({file_path: string, limit?: number})`: the right call, spelled from the schema.
pub fn example_call(name: &ToolName, parameters: &Value) -> String {
    let access = tool_reference(name.as_str());
    let required: Vec<_> = required_names(parameters).collect();
    let declared = parameters.get("properties").and_then(Value::as_object);
    let mut properties: Vec<(&str, &Value)> =
        declared.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema)).collect();
    properties.sort_unstable_by_key(|(name, _)| (!required.contains(name), *name));
    let mut shown: Vec<_> = properties
        .iter()
        .take(SHOWN_PROPERTIES)
        .map(|(name, schema)| {
            let mark = if required.contains(name) { "" } else { "?" };
            format!("{}{mark}: {}", argument_key(name), kind_of(schema))
        })
        .collect();
    if properties.len() > SHOWN_PROPERTIES {
        shown.push("...".to_owned());
    }
    format!("await {access}({{{}}})", shown.join(", "))
}

/// The key of an object as a program writes it.
fn argument_key(name: &str) -> String {
    match name {
        // Written any other way, it is the prototype and no member.
        "__proto__" => r#"["__proto__"]"#.to_owned(),
        _ if is_plain_identifier(name) => name.to_owned(),
        _ => string_literal(name),
    }
}

fn kind_of(schema: &Value) -> &'static str {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "string",
        Some("integer" | "number") => "number",
        Some("boolean") => "boolean",
        Some("array") => "[...]",
        Some("object") => "{...}",
        Some("null") => "null",
        _ => "...",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-10
    #[test]
    fn the_right_call_is_spelled_from_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "file_path": {"type": "string"}, "a-b": {"enum": [1]}},
            "required": ["file_path"],
        });
        assert_eq!(
            example_call(&"read".into(), &schema),
            r#"await tools.read({file_path: string, "a-b"?: ..., limit?: number})"#
        );
        assert_eq!(example_call(&"my-tool".into(), &json!({})), r#"await tools["my-tool"]({})"#);
        let odd = json!({"properties": {"__proto__": {}, "delete": {}, "a\u{2028}b": {}}});
        assert_eq!(
            example_call(&"delete".into(), &odd),
            r#"await tools.delete({["__proto__"]?: ..., "a\u2028b"?: ..., delete?: ...})"#
        );
    }

    /// CM-5, CM-10
    #[test]
    fn every_callable_tool_is_bound_in_the_views_order_and_hidden_ones_are_only_named() {
        use crate::registry::{PresentationMode, Registry, Restriction, Target};
        use crate::tool::{Tool, ToolContext, ToolError};

        let tool = |name: &str| {
            let nothing = |_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) };
            Tool::builder(name).output(json!({"type": "null"})).handler(nothing).unwrap()
        };
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        for name in ["then", "__proto__", "a.b", "write"] {
            registry.register(&Target::Global, tool(name)).unwrap().keep();
        }
        registry.set_default_mode(PresentationMode::Code);
        registry.set_run_code(tool("run_code"));
        let scope = Target::Scope("agent".into());
        registry.restrict(&scope, Restriction::deny(["write"])).unwrap().keep();
        let view = registry.view(Some(&"agent".into())).unwrap();
        let bindings = Bindings::new(&view, 7);
        assert_eq!(bindings.names(), &["__proto__".into(), "a.b".into(), "then".into()] as &[ToolName]);
        assert_eq!((bindings.tool(1), bindings.tool(3)), (Some(&"a.b".into()), None));
        assert_eq!(
            serde_json::from_str::<Value>(bindings.json()).unwrap(),
            json!({
                "tools": [
                    {"name": "__proto__", "call": "await tools.__proto__({})"},
                    {"name": "a.b", "call": "await tools[\"a.b\"]({})"},
                    {"name": "then", "call": "await tools.then({})"},
                ],
                "hidden": ["write"],
                "maxArgBytes": 7,
            })
        );
    }
}
