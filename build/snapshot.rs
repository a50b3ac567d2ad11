//! Evaluates the runtime files in a fresh context and writes the heap to `$OUT_DIR/snapshot.bin`.
//!
//! Owns the form of the snapshot: the natives by their place in the manifest, then the files by their number. It
//! must run nothing but `runtime-js/`. The engine reads what it writes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a build that cannot be finished ends with its message"
)]

use std::path::Path;

use v8::MapFnTo;

use crate::evaluate::{Compile, evaluate};
use crate::manifest::NATIVES;
use crate::runtime_files::runtime_files;

/// Stands in for the native function of this place. Each must have an address of its own, since the snapshot
/// tells them apart by address; the number in the body keeps a linker from folding them into one.
fn stand_in<const PLACE: i32>(
    _scope: &mut v8::PinScope<'_, '_>,
    _args: v8::FunctionCallbackArguments<'_>,
    mut value: v8::ReturnValue<'_, v8::Value>,
) {
    value.set_int32(PLACE);
}

macro_rules! stand_ins {
    ($($place:literal)+) => {
        [$(v8::ExternalReference { function: stand_in::<$place>.map_fn_to() }),+]
    };
}

fn templates<'s>(scope: &mut v8::PinScope<'s, '_>) -> Vec<v8::Local<'s, v8::Function>> {
    macro_rules! functions {
        ($($place:literal)+) => {
            vec![$(v8::FunctionTemplate::new(scope, stand_in::<$place>).get_function(scope).expect("function")),+]
        };
    }
    functions!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28)
}

/// What stands in for the natives, by their places.
pub(crate) fn references() -> Vec<v8::ExternalReference> {
    let references = stand_ins!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28);
    assert_eq!(references.len(), NATIVES.len());
    references.to_vec()
}

/// Writes the snapshot, and gives it to those that are made from it.
pub(crate) fn write() -> Vec<u8> {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo:rerun-if-changed=runtime-js");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=src/engine/manifest.rs");

    let mut isolate = v8::Isolate::snapshot_creator(Some(references().into()), None);
    {
        v8::scope!(let scope, &mut isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        context.set_allow_generation_from_strings(false);
        let scope = &mut v8::ContextScope::new(scope, context);
        install_natives(scope, context);
        let mut entry = None;
        let files = runtime_files(&Path::new(&root).join("runtime-js"));
        for file in files.unwrap_or_else(|reason| panic!("{reason}")) {
            let source =
                std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // Functions are compiled now instead of when they are first called: a run calls most of them once.
            entry = Some(evaluate(scope, &format!("isolane:runtime-js/{name}"), &source, Compile::Eagerly));
        }
        let entry = entry.expect("there are runtime files");
        let entry = entry.to_object(scope).expect("the last file evaluates to the record of entry functions");
        assert_eq!(scope.add_context_data(context, entry), 0);
        scope.set_default_context(context);
    }
    let blob = isolate.create_blob(v8::FunctionCodeHandling::Keep).expect("V8 makes the snapshot");
    std::fs::write(Path::new(&out).join("snapshot.bin"), &*blob).expect("OUT_DIR can be written");
    blob.to_vec()
}

fn install_natives(scope: &mut v8::PinScope<'_, '_>, context: v8::Local<'_, v8::Context>) {
    let natives = v8::Object::new(scope);
    let functions = templates(scope);
    assert_eq!(functions.len(), NATIVES.len());
    for (name, function) in NATIVES.iter().zip(functions) {
        let key = v8::String::new(scope, name).expect("short");
        natives.set(scope, key.into(), function.into());
    }
    let key = v8::String::new(scope, "__native").expect("short");
    context.global(scope).set(scope, key.into(), natives.into());
}
