//! One isolate, made from the snapshot for one run.
//!
//! Owns the isolate with its limits, the context and the entry functions of the runtime JavaScript. An isolate is
//! used for one run and then discarded (E-2). It calls the allocator, the snapshot and the natives.
//!
//! # Safety
//! The callbacks that watch the heap get a pointer to the [`HeapGuard`], taken by `Arc::as_ptr` from the `Arc` that the
//! isolate's owner keeps until after the isolate is gone. Moving an `Arc` leaves such a pointer valid, which moving a
//! `Box` does not, and nobody ever has the guard by `&mut`.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::engine::allocator::{self, BufferBudget};
use crate::engine::state::{RunState, Trip};
use crate::engine::supervision::Meter;
use crate::engine::{lost, natives, snapshot, stack};
use crate::limits::RunLimits;

/// What an isolate is made with; both limits are fixed from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
pub(super) struct IsolateLimits {
    pub(super) heap_bytes: usize,
    pub(super) array_buffer_bytes: usize,
    /// What V8 gets on top of the heap, once, when its limit is near, so that it can unwind (M12).
    pub(super) unwinding_bytes: usize,
}

impl IsolateLimits {
    /// What a run's limits ask for.
    pub(super) fn of(limits: &RunLimits, unwinding_bytes: usize) -> Self {
        let RunLimits { heap_bytes, array_buffer_bytes, .. } = *limits;
        Self { heap_bytes, array_buffer_bytes, unwinding_bytes }
    }
}

/// Below this V8 cannot work at all.
const LEAST_HEAP_BYTES: usize = 8 * 1024 * 1024;

/// What the callbacks that watch the heap work on.
struct HeapGuard {
    isolate: OnceLock<v8::IsolateHandle>,
    /// The limit, in bytes.
    most: usize,
    unwinding: usize,
    buffers: Arc<BufferBudget>,
    /// The run's; absent until a run begins.
    meter: OnceLock<Arc<Meter>>,
    exceeded: AtomicBool,
}

impl HeapGuard {
    /// What only one large object can lead to. V8 asks before it grows the old generation, but lets the first large
    /// object of the young one through, whatever its size.
    fn ceiling(&self) -> usize {
        self.most.saturating_add(self.most / 4)
    }

    /// Ends the run, and notes where the program is if it runs.
    fn trip(&self) {
        if let Some(meter) = self.meter.get() {
            meter.trip(if self.buffers.refused() { Trip::Buffers } else { Trip::Heap });
        }
        if let Some(isolate) = self.isolate.get() {
            isolate.request_interrupt(stack::note_position, std::ptr::null_mut());
        }
    }
}

/// The entry functions of the runtime JavaScript.
pub(super) struct Entry {
    pub(super) begin: v8::Global<v8::Function>,
    pub(super) settle: v8::Global<v8::Function>,
    pub(super) fire: v8::Global<v8::Function>,
    pub(super) finish: v8::Global<v8::Function>,
    pub(super) describe: v8::Global<v8::Function>,
}

/// An isolate that is ready to run one program.
pub(super) struct FreshIsolate {
    // In order of dropping: handles into the heap, then the heap, then what its callbacks point to.
    pub(super) entry: Entry,
    pub(super) context: v8::Global<v8::Context>,
    pub(super) isolate: v8::OwnedIsolate,
    guard: Arc<HeapGuard>,
    pub(super) buffers: Arc<BufferBudget>,
    pub(super) limits: IsolateLimits,
}

