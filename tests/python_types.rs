//! Rendered Python passes Python itself and strict checkers, and means what the schemas say.
//!
//! Owns the running of `python3`, `mypy` and `pyright`, found on the PATH, over texts in a folder of their own. One
//! that is not there is left out with a line that says so; with `ISOLANE_PYTHON_CHECKERS=required` that is a failure.
//! Built without the engine only, which rendering has no use for: every other test binary would link V8.

#![cfg(not(feature = "engine"))]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at what must not happen, and says what it leaves out"
)]

#[path = "../src/sdk/tests/random.rs"]
mod random;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use isolane::sdk::{SdkLanguage, SdkOptions, SdkTool, render};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use random::{NAUGHTY, Tool};
use serde_json::{Value, json};

/// Values of these cases have keys that their class does not name. Python's types have no word for such keys, and a
/// literal is asked to have none.
const OTHER_KEYS: &[&str] =
    &["number_property_plus_string_index", "optional_property_plus_same_type_index", "pattern_properties"];

/// Values that TypeScript refuses and Python cannot, by case and place in its list: `True` is a number, and no list
/// type tells places apart.
const NOT_REFUSED: &[(&str, usize)] =
    &[("array_of_any_of", 0), ("prefix_items_closed", 0), ("prefix_items_closed", 1), ("tuple_draft07", 0)];

/// Python files in a folder, to be checked together.
struct Modules {
    folder: tempfile::TempDir,
    names: Vec<String>,
}

impl Modules {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), names: Vec::new() }
    }

    fn write(&mut self, name: &str, text: &str) {
        std::fs::write(self.path(&format!("{name}.py")), text).unwrap();
        self.names.push(name.to_owned());
    }

    /// A module with the SDK of these tools.
    fn render(&mut self, name: &str, tools: &[Tool]) {
        let faces: Vec<SdkTool<'_>> = tools.iter().map(Tool::face).collect();
        self.write(name, &render(SdkLanguage::Python, &faces, &SdkOptions::default()).text);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Asks Python, which runs the modules too, and both checkers.
    fn check(&self) {
        assert!(!self.names.is_empty());
        let files: Vec<String> = self.names.iter().map(|name| format!("{name}.py")).collect();
        // The types that are used here came with 3.11.
        if has("python3", &["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]) {
            self.run("python3", ["-W", "error", "-m", "py_compile"].map(str::to_owned).iter().chain(&files));
            let import = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)";
            self.run("python3", ["-W", "error", "-c", import].map(str::to_owned).iter().chain(&self.names));
        }
        if has("mypy", &["--version"]) {
            let options =
                ["--strict", "--python-version", "3.11", "--cache-dir", ".mypy", "--no-error-summary"];
            self.run("mypy", options.map(str::to_owned).iter().chain(&files));
        }
        if has("pyright", &["--version"]) {
            let config = json!({
                "typeCheckingMode": "strict", "pythonVersion": "3.11", "reportUnnecessaryTypeIgnoreComment": false,
                "include": files,
            });
            std::fs::write(self.path("pyrightconfig.json"), config.to_string()).unwrap();
            self.run("pyright", ["--project", "pyrightconfig.json"]);
        }
    }

    fn run(&self, program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) {
        let output = Command::new(program).args(arguments).current_dir(self.folder.path()).output().unwrap();
        assert!(output.status.success(), "{program}:\n{}", said(&output));
    }
}

fn said(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    texts.concat().chars().take(20_000).collect()
}

/// Whether a program is there and does what it is asked.
fn has(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !found {
        let required = std::env::var("ISOLANE_PYTHON_CHECKERS").is_ok_and(|value| value == "required");
        assert!(!required, "`{program}` is required and not there, or too old");
        println!("SKIPPED {program}: it is not there, or too old");
    }
    found
}

/// A folder with data that the project does not hold, and may be absent.
fn shared(folder: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    std::env::var_os("ISOLANE_SHARED").map_or_else(beside, PathBuf::from).join(folder)
}

/// The JSON files of a folder by name; none, and a line that says so, if there is no folder.
fn json_files(folder: &Path) -> Vec<(String, Value)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("SKIPPED {}: it is not there", folder.display());
        return Vec::new();
    };
    let mut files: Vec<(String, Value)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json" || extension == "snap"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap())
        })
        .collect();
    files.sort_by(|one, other| one.0.cmp(&other.0));
    files
}

fn tool(name: &str, description: &str, parameters: &Value, output: &Value) -> Tool {
    let (parameters, output) = (parameters.clone(), output.clone());
    Tool { name: name.to_owned(), description: description.to_owned(), parameters, output }
}

