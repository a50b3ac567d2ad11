//! Presentation modes (CM-1) and the one predicate about them (CM-2).
//!
//! Owns the name `run_code` and what "collapsed" means. It calls nobody.

use serde::{Deserialize, Serialize};

/// The reserved name of the tool that runs programs.
pub const RUN_CODE: &str = "run_code";

/// How a scope's tools are presented to its model (CM-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresentationMode {
    /// Every visible schema, no `run_code`.
    #[default]
    Native,
    /// Only `run_code`.
    Code,
    /// Both.
    Both,
}

/// Whether a call of `name` must be made from a program (CM-2).
///
/// The executor, the constructor of calls and the prompt all ask this one predicate.
pub fn collapses(name: &str, mode: PresentationMode, nested: bool) -> bool {
    !nested && mode == PresentationMode::Code && name != RUN_CODE
}
