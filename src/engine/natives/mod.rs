//! The native functions that the runtime JavaScript calls.
//!
//! Owns the table by which the snapshot refers to them, and the small helpers they share. Programs cannot reach
//! them: only `runtime-js/` holds them, and it hands out none. They call the run's state.

mod bytes;
mod clone;
mod inspect;
mod kept;
mod lane;
mod url;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use v8::MapFnTo;

use crate::engine::manifest::NATIVES;
use crate::engine::stack::current_position;
use crate::engine::state::{RunState, Trip};

/// The functions in the order of [`NATIVES`].
pub(super) fn references() -> Vec<v8::ExternalReference> {
    macro_rules! table {
        ($($function:path),+ $(,)?) => {
            [$({
                // A panic must not reach V8, which would end the process.
                let guarded = |scope: &mut v8::PinScope<'_, '_>,
                               args: v8::FunctionCallbackArguments<'_>,
                               mut value: v8::ReturnValue<'_, v8::Value>| {
                    if catch_unwind(AssertUnwindSafe(|| $function(scope, &args, &mut value))).is_err() {
                        stop(scope, Trip::Panic);
                    }
                };
                v8::ExternalReference { function: guarded.map_fn_to() }
            }),+]
        };
    }
    let table: [v8::ExternalReference; NATIVES.len()] = table![
        lane::submit,
        lane::nearest_tools,
        lane::log,
        lane::now,
        lane::time,
        lane::arm,
        lane::disarm,
        bytes::random,
        bytes::chance,
        bytes::uuid,
        bytes::to_base64,
        bytes::from_base64,
        bytes::digest,
        bytes::utf8_encode,
        bytes::decode,
        bytes::encoding,
        clone::clone,
        url::parse,
        url::set,
        url::query_parse,
        url::query_text,
        inspect::class_of,
        inspect::promise_state,
        inspect::promise_result,
        kept::get,
        kept::set,
        kept::delete,
        kept::keys,
        kept::commit,
    ];
    table.to_vec()
}

/// The state of the run; nothing while the isolate belongs to none, which runtime JavaScript never lets happen.
fn state<'a>(scope: &'a mut v8::PinScope<'_, '_>) -> Option<&'a mut RunState> {
    scope.get_slot_mut::<Box<RunState>>().map(|state| &mut **state)
}

/// Ends the run by a limit. Returning to JavaScript throws what nothing can catch.
fn stop(scope: &mut v8::PinScope<'_, '_>, trip: Trip) {
    let program = state(scope).map(|state| Arc::clone(&state.program));
    let position = program.and_then(|program| current_position(scope, &program));
    if let Some(state) = state(scope) {
        state.meter.trip(trip);
        state.interrupted_at = position;
    }
    scope.terminate_execution();
}

/// Whether a limit has tripped while a native function works, which nobody else notices; the run ends then.
fn interrupted(scope: &mut v8::PinScope<'_, '_>) -> bool {
    let tripped = state(scope).and_then(|state| state.meter.tripped());
    if let Some(trip) = tripped {
        stop(scope, trip);
    }
    tripped.is_some()
}

/// Throws an `Error` with this message.
fn throw(scope: &mut v8::PinScope<'_, '_>, message: &str) {
    if let Some(text) = v8::String::new(scope, message) {
        let error = v8::Exception::error(scope, text);
        scope.throw_exception(error);
    }
}

/// Throws a `TypeError` with this message.
fn throw_type(scope: &mut v8::PinScope<'_, '_>, message: &str) {
    if let Some(text) = v8::String::new(scope, message) {
        let error = v8::Exception::type_error(scope, text);
        scope.throw_exception(error);
    }
}

/// Throws a `RangeError` with this message.
fn throw_range(scope: &mut v8::PinScope<'_, '_>, message: &str) {
    if let Some(text) = v8::String::new(scope, message) {
        let error = v8::Exception::range_error(scope, text);
        scope.throw_exception(error);
    }
}

/// Most UTF-16 units of a text that is taken out of the isolate. A string of V8 may be a recipe for half a gigabyte
/// and take a few bytes; copying it out makes it real, outside of every limit.
const MAX_TEXT: usize = 16 * 1024 * 1024;

/// An argument as text; absent and `undefined` are nothing. A text that is too long throws.
fn text(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    index: i32,
) -> Option<String> {
    let text = v8::Local::<v8::String>::try_from(args.get(index)).ok()?;
    if text.length() > MAX_TEXT {
        throw_range(scope, "the text is too long");
        return None;
    }
    Some(text.to_rust_string_lossy(scope))
}

/// Returns text.
fn give_text(scope: &mut v8::PinScope<'_, '_>, value: &mut v8::ReturnValue<'_, v8::Value>, text: &str) {
    match v8::String::new(scope, text) {
        Some(text) => value.set(text.into()),
        None => throw(scope, "the text is longer than a string can be"),
    }
}

/// Returns a list of texts.
fn give_texts<'a>(
    scope: &mut v8::PinScope<'_, '_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
    texts: impl IntoIterator<Item = &'a str>,
) {
    let elements: Option<Vec<v8::Local<'_, v8::Value>>> =
        texts.into_iter().map(|text| v8::String::new(scope, text).map(Into::into)).collect();
    match elements {
        Some(elements) => value.set(v8::Array::new_with_elements(scope, &elements).into()),
        None => throw(scope, "the text is longer than a string can be"),
    }
}
