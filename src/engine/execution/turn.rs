//! Entering the isolate: each function here runs JavaScript once and comes back.
//!
//! Owns the scopes, the busy meter's bracket around every entry, and the microtask checkpoint after it. It never
//! waits. It calls the entry functions of the runtime JavaScript.

use serde_json::Value;

use crate::codemode::wire::Outcome;
use crate::engine::execution::failure::{self, Description};
use crate::engine::execution::host_bug;
use crate::engine::execution::rejections::Thrown;
use crate::engine::isolate::FreshIsolate;
use crate::engine::stack::PROGRAM_NAME;
use crate::engine::state::RunState;
use crate::outcome::{RunFailure, RunFailureKind};

/// What one entry led to.
pub(super) enum Turn {
    /// The program goes on, or waits.
    Continues,
    /// Something threw through to the host: a timer's callback.
    Threw(Thrown),
    /// V8 ended the execution: a limit tripped.
    Terminated,
}

/// How the program's own promise stands.
pub(super) enum Standing {
    Pending,
    Returned(v8::Global<v8::Value>),
    Threw(Thrown),
}

/// The value of a finished program.
pub(super) enum Finished {
    Value(Option<String>),
    Problem(String),
    TooLarge(usize),
    Terminated,
}

macro_rules! enter {
    ($isolate:expr, $scope:ident) => {
        v8::scope!(let handles, &mut $isolate.isolate);
        let context = v8::Local::new(handles, &$isolate.context);
        let $scope = &mut v8::ContextScope::new(handles, context);
    };
}

