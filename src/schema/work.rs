//! A bound on the work of one validation (P-16, T-8).
//!
//! Owns the budget, which grows with the value and not with the schema, and the way out of a validator that has
//! spent it: the validator has no way to be told to stop, so it is unwound with a payload of its own, which no panic
//! hook sees, and which is caught here and nowhere else. Work that was cut short has no result: it must never pass
//! for "valid". It calls nobody.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use serde_json::Value;

use crate::json::Extent;

/// Looks that any validation may take, however small the value is.
const LOOKS: usize = 200_000;

/// Looks more for every part of the value. Plain schemas, recursive ones too, need as many as they have branches.
const LOOKS_PER_PART: usize = 1_000;

/// Bytes that the errors of one explanation may hold together, however small the value is.
const BYTES_OF_ERRORS: usize = 8 << 20;

/// Bytes more for every part of the value.
const BYTES_PER_PART: usize = 128;

/// Bytes that one of them holds apart from texts of the value.
const BYTES_PER_ERROR: usize = 512;

/// What one validation, or one explanation, may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    looks: usize,
    bytes: usize,
    bytes_per_error: usize,
}

impl Budget {
    const NONE: Self = Self { looks: usize::MAX, bytes: usize::MAX, bytes_per_error: 0 };

    pub(super) fn for_value(extent: Extent) -> Self {
        Self {
            looks: LOOKS.saturating_add(extent.weight.saturating_mul(LOOKS_PER_PART)),
            bytes: BYTES_OF_ERRORS.saturating_add(extent.weight.saturating_mul(BYTES_PER_PART)),
            // Every error holds the pointer to its place.
            bytes_per_error: BYTES_PER_ERROR.saturating_add(extent.longest_path),
        }
    }
}

/// Why work has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The budget is spent.
    Spent,
    /// The validator panicked.
    Panicked,
}

thread_local! {
    /// Looks that are left; without a budget nothing is counted.
    static LOOKS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The rest of the budget.
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::NONE) };
    /// Addresses of the values that errors were made of, while an explanation is under way.
    static BLAMED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The payload that unwinds a validator whose budget is spent.
struct Spent;

/// Takes looks off the budget.
#[inline]
pub(super) fn spend(looks: usize) {
    match LOOKS_LEFT.get().checked_sub(looks) {
        Some(left) => LOOKS_LEFT.set(left),
        None => stop(),
    }
}

/// Takes an error off the budget, and keeps what it is about.
pub(super) fn blame(value: &Value) {
    let budget = BUDGET.get();
    // Some errors hold the names of an object, others the text of a list.
    let texts = match value {
        Value::Object(members) => members.keys().map(|name| name.len() + size_of::<String>()).sum(),
        Value::Array(_) => crate::json::estimated_size(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    let Some(bytes) = budget.bytes.checked_sub(budget.bytes_per_error.saturating_add(texts)) else { stop() };
    BUDGET.set(Budget { bytes, ..budget });
    BLAMED.with_borrow_mut(|blamed| blamed.push(address(value)));
}

/// What tells a value from every other while both live.
pub(super) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

#[cold]
fn stop() -> ! {
    // Whatever is dropped on the way out must not stop a second time.
    LOOKS_LEFT.set(usize::MAX);
    BUDGET.set(Budget::NONE);
    resume_unwind(Box::new(Spent))
}

/// Runs `work` within a budget.
pub(super) fn within<R>(budget: Budget, work: impl FnOnce() -> R) -> Result<R, Stopped> {
    let before = (LOOKS_LEFT.replace(budget.looks), BUDGET.replace(budget));
    // What the validator leaves half done is its own context, which is dropped with it.
    let done = catch_unwind(AssertUnwindSafe(work));
    LOOKS_LEFT.set(before.0);
    BUDGET.set(before.1);
    done.map_err(|payload| if payload.is::<Spent>() { Stopped::Spent } else { Stopped::Panicked })
}

/// The addresses of the values that errors were made of since they were last taken.
pub(super) fn take_blamed() -> Vec<usize> {
    BLAMED.take()
}
