//! What must not be written as it is (L-11).
//!
//! Owns the hook that every event passes on its way to a store, and the redactor of sensitive arguments. It
//! never changes what a tool runs with: the ledger's copy is its own (L-3). It hands digests to
//! [`crate::json`]'s canonical text.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::depth::MAX_VALUE_DEPTH;
use super::event::EventBody;
use crate::ids::ToolName;
use crate::json::{canonical_text, depth_exceeds, dismantle};

/// Changes an event before anything of it is written (L-11).
///
/// Called once per event, in order of `seq`, off the program's way where the store has a thread. Whatever else is
/// to be done to the ledger's copy alone, such as spilling large content (PO-3), may hang here too. A panic stops
/// the ledger with [`super::LedgerError::Panicked`]; nothing unredacted is written. A redactor must not use the
/// ledger that it works for: it may be called under that ledger's lock.
pub trait Redactor: Send + Sync + fmt::Debug {
    /// Changes `body` in place; the kind and the ids must stay. Values come as they were recorded, at any depth.
    fn redact(&self, body: &mut EventBody);
}

/// Replaces named top-level arguments by `{"$redacted": "sha256:<hex>"}` (L-11).
///
/// The digest covers the salt and the argument's canonical text: equal arguments have equal digests under one
/// salt, and without the salt they cannot be guessed. Keep the salt outside the ledger. Covered are the arguments
/// of `tool/call`, `tool/code-dispatch-start` and `tool/code-dispatch`. Arguments that are a string (text that was
/// not JSON) or deeper than [`MAX_VALUE_DEPTH`] are replaced as a whole. Not covered is a secret that a program
/// spells out or prints, or that a tool returns.
pub struct SensitiveArguments {
    salt: [u8; 32],
    tools: BTreeMap<ToolName, Vec<String>>,
}

impl SensitiveArguments {
    /// A redactor that knows no tool yet.
    pub fn new(salt: [u8; 32]) -> Self {
        Self { salt, tools: BTreeMap::new() }
    }

    /// Adds the names of a tool's sensitive arguments.
    pub fn tool(
        mut self,
        tool: impl Into<ToolName>,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.tools.entry(tool.into()).or_default().extend(names.into_iter().map(Into::into));
        self
    }

    fn redact_arguments(&self, tool: &ToolName, arguments: &mut Arc<Value>) {
        let Some(names) = self.tools.get(tool) else { return };
        if arguments.is_string() || depth_exceeds(arguments, MAX_VALUE_DEPTH) {
            // Text that was not JSON, or what will be kept as text: members cannot be told apart, so all goes.
            let digest = Arc::new(self.digest(arguments));
            if let Some(last) = Arc::into_inner(std::mem::replace(arguments, digest)) {
                dismantle(last);
            }
            return;
        }
        if !names.iter().any(|name| arguments.get(name).is_some()) {
            return;
        }
        let Value::Object(members) = Arc::make_mut(arguments) else { return };
        for name in names {
            if let Some(member) = members.get_mut(name) {
                *member = self.digest(member);
            }
        }
    }

    fn digest(&self, value: &Value) -> Value {
        let mut hasher = Sha256::new();
        hasher.update(self.salt);
        hasher.update(canonical_text(value).as_bytes());
        let mut text = String::from("sha256:");
        for byte in hasher.finalize() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        json!({ "$redacted": text })
    }
}

/// Whether this stands for what was not written.
fn is_redacted(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("$redacted"))
}

/// Whether arguments are those that were recorded, as far as these were written: what [`SensitiveArguments`] replaced is
/// not compared.
pub fn same_arguments(recorded: &Value, made: &Value) -> bool {
    match (recorded, made) {
        _ if recorded == made || is_redacted(recorded) => true,
        (Value::Object(recorded), Value::Object(made)) => {
            let same = |(name, value): (&String, &Value)| {
                made.get(name).is_some_and(|made| value == made || is_redacted(value))
            };
            recorded.len() == made.len() && recorded.iter().all(same)
        }
        _ => false,
    }
}

impl fmt::Debug for SensitiveArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SensitiveArguments").field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl Redactor for SensitiveArguments {
    fn redact(&self, body: &mut EventBody) {
        match body {
            EventBody::ToolCall(data) => self.redact_arguments(&data.tool, &mut data.arguments),
            EventBody::CodeDispatchStart(data) => self.redact_arguments(&data.tool, &mut data.arguments),
            EventBody::CodeDispatch(data) => self.redact_arguments(&data.tool, &mut data.arguments),
            EventBody::ToolResult(_)
            | EventBody::ApprovalAsked(_)
            | EventBody::ApprovalDecided(_)
            | EventBody::PermissionPreset(_)
            | EventBody::SandboxMode(_)
            | EventBody::ApprovalPolicy(_)
            | EventBody::RunStart(_)
            | EventBody::RunEnd(_)
            | EventBody::StatePut(_) => {}
        }
    }
}
