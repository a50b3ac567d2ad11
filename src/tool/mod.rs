//! Tools: one definition, four faces.
//!
//! Owns the definition with its contracts, the handler trait, what a body is given, and presentation cards. It
//! never runs a tool: the pipeline does. It calls `schema` to compile contracts.

mod builder;
mod call_info;
mod cards;
mod context;
mod definition;
mod handler;
mod recorded;
mod typed;

pub use builder::{DefinitionError, ToolBuilder};
pub use call_info::CallInfo;
pub use cards::{CallCard, CardKind, FileDiff, Location, ResultCard, SearchCard};
pub use context::{Handback, Progress, ProgressSink, ToolContext};
pub use definition::{
    ClassifyFn, Concurrency, ConcurrencyRule, FinalizeFn, MetaFn, ModelFace, OutputContract, PresentCallFn,
    PresentResultFn, PresentationFace, RenderFn, SchedulerFace, Tool, ToolDefinition,
};
pub use handler::{HandlerFuture, ToolError, ToolHandler};
pub use recorded::{RecordedCall, derive_cards};
pub use typed::tool;
