//! Asking for approval (PO-8).
//!
//! Owns the service between the pipeline's question and those who can answer it, with its two events. It grants
//! nothing by itself: only an answerer's `allowed_once` does, and only once that is in the ledger. It calls the
//! answerers and the session's ledger.

mod answerers;
mod shown;
mod terminal;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use crate::ids::CallId;
use crate::ledger::{ApprovalAsked, ApprovalDecided, ApprovalDecision, Ledger, SessionLedgers};
use crate::pipeline::{
    ApprovalAnswer, ApprovalQuestion, ApprovalService, Attachment, BoxFuture, Call, Decision, Pipeline,
    PreExecute, PreNext,
};

pub use crate::ledger::ApprovalPolicy;
pub use answerers::{CallbackAnswerer, Question, ScriptedAnswerer};
pub use terminal::TerminalAnswerer;

/// Somebody who can answer a question about a call.
pub trait Answerer: Send + Sync {
    /// Who this is; the ledger says that they decided.
    fn name(&self) -> &str;

    /// Answers, or passes the question on by answering nothing.
    ///
    /// The future is dropped when the question is withdrawn. Whoever is asked and cannot answer says
    /// [`ApprovalAnswer::Unavailable`]; nobody else is asked then.
    fn answer<'a>(&'a self, question: ApprovalQuestion<'a>) -> BoxFuture<'a, Option<ApprovalAnswer>>;
}

/// How a deployment asks for approval.
///
/// ```
/// use isolane::pipeline::ApprovalAnswer;
/// use isolane::policy::approval::{Approvals, CallbackAnswerer, Question};
///
/// let approvals = Approvals::new().answerer(CallbackAnswerer::new("owner", |question: Question| async move {
///     match question.tool.as_str() {
///         "write" => ApprovalAnswer::AllowedOnce,
///         _ => ApprovalAnswer::Rejected { note: Some("only writing is wanted".to_owned()) },
///     }
/// }));
/// # let _ = approvals;
/// ```
#[derive(Clone)]
pub struct Approvals {
    policy: ApprovalPolicy,
    answerers: Vec<Arc<dyn Answerer>>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { policy: ApprovalPolicy::OnRequest, answerers: Vec::new() }
    }
}

impl Approvals {
    /// Asks when a policy wants it, and has nobody to ask yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when somebody is asked. Absent: [`ApprovalPolicy::OnRequest`].
    pub fn policy(mut self, policy: ApprovalPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds somebody to ask, after those who are there already.
    pub fn answerer(mut self, answerer: impl Answerer + 'static) -> Self {
        self.answerers.push(Arc::new(answerer));
        self
    }

    /// Makes the service. Questions are recorded in the ledger of their session.
    pub fn open(self, ledgers: Arc<dyn SessionLedgers>) -> Arc<ApprovalDesk> {
        Arc::new(ApprovalDesk { settings: self, ledgers })
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.answerers.iter().map(|answerer| answerer.name()).collect();
        f.debug_struct("Approvals").field("policy", &self.policy).field("answerers", &names).finish()
    }
}

/// The approval service of a deployment (PO-8).
///
/// A question must belong to a turn of an open session: its two events are read together, and a turn is what tells a
/// question that was cut short from one that is still open. Outside of a turn it is refused and leaves no event. So is
/// one that the ledger can no longer record: a grant counts when it is in the store.
#[derive(Debug)]
pub struct ApprovalDesk {
    settings: Approvals,
    ledgers: Arc<dyn SessionLedgers>,
}

/// An answer, and who gave it.
struct Verdict {
    answer: ApprovalAnswer,
    by: Option<String>,
}

impl ApprovalDesk {
    /// Hangs on the pipeline what the policy needs there: under [`ApprovalPolicy::Always`], that every call is asked
    /// about. The service itself is given to [`Pipeline::new`].
    pub fn attach(self: &Arc<Self>, pipeline: &Pipeline) -> Vec<Attachment> {
        match self.settings.policy {
            ApprovalPolicy::Never | ApprovalPolicy::OnRequest => Vec::new(),
            ApprovalPolicy::Always => vec![pipeline.add_pre(None, Arc::new(AskAlways))],
        }
    }

