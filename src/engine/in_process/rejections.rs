//! Promises that were rejected and that nobody handles (CM-25).
//!
//! Owns the list of a run. A rejection counts only if it is still unhandled when the program ends: programs start
//! calls first and await them later, and that must not fail by the order in which calls come back.
//!
//! # Safety
//! The callback is called by V8 on the isolate's own thread with a message that lives as long as the call.

use std::collections::HashMap;

use crate::engine::state::RunState;

/// More rejections than this are counted and not kept, nor told apart.
const TRACKED: usize = 10_000;

/// Unhandled rejections, findable by promise.
#[derive(Default)]
pub(in crate::engine) struct Rejections {
    next: u64,
    tracked: usize,
    /// Rejections beyond those that are kept, less those of them that were handled after all.
    untold: usize,
    by_hash: HashMap<i32, Vec<Rejection>>,
}

struct Rejection {
    order: u64,
    promise: v8::Global<v8::Promise>,
    reason: v8::Global<v8::Value>,
}

impl Rejections {
    fn add(&mut self, hash: i32, promise: v8::Global<v8::Promise>, reason: v8::Global<v8::Value>) {
        if self.tracked >= TRACKED {
            self.untold += 1;
            return;
        }
        self.tracked += 1;
        let order = self.next;
        self.next += 1;
        self.by_hash.entry(hash).or_default().push(Rejection { order, promise, reason });
    }

    fn remove(&mut self, hash: i32, promise: &v8::Global<v8::Promise>) {
        let list = self.by_hash.entry(hash).or_default();
        let before = list.len();
        list.retain(|rejection| rejection.promise != *promise);
        let removed = before - list.len();
        if list.is_empty() {
            self.by_hash.remove(&hash);
        }
        self.tracked -= removed;
        if removed == 0 {
            self.untold = self.untold.saturating_sub(1);
        }
    }

    /// How many are left that were not kept.
    pub(super) fn untold(&self) -> usize {
        self.untold
    }

    /// The reason of the earliest one that is left.
    pub(super) fn first(&self) -> Option<v8::Global<v8::Value>> {
        let first = self.by_hash.values().flatten().min_by_key(|rejection| rejection.order)?;
        Some(first.reason.clone())
    }
}

/// V8 says that a promise was rejected without a handler, or got one after all.
#[expect(unsafe_code, reason = "called by V8")]
pub(in crate::engine) unsafe extern "C" fn note(message: v8::PromiseRejectMessage<'_>) {
    // SAFETY: called by V8 with a live message on the isolate's thread.
    v8::callback_scope!(unsafe scope, &message);
    let promise = message.get_promise();
    let hash = promise.get_identity_hash().get();
    let promise = v8::Global::new(scope, promise);
    let reason = message.get_value().map(|reason| v8::Global::new(scope, reason));
    let event = message.get_event();
    let Some(state) = scope.get_slot_mut::<Box<RunState>>() else { return };
    match (event, reason) {
        (v8::PromiseRejectEvent::PromiseRejectWithNoHandler, Some(reason)) => {
            state.unhandled.add(hash, promise, reason);
        }
        (v8::PromiseRejectEvent::PromiseHandlerAddedAfterReject, _) => state.unhandled.remove(hash, &promise),
        _ => {}
    }
}
