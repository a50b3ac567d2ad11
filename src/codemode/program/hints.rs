//! What to tell a model that reached for something that is not there.
//!
//! Owns the nearest-name search and the table of habits from other systems (`require`, `process`,
//! Python's `None`, ...) with what exists instead. It must never invent a tool: only names of visible
//! tools are proposed. `refuse` and the engine's error report use it.

use serde::{Deserialize, Serialize};

use crate::ids::{nearest, tool_reference, words_of};

/// What the messages may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolHints<'a> {
    /// The names of the tools that the program sees, in their order.
    pub names: &'a [&'a str],
    /// The arguments of each tool, in the order of `names`. Tools without an entry are not told by their arguments.
    pub arguments: &'a [ArgumentNames],
}

/// What the arguments of one tool are called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentNames {
    /// Those that every call has.
    pub required: Vec<String>,
    /// All others.
    pub optional: Vec<String>,
}

impl ToolHints<'_> {
    /// The one tool that arguments of these names are for; nothing when none or several fit equally.
    pub(super) fn tool_for(&self, given: &[&str]) -> Option<&str> {
        if given.is_empty() {
            return None;
        }
        let mut fitting: Vec<(usize, &str)> = Vec::new();
        for (name, arguments) in
            self.names.iter().zip(self.arguments).filter(|(name, _)| **name != "run_code")
        {
            let ArgumentNames { required, optional } = arguments;
            let is_known = |key: &&str| required.iter().chain(optional).any(|known| known == key);
            if given.iter().all(is_known) {
                // What is missing weighs more than what could be said besides.
                let missing = required.iter().filter(|name| !given.contains(&name.as_str())).count();
                let spare = (required.len() + optional.len()).saturating_sub(given.len());
                fitting.push((missing * 1000 + spare, name));
            }
        }
        let (least, tool) = fitting.iter().copied().min()?;
        (fitting.iter().filter(|(distance, _)| *distance == least).count() == 1).then_some(tool)
    }
}

/// The globals that the messages name; the whole list is in the documentation of `run_code` (CM-9).
pub(super) const GLOBALS: &str = "`tools`, `console`, `print`, `state`, `URL`, `crypto`, `TextEncoder`, \
                                  `structuredClone`, `setTimeout` and the ECMAScript standard library";

/// A kind of power that programs of other systems take from modules and globals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    Files,
    Commands,
    Network,
    Patches,
}

impl Power {
    /// Words in the name of a tool that has the power, the surest first.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Files => &["read", "file", "files", "fs", "write", "edit", "list", "glob"],
            Self::Commands => {
                &["exec", "command", "shell", "bash", "run", "terminal", "process", "powershell"]
            }
            Self::Network => &["fetch", "http", "url", "web", "request", "browse", "download", "curl"],
            Self::Patches => &["patch", "edit", "diff", "write"],
        }
    }

    fn does(self) -> &'static str {
        match self {
            Self::Files => "reads files",
            Self::Commands => "runs commands",
            Self::Network => "reaches the network",
            Self::Patches => "changes files",
        }
    }

    /// The first visible tool whose name speaks of the power.
    fn tool<'a>(self, hints: &ToolHints<'a>) -> Option<&'a str> {
        self.words().iter().find_map(|wanted| {
            hints.names.iter().copied().find(|name| {
                *name != "run_code" && words_of(name).iter().any(|word| word.eq_ignore_ascii_case(wanted))
            })
        })
    }

    /// One sentence: the tool to call, or that there is none.
    pub(super) fn sentence(self, hints: &ToolHints<'_>) -> String {
        match self.tool(hints) {
            Some(tool) => {
                let reference = tool_reference(tool);
                format!("`{reference}` is the nearest tool: call `await {reference}({{...}})`")
            }
            None => format!("no visible tool {}", self.does()),
        }
    }
}

