//! isolane: a Code Mode runtime for agent hosts.
//!
//! A model writes one TypeScript program instead of twenty tool calls; the program calls the agent's
//! tools as typed functions inside a V8 isolate; only what it prints or returns goes back.
//!
//! The way of the data:
//! `definition -> registry view -> SDK -> program -> binding -> driver lane -> pipeline -> tool -> result -> ledger`.

pub mod builtin;
pub mod codemode;
pub mod schema;
pub mod sdk;
