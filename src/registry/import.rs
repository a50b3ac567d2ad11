//! Names of tools that come from servers (R-13).
//!
//! Owns the prefix, the rename map and the record of which server's tool has which name here. No two tools ever merge:
//! a collision is an error that names both. It never registers a tool; names are held to R-4 when they are registered.

use std::collections::BTreeMap;
use std::fmt;

use crate::ids::ToolName;
use crate::registry::RegistryError;

/// How the tools of one server are named here.
///
/// ```
/// use isolane::registry::ImportNaming;
///
/// let naming = ImportNaming::new("github").rename("get_me", "whoami");
/// assert_eq!(naming.name_of("create_issue").as_str(), "github__create_issue");
/// assert_eq!(naming.name_of("get_me").as_str(), "whoami");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportNaming {
    key: String,
    separator: String,
    renames: BTreeMap<String, String>,
}

impl ImportNaming {
    /// Prefixes every tool with the server's key and `__`.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), separator: "__".to_owned(), renames: BTreeMap::new() }
    }

    /// Sets what stands between the key and the tool's own name. Absent: `__`.
    pub fn separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Gives one tool exactly this name, without a prefix.
    pub fn rename(mut self, tool: impl Into<String>, name: impl Into<String>) -> Self {
        self.renames.insert(tool.into(), name.into());
        self
    }

    /// The server's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What a tool of the server is called here.
    pub fn name_of(&self, tool: &str) -> ToolName {
        match self.renames.get(tool) {
            Some(name) => name.as_str().into(),
            None => format!("{}{}{tool}", self.key, self.separator).as_str().into(),
        }
    }

    /// Tools that are to be renamed and that the server does not have, so that a typo does not pass silently.
    pub fn unused_renames<'a>(&'a self, tools: &[&str]) -> Vec<&'a str> {
        self.renames.keys().map(String::as_str).filter(|tool| !tools.contains(tool)).collect()
    }
}

/// Where a name comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFrom {
    /// The server's key.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
}

impl fmt::Display for ImportedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of server `{}`", self.tool, self.server)
    }
}

/// Names that cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Two tools would have one name.
    #[error(
        "{first} and {second} would both be named `{name}`; give one of them another name in its server's rename map"
    )]
    Collision {
        /// The name.
        name: ToolName,
        /// The tool that has it, or comes first in the list.
        first: ImportedFrom,
        /// The tool that would get it as well.
        second: ImportedFrom,
    },
    /// A tool of the host's own has the name.
    #[error(
        "{imported} would be named `{name}`, and so is a tool that this host has registered itself; give the imported \
         one another name in its server's rename map"
    )]
    TakenHere {
        /// The name, which is also that of the host's tool.
        name: ToolName,
        /// The tool that would get it.
        imported: ImportedFrom,
    },
}

/// Which imported tool has which name, over all servers.
#[derive(Clone, Debug, Default)]
pub struct ImportedNames {
    taken: BTreeMap<ToolName, ImportedFrom>,
}

impl ImportedNames {
    /// Names the tools of a server, in their order. They replace what the server had before; on an error nothing
    /// changes.
    pub fn claim<'a>(
        &mut self,
        naming: &ImportNaming,
        tools: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<ToolName>, ImportError> {
        let mut own: BTreeMap<ToolName, ImportedFrom> = BTreeMap::new();
        let mut names = Vec::new();
        for tool in tools {
            let name = naming.name_of(tool);
            let second = ImportedFrom { server: naming.key.clone(), tool: tool.to_owned() };
            let foreign = self.taken.get(&name).filter(|from| from.server != naming.key);
            if let Some(first) = own.get(&name).or(foreign) {
                return Err(ImportError::Collision { name, first: first.clone(), second });
            }
            own.insert(name.clone(), second);
            names.push(name);
        }
        self.release(&naming.key);
        self.taken.extend(own);
        Ok(names)
    }

    /// What a refusal of the registry means for an imported tool: that a tool of the host's own has its name (R-13).
    /// Nothing for other refusals and for names that were not imported.
    pub fn clash(&self, refused: &RegistryError) -> Option<ImportError> {
        let RegistryError::NameTaken { name } = refused else { return None };
        let imported = self.origin(name.as_str())?.clone();
        Some(ImportError::TakenHere { name: name.clone(), imported })
    }

