//! Values that a program keeps for later runs.
//!
//! Owns the way from runtime JavaScript to the run's draft of `state`. It keeps nothing: what may be written, and what
//! it takes, is the draft's to say.

use crate::codemode::StateError;
use crate::engine::natives::{give_text, give_texts, state, text, throw, throw_range};

/// `stateGet(key) -> string | undefined`
pub(super) fn get(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(key) = text(scope, args, 0) else { return };
    if let Some(kept) = state(scope).and_then(|state| state.outside.kept().get(&key)) {
        give_text(scope, value, &kept);
    }
}

/// `stateSet(key, json)`
pub(super) fn set(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    _value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(key) = text(scope, args, 0) else { return };
    let Some(json) = text(scope, args, 1) else { return };
    let set = state(scope).map_or(Ok(()), |state| state.outside.kept().set(&key, &json));
    refuse(scope, set);
}

/// `stateDelete(key) -> boolean`
pub(super) fn delete(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(key) = text(scope, args, 0) else { return };
    match state(scope).map_or(Ok(false), |state| state.outside.kept().delete(&key)) {
        Ok(had) => value.set_bool(had),
        Err(error) => throw(scope, &error.to_string()),
    }
}

/// `stateKeys() -> string[]`
pub(super) fn keys(
    scope: &mut v8::PinScope<'_, '_>,
    _args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let keys = state(scope).map(|state| state.outside.kept().keys()).unwrap_or_default();
    give_texts(scope, value, keys.iter().map(String::as_str));
}

/// `stateCommit()`
pub(super) fn commit(
    scope: &mut v8::PinScope<'_, '_>,
    _args: &v8::FunctionCallbackArguments<'_>,
    _value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let committed = state(scope).map_or(Ok(()), |state| state.outside.kept().commit());
    refuse(scope, committed);
}

fn refuse(scope: &mut v8::PinScope<'_, '_>, written: Result<(), StateError>) {
    match written {
        Ok(()) => {}
        Err(error @ StateError::Full { .. }) => throw_range(scope, &error.to_string()),
        Err(error) => throw(scope, &error.to_string()),
    }
}
