//! Timeouts of tools (PO-6).
//!
//! Owns the deadline of a body: it begins when the body is dispatched, so the time that a call spends in a queue or
//! waits for approval counts for nobody (E-7). It never abandons a body: it tells it to stop and waits until it rests
//! or, where the host has a drain deadline, has the pipeline list it (P-14). It calls the clock.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::clock::Clock;
use crate::ids::{ScopeId, ToolName};
use crate::limits::spell_duration;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::{AroundDispatch, AroundNext, Attachment, BoxFuture, Call, Pipeline};
use crate::policy::Policy;
use crate::tool::ToolDefinition;

/// Holds each tool to its timeout: the one that it declares (T-4), or the host's own for it.
///
/// The signal that the body gets is derived from the one in force, so a caller or another wrapper that cancels first
/// is an ordinary cancellation, not a timeout. A body that does not heed its signal is waited for all the same, until
/// the host's drain deadline is over, which begins with the timeout; the call is reported then, with `drained: false`,
/// and the body is listed in [`Pipeline::undrained`] until it ends.
///
/// ```
/// use std::time::Duration;
/// use isolane::policy::TimeoutPolicy;
///
/// let policy = TimeoutPolicy::new().limit("fetch", Duration::from_secs(10)).no_limit("build");
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, Default)]
pub struct TimeoutPolicy {
    overrides: Arc<BTreeMap<ToolName, Option<Duration>>>,
}

impl TimeoutPolicy {
    /// The name of this kind of policy.
    pub const NAME: &'static str = "timeout";

    /// Every tool has the timeout that it declares; a tool that declares none has none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the timeout of one tool, whatever it declares. For a tool that declares none, the host vouches that its
    /// body heeds cancellation.
    pub fn limit(self, tool: impl Into<ToolName>, limit: Duration) -> Self {
        self.set(tool.into(), Some(limit))
    }

    /// Lets one tool run as long as it likes, whatever it declares.
    pub fn no_limit(self, tool: impl Into<ToolName>) -> Self {
        self.set(tool.into(), None)
    }

    fn set(mut self, tool: ToolName, limit: Option<Duration>) -> Self {
        Arc::make_mut(&mut self.overrides).insert(tool, limit);
        self
    }
}

impl Policy for TimeoutPolicy {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn attach(&self, pipeline: &Pipeline, clock: &Arc<dyn Clock>, scope: Option<ScopeId>) -> Vec<Attachment> {
        let around = Timeouts { clock: Arc::clone(clock), overrides: Arc::clone(&self.overrides) };
        vec![pipeline.add_around(scope, Arc::new(around))]
    }
}

struct Timeouts {
    clock: Arc<dyn Clock>,
    overrides: Arc<BTreeMap<ToolName, Option<Duration>>>,
}

impl Timeouts {
    fn of(&self, tool: &ToolDefinition) -> Option<Duration> {
        self.overrides.get(tool.name()).copied().unwrap_or(tool.scheduler().timeout)
    }
}

impl AroundDispatch for Timeouts {
    fn around<'a>(&'a self, call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        match self.of(next.definition()) {
            None => next.run(),
            Some(limit) => Box::pin(self.run_within(limit, call, next)),
        }
    }
}

impl Timeouts {
    async fn run_within(&self, limit: Duration, call: &Call, next: AroundNext<'_>) -> CallResult {
        let upstream = next.signal();
        // A child, so that whoever could stop the body before still can.
        let derived = upstream.child_token();
        let deadline = self.clock.sleep(limit);
        let mut running = pin!(next.run_with_signal(&derived));
        tokio::select! {
            // What is done in the moment of the deadline is done in time.
            biased;
            result = &mut running => return result,
            () = deadline => {}
        }
        if upstream.is_cancelled() {
            // Somebody else was first; the body is on its way to rest already.
            return running.await;
        }
        derived.cancel();
        let given_up = next.give_up(still_running(&call.tool, limit));
        let result = running.await;
        drop(given_up);
        timed_out(&call.tool, limit, result, next.has_started())
    }
}

/// What the call comes to if the body outlasts the host's drain deadline as well.
fn still_running(tool: &ToolName, limit: Duration) -> CallFailure {
    let message = format!(
        "`{tool}` did not finish within {}, was told to stop and has not; it may still be running",
        spell_duration(limit)
    );
    let details = json!({"timeout_ms": milliseconds(limit), "drained": false});
    CallFailure::new(ErrorCode::ToolTimeout, message).with_details(details)
}

fn milliseconds(limit: Duration) -> u64 {
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
}

/// What the body made of it no longer counts, but what it deferred is delivered.
fn timed_out(tool: &ToolName, limit: Duration, result: CallResult, started: bool) -> CallResult {
    let mut details = json!({"timeout_ms": milliseconds(limit)});
    let deferred = match result {
        // The tool's own code broke: that is worth more than the timeout.
        Err(broken) if broken.code == ErrorCode::ToolPanicked => return Err(broken),
        Ok(success) => success.deferred,
        Err(cause) => {
            if let Some(members) = details.as_object_mut() {
                members.insert("cause".to_owned(), json!({"code": cause.code, "message": cause.message}));
            }
            cause.deferred
        }
    };
    let limit = spell_duration(limit);
    let message = if started {
        format!(
            "`{tool}` did not finish within {limit} and was told to stop; effects may have happened. Ask it for less \
             at a time"
        )
    } else {
        // A wrapper between the deadline and the body held it back.
        format!("`{tool}` was not even started within {limit}; nothing happened, so it may be called again")
    };
    let mut failure = CallFailure::new(ErrorCode::ToolTimeout, message).with_details(details);
    failure.deferred = deferred;
    Err(failure)
}

#[cfg(test)]
mod tests;