/// What stands in for a module, by its name: a power, or a sentence.
pub(super) fn instead_of_module(specifier: &str, hints: &ToolHints<'_>) -> String {
    let bare = specifier.trim_start_matches("node:").trim_start_matches("npm:").trim_start_matches("jsr:");
    let name = bare.split('/').next().unwrap_or(bare);
    let power = match name {
        "fs" | "fs-extra" | "graceful-fs" | "path" | "glob" | "fast-glob" | "globby" | "rimraf"
        | "mkdirp" => Some(Power::Files),
        "child_process" | "execa" | "shelljs" | "zx" | "cross-spawn" | "os" | "process" => {
            Some(Power::Commands)
        }
        "http" | "https" | "http2" | "net" | "axios" | "got" | "undici" | "node-fetch" | "superagent"
        | "ky" => Some(Power::Network),
        _ => None,
    };
    let nearest_tool = || nearest(name, hints.names.iter().copied()).map(tool_reference);
    match (power, name) {
        (Some(power), _) => power.sentence(hints),
        (None, "crypto") => "`crypto.randomUUID()` and `crypto.subtle.digest()` are globals".to_owned(),
        (None, "url") => "`URL` and `URLSearchParams` are globals".to_owned(),
        (None, "buffer") => "use `Uint8Array`, `TextEncoder`, `atob` and `btoa`".to_owned(),
        (None, "util" | "assert" | "console") => {
            "`console.log`, `console.dir` and `console.assert` are globals".to_owned()
        }
        (None, "timers") => "`setTimeout` is a global".to_owned(),
        _ => match nearest_tool() {
            Some(tool) => format!("`{tool}` is a tool: call `await {tool}({{...}})`"),
            None => "call tools instead, or write the helper inline".to_owned(),
        },
    }
}

/// What to say about a global that a program used and that does not exist (for a `ReferenceError`).
///
/// `follows` is the text right behind the name, from which the member or the module that was meant can be read.
/// `None` when nothing better than the engine's own message is known.
pub fn explain_missing_global(name: &str, follows: &str, hints: &ToolHints<'_>) -> Option<String> {
    if let Some(tool) = hints.names.iter().find(|tool| **tool == name) {
        let reference = tool_reference(tool);
        return Some(format!("`{name}` is a tool: call `await {reference}({{...}})`"));
    }
    let powered =
        |power: Power| Some(format!("`{name}` does not exist in a program; {}", power.sentence(hints)));
    let instead = |text: &str| Some(format!("`{name}` does not exist in a program; {text}"));
    match name {
        "fs" | "path" | "open" | "readFile" | "readFileSync" | "writeFile" | "writeFileSync"
        | "__dirname" | "__filename" | "Deno" | "Bun" => powered(Power::Files),
        "child_process" | "exec" | "execSync" | "spawn" | "spawnSync" | "subprocess" | "os" | "sh" | "$"
        | "shell" => powered(Power::Commands),
        "fetch" | "axios" | "http" | "https" | "XMLHttpRequest" | "WebSocket" | "requests" | "curl" => {
            powered(Power::Network)
        }
        "require" if let Some(module) = first_text(follows) => instead(&instead_of_module(module, hints)),
        "require" | "module" | "exports" | "importScripts" => {
            instead(&format!("there are no modules: what a program can do is {GLOBALS}"))
        }
        "functions" | "tool" | "multi_tool_use" | "mcp" => {
            let meant = member(follows).and_then(|member| nearest(member, hints.names.iter().copied()));
            let example = meant.map_or_else(|| first_reference(hints), tool_reference);
            instead(&format!("tools are called as `await {example}({{...}})`"))
        }
        "process" => instead(
            "there is no environment, no arguments and no exit: `return` a value, print with `console.log`",
        ),
        "Buffer" => instead("use `Uint8Array`, `TextEncoder`, `TextDecoder`, `atob` and `btoa`"),
        "window" | "document" | "navigator" | "localStorage" | "sessionStorage" | "location" => {
            instead("there is no browser: `state` keeps JSON values between runs, `tools` does the rest")
        }
        "global" | "self" => instead("the global object is `globalThis`"),
        "WebAssembly" | "SharedArrayBuffer" | "Atomics" | "eval" | "Worker" => {
            instead("it is not part of the sandbox")
        }
        "None" => instead("this is Python: write `null`"),
        "True" => instead("this is Python: write `true`"),
        "False" => instead("this is Python: write `false`"),
        "len" => instead("this is Python: write `x.length`"),
        "str" | "repr" => instead("this is Python: write `String(x)`"),
        "int" | "float" => instead("this is Python: write `Number(x)`"),
        "range" => instead("this is Python: write `Array.from({length: n}, (_, i) => i)`"),
        "dict" | "list" | "tuple" => instead("this is Python: write `{}` or `[]`"),
        "json" => instead("write `JSON.parse(text)` or `JSON.stringify(value)`"),
        "asyncio" => instead("write `await` and `Promise.all([...])`"),
        "input" => instead("a program cannot ask; print or return what you need to know"),
        "lt" | "gt" | "amp" | "quot" if follows.starts_with(';') => {
            Some(format!("the program is escaped as HTML (`&{name};`): pass it as plain text"))
        }
        "echo" | "puts" | "println" | "printf" => instead("print with `console.log(...)`"),
        _ => {
            let tool = nearest(name, hints.names.iter().copied())?;
            let reference = tool_reference(tool);
            Some(format!(
                "`{name}` does not exist in a program; did you mean the tool `{reference}`? Call `await {reference}({{...}})`"
            ))
        }
    }
}

