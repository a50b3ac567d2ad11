//! May this call run beside others, at this moment? (T-5, S-3, CM-18)
//!
//! Owns the question that schedulers ask at every launch, and again when the registry has changed meanwhile. Any doubt
//! means exclusive. It never launches anything. It calls the registry and the definition's classifier.

use serde_json::Value;

use crate::ids::{ScopeId, ToolName};
use crate::pipeline::{Pipeline, Prepared};
use crate::registry::Resolution;
use crate::tool::Concurrency;

/// What a call was classified as, and by which view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub(crate) concurrency: Concurrency,
    /// Absent when the scope is gone.
    pub(crate) generation: Option<u64>,
}

impl Pipeline {
    /// The class of a call as the registry is now; exclusive for whatever may not run at all.
    pub(crate) fn classify(
        &self,
        scope: Option<&ScopeId>,
        tool: &ToolName,
        args: &Value,
        nested: bool,
    ) -> Class {
        let view = self.registry().view(scope).ok();
        let resolution = view.as_ref().map(|view| view.resolve_execution(tool.as_str(), nested));
        let concurrency = match resolution {
            Some(Resolution::Tool(tool)) => tool.definition().scheduler().concurrency.classify(args),
            _ => Concurrency::Exclusive,
        };
        Class { concurrency, generation: view.map(|view| view.generation()) }
    }

    /// The class once more if the registry has changed while the call was prepared. What was exclusive stays so.
    pub(crate) fn classify_again(&self, class: Class, prepared: &Prepared) -> Concurrency {
        let call = prepared.call();
        if self.generation(call.scope.as_ref()) == class.generation {
            return class.concurrency;
        }
        let again = self.classify(call.scope.as_ref(), &call.tool, &call.args, call.parent.is_some());
        match (class.concurrency, again.concurrency) {
            (Concurrency::Parallel, Concurrency::Parallel) => Concurrency::Parallel,
            _ => Concurrency::Exclusive,
        }
    }

    /// The change of the registry that a scope sees now; absent when the scope is gone.
    pub(crate) fn generation(&self, scope: Option<&ScopeId>) -> Option<u64> {
        self.registry().view(scope).ok().map(|view| view.generation())
    }
}