impl FreshIsolate {
    /// Runs `body` with the busy meter on, and judges what it leaves behind.
    fn metered<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let meter = self.state().map(|state| std::sync::Arc::clone(&state.meter));
        if let Some(meter) = &meter {
            meter.enter();
        }
        let value = body(self);
        if let Some(meter) = &meter {
            meter.leave();
        }
        self.judge_heap();
        value
    }

    /// Builds `tools`, compiles the program and starts it. The promise is the program's.
    pub(super) fn start(&mut self) -> Result<(Turn, Option<v8::Global<v8::Promise>>), RunFailure> {
        self.metered(Self::start_unmetered)
    }

    fn start_unmetered(&mut self) -> Result<(Turn, Option<v8::Global<v8::Promise>>), RunFailure> {
        let Some(state) = self.state() else { return Err(host_bug("a run without state")) };
        let (program, bindings) =
            (std::sync::Arc::clone(&state.program), std::sync::Arc::clone(&state.bindings));
        let begin = self.entry.begin.clone();
        enter!(self, scope);
        v8::tc_scope!(let scope, scope);
        let text = v8::String::new(scope, bindings.json())
            .ok_or_else(|| host_bug("the list of tools is too long"))?;
        let receiver = v8::undefined(scope).into();
        if begin.open(scope).call(scope, receiver, &[text.into()]).is_none() {
            return if scope.has_terminated() {
                Ok((Turn::Terminated, None))
            } else {
                Err(host_bug("the runtime did not begin"))
            };
        }
        let source = v8::String::new(scope, program.script()).ok_or_else(|| {
            RunFailure::new(RunFailureKind::Syntax, "the program is longer than V8 can compile")
        })?;
        let name = v8::String::new(scope, PROGRAM_NAME).ok_or_else(|| host_bug("no name"))?;
        let origin =
            v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, 0, None, false, false, false, None);
        let function = v8::Script::compile(scope, source, Some(&origin)).and_then(|script| script.run(scope));
        let function = match function.map(v8::Local::<v8::Function>::try_from) {
            Some(Ok(function)) => function,
            Some(Err(_)) => return Err(host_bug("a prepared program is not a function")),
            None if scope.has_terminated() => return Ok((Turn::Terminated, None)),
            None => {
                let message = scope.message();
                let text =
                    message.map(|message| message.get(scope).to_rust_string_lossy(scope)).unwrap_or_default();
                let line = message.and_then(|message| message.get_line_number(scope));
                // Without a place the column is the largest number there is.
                let column = message.map(|message| message.get_start_column().saturating_add(1));
                return Err(failure::syntax(&program, &text, line, column));
            }
        };
        let promise = function.call(scope, receiver, &[]).map(v8::Local::<v8::Promise>::try_from);
        let promise = match promise {
            Some(Ok(promise)) => v8::Global::new(scope, promise),
            Some(Err(_)) => return Err(host_bug("a prepared program gave no promise")),
            None if scope.has_terminated() => return Ok((Turn::Terminated, None)),
            None => {
                // V8 compiles the body of the function only now, and can run out of stack there.
                let message = scope.message();
                let text =
                    message.map(|message| message.get(scope).to_rust_string_lossy(scope)).unwrap_or_default();
                return Err(failure::syntax(&program, &text, None, None));
            }
        };
        if let Some(state) = scope.get_slot_mut::<Box<RunState>>() {
            state.promise = Some(promise.clone());
        }
        Ok((checkpoint(scope), Some(promise)))
    }

    /// Settles calls of the program, in order, until it has ended; those that are left, it knows nothing of. After each
    /// one the program does what it leads to: what a program does must not depend on how many outcomes came together,
    /// which nobody decides.
    pub(super) fn settle(&mut self, settlements: &mut impl Iterator<Item = Outcome<'static>>) -> Turn {
        self.metered(|this| {
            let settle = this.entry.settle.clone();
            let own = this.state().and_then(|state| state.promise.clone());
            enter!(this, scope);
            for settlement in settlements {
                // Its own handles, so that the texts of many do not live at the same time.
                v8::scope!(let scope, scope);
                v8::tc_scope!(let scope, scope);
                let settled = settle_one(scope, &settle, settlement);
                if scope.has_terminated() {
                    return Turn::Terminated;
                }
                if !settled && let Some(thrown) = scope.exception() {
                    // Without this the program would wait for the call for ever.
                    let value = v8::Global::new(scope, thrown);
                    return Turn::Threw(Thrown { value, position: None });
                }
                if let Turn::Terminated = checkpoint(scope) {
                    return Turn::Terminated;
                }
                if own.as_ref().is_some_and(|own| own.open(scope).state() != v8::PromiseState::Pending) {
                    break;
                }
            }
            Turn::Continues
        })
    }

    /// Runs the callback of a timer.
    pub(super) fn fire(&mut self, id: u64) -> Turn {
        self.metered(|this| {
            let Some(program) = this.state().map(|state| std::sync::Arc::clone(&state.program)) else {
                return Turn::Terminated;
            };
            let fire = this.entry.fire.clone();
            enter!(this, scope);
            v8::tc_scope!(let scope, scope);
            let receiver = v8::undefined(scope).into();
            #[expect(clippy::cast_precision_loss, reason = "timers are counted up from 1")]
            let id = v8::Number::new(scope, id as f64);
            let fired = fire.open(scope).call(scope, receiver, &[id.into()]);
            if scope.has_terminated() {
                return Turn::Terminated;
            }
            if fired.is_none()
                && let Some(thrown) = scope.exception()
            {
                let position = scope.message().and_then(|message| {
                    let name = message.get_script_resource_name(scope)?.to_rust_string_lossy(scope);
                    let line = u32::try_from(message.get_line_number(scope)?).ok()?;
                    let column = u32::try_from(message.get_start_column().saturating_add(1)).ok()?;
                    if name == PROGRAM_NAME { program.locate(line, column) } else { None }
                });
                return Turn::Threw(Thrown { value: v8::Global::new(scope, thrown), position });
            }
            checkpoint(scope)
        })
    }

    /// How the program's promise stands. Runs no JavaScript.
    pub(super) fn standing(&mut self, promise: &v8::Global<v8::Promise>) -> Standing {
        enter!(self, scope);
        let kept = promise;
        let promise = v8::Local::new(scope, kept);
        match promise.state() {
            v8::PromiseState::Pending => Standing::Pending,
            v8::PromiseState::Fulfilled => {
                let value = promise.result(scope);
                Standing::Returned(v8::Global::new(scope, value))
            }
            v8::PromiseState::Rejected => {
                let reason = promise.result(scope);
                let state = scope.get_slot::<Box<RunState>>();
                let position = state.and_then(|state| state.unhandled.position_of(kept));
                // The host has seen it: it is not unhandled, and no more in that list.
                promise.mark_as_handled();
                Standing::Threw(Thrown { value: v8::Global::new(scope, reason), position })
            }
        }
    }

    /// Turns the program's value into JSON text (CM-13). Getters and `toJSON` of the program run here.
    pub(super) fn finish(&mut self, value: &v8::Global<v8::Value>, room: usize) -> Finished {
        self.metered(|this| {
            let finish = this.entry.finish.clone();
            enter!(this, scope);
            v8::tc_scope!(let scope, scope);
            let receiver = v8::undefined(scope).into();
            let value = v8::Local::new(scope, value);
            let answer = finish.open(scope).call(scope, receiver, &[value]);
            if scope.has_terminated() {
                return Finished::Terminated;
            }
            let Some(answer) = answer.and_then(|answer| v8::Local::<v8::Array>::try_from(answer).ok()) else {
                return Finished::Problem("the program's value cannot be read".to_owned());
            };
            let part = |index| {
                answer.get_index(scope, index).and_then(|part| v8::Local::<v8::String>::try_from(part).ok())
            };
            let (Some(kind), Some(text)) = (part(0), part(1)) else {
                return Finished::Problem("the program's value cannot be read".to_owned());
            };
            let kind = kind.to_rust_string_lossy(scope);
            if kind == "large" {
                let bytes = text.to_rust_string_lossy(scope).parse().unwrap_or(usize::MAX);
                return Finished::TooLarge(bytes);
            }
            // Judged before copying out (V16).
            let bytes = text.utf8_length(scope);
            if bytes > room {
                return Finished::TooLarge(bytes);
            }
            let text = text.to_rust_string_lossy(scope);
            match kind.as_str() {
                "json" => Finished::Value(Some(text)),
                "none" => Finished::Value(None),
                _ => Finished::Problem(text),
            }
        })
    }

    /// What was thrown, in words. Getters of the program may run here.
    pub(super) fn describe(&mut self, thrown: &v8::Global<v8::Value>) -> Option<Description> {
        self.metered(|this| {
            let describe = this.entry.describe.clone();
            enter!(this, scope);
            v8::tc_scope!(let scope, scope);
            let receiver = v8::undefined(scope).into();
            let thrown = v8::Local::new(scope, thrown);
            let text = describe.open(scope).call(scope, receiver, &[thrown])?;
            serde_json::from_str(&text.to_rust_string_lossy(scope)).ok()
        })
    }
}

