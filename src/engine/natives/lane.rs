//! Calls, lines and timers of a program.
//!
//! Owns the way from runtime JavaScript to the lane, the logs and the timers. What comes in is checked again: the
//! index names a binding or nothing, the text parses or nothing is dispatched (CM-14).

use std::time::Duration;

use crate::clock::Clock;
use crate::codemode::LogLevel;
use crate::engine::execution::Refused;
use crate::engine::natives::{MAX_TEXT, give_texts, state, stop, text, throw, throw_type};
use crate::engine::state::Trip;
use crate::ids::{SUGGESTIONS, ToolName, nearest_few};

/// `submit(toolIndex, argsJson) -> number`
pub(super) fn submit(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let index = args.get(0).uint32_value(scope).and_then(|index| usize::try_from(index).ok());
    let Some(json) = text(scope, args, 1) else {
        return throw(scope, "arguments must be JSON text");
    };
    let Some(state) = state(scope) else { return };
    let Some(index) = index.filter(|index| state.bindings.tool(*index).is_some()) else {
        return throw(scope, "there is no such tool");
    };
    if json.len() > state.limits.argument_bytes {
        let limit = state.limits.argument_bytes;
        return throw_type(scope, &format!("args is over {limit} bytes as JSON; pass less, or split it"));
    }
    let inputs = state.feed.take();
    match state.outside.submit(index, json, inputs) {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53: the limit of calls of a run")]
        Ok(n) => value.set_double(n as f64),
        Err(Refused::Trip(trip)) => stop(scope, trip),
        Err(Refused::Error(message)) => throw(scope, &message),
    }
}

/// `nearest(name) -> string[]`
pub(super) fn nearest_tools(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(name) = text(scope, args, 0) else { return };
    let Some(state) = state(scope) else { return };
    let bindings = std::sync::Arc::clone(&state.bindings);
    let found = nearest_few(&name, bindings.names().iter().map(ToolName::as_str), SUGGESTIONS);
    give_texts(scope, value, found);
}

/// `log(level, text)`
pub(super) fn log(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    _value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let level = match text(scope, args, 0).as_deref() {
        Some("debug") => LogLevel::Debug,
        Some("warn") => LogLevel::Warn,
        Some("error") => LogLevel::Error,
        _ => LogLevel::Info,
    };
    let argument = args.get(1);
    let Ok(line) = v8::Local::<v8::String>::try_from(argument) else { return };
    // Judged before copying out: a huge line must not be made twice.
    let too_long = line.length() > MAX_TEXT;
    let line = if too_long { String::new() } else { line.to_rust_string_lossy(scope) };
    let logged = match state(scope) {
        None => return,
        Some(_) if too_long => Err(Trip::Output),
        Some(state) => state.log(level, &line),
    };
    if let Err(trip) = logged {
        stop(scope, trip);
    }
}

/// `now() -> number`: milliseconds since the run's start, whole, so that nothing fine can be timed.
pub(super) fn now(
    scope: &mut v8::PinScope<'_, '_>,
    _args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    if let Some(millis) = passed(scope) {
        value.set_double(f64::from(u32::try_from(millis).unwrap_or(u32::MAX)));
    }
}

/// `time() -> number`: milliseconds since the Unix epoch.
pub(super) fn time(
    scope: &mut v8::PinScope<'_, '_>,
    _args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(millis) = passed(scope) else { return };
    let Some(state) = state(scope) else { return };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 until the year 287396")]
    value.set_double(state.feed.started().0.saturating_add(millis) as f64);
}

/// A reading of the program's clock, in milliseconds since its start; nothing when it strays from what is given again.
fn passed(scope: &mut v8::PinScope<'_, '_>) -> Option<u64> {
    let state = state(scope)?;
    match state.feed.clock(state.clock.monotonic()) {
        Ok(millis) => Some(millis),
        Err(trip) => {
            stop(scope, trip);
            None
        }
    }
}

/// `arm(id, milliseconds)`
pub(super) fn arm(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    _value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let id = args.get(0).integer_value(scope).and_then(|id| u64::try_from(id).ok());
    let delay = args.get(1).number_value(scope).unwrap_or_default().clamp(0.0, f64::from(i32::MAX));
    let delay = Duration::try_from_secs_f64(delay / 1000.0).unwrap_or_default();
    let Some(state) = state(scope) else { return };
    let armed = id.map_or(Ok(()), |id| state.arm(id, delay));
    if let Err(trip) = armed {
        stop(scope, trip);
    }
}

/// `disarm(id)`
pub(super) fn disarm(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    _value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let id = args.get(0).integer_value(scope).and_then(|id| u64::try_from(id).ok());
    if let (Some(id), Some(state)) = (id, state(scope)) {
        state.disarm(id);
    }
}
