//! What must not be in a file, whatever its rank.
//!
//! Owns one function per rule: it takes a file and says, with file and line, what breaks the rule. None of them
//! reads anything but the file that it is given. `selftest.rs` shows that each of them bites.

use crate::paths::paths;
use crate::source::{SourceFile, Token, is};

/// Where the project's Rust files are.
pub(crate) const ALL_RUST: &[&str] = &["src", "tests", "benches", "examples", "fuzz", "build", "build.rs"];

/// Longer than this is an error: split by concept.
const MAX_LINES: usize = 600;

/// Longer than this is mentioned.
const AIM_LINES: usize = 400;

/// Crates (by the identifier that code names; `*` stands for any end) and the only places that name them.
const HOMES: &[(&str, &[&str])] = &[
    ("v8", &["src/engine", "build/checker", "build/evaluate", "build/snapshot"]),
    ("deno_core", &["src/engine", "benches/deno_core"]),
    ("serde_v8", &["src/engine"]),
    ("seccompiler", &["src/engine"]),
    ("landlock", &["src/engine"]),
    // The renderer's tests read back what was rendered.
    ("swc_*", &["src/codemode/program", "src/sdk/tests", "fuzz/fuzz_targets/sdk"]),
    ("rusqlite", &["src/ledger/store/sqlite"]),
    ("async_nats", &["src/ledger/store/jetstream", "src/ledger/store/nats", "src/fleet"]),
    ("rmcp", &["src/mcp"]),
    ("tiktoken_rs", &["src/sdk/size"]),
    ("anyhow", &["src/main", "src/bin", "src/cli"]),
    ("clap", &["src/main", "src/bin", "src/cli"]),
    ("clap_complete", &["src/main", "src/bin", "src/cli"]),
    ("indicatif", &["src/main", "src/bin", "src/cli"]),
    ("tracing_subscriber", &["src/main", "src/bin", "src/cli"]),
];

/// The only files with `unsafe` in them: where V8 calls us, where it takes what we allocate, where a child gives up what
/// it was started with, and where a test does what a child may not.
pub(crate) const UNSAFE: &[&str] = &[
    "src/engine/allocator.rs",
    "src/engine/execution/rejections.rs",
    "src/engine/checker/compiler.rs",
    "src/engine/exit.rs",
    "src/engine/isolate.rs",
    "src/engine/platform.rs",
    "src/engine/sandbox/inherited.rs",
    "src/engine/stack.rs",
    "tests/confined/calls.rs",
];

/// What is made from its input alone, byte for byte the same everywhere.
const PURE: &[&str] = &["src/sdk", "src/schema", "src/json", "src/ids", "src/content"];

/// The file starts with `//!`: what it owns, what it must never do, whom it hands work to.
pub(crate) fn head(file: &SourceFile) -> Vec<String> {
    let said = file
        .text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|head| !head.trim().is_empty());
    if said {
        Vec::new()
    } else {
        vec![format!("{}:1: the file does not begin with a `//!` head", file.name)]
    }
}

/// At most [`MAX_LINES`] lines.
pub(crate) fn length(file: &SourceFile) -> Vec<String> {
    let lines = file.text.lines().count();
    if lines <= MAX_LINES {
        return Vec::new();
    }
    vec![format!("{}: {lines} lines, the most is {MAX_LINES}; split it by concept", file.name)]
}

/// A word on a file that is longer than it should be and still allowed.
pub(crate) fn length_warning(file: &SourceFile) -> Option<String> {
    let lines = file.text.lines().count();
    (lines > AIM_LINES).then(|| format!("{}: {lines} lines, the aim is {AIM_LINES}", file.name))
}

/// `unsafe` is in the files of [`UNSAFE`] alone, whose heads say what is upheld, and beside each use of it stands why
/// it is sound.
pub(crate) fn unsafe_code(file: &SourceFile) -> Vec<String> {
    let uses = file.tokens.iter().enumerate().filter(|(_, token)| token.text == "unsafe");
    if !UNSAFE.contains(&file.name.as_str()) {
        const WHY: &str = "only the files listed in tests/architecture/rules.rs may be unsafe";
        return uses.map(|(_, token)| complaint(file, token, WHY)).collect();
    }
    let mut violations = Vec::new();
    if uses.clone().next().is_none() {
        violations.push(format!("{}: nothing is unsafe here; take it off the list in rules.rs", file.name));
    }
    if !has_safety_section(&file.text) {
        violations.push(format!("{}: the head has no section `# Safety`, or nothing in it", file.name));
    }
    for (at, token) in uses {
        // A function that V8 calls is declared so; what it relies on stands in the head.
        let declares = is(&file.tokens, at + 1, "fn")
            || (is(&file.tokens, at + 1, "extern") && is(&file.tokens, at + 3, "fn"));
        if !declares && !is_justified(&file.text, token.line) {
            violations.push(complaint(file, token, "there is no `// SAFETY:` comment above"));
        }
    }
    violations
}

fn has_safety_section(text: &str) -> bool {
    let mut head = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    head.any(|line| line == "# Safety") && head.any(|line| !line.is_empty())
}

/// Whether the comment right above the statement, attributes left aside, says why it is sound.
fn is_justified(text: &str, line: usize) -> bool {
    let above: Vec<&str> = text.lines().take(line.saturating_sub(1)).map(str::trim).collect();
    above
        .iter()
        .rev()
        // A statement that begins on the line before.
        .skip_while(|line| line.ends_with(['=', '(']))
        .skip_while(|line| line.starts_with("#["))
        .take_while(|line| line.starts_with("//"))
        .any(|line| line.starts_with("// SAFETY: "))
}