/// Runs what the last entry made ready.
fn checkpoint(scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>) -> Turn {
    scope.perform_microtask_checkpoint();
    if scope.has_terminated() || scope.is_execution_terminating() {
        Turn::Terminated
    } else {
        Turn::Continues
    }
}

/// From this length on, V8 reads a text where it is instead of copying it. The runtime JavaScript parses it and lets it
/// go: the program gets values of its own, which count as its heap.
const LENT: usize = 64 * 1024;

/// False when the runtime JavaScript threw.
fn settle_one(
    scope: &mut v8::PinScope<'_, '_>,
    settle: &v8::Global<v8::Function>,
    Outcome { n, ok, big, text }: Outcome<'static>,
) -> bool {
    let text = if text.len() >= LENT && text.is_ascii() {
        v8::String::new_external_onebyte(scope, text.into_owned().into_bytes().into_boxed_slice())
    } else {
        v8::String::new(scope, &text)
    };
    let Some(text) = text else { return false };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53: the limit of calls of a run")]
    let n = v8::Number::new(scope, n as f64);
    let (ok, big) = (v8::Boolean::new(scope, ok), v8::Boolean::new(scope, big));
    let receiver = v8::undefined(scope).into();
    let args = [n.into(), ok.into(), text.into(), big.into()];
    settle.open(scope).call(scope, receiver, &args).is_some()
}

/// Reads the JSON text of a finished program.
pub(super) fn parse_result(text: Option<String>) -> Result<Option<Value>, RunFailure> {
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| host_bug(&format!("the result is not JSON: {error}")))
}
