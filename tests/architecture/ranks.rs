//! The table of modules by rank.
//!
//! Owns who may name whom: a module names only modules of a lower rank, and of its own rank none but those listed.
//! Tests inside the library are held to it as well. A new arrow is a change of this table, alone in its commit.

use crate::paths::{paths, target};
use crate::source::SourceFile;

/// Every top-level module of the library, lowest first.
pub(crate) const RANKS: &[&[&str]] = &[
    &["ids", "json", "clock"],
    &["limits", "content"],
    &["outcome"],
    &["schema", "ledger"],
    &["tool"],
    &["registry", "pipeline"],
    &["policy", "catalogue", "sdk", "step"],
    &["codemode"],
    &["engine"],
    &["builtin", "mcp", "openapi"],
    &["host"],
    &["fleet"],
    &["cli"],
];

/// Arrows between modules of one rank: the first may name the second.
pub(crate) const SIDEWAYS: &[(&str, &str)] = &[
    // The one road of a call looks the tool up and asks its guards.
    ("pipeline", "registry"),
];

/// The rank of a module, if it is in the table.
pub(crate) fn rank(module: &str) -> Option<usize> {
    RANKS.iter().position(|modules| modules.contains(&module))
}

/// Whether the file belongs to a binary, which names the library as `isolane`.
pub(crate) fn is_binary(name: &str) -> bool {
    name == "src/main.rs" || name.starts_with("src/bin/") || name.starts_with("src/cli")
}

/// Arrows of the file that point up or sideways, and modules that are not in the table.
pub(crate) fn check(file: &SourceFile) -> Vec<String> {
    let module = file.module();
    let from = match module.first() {
        // The root declares every module, and a binary is on top of all of them.
        None | Some(&"bin") => return Vec::new(),
        Some(from) => *from,
    };
    let Some(own_rank) = rank(from) else {
        return vec![format!("{}: the module `{from}` is not in the table of ranks", file.name)];
    };
    let mut violations = Vec::new();
    for path in paths(&file.tokens) {
        let Some(to) = target(file, &path).filter(|to| *to != from) else { continue };
        let at = format!("{}:{}", file.name, path.line);
        match rank(to) {
            None => violations.push(format!(
                "{at}: `{to}` is not a module in the table of ranks; name an item by the module that owns it"
            )),
            Some(rank) if rank < own_rank || SIDEWAYS.contains(&(from, to)) => {}
            Some(rank) => violations
                .push(format!("{at}: `{from}` has rank {own_rank} and may not name `{to}` of rank {rank}")),
        }
    }
    violations
}

/// Compares the table in the architecture page, whose rows are `| rank | `a`, `b` | ... |`, with the one here.
pub(crate) fn check_document(text: &str) -> Vec<String> {
    let documented: Vec<(String, Vec<&str>)> = text
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let rank = cells.next()?.parse::<usize>().ok()?;
            let modules = cells.next()?.split('`').skip(1).step_by(2).collect();
            Some((rank.to_string(), modules))
        })
        .collect();
    let held: Vec<(String, Vec<&str>)> =
        RANKS.iter().enumerate().map(|(rank, modules)| (rank.to_string(), modules.to_vec())).collect();
    if documented == held {
        return Vec::new();
    }
    vec![format!(
        "the table in docs/architecture.md is {documented:?}\nand the one held by the test is {held:?}"
    )]
}
