//! What the host says in place of the compiler.
//!
//! Owns the words for what the compiler finds and knows little of: globals and tools that are not there, and arguments
//! that are not one object. They are those of a run that fails for the same reason. It never judges. It calls the hints
//! of `program` and the bindings.

use serde::Deserialize;

use crate::codemode::bindings::example_call;
use crate::codemode::program::{ToolHints, explain_missing_global};
use crate::ids::spelling::string_literal;
use crate::ids::{SUGGESTIONS, nearest_few, tool_reference};
use crate::registry::RegistryView;
use crate::tool::ModelFace;

use super::Diagnostic;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum About {
    /// A name that does not exist.
    Missing(String),
    /// A tool that does not exist.
    Tool(String),
    /// The arguments of this tool, which are not one object.
    Arguments {
        /// The tool.
        tool: String,
        /// What is given first, such as `a string`; absent when nothing is given.
        first: Option<String>,
        /// How many arguments follow.
        more: usize,
    },
    /// The members of the arguments of this tool.
    Call(String),
}

/// Most tools that a message lists.
const LISTED: usize = 10;

impl About {
    /// Words a finding. `rest` is the program's line from the place on.
    pub(super) fn word(self, finding: &mut Diagnostic, view: &RegistryView, rest: &str) {
        match self {
            Self::Missing(name) => {
                let names: Vec<_> = names(view).collect();
                let hints = ToolHints { names: &names, ..ToolHints::default() };
                let follows = rest.strip_prefix(name.as_str()).unwrap_or_default();
                let explained = explain_missing_global(&name, follows, &hints);
                // A variable that is meant is nearer than a tool whose name is like it.
                let is_meant = finding.message.contains("Did you mean")
                    && explained.as_ref().is_some_and(|text| text.contains("did you mean"));
                match explained {
                    Some(text) if !is_meant => {
                        finding.message = text;
                        finding.hints.clear();
                    }
                    _ if finding.message.contains("type definitions") => {
                        finding.message = format!("`{name}` does not exist in a program");
                    }
                    _ => {}
                }
            }
            Self::Tool(name) => finding.message = missing_tool(&name, view),
            Self::Arguments { tool, first, more } => {
                let Some(face) = face(&tool, view) else { return };
                finding.message = wrong_arguments(face, first.as_deref(), more);
                finding.hints.clear();
            }
            Self::Call(tool) => {
                let Some(face) = face(&tool, view) else { return };
                finding.hints.push(format!("call it as `{}`", example_call(&face.name, &face.parameters)));
            }
        }
    }
}

fn names(view: &RegistryView) -> impl Iterator<Item = &str> {
    view.callable().map(|tool| tool.definition().name().as_str())
}

fn face<'v>(name: &str, view: &'v RegistryView) -> Option<&'v ModelFace> {
    view.get(name).map(|tool| tool.definition().model())
}

