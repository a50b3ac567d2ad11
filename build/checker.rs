//! Loads the TypeScript compiler on top of the runtime's snapshot and writes that heap to `$OUT_DIR/checker.bin`
//! (CM-27).
//!
//! Owns which parts of the carried package are used: the compiler, and the libraries of what a program has. The
//! package is checked against its checksum before anything of it is read. It must run nothing but the compiler and
//! the scripts of `src/engine/checker`. The engine reads what it writes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::exit,
    reason = "a build that cannot be finished ends with its message"
)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

use flate2::read::GzDecoder;
use flate2::write::DeflateEncoder;

use crate::checksum;
use crate::evaluate::{Compile, evaluate};
use crate::snapshot::references;

/// The package, as it is published.
const PACKAGE: &str = "third_party/typescript/typescript-6.0.3.tgz";

/// The library that refers to all others.
const NEWEST: &str = "esnext";

/// What a program has not: shared memory (E-9), old decorators, dates that this V8 does not know.
const LEFT_OUT: [&str; 8] = [
    "decorators.legacy",
    "es2017.sharedmemory",
    "es2020.sharedmemory",
    "es2024.sharedmemory",
    "esnext.date",
    "esnext.intl",
    "esnext.sharedmemory",
    "esnext.temporal",
];

/// What the driver is made of, in the order in which each needs those before.
const PARTS: [&str; 3] = ["words.js", "severity.js", "doubts.js"];

/// Writes the snapshot. It is made from that of the runtime, and adds nothing to the part of the heap that is never
/// written: V8 shares that part among all isolates of a process, and so it must be the same in both.
pub(crate) fn write(runtime: Vec<u8>) {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo:rerun-if-changed=third_party/typescript");
    println!("cargo:rerun-if-changed=src/engine/checker");

    let package = Path::new(&root).join(PACKAGE);
    if let Err(reason) = checksum::verify(&package, &package.with_file_name("SHA256SUMS")) {
        eprintln!("{reason}");
        std::process::exit(1);
    }
    let files = unpack(&package);
    let own = |name: &str| {
        let path = Path::new(&root).join("src/engine/checker").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let compiler = files.get("typescript.js").expect("the package has lib/typescript.js");
    let mut libraries = Vec::new();
    collect(&files, NEWEST, &mut libraries);
    let globals = own("globals.d.ts");
    libraries.push(("globals.d.ts", &globals));

    v8::V8::set_flags_from_string("--no-extensible-ro-snapshot");
    let mut isolate = v8::Isolate::snapshot_creator_from_existing_snapshot(
        v8::StartupData::from(runtime),
        Some(references().into()),
        None,
    );
    {
        v8::scope!(let scope, &mut isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        context.set_allow_generation_from_strings(false);
        let scope = &mut v8::ContextScope::new(scope, context);
        evaluate(scope, "typescript.js", compiler, Compile::Lazily);
        let libraries = object(scope, &libraries);
        let key = text(scope, "__libraries");
        context.global(scope).set(scope, key, libraries.into());
        for part in PARTS {
            evaluate(scope, &format!("isolane:checker/{part}"), &own(part), Compile::Lazily);
        }
        let check = evaluate(scope, "isolane:checker/driver.js", &own("driver.js"), Compile::Lazily);
        let check = v8::Local::<v8::Function>::try_from(check).expect("the driver evaluates to a function");
        // What the compiler's functions need is compiled when they are called: so they are called.
        for (declarations, program) in REHEARSALS {
            rehearse(scope, check, declarations, program);
        }
        assert_eq!(scope.add_context_data(context, check), 0);
        scope.set_default_context(context);
    }
    let blob = isolate.create_blob(v8::FunctionCodeHandling::Keep).expect("V8 makes the snapshot");
    let mut packed = DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    packed.write_all(&blob).expect("memory can be written");
    let packed = packed.finish().expect("memory can be written");
    std::fs::write(Path::new(&out).join("checker.bin"), packed).expect("OUT_DIR can be written");
    std::fs::write(Path::new(&out).join("checker.len"), format!("{}", blob.len()))
        .expect("OUT_DIR can be written");
}

/// The files of the package's folder `lib` itself, by name.
fn unpack(package: &Path) -> BTreeMap<String, String> {
    let file = std::fs::File::open(package).unwrap_or_else(|error| panic!("{}: {error}", package.display()));
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut files = BTreeMap::new();
    for entry in archive.entries().expect("the package is a tar archive") {
        let mut entry = entry.expect("the package is a tar archive");
        let path = entry.path().expect("names of the package are text").into_owned();
        let Ok(name) = path.strip_prefix("package/lib") else { continue };
        let name = name.to_string_lossy().into_owned();
        if name != "typescript.js" && !(name.starts_with("lib.") && name.ends_with(".d.ts")) {
            continue;
        }
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("files of the package are text");
        files.insert(name, text);
    }
    files
}

/// A library with those that it refers to, these first.
fn collect<'f>(files: &'f BTreeMap<String, String>, name: &str, into: &mut Vec<(&'f str, &'f String)>) {
    let file = format!("lib.{name}.d.ts");
    if LEFT_OUT.contains(&name) || into.iter().any(|(known, _)| *known == file) {
        return;
    }
    let (file, text) = files.get_key_value(&file).unwrap_or_else(|| panic!("the package has no {file}"));
    let references =
        text.lines().filter_map(|line| line.strip_prefix("/// <reference lib=\"")?.split_once('"'));
    for (other, _) in references {
        collect(files, other, into);
    }
    into.push((file, text));
}

/// Checks that stand for those to come: what the functions that they call need is then in the snapshot.
const REHEARSALS: [(&str, &str); 2] = [
    (include_str!("rehearsal/sdk.d.ts"), include_str!("rehearsal/right.ts")),
    (include_str!("rehearsal/sdk.d.ts"), include_str!("rehearsal/wrong.ts")),
];

fn rehearse(
    scope: &mut v8::PinScope<'_, '_>,
    check: v8::Local<'_, v8::Function>,
    declarations: &str,
    program: &str,
) {
    let request =
        object(scope, &[("declarations", declarations), ("program", program), ("scope", "program")]);
    let request = v8::json::stringify(scope, request.into()).expect("an object of texts");
    let this = v8::undefined(scope).into();
    let answer = check.call(scope, this, &[request.into()]).expect("the driver throws nothing");
    let answer = answer.to_rust_string_lossy(scope);
    assert!(!answer.starts_with("{\"failed\""), "{answer}");
}

fn object<'s>(
    scope: &v8::PinScope<'s, '_>,
    entries: &[(&str, impl AsRef<str>)],
) -> v8::Local<'s, v8::Object> {
    let object = v8::Object::new(scope);
    for (name, value) in entries {
        let (name, value) = (text(scope, name), text(scope, value.as_ref()));
        object.set(scope, name, value);
    }
    object
}

fn text<'s>(scope: &v8::PinScope<'s, '_>, text: &str) -> v8::Local<'s, v8::Value> {
    v8::String::new(scope, text).expect("shorter than V8's longest string").into()
}
