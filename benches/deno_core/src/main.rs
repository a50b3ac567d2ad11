//! What a deno_core runtime costs: to make one without and with a snapshot, and to run a trivial script in it.
//!
//! `cargo run --release` in this folder. A process may start V8 for making a snapshot or for running, not both, so
//! the snapshot is made by a child process of the same program.

use std::time::{Duration, Instant};

use deno_core::{JsRuntime, JsRuntimeForSnapshot, RuntimeOptions};

const ROUNDS: usize = 200;

fn main() {
    if let Some(path) = std::env::args().nth(1) {
        let runtime = JsRuntimeForSnapshot::new(RuntimeOptions::default());
        std::fs::write(path, runtime.snapshot()).expect("the snapshot can be written");
        return;
    }
    let path = std::env::temp_dir().join(format!("deno-core-startup-{}", std::process::id()));
    let program = std::env::current_exe().expect("this program has a path");
    let made = std::process::Command::new(program).arg(&path).status().expect("a child process starts");
    assert!(made.success());
    let snapshot: &'static [u8] = Box::leak(std::fs::read(&path).expect("the child wrote it").into_boxed_slice());
    std::fs::remove_file(&path).expect("it is ours");

    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _inside = tokio.enter();
    println!("{:<58} {:>10} {:>10}", "figure", "p50", "p99");
    measure("deno_core runtime without a snapshot", None);
    measure("deno_core runtime from a snapshot", Some(snapshot));
}

fn measure(name: &str, snapshot: Option<&'static [u8]>) {
    let (mut made, mut ran) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut runtime = JsRuntime::new(RuntimeOptions { startup_snapshot: snapshot, ..RuntimeOptions::default() });
        made.push(begun.elapsed());
        let begun = Instant::now();
        runtime.execute_script("program", "1 + 1").expect("it runs");
        ran.push(begun.elapsed());
    }
    row(name, &mut made);
    row("  a trivial script in it", &mut ran);
}

fn row(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("{name:<58} {:>7.2} ms {:>7.2} ms", at(50), at(99));
}
