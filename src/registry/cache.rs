//! The views that were computed last, one for each scope that was asked about.
//!
//! Owns them for one generation: they go as soon as the registry has changed, so that what was taken out of it does not
//! live on here. It never holds its lock while a view is computed or dropped. It calls nobody.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::ids::ScopeId;
use crate::registry::RegistryView;

/// Where a view is put by whoever computes it; the others wait for that.
pub(super) type Slot = Arc<OnceLock<Arc<RegistryView>>>;

/// Views of an older generation. They may be the last to hold a tool, whose end may call the registry.
#[must_use = "views are dropped outside of the registry's lock"]
pub(super) struct Stale {
    _views: Option<Views>,
}

#[derive(Default)]
pub(super) struct Cache(RwLock<Views>);

#[derive(Default)]
struct Views {
    generation: u64,
    global: Slot,
    scopes: HashMap<ScopeId, Slot>,
}

impl Cache {
    /// The view of a scope at this generation, if it was computed already.
    pub(super) fn get(&self, scope: Option<&ScopeId>, generation: u64) -> Option<Arc<RegistryView>> {
        let views = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if views.generation != generation {
            return None;
        }
        let slot = match scope {
            None => Some(&views.global),
            Some(scope) => views.scopes.get(scope),
        };
        slot?.get().cloned()
    }

    /// The place for the view of a scope that is open at this generation, which must be the current one and stay so
    /// until the view is computed: whoever asks keeps the registry from changing meanwhile.
    pub(super) fn slot(&self, scope: Option<&ScopeId>, generation: u64) -> (Slot, Stale) {
        let stale = self.forget(generation);
        let mut views = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let slot = match scope {
            None => &views.global,
            Some(scope) => &*views.scopes.entry(scope.clone()).or_default(),
        };
        (Arc::clone(slot), stale)
    }

    /// Lets the views of generations before this one go.
    pub(super) fn forget(&self, generation: u64) -> Stale {
        let mut views = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let old = (views.generation < generation)
            .then(|| std::mem::replace(&mut *views, Views { generation, ..Views::default() }));
        Stale { _views: old }
    }
}
