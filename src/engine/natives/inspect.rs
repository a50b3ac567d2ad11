//! Looking at values from outside, by their internal slots.
//!
//! Owns what the printer must know without running code of the program (CM-29).

use crate::engine::natives::give_text;

/// `classOf(value) -> string`: the class by internal slots; empty for plain objects, arrays and functions.
pub(super) fn class_of(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    give_text(scope, value, name_of(args.get(0)));
}

fn name_of(value: v8::Local<'_, v8::Value>) -> &'static str {
    // A proxy first: it looks like whatever it stands for.
    if value.is_proxy() {
        "Proxy"
    } else if !value.is_object() {
        ""
    } else if value.is_map() {
        "Map"
    } else if value.is_set() {
        "Set"
    } else if value.is_native_error() {
        "Error"
    } else if value.is_date() {
        "Date"
    } else if value.is_reg_exp() {
        "RegExp"
    } else if value.is_promise() {
        "Promise"
    } else if value.is_typed_array() {
        "TypedArray"
    } else if value.is_array_buffer() {
        "ArrayBuffer"
    } else if value.is_data_view() {
        "DataView"
    } else if value.is_weak_map() {
        "WeakMap"
    } else if value.is_weak_set() {
        "WeakSet"
    } else if value.is_map_iterator() {
        "MapIterator"
    } else if value.is_set_iterator() {
        "SetIterator"
    } else if value.is_generator_object() {
        "Generator"
    } else if value.is_arguments_object() {
        "Arguments"
    } else if value.is_boolean_object() {
        "Boolean"
    } else if value.is_number_object() {
        "Number"
    } else if value.is_string_object() {
        "String"
    } else if value.is_symbol_object() {
        "Symbol"
    } else if value.is_big_int_object() {
        "BigInt"
    } else {
        ""
    }
}

/// `promiseState(promise) -> 0 | 1 | 2`: pending, fulfilled, rejected.
pub(super) fn promise_state(
    _scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Ok(promise) = v8::Local::<v8::Promise>::try_from(args.get(0)) else { return };
    value.set_int32(match promise.state() {
        v8::PromiseState::Pending => 0,
        v8::PromiseState::Fulfilled => 1,
        v8::PromiseState::Rejected => 2,
    });
}

/// `promiseResult(promise)`: what a settled promise holds.
pub(super) fn promise_result(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Ok(promise) = v8::Local::<v8::Promise>::try_from(args.get(0)) else { return };
    if promise.state() != v8::PromiseState::Pending {
        value.set(promise.result(scope));
    }
}
