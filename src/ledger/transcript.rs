//! What a model saw, rebuilt from the history (L-6).
//!
//! Owns the messages, and which calls belong to one step of the model. It never looks at what a program did: sub-calls
//! are the program's, and a model reads of them what the result of its own call says. It calls nobody.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{EventBody, LedgerEvent};
use super::record::{ToolCall, ToolResult};
use crate::content::ContentBlock;
use crate::ids::{CallId, SessionId, ToolName};

/// One message of the part of a conversation that goes through tools (L-6).
///
/// What a user says, and what a model says beside its calls, is the host's and in no ledger; the ids of calls tell the
/// host where each message belongs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// The model called tools, in this order.
    Assistant {
        /// All calls of one step.
        calls: Vec<MessageCall>,
    },
    /// A call of the message before has its result.
    Tool {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: ToolName,
        /// Whether it failed.
        is_error: bool,
        /// All that the model reads of it.
        content: Vec<ContentBlock>,
    },
    /// A tool had something to say that follows the results of the step (T-14).
    Context {
        /// What the model reads.
        text: String,
    },
}

/// One call of a [`Message::Assistant`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageCall {
    /// The call.
    pub call: CallId,
    /// The tool, by the name that the model used.
    pub tool: ToolName,
    /// The arguments; a string when the model's text was not JSON.
    pub arguments: Arc<Value>,
}

/// The calls, results and messages that the model of a session saw, from the session's events (L-6).
///
/// For each step of the model: its calls, their results in the order of the calls, and what the results deferred. The
/// events are those of a session from its beginning, in order. A call without a result has none here either: nobody
/// knows what became of it, see [`unsettled`](super::unsettled), and most models refuse a history in which a call has
/// no answer. A result whose call is not among the events is left out.
///
/// Contents are what the model read, byte for byte, whatever an interceptor had made of them. Arguments are what the
/// ledger was given: where a redactor has put a digest in place of one, or text in place of one that was too deep, the
/// digest or the text is here as well.
///
/// ```
/// use isolane::ledger::{Ledger, Message, derive_messages};
/// # use isolane::host::{Host, SessionOptions};
/// # use isolane::tool::{Tool, ToolContext, ToolError};
/// # use serde_json::{Value, json};
///
/// # async fn example(host: Host) -> Result<(), Box<dyn std::error::Error>> {
/// let (ledger, store) = Ledger::in_memory("conversation-1".into(), host.clock().clone());
/// let session = host.session(SessionOptions::new("conversation-1").ledger(ledger))?;
/// session.call("greet", json!({"name": "Ada"})).await?;
///
/// let messages = derive_messages(&store.events());
/// assert_eq!(
///     serde_json::to_value(messages)?,
///     json!([
///         {"role": "assistant", "calls": [{"call": "call-1", "tool": "greet", "arguments": {"name": "Ada"}}]},
///         {
///             "role": "tool", "call": "call-1", "tool": "greet", "is_error": false,
///             "content": [{"type": "text", "text": "hello Ada"}],
///         },
///     ])
/// );
/// # Ok(())
/// # }
/// # let greet = Tool::builder("greet")
/// #     .output(json!({"type": "string"}))
/// #     .render(|_, value| Ok(vec![isolane::content::ContentBlock::text(value.as_str().unwrap_or_default())]))
/// #     .handler(|args: Value, _: ToolContext| async move {
/// #         Ok::<_, ToolError>(json!(format!("hello {}", args["name"].as_str().unwrap_or_default())))
/// #     })?;
/// # tokio::runtime::Runtime::new()?.block_on(example(Host::builder().tools([greet]).build()?))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn derive_messages<'a>(events: impl IntoIterator<Item = &'a LedgerEvent>) -> Vec<Message> {
    let mut history = History::default();
    for event in events {
        match &event.body {
            EventBody::ToolCall(data) => history.called(event, data),
            EventBody::ToolResult(data) => history.answered(event, data),
            EventBody::CodeDispatchStart(_)
            | EventBody::CodeDispatch(_)
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
    history.steps.iter().flat_map(|step| messages(step)).collect()
}

struct Made<'a> {
    call: &'a ToolCall,
    result: Option<&'a ToolResult>,
}

/// The place of a call: its step, and which of the step's calls it is.
type Place = (usize, usize);

#[derive(Default)]
struct History<'a> {
    /// In the order of their first calls.
    steps: Vec<Vec<Made<'a>>>,
    by_seq: BTreeMap<(&'a SessionId, u64), Place>,
    /// The last call of each id, for results that do not say which event they answer.
    by_id: BTreeMap<(&'a SessionId, &'a CallId), Place>,
}

impl<'a> History<'a> {
    fn called(&mut self, event: &'a LedgerEvent, call: &'a ToolCall) {
        let first = call.step.and_then(|seq| self.by_seq.get(&(&event.session, seq)));
        let step = first.map_or(self.steps.len(), |(step, _)| *step);
        if step == self.steps.len() {
            self.steps.push(Vec::new());
        }
        let Some(calls) = self.steps.get_mut(step) else { return };
        let place = (step, calls.len());
        calls.push(Made { call, result: None });
        self.by_seq.insert((&event.session, event.seq), place);
        self.by_id.insert((&event.session, &call.call), place);
    }

    fn answered(&mut self, event: &'a LedgerEvent, result: &'a ToolResult) {
        let by_seq = event.source_seqs.iter().find_map(|seq| self.by_seq.get(&(&event.session, *seq)));
        let Some((step, nth)) = by_seq.or_else(|| self.by_id.get(&(&event.session, &result.call))) else {
            return;
        };
        if let Some(made) = self.steps.get_mut(*step).and_then(|step| step.get_mut(*nth)) {
            // What the model was told first is what it knows.
            made.result.get_or_insert(result);
        }
    }
}

fn messages(step: &[Made<'_>]) -> Vec<Message> {
    let calls = step.iter().map(|Made { call, .. }| MessageCall {
        call: call.call.clone(),
        tool: call.tool.clone(),
        arguments: Arc::clone(&call.arguments),
    });
    let results = || step.iter().filter_map(|made| made.result);
    let mut messages = vec![Message::Assistant { calls: calls.collect() }];
    messages.extend(results().map(|result| Message::Tool {
        call: result.call.clone(),
        tool: result.tool.clone(),
        is_error: result.is_error,
        content: result.content.clone(),
    }));
    let deferred = results().flat_map(|result| &result.deferred);
    messages.extend(deferred.map(|context| Message::Context { text: context.text.clone() }));
    messages
}