    async fn consult(&self, question: &ApprovalQuestion<'_>) -> Verdict {
        if self.settings.policy == ApprovalPolicy::Never {
            // Here and not in an answerer, which another one could come before.
            let note = Some("the approval policy is `never`".to_owned());
            return Verdict { answer: ApprovalAnswer::Rejected { note }, by: Some("policy".to_owned()) };
        }
        for answerer in &self.settings.answerers {
            let asking = AssertUnwindSafe(async { answerer.answer(question.clone()).await });
            let by = Some(answerer.name().to_owned());
            match asking.catch_unwind().await {
                Ok(None) => {}
                Ok(Some(answer)) => return Verdict { answer, by },
                Err(_) => {
                    let reason = format!("`{}`, who was asked, panicked", answerer.name());
                    return Verdict { answer: ApprovalAnswer::Unavailable { reason }, by };
                }
            }
        }
        let reason = "there is nobody who takes the question".to_owned();
        Verdict { answer: ApprovalAnswer::Unavailable { reason }, by: None }
    }

    async fn ask(&self, question: ApprovalQuestion<'_>) -> ApprovalAnswer {
        let ledger = self.ledgers.ledger(question.session).filter(|ledger| ledger.turn().is_some());
        let Some(ledger) = ledger else {
            let reason =
                "a question must belong to a turn of an open session, and none is under way".to_owned();
            return ApprovalAnswer::Unavailable { reason };
        };
        let asked = || ApprovalAsked {
            call: question.call.clone(),
            tool: question.tool.clone(),
            reason: question.reason.map(str::to_owned),
        };
        let asked = ledger.reserve().await.record_with(asked, question.event);
        if asked.is_none() && ledger.health().is_some() {
            // A ledger that keeps nothing on purpose is healthy.
            return unrecorded();
        }
        let record = OpenQuestion { ledger: &ledger, call: question.call, asked, decided: false };
        let verdict = tokio::select! {
            // An answer that comes in the moment of the withdrawal is too late.
            biased;
            () = question.cancel.cancelled() => Verdict { answer: ApprovalAnswer::Cancelled, by: None },
            verdict = self.consult(&question) => verdict,
        };
        record.close(verdict).await
    }
}

impl ApprovalService for ApprovalDesk {
    fn ask<'a>(&'a self, question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
        Box::pin(self.ask(question))
    }
}

/// A question whose first event is written and whose second one is not.
struct OpenQuestion<'a> {
    ledger: &'a Ledger,
    call: &'a CallId,
    asked: Option<u64>,
    decided: bool,
}

impl OpenQuestion<'_> {
    /// Records the answer, before anybody can act on it.
    async fn close(mut self, verdict: Verdict) -> ApprovalAnswer {
        let Verdict { answer, by } = verdict;
        let decision = match &answer {
            ApprovalAnswer::AllowedOnce => ApprovalDecision::AllowedOnce,
            ApprovalAnswer::Rejected { .. } => ApprovalDecision::Rejected,
            ApprovalAnswer::Cancelled => ApprovalDecision::Cancelled,
            ApprovalAnswer::Unavailable { .. } => ApprovalDecision::Unavailable,
        };
        let decided = self.decide(decision, by);
        if answer != ApprovalAnswer::AllowedOnce {
            return answer;
        }
        let recorded = match decided {
            Some(seq) => self.ledger.written(seq).await.is_ok(),
            None => self.ledger.health().is_none(),
        };
        if recorded { answer } else { unrecorded() }
    }

    /// Never waits: a question is withdrawn in the middle of any wait, and its second event would be lost.
    fn decide(&mut self, decision: ApprovalDecision, by: Option<String>) -> Option<u64> {
        self.decided = true;
        let decided = || ApprovalDecided { call: self.call.clone(), decision, by };
        self.ledger.reserve_now().record_with(decided, self.asked)
    }
}

impl Drop for OpenQuestion<'_> {
    /// Whoever asked went away, so whatever the answer was, it granted nothing.
    fn drop(&mut self) {
        if !self.decided {
            self.decide(ApprovalDecision::Cancelled, None);
        }
    }
}

/// What is not in the ledger was not granted. Why it is not is the host's to know: it may name files of the host.
fn unrecorded() -> ApprovalAnswer {
    let reason =
        "the question and its answer cannot be recorded, since the session's ledger has failed".to_owned();
    ApprovalAnswer::Unavailable { reason }
}

/// Turns what is allowed so far into a question; what is denied stays denied.
struct AskAlways;

impl PreExecute for AskAlways {
    fn decide<'a>(&'a self, _call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match next.decide().await {
                Decision::Allow => {
                    Decision::Ask { reason: Some("this deployment asks about every call".to_owned()) }
                }
                decided => decided,
            }
        })
    }
}

#[cfg(test)]
mod tests;