/// The text in `("text")`.
fn first_text(follows: &str) -> Option<&str> {
    let inside = follows.trim_start().strip_prefix('(')?.trim_start();
    let quote = inside.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    inside.get(1..)?.split_once(quote).map(|(text, _)| text)
}

/// The name in `.name`.
fn member(follows: &str) -> Option<&str> {
    let name = follows.trim_start().strip_prefix('.')?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$');
    name.get(..end.unwrap_or(name.len())).filter(|name| !name.is_empty())
}

/// The first visible tool as an example, or a stand-in.
pub(super) fn first_reference(hints: &ToolHints<'_>) -> String {
    hints
        .names
        .iter()
        .find(|name| **name != "run_code")
        .map_or_else(|| "tools.name".to_owned(), |name| tool_reference(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: ToolHints<'static> = ToolHints {
        names: &["run_code", "read", "write", "exec_command", "get_user", "my-tool"],
        arguments: &[],
    };

    /// CM-32
    #[test]
    fn arguments_tell_their_tool() {
        let named = |required: &[&str], optional: &[&str]| ArgumentNames {
            required: required.iter().map(|name| (*name).to_owned()).collect(),
            optional: optional.iter().map(|name| (*name).to_owned()).collect(),
        };
        let arguments = [
            named(&["code"], &["file_path"]),
            named(&["file_path", "content"], &[]),
            named(&["file_path"], &["limit", "offset"]),
            named(&["id"], &[]),
            named(&["id"], &[]),
        ];
        let hints = ToolHints { names: &["run_code", "write", "read", "one", "two"], arguments: &arguments };
        assert_eq!(hints.tool_for(&["file_path"]), Some("read"));
        assert_eq!(hints.tool_for(&["limit"]), Some("read"));
        assert_eq!(hints.tool_for(&["content", "file_path"]), Some("write"));
        assert_eq!(hints.tool_for(&["id"]), None);
        assert_eq!(hints.tool_for(&["file_path", "colour"]), None);
        assert_eq!(hints.tool_for(&[]), None);
    }

    /// CM-10
    #[test]
    fn the_nearest_name_ignores_case_and_separators() {
        let near = |name| nearest(name, HINTS.names.iter().copied());
        assert_eq!(near("getUser"), Some("get_user"));
        assert_eq!(near("raed"), Some("read"));
        assert_eq!(near("MyTool"), Some("my-tool"));
        assert_eq!(near("exec"), Some("exec_command"));
        assert_eq!(near("something"), None);
        assert_eq!(near(""), None);
    }

    /// CM-9
    #[test]
    fn what_follows_a_missing_global_says_what_was_meant() {
        assert_eq!(
            explain_missing_global("require", " ('node:fs').readFileSync", &HINTS).unwrap(),
            format!("`require` does not exist in a program; {}", instead_of_module("fs", &HINTS))
        );
        assert_eq!(
            explain_missing_global("functions", ".wirte({})", &HINTS).unwrap(),
            "`functions` does not exist in a program; tools are called as `await tools.write({...})`"
        );
        assert!(explain_missing_global("functions", "", &HINTS).unwrap().contains("await tools.read("));
    }

    /// CM-9
    #[test]
    fn missing_globals_are_explained() {
        let explain = |name| explain_missing_global(name, "", &HINTS).unwrap();
        assert_eq!(explain("read"), "`read` is a tool: call `await tools.read({...})`");
        assert_eq!(explain("my-tool"), "`my-tool` is a tool: call `await tools[\"my-tool\"]({...})`");
        assert_eq!(
            explain("fs"),
            "`fs` does not exist in a program; `tools.read` is the nearest tool: call `await tools.read({...})`"
        );
        assert_eq!(
            explain("fetch"),
            "`fetch` does not exist in a program; no visible tool reaches the network"
        );
        assert_eq!(
            explain("functions"),
            "`functions` does not exist in a program; tools are called as `await tools.read({...})`"
        );
        assert_eq!(explain("None"), "`None` does not exist in a program; this is Python: write `null`");
        assert_eq!(
            explain("wriet"),
            "`wriet` does not exist in a program; did you mean the tool `tools.write`? Call `await tools.write({...})`"
        );
        assert_eq!(explain_missing_global("somethingElse", "", &HINTS), None);
    }
}