/// What a call of the missing tool would throw.
fn missing_tool(name: &str, view: &RegistryView) -> String {
    let reference = tool_reference(name);
    let is_hidden = view.known_names().iter().any(|known| known.as_str() == name) && view.get(name).is_none();
    if is_hidden {
        return format!("{reference} exists but is not visible to this program");
    }
    let absent = format!("there is no tool {}", string_literal(name));
    let near: Vec<_> = nearest_few(name, names(view), SUGGESTIONS).into_iter().map(tool_reference).collect();
    match near.as_slice() {
        [] => {
            let all: Vec<_> = names(view).take(LISTED).map(tool_reference).collect();
            if all.is_empty() {
                return format!("{absent}; this program has no tools");
            }
            let more = match names(view).count().saturating_sub(all.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{absent}; there are {}{more}", all.join(", "))
        }
        [only] => format!("{absent}; did you mean {only}?"),
        [first @ .., last] => format!("{absent}; did you mean {} or {last}?", first.join(", ")),
    }
}

/// What the call would throw, or the tool answer.
fn wrong_arguments(face: &ModelFace, first: Option<&str>, more: usize) -> String {
    let call = example_call(&face.name, &face.parameters);
    let Some(first) = first else { return format!("`{}` takes arguments: {call} (given none)", face.name) };
    let others = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("arguments are one object: {call} (given {first}{others})")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::codemode::check::Severity;
    use crate::registry::{Registry, Restriction, Target};
    use crate::tool::{Tool, ToolContext, ToolError};

    fn view(names: &[&str]) -> Arc<RegistryView> {
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        let parameters = json!({
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "file_path": {"type": "string"}},
            "required": ["file_path"],
        });
        for name in names {
            let nothing = |_: Value, _: ToolContext| async { Ok::<_, ToolError>(Value::Null) };
            let tool = Tool::builder(*name).parameters(parameters.clone()).output(json!({"type": "null"}));
            registry.register(&Target::Global, tool.handler(nothing).unwrap()).unwrap().keep();
        }
        registry.restrict(&Target::Scope("agent".into()), Restriction::deny(["hidden"])).unwrap().keep();
        registry.view(Some(&"agent".into())).unwrap()
    }

    fn word(about: About, message: &str, rest: &str) -> Diagnostic {
        let mut finding = Diagnostic {
            code: "TS1".to_owned(),
            severity: Severity::Error,
            message: message.to_owned(),
            hints: Vec::new(),
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            frame: None,
        };
        about.word(&mut finding, &view(&["hidden", "list", "read", "my-tool"]), rest);
        finding
    }

    /// CM-27, CM-9: the words of a missing name are those of the run.
    #[test]
    fn missing_names_are_worded_as_a_run_words_them() {
        let missing = |name: &str, message: &str, rest: &str| {
            word(About::Missing(name.to_owned()), message, rest).message
        };
        let npm = "Cannot find name 'process'. Do you need to install type definitions for node?";
        assert_eq!(
            missing("process", npm, "process.env"),
            "`process` does not exist in a program; there is no environment, no arguments and no exit: `return` a \
             value, print with `console.log`"
        );
        assert_eq!(missing("read", "", "read({})"), "`read` is a tool: call `await tools.read({...})`");
        assert!(missing("require", "", "require('fs')").contains("`tools.read` is the nearest tool"));
        assert_eq!(missing("$", "type definitions for jQuery", "$"), missing("$", "", "$"));
        assert_eq!(missing("it", "type definitions for jest", ""), "`it` does not exist in a program");
        // A variable is nearer than a tool.
        let meant = "Cannot find name 'raed'. Did you mean 'read1'?";
        assert_eq!(missing("raed", meant, "raed"), meant);
        assert!(missing("raed", "", "raed").contains("did you mean the tool `tools.read`?"));
        assert_eq!(
            missing("elsewhere", "Cannot find name 'elsewhere'.", ""),
            "Cannot find name 'elsewhere'."
        );
    }

    /// CM-27, CM-10
    #[test]
    fn missing_tools_are_worded_as_a_run_words_them() {
        let missing = |name: &str| word(About::Tool(name.to_owned()), "", "").message;
        assert_eq!(missing("raed"), "there is no tool \"raed\"; did you mean tools.read?");
        assert_eq!(missing("read_file"), "there is no tool \"read_file\"; did you mean tools.read?");
        assert_eq!(missing("hidden"), "tools.hidden exists but is not visible to this program");
        assert_eq!(
            missing("bash"),
            "there is no tool \"bash\"; there are tools.list, tools[\"my-tool\"], tools.read"
        );
    }

    /// CM-27, CM-10
    #[test]
    fn arguments_that_are_not_one_object_come_with_the_right_call() {
        let arguments = |first: Option<&str>, more| {
            let first = first.map(str::to_owned);
            word(About::Arguments { tool: "read".to_owned(), first, more }, "TS", "").message
        };
        let call = "await tools.read({file_path: string, limit?: number})";
        assert_eq!(
            arguments(Some("a string"), 0),
            format!("arguments are one object: {call} (given a string)")
        );
        assert!(arguments(Some("a string"), 2).ends_with("(given a string and 2 more)"));
        assert_eq!(arguments(None, 0), format!("`read` takes arguments: {call} (given none)"));
        let hinted = word(About::Call("read".to_owned()), "a member is missing", "");
        assert_eq!(
            (hinted.message.as_str(), hinted.hints),
            ("a member is missing", vec![format!("call it as `{call}`")])
        );
    }
}
