//! Policies: ordinary plug-ins over the pipeline (section 9).
//!
//! Owns what a deployment can be held to beyond the pipeline's own rules. Nothing here is a special case anywhere
//! else: each policy uses what everybody can use, and is an example for somebody who writes one. It calls the
//! pipeline's public interface.

pub mod approval;
mod timeout;

use std::fmt;
use std::sync::Arc;

use crate::clock::Clock;
use crate::ids::ScopeId;
use crate::pipeline::{Attachment, Pipeline};

pub use timeout::TimeoutPolicy;

/// Something that a deployment, or one scope of it, is held to.
pub trait Policy: Send + Sync + fmt::Debug {
    /// What kind of policy this is. A host has one of each name; the one that is given last counts.
    fn name(&self) -> &'static str;

    /// Hangs the policy on a pipeline, for every call or for a scope and its descendants (P-3).
    ///
    /// Dropping what it returns takes it off again.
    fn attach(&self, pipeline: &Pipeline, clock: &Arc<dyn Clock>, scope: Option<ScopeId>) -> Vec<Attachment>;
}
