//! Checks what `third_party/` carries and makes the two snapshots: V8's heap after `runtime-js/` has run, so that no run
//! has to repeat it (E-5, E-15), and the heap with the TypeScript compiler, for the check before a run (CM-27).
//!
//! Does nothing without the feature `engine`.

#![cfg_attr(
    feature = "engine",
    expect(
        clippy::print_stderr,
        clippy::exit,
        reason = "a build script speaks to cargo by printing, and stops the build by failing"
    )
)]

#[cfg(feature = "engine")]
#[path = "build/checker.rs"]
mod checker;
#[cfg(feature = "engine")]
#[path = "build/checksum.rs"]
mod checksum;
#[cfg(feature = "engine")]
#[path = "build/evaluate.rs"]
mod evaluate;
#[cfg(feature = "engine")]
#[path = "src/engine/manifest.rs"]
mod manifest;
#[cfg(feature = "engine")]
#[path = "build/runtime_files.rs"]
mod runtime_files;
#[cfg(feature = "engine")]
#[path = "build/snapshot.rs"]
mod snapshot;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "engine")]
    {
        verify_archive();
        evaluate::start_v8();
        let runtime = snapshot::write();
        checker::write(runtime);
    }
}

#[cfg(feature = "engine")]
fn verify_archive() {
    use std::path::Path;

    println!("cargo:rerun-if-env-changed=RUSTY_V8_ARCHIVE");
    println!("cargo:rerun-if-changed=third_party/v8/SHA256SUMS");
    let Ok(archive) = std::env::var("RUSTY_V8_ARCHIVE") else {
        // A crate that depends on this one does not see its `.cargo/config.toml`.
        println!(
            "cargo:warning=RUSTY_V8_ARCHIVE is not set, so that V8 is upstream's archive, which nobody has checked; \
             third_party/v8/README.md says how to link the one that comes with isolane"
        );
        return;
    };
    if let Err(reason) = checksum::verify(Path::new(&archive), Path::new("third_party/v8/SHA256SUMS")) {
        eprintln!("{reason}");
        std::process::exit(1);
    }
}
