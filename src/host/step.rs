//! The calls of one model step, on behalf of a session.
//!
//! Owns what a step may have of its own. It schedules nothing: everything is [`crate::step`]'s. It calls that.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Session;
use crate::step::{StepCall, StepConfig, StepFailure, StepOutcome, StepRoot, StepScheduler};
use crate::tool::ProgressSink;

/// How much longer than a program, which waits for its own calls, whoever called the program waits.
const DRAIN_MARGIN: Duration = Duration::from_secs(1);

/// How long the calls around runs are waited for, when `drain` is what runs wait.
pub(super) fn outer_drain(drain: Duration) -> Duration {
    drain.saturating_add(DRAIN_MARGIN)
}

/// What one step may have of its own.
#[derive(Clone, Default)]
pub struct StepOptions {
    /// How the calls are scheduled. Without a drain deadline of its own, the step has the host's.
    pub config: StepConfig,
    /// The power to end the step; absent: nobody has it.
    pub cancel: Option<CancellationToken>,
    /// Where progress of tools goes; absent when nobody listens.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl fmt::Debug for StepOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepOptions").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Session {
    /// Makes the native calls of one model step and records them: one result for each, in model order (S-1).
    ///
    /// # Errors
    /// [`StepFailure`] when the calls cannot be scheduled or recorded; a tool that fails is a result (S-7).
    pub async fn execute_step(&self, calls: Vec<StepCall>) -> Result<StepOutcome, StepFailure> {
        self.execute_step_with(calls, StepOptions::default()).await
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`Session::execute_step`].
    pub async fn execute_step_with(
        &self,
        calls: Vec<StepCall>,
        options: StepOptions,
    ) -> Result<StepOutcome, StepFailure> {
        let StepOptions { mut config, cancel, progress } = options;
        let host = &self.inner.host;
        config.drain = config.drain.or_else(|| host.shared.drain.map(outer_drain));
        let root = StepRoot {
            scope: self.inner.scope.clone(),
            cancel: cancel.unwrap_or_default(),
            working_root: host.shared.working_root.clone(),
            progress,
            ..StepRoot::new(self.id().clone())
        };
        let scheduler = StepScheduler::new(
            host.pipeline().clone(),
            self.ledger().clone(),
            Arc::clone(host.clock()),
            config,
        );
        scheduler.execute(root, calls).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::clock::ManualClock;
    use crate::host::{Host, SessionOptions};
    use crate::ledger::{EventBody, Ledger};
    use crate::outcome::ErrorCode;
    use crate::tool::{Concurrency, Tool, ToolContext, ToolError};

    fn host(clock: &ManualClock) -> Host {
        let echo = Tool::builder("echo")
            .output(json!({}))
            .concurrency(Concurrency::Parallel)
            .handler(|args: Value, context: ToolContext| async move {
                assert!(context.root().is_some() && context.scope.is_some() && context.parent.is_none());
                Ok::<_, ToolError>(args)
            })
            .unwrap();
        let deaf = Tool::builder("deaf")
            .output(json!({}))
            .handler(|_args: Value, _context: ToolContext| std::future::pending::<Result<Value, ToolError>>())
            .unwrap();
        let host = Host::builder()
            .tools([echo, deaf])
            .clock(Arc::new(clock.clone()))
            .working_root(std::path::Path::new("/"))
            .build()
            .unwrap();
        host.registry().open_scope("agent".into(), None).unwrap();
        host
    }

    /// S-1, S-5
    #[tokio::test]
    async fn a_session_makes_the_calls_of_a_step_for_its_scope_and_records_them() {
        let clock = ManualClock::new();
        let host = host(&clock);
        let (ledger, store) = Ledger::in_memory("s".into(), Arc::new(clock));
        let session = host.session(SessionOptions::new("s").scope("agent").ledger(ledger)).unwrap();
        let calls = ["b", "a"].map(|id| StepCall::new(id, "echo", json!({"id": id})));
        let outcome = session.execute_step(calls.to_vec()).await.unwrap();
        let values: Vec<_> = outcome
            .results
            .iter()
            .map(|result| result.result.as_ref().unwrap().value.as_ref().clone())
            .collect();
        assert_eq!(values, [json!({"id": "b"}), json!({"id": "a"})]);
        assert_eq!(store.events().len(), 4);
    }

    /// P-14, S-6
    #[tokio::test]
    async fn a_host_waits_for_cancelled_steps_and_calls_no_longer_than_it_said() {
        let clock = ManualClock::new();
        let host = host(&clock);
        let (ledger, store) = Ledger::in_memory("s".into(), Arc::new(clock.clone()));
        let session = host.session(SessionOptions::new("s").scope("agent").ledger(ledger)).unwrap();
        let cancel = CancellationToken::new();
        let options = StepOptions { cancel: Some(cancel.clone()), ..StepOptions::default() };
        let stepping = {
            let (session, calls) = (session.clone(), vec![StepCall::new("one", "deaf", json!({}))]);
            tokio::spawn(async move { session.execute_step_with(calls, options).await })
        };
        let calling = {
            let (session, cancel) = (session.clone(), cancel.clone());
            tokio::spawn(async move { session.call_with("deaf", json!({}), cancel).await })
        };
        tokio::task::yield_now().await;
        cancel.cancel();
        while clock.sleepers() < 2 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(10));
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        assert!(!stepping.is_finished() && !calling.is_finished());
        clock.advance(DRAIN_MARGIN);
        let outcome = stepping.await.unwrap().unwrap();
        let in_step = outcome.results[0].result.as_ref().unwrap_err();
        let called = calling.await.unwrap().unwrap_err();
        for failure in [in_step, &called] {
            assert_eq!(
                (failure.code, &failure.details),
                (ErrorCode::Aborted, &Some(json!({"drained": false})))
            );
        }
        assert_eq!(host.pipeline().undrained().len(), 2);
        let recorded = store.events().into_iter().filter_map(|event| match event.body {
            EventBody::ToolResult(result) => Some(result.details),
            _ => None,
        });
        assert_eq!(recorded.collect::<Vec<_>>(), vec![Some(json!({"drained": false})); 2]);
    }
}
