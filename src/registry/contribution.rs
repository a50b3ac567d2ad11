//! What can be contributed to a layer, and how it is taken back (R-2, R-3).
//!
//! Owns targets, restrictions, guards and disposers. A guard's type has no way to allow (R-6). It calls `ids`
//! and looks at calls through `tool`.

use std::collections::BTreeSet;
use std::fmt;

use crate::ids::{ScopeId, ToolName};
use crate::registry::{RUN_CODE, RegistryError};
use crate::tool::CallInfo;

/// Which layer a contribution goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The layer that every scope stands on.
    Global,
    /// One agent scope.
    Scope(ScopeId),
}

/// Names that a scope and its descendants may see, and names that they may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    /// Only these are seen; empty: everything that is not denied.
    pub allow: BTreeSet<ToolName>,
    /// These are never seen.
    pub deny: BTreeSet<ToolName>,
}

impl Restriction {
    /// Only these names.
    pub fn allow<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { allow: names.into_iter().map(ToolName::from).collect(), deny: BTreeSet::new() }
    }

    /// Everything but these names.
    pub fn deny<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { allow: BTreeSet::new(), deny: names.into_iter().map(ToolName::from).collect() }
    }

    /// Whether a name passes.
    pub(super) fn passes(&self, name: &ToolName) -> bool {
        !self.deny.contains(name) && (self.allow.is_empty() || self.allow.contains(name))
    }

    pub(super) fn names_nothing(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Refuses names that cannot be restricted, so that a typo never passes silently (R-5). Which name is near is for
    /// [`RegistryError::with_nearest`] to say.
    pub(super) fn check(&self, restrictable: impl Fn(&ToolName) -> bool) -> Result<(), RegistryError> {
        for name in self.allow.iter().chain(&self.deny) {
            if name.as_str() == RUN_CODE || !restrictable(name) {
                return Err(RegistryError::NotRestrictable { name: name.to_string(), nearest: None });
            }
        }
        Ok(())
    }
}

/// Looks at a call that is about to run and vetoes it, or abstains (R-6).
///
/// There is no way to allow, so no order of guards can turn a veto around. A closure is a guard:
///
/// ```
/// use std::sync::Arc;
/// use isolane::registry::{Registry, Target};
/// use isolane::tool::CallInfo;
///
/// let registry = Registry::new();
/// let no_nested_writes = |call: &CallInfo<'_>| {
///     let vetoed = call.parent.is_some() && call.tool.as_str() == "write";
///     vetoed.then(|| "programs may not write".to_owned())
/// };
/// registry.guard(&Target::Global, Arc::new(no_nested_writes))?.keep();
/// # Ok::<(), isolane::registry::RegistryError>(())
/// ```
pub trait Guard: Send + Sync {
    /// A reason vetoes the call; nothing abstains.
    fn veto(&self, call: &CallInfo<'_>) -> Option<String>;
}

impl<F: Fn(&CallInfo<'_>) -> Option<String> + Send + Sync> Guard for F {
    fn veto(&self, call: &CallInfo<'_>) -> Option<String> {
        self(call)
    }
}

/// Takes exactly one contribution back when it is dropped or disposed (R-3).
#[must_use = "dropping the disposer takes the contribution back at once"]
pub struct Disposer {
    undo: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Disposer {
    pub(super) fn new(undo: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { undo: Some(Box::new(undo)) }
    }

    /// Takes the contribution back now. Harmless when it is gone already.
    pub fn dispose(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
        }
    }

    /// Leaves the contribution in place for as long as the registry lives.
    pub fn keep(mut self) {
        self.undo = None;
    }
}

impl Drop for Disposer {
    fn drop(&mut self) {
        self.dispose();
    }
}

impl fmt::Debug for Disposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disposer").field("disposed", &self.undo.is_none()).finish()
    }
}
