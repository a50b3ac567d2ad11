//! The language of a file, by its name.
//!
//! Owns a small table that a user interface uses to highlight what was read. It must never look at a file.

/// The language that a file's name suggests, as a highlighter's lower-case name; `None` when unknown.
pub fn language_of(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    match name {
        "Makefile" | "makefile" | "GNUmakefile" => return Some("makefile"),
        "Dockerfile" | "Containerfile" => return Some("dockerfile"),
        "Cargo.lock" => return Some("toml"),
        _ => {}
    }
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    Some(match extension.to_ascii_lowercase().as_str() {
        "rs" => "rust",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "tsx",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "jsx",
        "py" | "pyi" => "python",
        "go" => "go",
        "java" => "java",
        "kt" | "kts" => "kotlin",
        "swift" => "swift",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => "cpp",
        "cs" => "csharp",
        "rb" => "ruby",
        "php" => "php",
        "lua" => "lua",
        "zig" => "zig",
        "sh" | "bash" | "zsh" => "shell",
        "ps1" => "powershell",
        "sql" => "sql",
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "vue" => "vue",
        "svelte" => "svelte",
        "json" | "jsonc" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "xml" | "svg" => "xml",
        "md" | "markdown" => "markdown",
        "tex" => "latex",
        "proto" => "protobuf",
        "graphql" | "gql" => "graphql",
        "diff" | "patch" => "diff",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-2
    #[test]
    fn names_suggest_languages() {
        assert_eq!(language_of("src/main.rs"), Some("rust"));
        assert_eq!(language_of("a/Makefile"), Some("makefile"));
        assert_eq!(language_of("A.PY"), Some("python"));
        assert_eq!(language_of(".rs"), None);
        assert_eq!(language_of("LICENSE"), None);
    }
}