/// Why an isolate could not be made. A bug of the build: the snapshot does not fit.
#[derive(Debug, thiserror::Error)]
#[error("the start-up snapshot lacks `{0}`")]
pub(super) struct BrokenSnapshot(&'static str);

impl FreshIsolate {
    /// Makes an isolate on this thread.
    pub(super) fn new(limits: IsolateLimits) -> Result<Self, BrokenSnapshot> {
        let most = limits.heap_bytes.max(LEAST_HEAP_BYTES);
        let buffers = BufferBudget::new(limits.array_buffer_bytes);
        // Made before the isolate, so that it outlives it on every way out of here.
        let guard = Arc::new(HeapGuard {
            isolate: OnceLock::new(),
            most,
            unwinding: limits.unwinding_bytes,
            buffers: Arc::clone(&buffers),
            meter: OnceLock::new(),
            exceeded: AtomicBool::new(false),
        });
        let params = v8::Isolate::create_params()
            .snapshot_blob(snapshot::startup_data())
            .external_references(natives::references().into())
            .array_buffer_allocator(allocator::counted(Arc::clone(&buffers)).make_shared())
            .heap_limits(0, most)
            .allow_atomics_wait(false);
        let mut isolate = v8::Isolate::new(params);
        isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
        isolate.set_prepare_stack_trace_callback(stack::prepare);
        isolate.set_promise_reject_callback(super::execution::rejections::note);
        isolate.set_capture_stack_trace_for_uncaught_exceptions(false, 0);
        isolate.set_oom_error_handler(out_of_memory);
        let _ = guard.isolate.set(isolate.thread_safe_handle());
        let data = Arc::as_ptr(&guard).cast_mut().cast();
        isolate.add_near_heap_limit_callback(near_heap_limit, data);
        isolate.add_gc_prologue_callback(before_collection, data, v8::GCType::kGCTypeAll);
        let (context, entry) = {
            v8::scope!(let scope, &mut isolate);
            let context = v8::Context::new(scope, v8::ContextOptions::default());
            context.set_allow_generation_from_strings(false);
            let scope = &mut v8::ContextScope::new(scope, context);
            let entry = read_entry(scope)?;
            (v8::Global::new(scope, context), entry)
        };
        Ok(Self { entry, context, isolate, guard, buffers, limits })
    }

    /// Whether the heap outgrew its limit.
    pub(super) fn heap_exceeded(&self) -> bool {
        self.guard.exceeded.load(Ordering::Acquire)
    }

    /// Gives the isolate to a run.
    pub(super) fn begin_run(&mut self, state: RunState) {
        let _ = self.guard.meter.set(Arc::clone(&state.meter));
        self.isolate.set_slot(Box::new(state));
    }

    /// Takes the run's state back: it holds handles into the heap, which must go before the heap does.
    pub(super) fn end_run(&mut self) {
        drop(self.isolate.remove_slot::<Box<RunState>>());
    }

    /// Trips the limit when the heap is over it, for what no collection has seen.
    pub(super) fn judge_heap(&mut self) {
        let used = self.isolate.get_heap_statistics().used_heap_size();
        if used <= self.guard.most || self.has_tripped() {
            return;
        }
        if used <= self.guard.ceiling() {
            // Garbage that V8 has not come to yet does not count.
            self.isolate.low_memory_notification();
            if self.isolate.get_heap_statistics().used_heap_size() <= self.guard.most {
                return;
            }
        }
        self.guard.trip();
    }

    /// Whether a limit has tripped. What the program did since does not count.
    pub(super) fn has_tripped(&mut self) -> bool {
        self.heap_exceeded() || self.state().is_some_and(|state| state.meter.tripped().is_some())
    }

    /// The run's state; nothing before the run has begun.
    pub(super) fn state(&mut self) -> Option<&mut RunState> {
        self.isolate.get_slot_mut::<Box<RunState>>().map(|state| &mut **state)
    }
}

impl std::fmt::Debug for FreshIsolate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FreshIsolate").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn read_entry(scope: &mut v8::PinScope<'_, '_>) -> Result<Entry, BrokenSnapshot> {
    let record = scope
        .get_context_data_from_snapshot_once::<v8::Object>(0)
        .map_err(|_| BrokenSnapshot("the record of entry functions"))?;
    let function = |name: &'static str| {
        let key = v8::String::new(scope, name).ok_or(BrokenSnapshot(name))?;
        let value = record.get(scope, key.into()).ok_or(BrokenSnapshot(name))?;
        let function = v8::Local::<v8::Function>::try_from(value).map_err(|_| BrokenSnapshot(name))?;
        Ok(v8::Global::new(scope, function))
    };
    Ok(Entry {
        begin: function("begin")?,
        settle: function("settle")?,
        fire: function("fire")?,
        finish: function("finish")?,
        describe: function("describe")?,
    })
}

/// Ends the run when the heap holds what no limit of V8's has seen.
#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn before_collection(
    mut isolate: v8::UnsafeRawIsolatePtr,
    _kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: the guard outlives the isolate, and only atomics and the thread-safe handle are used. V8 calls on the
    // isolate's thread and lets its statistics be read here.
    let (guard, isolate) =
        unsafe { (&*data.cast::<HeapGuard>(), v8::Isolate::ref_from_raw_isolate_ptr_mut(&mut isolate)) };
    if isolate.get_heap_statistics().used_heap_size() > guard.ceiling() {
        guard.trip();
    }
}

/// Ends the run and gives V8 room to unwind. The second time it gives nothing, and V8 is out of memory.
#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn near_heap_limit(data: *mut c_void, current: usize, _initial: usize) -> usize {
    // SAFETY: the guard outlives the isolate, and only atomics and the thread-safe handle are used.
    let guard = unsafe { &*data.cast::<HeapGuard>() };
    guard.trip();
    if guard.exceeded.swap(true, Ordering::AcqRel) {
        current
    } else {
        current.saturating_add(guard.unwinding)
    }
}

/// V8 is out of memory; it ends the process when this returns.
#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn out_of_memory(_location: *const c_char, _details: &v8::OomDetails) {
    lost::hold_thread();
}
