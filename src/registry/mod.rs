//! The registry: who may see and call what.
//!
//! Owns layers, their four contributions, disposers and the views computed from them. Hiding a schema is not
//! enforcement: [`RegistryView::resolve_execution`] refuses in the executor. It never runs a tool, and never drops
//! one, or a guard, while it holds a lock: what is dropped may own disposers, and those come back here.

mod cache;
mod contribution;
mod error;
mod import;
mod layer;
mod mode;
mod view;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::ids::{ScopeId, ToolName};
use crate::tool::Tool;

pub use contribution::{Disposer, Guard, Restriction, Target};
pub use error::RegistryError;
pub use import::{ImportError, ImportNaming, ImportedFrom, ImportedNames};
pub use mode::{PresentationMode, RUN_CODE, collapses};
pub use view::{RegisteredTool, RegistryView, Resolution};

use cache::Cache;
use layer::{Layers, Removed};

/// Names longer than this are refused.
pub const MAX_NAME_BYTES: usize = 128;

/// The layered registry. Cloning shares it.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    layers: RwLock<Layers>,
    /// Counts changes; a view is valid while its number is the current one.
    generation: AtomicU64,
    views: Cache,
    changes: watch::Sender<u64>,
}

impl Registry {
    /// A registry without tools, in native mode.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                layers: RwLock::default(),
                generation: AtomicU64::new(0),
                views: Cache::default(),
                changes: watch::Sender::new(0),
            }),
        }
    }

    /// Adds a scope. A scope without a parent stands directly on the global layer.
    pub fn open_scope(&self, scope: ScopeId, parent: Option<ScopeId>) -> Result<(), RegistryError> {
        self.change(Notify::Yes, |layers| layers.open_scope(scope, parent))
    }

    /// Closes a scope, with all that was contributed to it, for example when its agent is done. Calls in its name are
    /// refused from then on. A scope that others stand on stays open.
    pub fn close_scope(&self, scope: &ScopeId) -> Result<(), RegistryError> {
        self.change(Notify::Yes, |layers| layers.close_scope(scope)).map(drop)
    }

    /// Sets the deployment's presentation mode; scopes without one of their own follow it (CM-1).
    pub fn set_default_mode(&self, mode: PresentationMode) {
        let changed = self.change(Notify::Yes, |layers| {
            layers.default_mode = mode;
            Ok(())
        });
        debug_assert!(changed.is_ok(), "setting the mode cannot fail");
    }

    /// Gives the registry the `run_code` tool, which views append outside of every filter.
    ///
    /// Only the host that assembles a deployment calls this; `register` always refuses the name.
    pub(crate) fn set_run_code(&self, tool: Tool) {
        self.put_run_code(Some(tool));
    }

    /// Takes the `run_code` tool out again, with every view that holds it.
    pub(crate) fn clear_run_code(&self) {
        self.put_run_code(None);
    }

    fn put_run_code(&self, tool: Option<Tool>) {
        let changed = self.change(Notify::Yes, |layers| Ok(layers.set_run_code(tool)));
        debug_assert!(changed.is_ok(), "setting run_code cannot fail");
    }

    /// Registers a tool. Dropping the disposer takes it back.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the registry's from here on; dropped here when it is refused"
    )]
    pub fn register(&self, target: &Target, tool: Tool) -> Result<Disposer, RegistryError> {
        let id = self.change(Notify::Yes, |layers| layers.register(target, &tool))?;
        Ok(self.disposer(id, Notify::Yes))
    }

    /// Narrows what a scope and its descendants see. Dropping the disposer lifts it.
    pub fn restrict(&self, target: &Target, restriction: Restriction) -> Result<Disposer, RegistryError> {
        let Target::Scope(scope) = target else {
            return Err(RegistryError::RestrictOutsideScope);
        };
        if restriction.names_nothing() {
            return Err(RegistryError::RestrictNothing);
        }
        match self.change(Notify::Yes, |layers| layers.restrict(scope, restriction)) {
            Ok(id) => Ok(self.disposer(id, Notify::Yes)),
            Err(refused) => Err(refused.with_nearest(self.view(Some(scope))?.restrictable_names())),
        }
    }

    /// Adds a guard, which can veto a call or abstain. Dropping the disposer removes it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the registry's from here on; dropped here when it is refused"
    )]
    pub fn guard(&self, target: &Target, guard: Arc<dyn Guard>) -> Result<Disposer, RegistryError> {
        let id = self.change(Notify::No, |layers| layers.guard(target, &guard))?;
        Ok(self.disposer(id, Notify::No))
    }

    /// Declares a scope's presentation mode, once per scope; the nearest on the chain wins.
    pub fn present_as(&self, scope: &ScopeId, mode: PresentationMode) -> Result<Disposer, RegistryError> {
        let id = self.change(Notify::Yes, |layers| layers.present_as(scope, mode))?;
        Ok(self.disposer(id, Notify::Yes))
    }

    /// What a scope sees; the global layer alone for none. Cached until the next change.
    pub fn view(&self, scope: Option<&ScopeId>) -> Result<Arc<RegistryView>, RegistryError> {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if let Some(view) = self.shared.views.get(scope, generation) {
            return Ok(view);
        }
        let stale;
        let view = {
            // Held until the view is there: the generation stays what it is, and a scope that is open stays open.
            let layers = self.shared.layers.read().unwrap_or_else(PoisonError::into_inner);
            let chain = layers.chain(scope)?;
            let generation = self.shared.generation.load(Ordering::Acquire);
            let slot;
            (slot, stale) = self.shared.views.slot(scope, generation);
            Arc::clone(slot.get_or_init(|| Arc::new(layers.view(&chain, generation))))
        };
        drop(stale);
        Ok(view)
    }

    /// The number of a scope's opening; nothing when it is not open.
    pub(crate) fn opening(&self, scope: &ScopeId) -> Option<u64> {
        self.shared.layers.read().unwrap_or_else(PoisonError::into_inner).opening(scope)
    }

    /// A receiver that sees a new number after every change of what can be seen; guards do not count.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Where a name is registered, for "exists but is not visible" messages.
    pub fn exists_anywhere(&self, name: &ToolName) -> bool {
        self.shared.layers.read().unwrap_or_else(PoisonError::into_inner).exists_anywhere(name)
    }

    fn change<T>(
        &self,
        notify: Notify,
        change: impl FnOnce(&mut Layers) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        self.shared.change(notify, change)
    }

    fn disposer(&self, id: u64, notify: Notify) -> Disposer {
        let shared = Arc::downgrade(&self.shared);
        Disposer::new(move || {
            // A registry that is gone has nothing left to undo.
            if let Some(shared) = shared.upgrade() {
                let removed: Result<Removed, _> = shared.change(notify, |layers| Ok(layers.remove(id)));
                debug_assert!(removed.is_ok(), "removing cannot fail");
            }
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notify {
    Yes,
    No,
}

impl Shared {
    /// Changes the layers. What the change hands back is dropped by the caller, outside of every lock.
    fn change<T>(
        &self,
        notify: Notify,
        change: impl FnOnce(&mut Layers) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let mut layers = self.layers.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut layers)?;
        let generation = self.generation.fetch_add(1, Ordering::AcqRel) + 1;
        drop(layers);
        let stale = self.views.forget(generation);
        if notify == Notify::Yes {
            // Of two changes at a time, the later one may come here first; its number stands for both.
            self.changes.send_if_modified(|published| {
                let newer = *published < generation;
                *published = generation.max(*published);
                newer
            });
        }
        drop(stale);
        Ok(changed)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("generation", &self.shared.generation).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
