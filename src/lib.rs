//! isolane: a Code Mode runtime for agent hosts.
//!
//! A model writes one TypeScript program instead of twenty tool calls; the program calls the agent's
//! tools as typed functions inside a V8 isolate; only what it prints or returns goes back.
//!
//! The way of the data:
//! `definition -> registry view -> SDK -> program -> binding -> driver lane -> pipeline -> tool -> result -> ledger`.

pub mod builtin;
pub mod clock;
pub mod codemode;
pub mod content;
#[cfg(feature = "engine")]
pub mod engine;
pub mod host;
pub mod ids;
pub mod json;
pub mod ledger;
pub mod limits;
pub mod outcome;
pub mod pipeline;
pub mod registry;
pub mod schema;
pub mod sdk;
pub mod step;
pub mod tool;