/// JSON as a Python literal.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => Value::from(text.as_str()).to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries =
                map.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), literal(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A module in which a program calls the tool of another one with each of the values.
fn calls(module: &str, values: &[Value], mark: &str) -> String {
    let mut text = format!("import {module}\n\n\nasync def main() -> None:\n");
    for value in values {
        let _ = writeln!(text, "    await {module}.tools.case({}){mark}", literal(value));
    }
    text
}

/// SDK-7: texts of all fixtures, of hostile tools and of random ones compile, can be imported, and pass.
#[test]
fn rendered_text_passes_python_and_its_checkers() {
    let mut modules = Modules::new();
    modules.render("nothing", &[]);
    for (topic, cases) in json_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sdk/tests/fixtures")) {
        let cases = cases.as_array().unwrap();
        let tools: Vec<Tool> = cases
            .iter()
            .enumerate()
            .map(|(index, case)| {
                let says = case["says"].as_str().unwrap();
                tool(&format!("case_{index}"), says, &case["schema"], &case["schema"])
            })
            .collect();
        modules.render(&format!("fixture_{topic}"), &tools);
    }
    modules.render("hostile", &hostile());
    let mut runner = TestRunner::deterministic();
    for index in 0..40 {
        let mut seen = BTreeSet::new();
        let mut tools: Vec<Tool> = Vec::new();
        for _ in 0..4 {
            tools.extend(random::tools().new_tree(&mut runner).unwrap().current());
        }
        tools.retain(|tool| seen.insert(tool.name.clone()));
        modules.render(&format!("random_{index}"), &tools);
    }
    modules.check();
}

/// SDK-7: so do those of a real server's tools, and of the schemas that show every keyword.
#[test]
fn text_of_foreign_schemas_passes_too() {
    let mut modules = Modules::new();
    let any = Value::Bool(true);
    let real = json_files(&shared("data/github-mcp-tools")).into_iter().map(|(_, face)| {
        let [name, description] = ["name", "description"].map(|key| face[key].as_str().unwrap_or_default());
        tool(name, description, &face["inputSchema"], &any)
    });
    modules.render("real", &real.collect::<Vec<_>>());
    for (topic, groups) in json_files(&shared("data/json-schema-test-suite/draft2020-12")) {
        let groups = groups.as_array().unwrap().iter().enumerate();
        let tools = groups.map(|(index, group)| {
            let says = group["description"].as_str().unwrap();
            tool(&format!("group_{index}"), says, &group["schema"], &group["schema"])
        });
        modules.render(&format!("suite_{}", topic.replace('-', "_")), &tools.collect::<Vec<_>>());
    }
    modules.check();
}

/// Names and words made to hurt, each in every place where a tool can have one.
fn hostile() -> Vec<Tool> {
    let names = [
        "__init__",
        "__getitem__",
        "__class__",
        "self",
        "class",
        "None",
        "Tools",
        "tools",
        "list",
        "str",
        "int",
        "dict",
        "overload",
        "Literal",
        "JsonValue",
        "OptionalCall",
        "ToolCallError",
        "Protocol",
        "A_Args",
        "a",
        "_",
        "_is_protocol",
        "mro",
        "match",
        "print",
        "property",
        "Exception",
        "items",
        "keys",
        "\"\"\"",
        "ends with \"",
        "ends with \\",
        "type: ignore",
        "x # type: ignore",
        "pyright: basic",
        "mypy: ignore-errors",
        "#",
        "'''",
        "a\nb: int",
        "\\N{DIGIT}",
    ];
    let names: Vec<&str> = names.iter().chain(NAUGHTY).copied().collect();
    let object = |keys: &[&str]| {
        let members: serde_json::Map<String, Value> = keys
            .iter()
            .map(|key| {
                ((*key).to_owned(), json!({"type": ["string", "null"], "description": key, "default": key}))
            })
            .collect();
        json!({"type": "object", "properties": members, "required": keys.first()})
    };
    let everything = object(&names);
    names
        .iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let alone = json!({
                "type": "object", "required": [name], "description": name,
                "properties": {
                    *name: {"enum": [name, null, 1]},
                    "inner": {"oneOf": [
                        {"description": name, "type": "object", "required": ["x"], "properties": {"x": {"$ref": "#"}}},
                        {"description": name, "const": name},
                        {"title": name, "type": "array", "prefixItems": [{"const": name}, {"type": "number"}]},
                    ]},
                    "map": {"type": "object", "patternProperties": {format!("^{name}"): {"type": "number"}}}
                },
                "additionalProperties": {"type": "string"}
            });
            let (args, output) = if index % 8 == 0 { (&alone, &everything) } else { (&alone, &Value::Null) };
            tool(name, name, if index % 3 == 0 { output } else { args }, if index % 3 == 0 { args } else { output })
        })
        .collect()
}

/// SDK-5, SDK-7: a program may pass every value that the schema of a case accepts, and none that a type can refuse.
#[test]
fn values_of_the_schemas_are_of_the_types() {
    let cases = json_files(&shared("cases/sdk"));
    if cases.is_empty() {
        return;
    }
    let mut modules = Modules::new();
    for (name, case) in &cases {
        modules.render(name, &[tool("case", "", &case["schema"], &Value::Bool(true))]);
        let values = |list: &str| case[list].as_array().cloned().unwrap_or_default();
        let mark = if OTHER_KEYS.contains(&name.as_str()) {
            "  # type: ignore[typeddict-unknown-key,unused-ignore]"
        } else {
            ""
        };
        modules.write(&format!("{name}_valid"), &calls(name, &values("valid"), mark));
        let mut refused: Vec<Value> = values("ts_must_reject");
        let mut place = 0..;
        refused.retain(|_| !NOT_REFUSED.contains(&(name.as_str(), place.next().unwrap())));
        if !refused.is_empty() {
            // Where nothing is to be ignored, the checker says so.
            modules.write(&format!("{name}_refused"), &calls(name, &refused, "  # type: ignore"));
        }
    }
    modules.check();
}
