//! isolane: a Code Mode runtime for agent hosts.
//!
//! A model writes one TypeScript program instead of twenty tool calls; the program calls the agent's
//! tools as typed functions inside a V8 isolate; only what it prints or returns goes back.
//!
//! A complete tool:
//!
//! ```
//! use isolane::tool::{DefinitionError, Tool, ToolContext, ToolError, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add { a: i32, b: i32 }
//! #[derive(serde::Serialize, schemars::JsonSchema)]
//! struct Sum { sum: i64 }
//!
//! async fn add(args: Add, _context: ToolContext) -> Result<Sum, ToolError> {
//!     Ok(Sum { sum: i64::from(args.a) + i64::from(args.b) })
//! }
//!
//! fn add_tool() -> Result<Tool, DefinitionError> {
//!     tool::<Add, Sum>("add", "Adds two integers.").handler(add)
//! }
//! ```
//!
//! Its body runs the same for a model's native call and for a program's. A deployment is assembled with
//! [`host::Host`], held to rules with [`policy`], and asks people with [`policy::approval`].
//!
//! The way of the data:
//! `definition -> registry view -> SDK -> program -> binding -> driver lane -> pipeline -> tool -> result -> ledger`.

#[cfg(all(feature = "engine", not(target_os = "linux")))]
compile_error!(
    "the feature `engine` is for Linux, whose kernel confines the processes that programs run in; without default features, \
     the rest builds elsewhere"
);

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
pub mod policy;
pub mod registry;
pub mod schema;
pub mod sdk;
pub mod step;
pub mod tool;

#[cfg(feature = "engine")]
pub use engine::child;
