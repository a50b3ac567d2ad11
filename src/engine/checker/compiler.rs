//! The isolate of the TypeScript compiler.
//!
//! Owns the isolate from its own snapshot and the one function in it that is called. It must run nothing else: the natives,
//! which its snapshot has from that of the runtime, are not called. It calls V8.
//!
//! # Safety
//! The callback that watches the heap gets a pointer to the [`Guard`], taken by `Arc::as_ptr` from the `Arc` that the
//! isolate's owner keeps until after the isolate is gone; only atomics and the thread-safe handle in it are used.

use std::ffi::{c_char, c_void};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::json;

use crate::codemode::check::{CheckError, CheckRequest, Findings};
use crate::engine::{lost, natives};

/// The heap with the compiler loaded, deflated. Made by the build script.
static SNAPSHOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/checker.bin"));

/// The length of that heap as it is.
const SNAPSHOT_BYTES: &str = include_str!(concat!(env!("OUT_DIR"), "/checker.len"));

/// What V8 gets on top, once, when its limit is near, so that it can unwind.
const UNWINDING_BYTES: usize = 256 * 1024 * 1024;

/// Why there is no compiler. A bug of the build.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokenCompiler {
    #[error("its snapshot cannot be read: {0}")]
    Packed(#[from] std::io::Error),
    #[error("its snapshot lacks the driver")]
    NoDriver,
}

/// What the callback that watches the heap works on.
#[derive(Default)]
struct Guard {
    isolate: OnceLock<v8::IsolateHandle>,
    exceeded: AtomicBool,
}

/// A compiler that is ready.
pub(super) struct Compiler {
    // In order of dropping: handles into the heap, then the heap, then what its callback points to.
    driver: v8::Global<v8::Function>,
    context: v8::Global<v8::Context>,
    isolate: v8::OwnedIsolate,
    guard: Arc<Guard>,
    heap_bytes: usize,
}

impl Compiler {
    /// Makes one on this thread.
    pub(super) fn new(heap_bytes: usize) -> Result<Self, BrokenCompiler> {
        let mut snapshot = Vec::with_capacity(SNAPSHOT_BYTES.parse().unwrap_or(0));
        flate2::read::DeflateDecoder::new(SNAPSHOT).read_to_end(&mut snapshot)?;
        let guard = Arc::new(Guard::default());
        let params = v8::Isolate::create_params()
            .snapshot_blob(v8::StartupData::from(snapshot))
            .external_references(natives::references().into())
            .heap_limits(0, heap_bytes)
            .allow_atomics_wait(false);
        let mut isolate = v8::Isolate::new(params);
        isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
        isolate.set_oom_error_handler(out_of_memory);
        let _ = guard.isolate.set(isolate.thread_safe_handle());
        isolate.add_near_heap_limit_callback(near_heap_limit, Arc::as_ptr(&guard).cast_mut().cast());
        let (context, driver) = {
            v8::scope!(let scope, &mut isolate);
            let context = v8::Context::new(scope, v8::ContextOptions::default());
            context.set_allow_generation_from_strings(false);
            let scope = &mut v8::ContextScope::new(scope, context);
            let driver = scope
                .get_context_data_from_snapshot_once::<v8::Function>(0)
                .map_err(|_| BrokenCompiler::NoDriver)?;
            (v8::Global::new(scope, context), v8::Global::new(scope, driver))
        };
        Ok(Self { driver, context, isolate, guard, heap_bytes })
    }

    /// The handle by which a check is stopped.
    pub(super) fn handle(&self) -> v8::IsolateHandle {
        self.isolate.thread_safe_handle()
    }

    /// Checks one text.
    pub(super) fn check(&mut self, request: &CheckRequest) -> Result<Findings, CheckError> {
        let request = json!({
            "declarations": request.declarations,
            "program": request.program,
            "scope": request.scope,
        });
        let answer = self.call(&request.to_string());
        if self.guard.exceeded.load(Ordering::Acquire) {
            return Err(CheckError::Heap { limit: self.heap_bytes });
        }
        let answer = answer.ok_or_else(|| CheckError::GaveUp("it was stopped".to_owned()))?;
        match serde_json::from_str(&answer) {
            Ok(Answer::Failed { failed }) => Err(CheckError::GaveUp(failed)),
            Ok(Answer::Findings(findings)) => Ok(findings),
            Err(error) => Err(CheckError::GaveUp(error.to_string())),
        }
    }

    fn call(&mut self, request: &str) -> Option<String> {
        v8::scope!(let scope, &mut self.isolate);
        let context = v8::Local::new(scope, &self.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        v8::tc_scope!(let scope, scope);
        let request = v8::String::new(scope, request)?;
        let this = v8::undefined(scope).into();
        let answer = self.driver.open(scope).call(scope, this, &[request.into()])?;
        Some(answer.to_rust_string_lossy(scope))
    }
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Answer {
    Failed { failed: String },
    Findings(Findings),
}

/// Ends the check and gives V8 room to unwind. The second time it gives nothing, and V8 is out of memory.
#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn near_heap_limit(data: *mut c_void, current: usize, _initial: usize) -> usize {
    // SAFETY: the guard outlives the isolate, and only atomics and the thread-safe handle are used.
    let guard = unsafe { &*data.cast::<Guard>() };
    if let Some(isolate) = guard.isolate.get() {
        isolate.terminate_execution();
    }
    if guard.exceeded.swap(true, Ordering::AcqRel) {
        current
    } else {
        current.saturating_add(UNWINDING_BYTES)
    }
}

/// V8 is out of memory; it ends the process when this returns.
#[expect(unsafe_code, reason = "called by V8")]
unsafe extern "C" fn out_of_memory(_location: *const c_char, _details: &v8::OomDetails) {
    lost::hold_thread();
}
