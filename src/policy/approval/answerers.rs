//! Answerers that need no person at hand: a script, and a function of the host's.
//!
//! Owns nothing but their state. Neither asks anybody else. They call nobody but the function that they were given.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ids::{CallId, ScopeId, SessionId, ToolName};
use crate::pipeline::{ApprovalAnswer, ApprovalQuestion, BoxFuture};
use crate::policy::approval::Answerer;

/// A question that belongs to whoever got it.
#[derive(Clone, Debug)]
pub struct Question {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Its arguments.
    pub args: Value,
    /// The scope that the question is routed by.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// Why somebody is asked; absent when the policy gave no reason.
    pub reason: Option<String>,
    /// Cancelled when the question is withdrawn.
    pub cancel: CancellationToken,
}

impl From<&ApprovalQuestion<'_>> for Question {
    fn from(question: &ApprovalQuestion<'_>) -> Self {
        Self {
            call: question.call.clone(),
            tool: question.tool.clone(),
            args: question.args.clone(),
            scope: question.scope.clone(),
            session: question.session.clone(),
            reason: question.reason.map(str::to_owned),
            cancel: question.cancel.clone(),
        }
    }
}

/// Gives the answers that it was given, in order. When there are none left it says no.
#[derive(Debug)]
pub struct ScriptedAnswerer {
    answers: Mutex<VecDeque<ApprovalAnswer>>,
}

impl ScriptedAnswerer {
    /// An answerer with these answers.
    pub fn new(answers: impl IntoIterator<Item = ApprovalAnswer>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()) }
    }
}

impl Answerer for ScriptedAnswerer {
    fn name(&self) -> &'static str {
        "script"
    }

    fn answer<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, Option<ApprovalAnswer>> {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let answer = answer.unwrap_or_else(|| ApprovalAnswer::Rejected {
            note: Some("the script of answers has come to its end".to_owned()),
        });
        Box::pin(std::future::ready(Some(answer)))
    }
}

/// Asks an asynchronous function, which gives an [`ApprovalAnswer`], or nothing to pass the question on.
pub struct CallbackAnswerer<F> {
    name: String,
    callback: F,
}

impl<F, Fut, A> CallbackAnswerer<F>
where
    F: Fn(Question) -> Fut + Send + Sync,
    Fut: Future<Output = A> + Send,
    A: Into<Option<ApprovalAnswer>>,
{
    /// An answerer of this name.
    pub fn new(name: impl Into<String>, callback: F) -> Self {
        Self { name: name.into(), callback }
    }
}

impl<F, Fut, A> Answerer for CallbackAnswerer<F>
where
    F: Fn(Question) -> Fut + Send + Sync,
    Fut: Future<Output = A> + Send,
    A: Into<Option<ApprovalAnswer>>,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn answer<'a>(&'a self, question: ApprovalQuestion<'a>) -> BoxFuture<'a, Option<ApprovalAnswer>> {
        Box::pin(async move { (self.callback)(Question::from(&question)).await.into() })
    }
}

impl<F> fmt::Debug for CallbackAnswerer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackAnswerer").field("name", &self.name).finish_non_exhaustive()
    }
}