/// Each crate of [`HOMES`] is named at home only.
pub(crate) fn homes(file: &SourceFile) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, homes) in HOMES {
        if homes.iter().any(|home| belongs(&file.name, home)) {
            continue;
        }
        let matches = |word: &str| match name.strip_suffix('*') {
            Some(prefix) => word.starts_with(prefix),
            None => word == *name,
        };
        let why = format!("it may be named only in {}", homes.join(", "));
        violations.extend(words(&file.tokens, matches).map(|token| complaint(file, token, &why)));
    }
    violations
}

/// No channel that can grow without end. Tests may use one.
pub(crate) fn bounded_channels(file: &SourceFile) -> Vec<String> {
    const WHY: &str = "a channel has a bound; what does not fit waits";
    let named = |word: &str| {
        matches!(word, "unbounded_channel" | "unbounded" | "UnboundedSender" | "UnboundedReceiver")
    };
    let mut violations: Vec<String> =
        words(&file.shipped, named).map(|token| complaint(file, token, WHY)).collect();
    let tokens = &file.shipped;
    for (at, token) in tokens.iter().enumerate() {
        // tokio's takes its bound; the one without arguments is the standard library's.
        if token.text == "mpsc" && is(tokens, at + 1, "::") && is(tokens, at + 2, "channel") {
            let mut call = at + 3;
            if is(tokens, call, "::") {
                call += tokens.iter().skip(call).take_while(|token| token.text != "(").count();
            }
            if is(tokens, call, "(") && is(tokens, call + 1, ")") {
                violations.push(complaint(file, token, WHY));
            }
        }
    }
    for path in paths(tokens) {
        if path.has(&["std", "sync", "mpsc", "channel"]) || path.has(&["std", "sync", "mpsc", "*"]) {
            violations.push(format!("{}:{}: `{}`: {WHY}", file.name, path.line, path.segments.join("::")));
        }
    }
    violations
}

/// Time is read and waited for in `clock` alone, in tests too.
pub(crate) fn time(file: &SourceFile) -> Vec<String> {
    const READS: &[&[&str]] = &[
        &["SystemTime", "now"],
        &["Instant", "now"],
        &["tokio", "time"],
        &["time", "sleep"],
        &["time", "sleep_until"],
        &["time", "timeout"],
        &["time", "interval"],
        &["thread", "sleep"],
    ];
    const BOUNDED_WAITS: &[&str] = &["wait_timeout", "wait_timeout_while", "recv_timeout", "park_timeout"];
    if belongs(&file.name, "src/clock") {
        return Vec::new();
    }
    let mut violations: Vec<String> = paths(&file.tokens)
        .iter()
        .filter(|path| READS.iter().any(|read| path.has(read)))
        .map(|path| {
            let name = path.segments.join("::");
            format!(
                "{}:{}: `{name}`: time is read, and waited for, through `clock::Clock`",
                file.name, path.line
            )
        })
        .collect();
    // The last one is a store that takes its time.
    if !["src/engine/supervision", "src/ledger/writer", "tests/it/slow_store"]
        .iter()
        .any(|home| belongs(&file.name, home))
    {
        const WHY: &str = "only the watchdog and the ledger's writer wait for work with a bound";
        let waits = words(&file.tokens, |word| BOUNDED_WAITS.contains(&word));
        violations.extend(waits.map(|token| complaint(file, token, WHY)));
    }
    violations
}

/// The command line alone reads the environment; the library is handed what it needs.
pub(crate) fn environment(file: &SourceFile) -> Vec<String> {
    // A child knows by its arguments that it is one.
    if ["src/main", "src/bin", "src/cli", "src/engine/child"].iter().any(|home| belongs(&file.name, home)) {
        return Vec::new();
    }
    paths(&file.tokens)
        .iter()
        .filter(|path| path.has(&["std", "env"]))
        .map(|path| {
            let name = path.segments.join("::");
            format!("{}:{}: `{name}`: the library is handed what it needs", file.name, path.line)
        })
        .collect()
}

/// What renders text reads no environment, file or process. (The order of hash maps is a lint of clippy's.)
pub(crate) fn pure(file: &SourceFile) -> Vec<String> {
    const IMPURE: &[&[&str]] =
        &[&["std", "env"], &["std", "fs"], &["std", "net"], &["std", "process"], &["getrandom"]];
    if !PURE.iter().any(|home| belongs(&file.name, home)) {
        return Vec::new();
    }
    paths(&file.shipped)
        .iter()
        .filter(|path| IMPURE.iter().any(|part| path.has(part)))
        .map(|path| {
            let name = path.segments.join("::");
            format!("{}:{}: `{name}`: what is made here depends on its input alone", file.name, path.line)
        })
        .collect()
}

/// Whether the file is the module `home` or inside it.
fn belongs(name: &str, home: &str) -> bool {
    name.strip_prefix(home).is_some_and(|rest| rest.starts_with(['/', '.', '_']))
}

fn words<'a>(tokens: &'a [Token], matches: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a Token> {
    tokens.iter().filter(move |token| matches(&token.text))
}

fn complaint(file: &SourceFile, token: &Token, why: &str) -> String {
    format!("{}:{}: `{}`: {why}", file.name, token.line, token.text)
}
