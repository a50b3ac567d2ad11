//! What a child can still do, and what it says of its layers.
//!
//! Owns what a run needs after the sandbox is on. It calls `calls`, and the library for a program.

use isolane::engine::{InProcessOptions, InProcessRuntime, Layer, LayerState};
use isolane::host::{Host, SessionOptions};

use super::{Setup, Tried, done};
use crate::calls::{bits, call, place};

/// E-4: each layer is told once, in order, and none failed that the kernel has.
pub(super) fn every_layer_holds_or_is_said_to_be_missing(setup: &mut Setup) -> Tried {
    for report in &setup.reports {
        println!("  {report}");
    }
    let told = setup.reports.iter().map(|report| report.layer);
    let failed = setup.reports.iter().any(|report| matches!(report.state, LayerState::Off(_)));
    if told.eq(Layer::ALL) && !failed { Ok(()) } else { Err(libc::ENOSYS) }
}

/// E-4: over the socket that is descriptor 0; the host sends back what it gets.
pub(super) fn talking_with_the_host(_: &mut Setup) -> Tried {
    let mut sent = *b"ping";
    call(libc::SYS_write, &[0, place(&mut sent), sent.len()])?;
    call(libc::SYS_sendto, &[0, place(&mut sent), sent.len(), 0, 0, 0])?;
    let mut wanted = [0_u32, 1];
    call(libc::SYS_poll, &[place(&mut wanted), 1, 10_000])?;
    let mut back = [0_u8; 8];
    let mut length = 0;
    while length < back.len() {
        let left = &mut back[length..];
        length += match call(libc::SYS_recvfrom, &[0, place(left), left.len(), 0, 0, 0])? {
            0 => return Err(libc::EPIPE),
            more => more,
        };
    }
    if &back == b"pingping" { Ok(()) } else { Err(libc::EIO) }
}

/// E-4: V8 compiles.
pub(super) fn making_memory_executable(_: &mut Setup) -> Tried {
    let flags = bits(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let memory =
        call(libc::SYS_mmap, &[0, 4096, bits(libc::PROT_READ | libc::PROT_WRITE), flags, bits(-1), 0])?;
    call(libc::SYS_mprotect, &[memory, 4096, bits(libc::PROT_READ | libc::PROT_EXEC)])?;
    done(call(libc::SYS_munmap, &[memory, 4096]))
}

/// E-4: where V8 interprets.
pub(super) fn making_memory_executable_without_a_compiler(setup: &mut Setup) -> Tried {
    making_memory_executable(setup)
}

/// E-4
pub(super) fn reading_clock_and_chance(_: &mut Setup) -> Tried {
    let mut time = [0_u64; 2];
    call(libc::SYS_clock_gettime, &[bits(libc::CLOCK_THREAD_CPUTIME_ID), place(&mut time)])?;
    let mut chance = [0_u8; 8];
    done(call(libc::SYS_getrandom, &[place(&mut chance), chance.len(), 0]))
}

/// E-4: a check of V8 that fails is seen as what it is.
pub(super) fn aborting(_: &mut Setup) -> Tried {
    std::process::abort()
}

/// E-4: says that it is there, and goes on until the host says otherwise.
pub(super) fn dying_with_the_host(_: &mut Setup) -> Tried {
    let mut ready = *b"ready";
    call(libc::SYS_write, &[2, place(&mut ready), ready.len()])?;
    let mut word = [0_u8; 4];
    done(call(libc::SYS_read, &[0, place(&mut word), word.len()]))
}

/// Compiles, collects, sorts, waits and formats.
const PROGRAM: &str = r#"
    let sum = 0, kept = [];
    for (let i = 0; i < 1e6; i++) {
        sum += Math.sqrt(i);
        if (i % 5 === 0) kept.push({ i, text: "x" + i });
        if (kept.length > 20000) kept = [];
    }
    const sorted = Array.from({ length: 50000 }, (_, i) => (i * 7919) % 50021).sort((a, b) => a - b);
    const map = new Map(sorted.map((key) => [`key ${key}`, { key }]));
    const buffers = Array.from({ length: 8 }, () => new Uint8Array(1 << 20).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    const words = "ab1".repeat(50000).replace(/[a-z]+(\d)/g, "$1");
    const day = new Intl.DateTimeFormat("de", { dateStyle: "full" }).format(new Date(0));
    return [map.size, words.length, buffers.length, crypto.randomUUID().length, day].join(" ");"#;

/// Isolates that are ready when the sandbox is put on: no thread can be started for another.
const ISOLATES: usize = 3;

/// E-4: programs run in isolates that were made before, or whose threads were; a process that is free runs the same.
/// No file is read for an isolate, and no thread started.
pub(super) fn running_programs(setup: &mut Setup) -> Tried {
    let failed = |_| libc::EIO;
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
    let options = InProcessOptions { ready: ISOLATES, ..InProcessOptions::default() };
    let host = Host::builder().runtime(InProcessRuntime::new(&options)).build().map_err(|_| libc::EIO)?;
    let session = host.session(SessionOptions::new("s")).map_err(|_| libc::EIO)?;
    let run = |program: &str| {
        let outcome = tokio.block_on(session.run(program)).result;
        outcome.map_err(|failure| println!("  {failure}")).map_err(|()| libc::EIO)
    };
    // Whatever starts a thread with the first run has started it then.
    run("return 1")?;
    while threads_of_isolates() < ISOLATES {
        std::thread::yield_now();
    }
    setup.confine();
    for _ in 0..ISOLATES {
        let value = run(PROGRAM)?;
        if value != Some("50000 50000 8 36 Donnerstag, 1. Januar 1970".into()) {
            println!("  {value:?}");
            return Err(libc::EIO);
        }
    }
    Ok(())
}

/// How many isolates are ready or begun. They are counted by the names of their threads, which the kernel cuts.
fn threads_of_isolates() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("isolane-isolat")).count()
}
