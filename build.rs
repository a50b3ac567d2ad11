//! Makes the start-up snapshot: V8's heap after `runtime-js/` has run, so that no run has to repeat it (E-5).
//!
//! Does nothing without the feature `engine`.

#[cfg(feature = "engine")]
#[path = "src/engine/manifest.rs"]
mod manifest;

#[cfg(feature = "engine")]
#[path = "build/snapshot.rs"]
mod snapshot;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "engine")]
    snapshot::write();
}