    /// Frees the names of a server that is gone.
    pub fn release(&mut self, server: &str) {
        self.taken.retain(|_, from| from.server != server);
    }

    /// The tool behind a name; nothing for a name that was not imported.
    pub fn origin(&self, name: &str) -> Option<&ImportedFrom> {
        self.taken.get(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::registry::{Registry, Target};
    use crate::tool::{Tool, ToolContext, ToolError};

    fn claimed(names: &mut ImportedNames, naming: &ImportNaming, tools: &[&str]) -> String {
        match names.claim(naming, tools.iter().copied()) {
            Ok(names) => names.iter().map(ToolName::as_str).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    /// R-13
    #[test]
    fn imported_tools_carry_the_key_of_their_server() {
        let mut names = ImportedNames::default();
        let github = ImportNaming::new("github").rename("get_me", "whoami");
        assert_eq!(claimed(&mut names, &github, &["create_issue", "get_me"]), "github__create_issue whoami");
        let dotted = ImportNaming::new("files").separator(".");
        assert_eq!(claimed(&mut names, &dotted, &["read", "my-tool"]), "files.read files.my-tool");
        assert_eq!(names.origin("whoami").unwrap().to_string(), "`get_me` of server `github`");
        assert_eq!(names.origin("create_issue"), None);
        assert_eq!(github.unused_renames(&["create_issue"]), ["get_me"]);
        assert_eq!(github.unused_renames(&["get_me"]), Vec::<&str>::new());
    }

    /// R-13, R-12: no two tools merge, within a server and across servers.
    #[test]
    fn a_collision_names_both_tools() {
        let mut names = ImportedNames::default();
        let (short, long) = (ImportNaming::new("a"), ImportNaming::new("a__b"));
        assert_eq!(claimed(&mut names, &short, &["b__c", "d"]), "a__b__c a__d");
        assert_eq!(
            claimed(&mut names, &long, &["x", "c"]),
            "`b__c` of server `a` and `c` of server `a__b` would both be named `a__b__c`; give one of them another name \
             in its server's rename map"
        );
        assert_eq!(names.origin("a__b__x"), None, "nothing of a list that collides is taken");
        let twice = ImportNaming::new("z").rename("one", "z__two");
        assert!(
            claimed(&mut names, &twice, &["one", "two"])
                .starts_with("`one` of server `z` and `two` of server `z`")
        );
        assert_eq!(claimed(&mut names, &long.clone().rename("c", "c"), &["x", "c"]), "a__b__x c");
    }

    /// R-13: the registry knows one name; the record of imports knows both tools.
    #[test]
    fn a_clash_with_a_tool_of_the_hosts_own_names_both() {
        let registry = Registry::new();
        let tool = |name: &str| {
            let builder = Tool::builder(name).output(serde_json::json!({"type": "null"}));
            builder.handler(async |_: Value, _: ToolContext| Ok::<_, ToolError>(Value::Null)).unwrap()
        };
        registry.register(&Target::Global, tool("github__search")).unwrap().keep();
        let mut names = ImportedNames::default();
        assert_eq!(claimed(&mut names, &ImportNaming::new("github"), &["search"]), "github__search");
        let refused = registry.register(&Target::Global, tool("github__search")).unwrap_err();
        assert_eq!(
            names.clash(&refused).unwrap().to_string(),
            "`search` of server `github` would be named `github__search`, and so is a tool that this host has \
             registered itself; give the imported one another name in its server's rename map"
        );
        assert_eq!(names.clash(&RegistryError::ReservedName), None);
        let local = RegistryError::NameTaken { name: "search".into() };
        assert_eq!(names.clash(&local), None);
    }

    /// R-13: a server whose list has changed names it anew, and one that is gone leaves its names.
    #[test]
    fn a_server_replaces_and_releases_its_own_names() {
        let mut names = ImportedNames::default();
        let (one, two) = (ImportNaming::new("one"), ImportNaming::new("two").rename("t", "one__b"));
        assert_eq!(claimed(&mut names, &one, &["a", "b"]), "one__a one__b");
        assert_eq!(claimed(&mut names, &one, &["a", "c"]), "one__a one__c");
        assert_eq!(claimed(&mut names, &two, &["t"]), "one__b");
        assert!(claimed(&mut names, &one, &["b"]).contains("`t` of server `two`"));
        names.release("two");
        assert_eq!(claimed(&mut names, &one, &["b"]), "one__b");
    }
}
