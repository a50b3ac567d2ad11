//! What the registry refuses.
//!
//! Owns the error enum. It calls `ids` for the nearest name.

use std::collections::BTreeSet;

use crate::ids::{ScopeId, ToolName, nearest};
use crate::registry::RUN_CODE;

/// A contribution that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is reserved in every mode.
    #[error("the name `run_code` is reserved")]
    ReservedName,
    /// The name is empty, too long, or holds control characters.
    #[error("the tool name {name:?} cannot be used: {reason}")]
    BadName {
        /// The name, cut to a readable length.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The same layer already has a tool of this name. For an imported tool, [`ImportedNames::clash`] names both.
    ///
    /// [`ImportedNames::clash`]: crate::registry::ImportedNames::clash
    #[error("a tool named `{name}` is already registered in this layer")]
    NameTaken {
        /// The name.
        name: ToolName,
    },
    /// There is no such scope.
    #[error("there is no scope `{scope}`")]
    UnknownScope {
        /// The scope.
        scope: ScopeId,
    },
    /// The scope is there already.
    #[error("the scope `{scope}` is already open")]
    ScopeTaken {
        /// The scope.
        scope: ScopeId,
    },
    /// Other scopes stand on the scope.
    #[error("the scope `{scope}` cannot be closed: `{child}` stands on it")]
    ScopeInUse {
        /// The scope.
        scope: ScopeId,
        /// One that has it as its parent.
        child: ScopeId,
    },
    /// Restrictions belong to scopes.
    #[error("a restriction belongs to an agent scope, not to the global layer")]
    RestrictOutsideScope,
    /// The restriction names nothing.
    #[error("a restriction must allow or deny at least one name")]
    RestrictNothing,
    /// The restriction names something that it cannot restrict.
    #[error("`{name}` is not a tool that this scope can restrict{}", suggestion(.nearest.as_deref()))]
    NotRestrictable {
        /// The name.
        name: String,
        /// The nearest name that can be restricted; absent when none is near.
        nearest: Option<String>,
    },
    /// The scope has declared its mode already.
    #[error("the scope `{scope}` has already declared its presentation mode")]
    ModeDeclared {
        /// The scope.
        scope: ScopeId,
    },
}

impl RegistryError {
    /// The same, with the nearest of the names that can be restricted. It compares the name with all of them, which is
    /// not done while the registry is locked.
    pub(super) fn with_nearest(self, restrictable: &BTreeSet<ToolName>) -> Self {
        match self {
            Self::NotRestrictable { name, .. } if name != RUN_CODE => {
                let nearest = nearest(&name, restrictable.iter().map(ToolName::as_str)).map(str::to_owned);
                Self::NotRestrictable { name, nearest }
            }
            other => other,
        }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
