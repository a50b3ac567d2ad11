//! What a scope's model is shown.
//!
//! Owns the assembly of schemas and SDK text from one view (I-1). It adds no prose of its own. It calls the
//! registry's view and the SDK renderer.

use std::sync::Arc;

use crate::registry::{PresentationMode, RegistryError, RegistryView};
use crate::sdk::{SdkBundle, SdkOptions, SdkTool, render_typescript};
use crate::tool::ModelFace;

use super::Session;

/// What a model is shown at one moment.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The native schemas: all visible tools, `run_code` alone, or both, by the scope's mode.
    pub schemas: Vec<ModelFace>,
    /// The SDK that programs are written against; absent in native mode.
    pub sdk: Option<SdkBundle>,
}

/// The SDK of what a view lets programs call (SDK-1).
pub(super) fn sdk(view: &RegistryView) -> SdkBundle {
    let definitions: Vec<_> = view.callable().map(|tool| Arc::clone(tool.definition())).collect();
    let tools: Vec<_> = definitions
        .iter()
        .map(|definition| SdkTool {
            name: definition.name().as_str(),
            description: &definition.model().description,
            parameters: &definition.model().parameters,
            output: definition.output().schema.source(),
        })
        .collect();
    render_typescript(&tools, &SdkOptions::default())
}

impl Session {
    /// What this session's model is shown now.
    pub fn prompt(&self) -> Result<Prompt, RegistryError> {
        let view = self.view()?;
        let schemas = view.schemas().into_iter().cloned().collect();
        let sdk = (view.mode() != PresentationMode::Native).then(|| sdk(&view));
        Ok(Prompt { schemas, sdk })
    }

    /// The SDK of the tools that this session's programs may call, whatever the presentation mode.
    pub fn sdk(&self) -> Result<SdkBundle, RegistryError> {
        Ok(sdk(&*self.view()?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::codemode::bindings::Bindings;
    use crate::ids::ToolName;
    use crate::registry::{Registry, Restriction, Target};
    use crate::tool::{Tool, ToolContext, ToolError};

    const NAMES: &[&str] = &[
        "read",
        "getUser",
        "get_user",
        "my-tool",
        "a.b",
        "then",
        "__proto__",
        "2fa",
        "größe",
        "say \"hi\"",
        "*/",
    ];

    fn tool(name: &str) -> Tool {
        let nothing = |_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) };
        Tool::builder(name).output(json!({"type": "null"})).handler(nothing).unwrap()
    }

    /// The keys of an interface in the text, read back as a program would mean them.
    fn keys(text: &str, interface: &str) -> Vec<String> {
        let (_, body) = text.split_once(&format!("interface {interface} {{\n")).unwrap();
        let key = |line: &str| match line.strip_prefix("  \"") {
            Some(quoted) => serde_json::Deserializer::from_str(&format!("\"{quoted}"))
                .into_iter::<String>()
                .next()
                .unwrap()
                .unwrap(),
            None => line.trim().split(':').next().unwrap().to_owned(),
        };
        body.lines().take_while(|line| *line != "}").map(key).collect()
    }

    fn some_names() -> impl Strategy<Value = BTreeSet<&'static str>> {
        prop::collection::btree_set(prop::sample::select(NAMES), 0..8)
    }

    proptest! {
        /// SDK-1: whatever is registered, restricted and presented how, the text declares what a program can call.
        #[test]
        fn a_program_can_call_exactly_what_the_text_declares(
            (global, own, denied) in (some_names(), some_names(), some_names()),
            mode in prop::sample::select(&[PresentationMode::Native, PresentationMode::Code, PresentationMode::Both][..]),
        ) {
            let registry = Registry::new();
            registry.open_scope("agent".into(), None).unwrap();
            let scope = Target::Scope("agent".into());
            for (target, names) in [(&Target::Global, &global), (&scope, &own)] {
                for name in names {
                    registry.register(target, tool(name)).unwrap().keep();
                }
            }
            registry.set_run_code(tool("run_code"));
            registry.present_as(&"agent".into(), mode).unwrap().keep();
            let denied: Vec<&str> = denied.intersection(&global).copied().collect();
            if !denied.is_empty() {
                registry.restrict(&scope, Restriction::deny(denied)).unwrap().keep();
            }
            for scope in [None, Some("agent".into())] {
                let view = registry.view(scope.as_ref()).unwrap();
                let (bundle, bindings) = (sdk(&view), Bindings::new(&view, 1));
                let bound: Vec<&str> = bindings.names().iter().map(ToolName::as_str).collect();
                prop_assert_eq!(&bundle.names, &bound);
                prop_assert_eq!(keys(&bundle.text, "ToolArgsMap"), bound.clone());
                prop_assert_eq!(keys(&bundle.text, "ToolOutputMap"), bound);
            }
        }
    }
}
