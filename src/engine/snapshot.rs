//! The start-up snapshot that the build script made.
//!
//! Owns the bytes and their place in the program. It never reads a snapshot from anywhere else (L15). It calls
//! nobody.

/// V8's heap after `runtime-js/` has run.
static SNAPSHOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/snapshot.bin"));

/// The snapshot as V8 takes it; the bytes are not copied.
pub(super) fn startup_data() -> v8::StartupData {
    v8::StartupData::from(SNAPSHOT)
}
