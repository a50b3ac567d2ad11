//! Where a program is: stacks as text, and the place of an interruption.
//!
//! Owns the form of stack lines and the rule that frames of the runtime JavaScript are never shown (L3). Positions
//! are those of the program as written. It calls the prepared program's position map.
//!
//! # Safety
//! The interrupt callback is called by V8 on the isolate's own thread, with the isolate that it was requested for.

use std::ffi::c_void;

use crate::codemode::program::{Position, PreparedProgram};
use crate::engine::state::RunState;

/// The resource name of a program's script.
pub(super) const PROGRAM_NAME: &str = "program";

/// Most frames that a stack shows.
const SHOWN_FRAMES: u32 = 20;

/// Most UTF-16 units of an error's own text in a stack; a longer one is left out.
const MAX_HEADER: usize = 64 * 1024;

/// Most characters of a function's name in a stack.
const MAX_NAME: usize = 100;

/// Formats an error's stack: V8 calls it when `stack` is first read, and ignores `Error.prepareStackTrace`.
pub(super) fn prepare<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    error: v8::Local<'s, v8::Value>,
    sites: v8::Local<'s, v8::Array>,
) -> v8::Local<'s, v8::Value> {
    let mut text = header(scope, error);
    let program = scope.get_slot::<Box<RunState>>().map(|state| std::sync::Arc::clone(&state.program));
    let shown = sites.length().min(SHOWN_FRAMES);
    for index in 0..shown {
        if let Some(line) = site_line(scope, sites, index, program.as_deref()) {
            text.push_str("\n    at ");
            text.push_str(&line);
        }
    }
    match v8::String::new(scope, &text) {
        Some(text) => text.into(),
        None => v8::undefined(scope).into(),
    }
}

/// `Name: message` as the language makes it, or as much of it as can be had.
fn header<'s>(scope: &mut v8::PinScope<'s, '_>, error: v8::Local<'s, v8::Value>) -> String {
    v8::tc_scope!(let scope, scope);
    // Own getters may run here; what they throw must not replace the error that is being shown.
    let text = if error.is_native_error() { error.to_string(scope) } else { None };
    // A message may be a recipe for a huge text; making it real would cost more than it tells.
    let text = text.filter(|text| text.length() <= MAX_HEADER).map(|text| text.to_rust_string_lossy(scope));
    text.unwrap_or_else(|| "Error".to_owned())
}

/// The name of a function, which a program chooses: short, and on one line.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect()
}

fn site_line(
    scope: &mut v8::PinScope<'_, '_>,
    sites: v8::Local<'_, v8::Array>,
    index: u32,
    program: Option<&PreparedProgram>,
) -> Option<String> {
    let site = sites.get_index(scope, index)?.to_object(scope)?;
    let script = ask(scope, site, "getFileName")
        .filter(|name| name.is_string())
        .map(|name| name.to_rust_string_lossy(scope));
    let function = ask(scope, site, "getFunctionName")
        .filter(|name| name.is_string())
        .map(|name| name.to_rust_string_lossy(scope))
        .filter(|name| !name.is_empty())
        .map(|name| plain(&name));
    match script.as_deref() {
        Some(PROGRAM_NAME) => {
            let line = ask(scope, site, "getLineNumber")?.uint32_value(scope)?;
            let column = ask(scope, site, "getColumnNumber")?.uint32_value(scope)?;
            let place = place_text(program?.locate(line, column)?);
            Some(match function {
                Some(function) => format!("{function} ({place})"),
                None => place,
            })
        }
        // Built-ins such as Array.map: useful in a stack, without a place.
        None => function.map(|function| format!("{function} (<anonymous>)")),
        Some(_) => None,
    }
}

/// A place as stacks show it.
pub(super) fn place_text(Position { line, column }: Position) -> String {
    format!("{PROGRAM_NAME}:{line}:{column}")
}

/// Calls a method of a call site. Programs cannot reach these objects, so their methods are V8's own.
fn ask<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    site: v8::Local<'s, v8::Object>,
    method: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = v8::String::new(scope, method)?;
    let method = v8::Local::<v8::Function>::try_from(site.get(scope, key.into())?).ok()?;
    method.call(scope, site.into(), &[])
}

/// The innermost place in the program, of the stack as it is now.
pub(super) fn current_position(scope: &v8::PinScope<'_, '_>, program: &PreparedProgram) -> Option<Position> {
    let trace = v8::StackTrace::current_stack_trace(scope, 50)?;
    (0..trace.get_frame_count()).find_map(|index| {
        let frame = trace.get_frame(scope, index)?;
        let name = frame.get_script_name(scope)?.to_rust_string_lossy(scope);
        if name != PROGRAM_NAME {
            return None;
        }
        let line = u32::try_from(frame.get_line_number()).ok()?;
        program.locate(line, u32::try_from(frame.get_column()).ok()?)
    })
}

/// Notes where the program is, then ends it. Requested by the watchdog.
#[expect(unsafe_code, reason = "called by V8")]
pub(super) unsafe extern "C" fn note_position(isolate: v8::UnsafeRawIsolatePtr, _data: *mut c_void) {
    // SAFETY: V8 hands the isolate that is running on this very thread; the wrapper does not own it.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    {
        // SAFETY: as above; the scope ends before the callback does.
        v8::callback_scope!(unsafe scope, &mut isolate);
        let running = scope
            .get_slot::<Box<RunState>>()
            .map(|state| (std::sync::Arc::clone(&state.program), state.context.clone()));
        let position = running.and_then(|(program, context)| {
            let context = v8::Local::new(scope, &context);
            let scope = &mut v8::ContextScope::new(scope, context);
            current_position(scope, &program)
        });
        if let Some(state) = scope.get_slot_mut::<Box<RunState>>() {
            state.interrupted_at = position;
        }
    }
    isolate.terminate_execution();
}

/// The first place of the program in a stack that [`prepare`] made.
pub(super) fn first_position(stack: &str) -> Option<Position> {
    stack.lines().find_map(place_of_frame)
}

/// The place of one line. The name of a function comes first and may look like a place, also that of a built-in,
/// which has none: the place is what is in the brackets at the very end, or, without a name, all there is.
fn place_of_frame(line: &str) -> Option<Position> {
    let frame = line.trim_start().strip_prefix("at ")?;
    let place = match frame.strip_suffix(')') {
        Some(frame) => frame.rsplit_once(" (")?.1,
        None => frame,
    };
    let (line, column) = place.strip_prefix(PROGRAM_NAME)?.strip_prefix(':')?.split_once(':')?;
    let number = |digits: &str| digits.parse().ok().filter(|_| !digits.starts_with('+'));
    Some(Position { line: number(line)?, column: number(column)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-23
    #[test]
    fn the_first_place_of_a_stack_is_found() {
        let place = first_position("    at f (program:3:14)\n    at program:9:1")
            .map(|found| (found.line, found.column));
        assert_eq!(place, Some((3, 14)));
        let forged =
            first_position("    at program:7:7 (program:1:2)").map(|found| (found.line, found.column));
        assert_eq!(forged, Some((1, 2)));
        assert!(first_position("    at Array.map (<anonymous>)").is_none());
        for renamed in ["program:99:1", "x (program:99:1)", "x (program:99:1"] {
            let stack = format!("    at {renamed} (<anonymous>)\n    at program:2:3");
            let place = first_position(&stack).map(|found| (found.line, found.column));
            assert_eq!(place, Some((2, 3)), "{renamed}");
        }
    }
}
