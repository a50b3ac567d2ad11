//! Array buffers, counted (E-6, M4).
//!
//! Owns the allocator that refuses what goes past the limit; a refusal that no collection helps ends the run. It
//! never calls back into V8.
//!
//! # Safety
//! V8 calls these functions with the handle that was given to it and with pointers that they returned. Memory
//! comes from the global allocator with the layout that `layout` makes of the same length in both directions. V8 may
//! free a buffer, and drop the allocator, from its own threads, while the isolate's thread allocates: the budget is
//! touched through atomics and an `Arc` only, each an update of its own that needs no other to be seen first, and the
//! global allocator takes memory back on any thread.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What array buffers of one isolate may use.
#[derive(Debug)]
pub(super) struct BufferBudget {
    used: AtomicUsize,
    limit: usize,
    /// The last request was refused.
    refused: AtomicBool,
}

impl BufferBudget {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit, refused: AtomicBool::new(false) })
    }

    /// Whether so many more bytes would be granted.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.used.load(Ordering::Relaxed).checked_add(bytes.max(1)).is_some_and(|total| total <= self.limit)
    }

    /// Whether the last request was refused: tells why V8 says that it is out of memory.
    pub(super) fn refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|total| *total <= self.limit)
        });
        self.refused.store(taken.is_err(), Ordering::Relaxed);
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// An allocator that counts against `budget`.
pub(super) fn counted(budget: Arc<BufferBudget>) -> v8::UniqueRef<v8::Allocator> {
    static VTABLE: v8::RustAllocatorVtable<BufferBudget> =
        v8::RustAllocatorVtable { allocate, allocate_uninitialized, free, drop };
    let handle = Arc::into_raw(budget);
    // SAFETY: the handle is a live Arc whose count `drop` gives back, once, when V8 is done with the allocator.
    #[expect(unsafe_code, reason = "the boundary to V8")]
    unsafe {
        v8::new_rust_allocator(handle, &VTABLE)
    }
}

/// Nothing for a length that no allocator can serve. Length 0 gets one byte, since V8 wants a pointer.
fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.max(1), 16).ok()
}

#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn allocate(budget: &BufferBudget, length: usize) -> *mut c_void {
    // SAFETY: the layout has a size of at least one byte.
    reserve(budget, length, |layout| unsafe { alloc_zeroed(layout) })
}

#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn allocate_uninitialized(budget: &BufferBudget, length: usize) -> *mut c_void {
    // SAFETY: the layout has a size of at least one byte.
    reserve(budget, length, |layout| unsafe { alloc(layout) })
}

fn reserve(budget: &BufferBudget, length: usize, allocate: impl FnOnce(Layout) -> *mut u8) -> *mut c_void {
    let Some(layout) = layout(length) else { return std::ptr::null_mut() };
    if !budget.take(layout.size()) {
        return std::ptr::null_mut();
    }
    let memory = allocate(layout);
    if memory.is_null() {
        budget.give_back(layout.size());
    }
    memory.cast()
}

#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn free(budget: &BufferBudget, memory: *mut c_void, length: usize) {
    let Some(layout) = layout(length) else { return };
    if memory.is_null() {
        return;
    }
    budget.give_back(layout.size());
    // SAFETY: V8 gives back what `reserve` returned, with the length it asked for.
    unsafe { dealloc(memory.cast(), layout) }
}

#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn drop(budget: *const BufferBudget) {
    // SAFETY: the pointer came from `Arc::into_raw` in `counted`, and V8 calls this once.
    std::mem::drop(unsafe { Arc::from_raw(budget) });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E-6, M4
    #[test]
    fn what_goes_past_the_budget_is_refused_and_what_is_freed_counts_no_more() {
        let budget = BufferBudget::new(100);
        assert!(budget.take(60));
        assert!(!budget.take(41));
        assert!(budget.refused());
        assert!(budget.take(40));
        assert!(!budget.refused());
        budget.give_back(60);
        assert!(budget.take(60));
        assert!(!budget.take(usize::MAX));
    }
}
