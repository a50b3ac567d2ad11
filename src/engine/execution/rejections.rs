//! Promises that were rejected and that nobody handles (CM-25).
//!
//! Owns the list of a run. A rejection counts only if it is still unhandled when the program ends: programs start
//! calls first and await them later, and that must not fail by the order in which calls come back. One that happens
//! after the program has returned is late: it is told, and fails nothing.
//!
//! # Safety
//! The callback is called by V8 on the isolate's own thread with a message that lives as long as the call.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codemode::program::Position;
use crate::engine::stack::current_position;
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
    /// The same of late ones.
    untold_late: usize,
    by_hash: HashMap<i32, Vec<Rejection>>,
}

struct Rejection {
    order: u64,
    promise: v8::Global<v8::Promise>,
    reason: Thrown,
    late: bool,
}

/// What was thrown.
#[derive(Clone)]
pub(in crate::engine) struct Thrown {
    pub(in crate::engine) value: v8::Global<v8::Value>,
    /// Where, for what has no stack of its own.
    pub(in crate::engine) position: Option<Position>,
}

impl Rejections {
    fn is_full(&self) -> bool {
        self.tracked >= TRACKED
    }

    fn add(&mut self, hash: i32, promise: v8::Global<v8::Promise>, reason: Thrown, late: bool) {
        if self.is_full() {
            if late {
                self.untold_late += 1;
            } else {
                self.untold += 1;
            }
            return;
        }
        self.tracked += 1;
        let order = self.next;
        self.next += 1;
        self.by_hash.entry(hash).or_default().push(Rejection { order, promise, reason, late });
    }

    /// Which of the untold ones it is cannot be told; after the program's return, a late one if there is any.
    fn remove(&mut self, hash: i32, promise: &v8::Global<v8::Promise>, late: bool) {
        let list = self.by_hash.entry(hash).or_default();
        let before = list.len();
        list.retain(|rejection| rejection.promise != *promise);
        let removed = before - list.len();
        if list.is_empty() {
            self.by_hash.remove(&hash);
        }
        self.tracked -= removed;
        if removed == 0 {
            let untold = if late && self.untold_late > 0 { &mut self.untold_late } else { &mut self.untold };
            *untold = untold.saturating_sub(1);
        }
    }

    /// How many of those are left that were not kept.
    pub(super) fn untold(&self, late: bool) -> usize {
        if late { self.untold_late } else { self.untold }
    }

    /// Where this promise was rejected, if it was and that is known.
    pub(super) fn position_of(&self, promise: &v8::Global<v8::Promise>) -> Option<Position> {
        self.by_hash.values().flatten().find(|rejection| rejection.promise == *promise)?.reason.position
    }

    /// How many of those are left that were kept.
    pub(super) fn kept(&self, late: bool) -> usize {
        self.by_hash.values().flatten().filter(|rejection| rejection.late == late).count()
    }

    /// The reason of the earliest of those that are left.
    pub(super) fn first(&self, late: bool) -> Option<Thrown> {
        let left = self.by_hash.values().flatten().filter(|rejection| rejection.late == late);
        Some(left.min_by_key(|rejection| rejection.order)?.reason.clone())
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
    let reason = message.get_value();
    let event = message.get_event();
    let Some(state) = scope.get_slot::<Box<RunState>>() else { return };
    let (program, own, full) = (Arc::clone(&state.program), state.promise.clone(), state.unhandled.is_full());
    let late = own.is_some_and(|own| own.open(scope).state() == v8::PromiseState::Fulfilled);
    let thrown = reason.map(|reason| {
        // Only for what is no error: looking at the stack costs, and errors bring their own.
        let bare = !full && !reason.is_native_error();
        let position = if bare { current_position(scope, &program) } else { None };
        Thrown { value: v8::Global::new(scope, reason), position }
    });
    let Some(state) = scope.get_slot_mut::<Box<RunState>>() else { return };
    match (event, thrown) {
        (v8::PromiseRejectEvent::PromiseRejectWithNoHandler, Some(thrown)) => {
            state.unhandled.add(hash, promise, thrown, late);
        }
        (v8::PromiseRejectEvent::PromiseHandlerAddedAfterReject, _) => {
            state.unhandled.remove(hash, &promise, late);
        }
        _ => {}
    }
}
