//! V8 in the build script: its start, and the scripts that run while a snapshot is made.
//!
//! Owns the flags, how a script is compiled and how its failure ends the build. It never catches a failure.

#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    clippy::exit,
    reason = "a build that cannot be finished ends with its message"
)]

use crate::manifest::V8_FLAGS;

/// Starts V8, once.
pub(crate) fn start_v8() {
    v8::V8::set_flags_from_string(V8_FLAGS);
    // The second snapshot is made under one flag more than the first.
    v8::V8::set_flags_from_string("--no-freeze-flags-after-init");
    v8::V8::initialize_platform(v8::new_default_platform(1, false).make_shared());
    v8::V8::initialize();
}

/// When functions are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compile {
    /// With the script, every one.
    Eagerly,
    /// When they are first called.
    Lazily,
}

/// The completion value of a script.
pub(crate) fn evaluate<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    source: &str,
    compile: Compile,
) -> v8::Local<'s, v8::Value> {
    v8::tc_scope!(let scope, scope);
    let text = v8::String::new(scope, source).expect("shorter than V8's longest string");
    let resource = v8::String::new(scope, name).expect("short");
    let origin =
        v8::ScriptOrigin::new(scope, resource.into(), 0, 0, false, 0, None, false, false, false, None);
    let mut source = v8::script_compiler::Source::new(text, Some(&origin));
    let options = match compile {
        Compile::Eagerly => v8::script_compiler::CompileOptions::EagerCompile,
        Compile::Lazily => v8::script_compiler::CompileOptions::NoCompileOptions,
    };
    let reason = v8::script_compiler::NoCacheReason::NoReason;
    let script = v8::script_compiler::compile(scope, &mut source, options, reason);
    if let Some(value) = script.and_then(|script| script.run(scope)) {
        return value;
    }
    // The isolate is of no more use, and its destructor would hide the message.
    let message = scope.message().map(|message| message.get(scope).to_rust_string_lossy(scope));
    let line = scope.message().and_then(|message| message.get_line_number(scope));
    eprintln!("{name}:{}: {}", line.unwrap_or(0), message.unwrap_or_default());
    std::process::exit(1);
}
