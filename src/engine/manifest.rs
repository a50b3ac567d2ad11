//! What the build script and the engine must agree on.
//!
//! Owns the list of runtime files, the order of native functions and V8's flags: the start-up snapshot is made
//! by the build script and refers to native functions by their place in this list. It is compiled into both
//! and calls nobody.

/// The files of `runtime-js/`, in load order.
pub(crate) const RUNTIME_FILES: &[&str] = &[
    "00_intrinsics.js",
    "10_inspect.js",
    "20_normalise.js",
    "30_errors.js",
    "40_tools.js",
    "50_timers.js",
    "60_console.js",
    "70_bytes.js",
    "75_url.js",
    "80_abort.js",
    "99_seal.js",
];

/// The native functions of `__native`, in the order of the snapshot's external references.
pub(crate) const NATIVES: [&str; 22] = [
    "submit",
    "log",
    "now",
    "random",
    "digest",
    "url",
    "urlSet",
    "utf8Encode",
    "decode",
    "clone",
    "arm",
    "disarm",
    "promiseState",
    "promiseResult",
    "isPromise",
    "isProxy",
    "classOf",
    "mapEntries",
    "setValues",
    "decline",
    "toBase64",
    "fromBase64",
];

/// V8's flags. A snapshot can be read only under the flags that it was made with.
pub(crate) const V8_FLAGS: &str = "--disallow-code-generation-from-strings --stack-size=900";
