//! What the build script and the engine must agree on.
//!
//! Owns the order of native functions and V8's flags: the start-up snapshot is made
//! by the build script and refers to native functions by their place in this list. It is compiled into both
//! and calls nobody.

/// The native functions of `__native`, in the order of the snapshot's external references.
pub(crate) const NATIVES: [&str; 29] = [
    "submit",
    "nearest",
    "log",
    "now",
    "time",
    "arm",
    "disarm",
    "random",
    "chance",
    "uuid",
    "toBase64",
    "fromBase64",
    "digest",
    "utf8Encode",
    "decode",
    "encoding",
    "clone",
    "url",
    "urlSet",
    "queryParse",
    "queryText",
    "classOf",
    "promiseState",
    "promiseResult",
    "stateGet",
    "stateSet",
    "stateDelete",
    "stateKeys",
    "stateCommit",
];

/// V8's flags. A snapshot can be read only under the flags that it was made with.
pub(crate) const V8_FLAGS: &str = "--disallow-code-generation-from-strings --stack-size=900";
