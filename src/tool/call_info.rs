//! A call as rules look at it.
//!
//! Owns the view that guards and `finalize_content` get of the call they are asked about. It is read-only, and has no
//! signal: whoever looks cannot change or stop a call. It calls nobody.

use serde_json::Value;

use crate::ids::{CallId, ParentToken, ScopeId, SessionId, ToolName};

/// One call: which tool, with what, and on whose behalf (R-2, T-4).
#[derive(Clone, Copy, Debug)]
pub struct CallInfo<'a> {
    /// The call's id.
    pub id: &'a CallId,
    /// The tool.
    pub tool: &'a ToolName,
    /// The arguments, as the tool's body gets them; `{"$deep": "<text>"}` for a call that was refused for their depth.
    pub args: &'a Value,
    /// The session that the call belongs to.
    pub session: &'a SessionId,
    /// The agent scope on whose behalf the call is made; absent for a direct call by the host.
    pub scope: Option<&'a ScopeId>,
    /// Present exactly when the call came from a program or another tool (CM-4).
    pub parent: Option<&'a ParentToken>,
}
