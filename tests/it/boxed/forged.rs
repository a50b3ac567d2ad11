//! Children that lie: whatever one says, its run has a typed end and its host lives (E-3, E-4).
//!
//! Owns what has to become of each part that [`super::liar`] plays, and of what is not isolane at all. After each part an
//! honest program gives the right result elsewhere.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use isolane::engine::{ChildProgram, ProcessOptions, ProcessRuntime};
use isolane::limits::RunLimits;
use isolane::outcome::RunOutcome;

use crate::boxed::liar::{BROKEN, ENDS, NO_CHILD, Part, forged};
use crate::boxed::{Program, host_on, resident, wait_until};
use crate::support::{alone, child_options, said};

fn limits() -> RunLimits {
    let mut limits = RunLimits::default();
    limits.output_bytes = 6_000;
    limits.argument_bytes = 3_000;
    limits.queued_argument_bytes = 10_000;
    limits.state_bytes = 1_000;
    limits.sub_calls = 50;
    limits
}

async fn run_on(options: ProcessOptions, limits: &RunLimits) -> RunOutcome {
    let host = host_on(&ProcessRuntime::new(options).unwrap(), limits);
    let outcome = host.run("return 'the program itself'").await;
    assert_eq!(isolane::ledger::unsettled(&host.events()).len(), 0, "{}", said(&outcome));
    outcome
}

/// Plays each part once, and looks that an honest program is served after it.
async fn play(parts: &[Part], limits: &RunLimits, expected: impl Fn(&Program, &str) -> String) {
    let honest = ProcessRuntime::new(child_options(&RunLimits::default())).unwrap();
    let honest = host_on(&honest, &RunLimits::default());
    let mut report = String::new();
    for (name, _, what) in parts {
        let program = forged(name);
        let mut options = program.options(limits);
        options.warm = 0;
        let (expected, actual) = (expected(&program, what), said(&run_on(options, limits).await));
        // Lines and notes are those of any program, up to their limits.
        let lines = expected.lines().count();
        if actual.lines().take(lines).collect::<Vec<_>>().join("\n") != expected {
            let _ = write!(report, "\n{name}\n  expected {expected}\n  actual   {actual}\n");
        }
        if !wait_until(|| program.children().is_empty()) {
            let _ = write!(report, "\n{name}: its child is still there\n");
        }
        let sum = said(&honest.run("return await tools.add({ a: 20, b: 22 })").await);
        if sum != "value 42" {
            let _ = write!(report, "\n{name}: the honest program after it: {sum}\n");
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// E-3, E-4
#[tokio::test]
async fn who_is_no_child_is_told_from_one() {
    play(NO_CHILD, &limits(), |_, what| not_a_child(what)).await;
}

/// What the program's run is told: no path of the host, and whose it is to mend.
fn not_a_child(what: &str) -> String {
    format!(
        "engine-exit: the process that was started to run the program {what}; this is for whoever runs the host to mend"
    )
}

/// E-3, E-4
#[tokio::test]
async fn a_frame_that_is_not_in_order_ends_its_child() {
    play(BROKEN, &limits(), |_, violation| {
        format!(
            "engine-exit: the engine failed: its child process does not keep to the protocol ({violation}); running the \
             program again may help"
        )
    })
    .await;
}

/// E-3, E-4, E-6, E-8: V11, V15, V16
#[tokio::test]
async fn what_a_child_may_say_is_no_more_than_an_outcome() {
    let (slow, quick): (Vec<Part>, Vec<Part>) = ENDS.iter().partition(|part| part.2.starts_with("wall"));
    play(&quick, &limits(), |_, expected| expected.to_owned()).await;
    let mut limits = limits();
    limits.wall = Duration::from_secs(1);
    play(&slow, &limits, |_, expected| expected.to_owned()).await;
}

/// E-3: the exit code of a child that a limit ended says which; every other is a crash.
#[tokio::test]
async fn an_exit_code_is_a_typed_end() {
    let kinds = [
        (65, "busy-timeout"),
        (66, "wall-timeout"),
        (67, "abort"),
        (68, "heap"),
        (69, "output-limit"),
        (70, "call-limit"),
        (71, "call-limit"),
        (72, "heap"),
        (73, "engine-exit"),
        (74, "call-limit"),
        (75, "abort"),
        (76, "abort"),
    ];
    for code in [0, 1, 2, 3, 64, 77, 101, 137, 255].into_iter().chain(kinds.map(|(code, _)| code)) {
        let part = format!("exits-{code}");
        let program = forged(&part);
        let failure = run_on(program.options(&limits()), &limits()).await.result.unwrap_err();
        match kinds.iter().find(|(of, _)| *of == code) {
            Some((_, kind)) => assert_eq!(failure.kind.as_str(), *kind, "{code}: {failure}"),
            None => assert_eq!(
                failure.to_string(),
                format!(
                    "engine-exit: the engine failed: the process that ran the program ended with exit code {code}; \
                     running the program again may help"
                )
            ),
        }
    }
}

/// E-3: a run that waits for a program that never says that it is a child ends in its time, and so does that program.
#[tokio::test]
async fn a_program_that_never_greets_is_not_waited_for() {
    let program = forged("mute");
    let mut limits = limits();
    limits.wall = Duration::from_millis(300);
    let outcome = run_on(program.options(&limits), &limits).await;
    assert_eq!(said(&outcome), "wall-timeout: the run took longer than 300 ms; do less in one program");
    // The runtime is gone.
    program.wait(<[_]>::is_empty);
}

/// E-2, E-3: a child that ends, or talks, before it has anything to do is started anew, slower each time, and a run that
/// gets no other ends.
#[tokio::test]
async fn a_child_that_does_not_wait_for_its_program_is_none() {
    let lost = "engine-exit: the engine failed: its children die before they are given a program; running the program \
                again may help";
    let outcome = run_on(forged("talks-when-ready").options(&limits()), &limits()).await;
    assert_eq!(said(&outcome), lost);
    // What has ended may be found out after it was given the program.
    let late = "engine-exit: the engine failed: the process that ran the program ended with exit code 0; running the \
                program again may help";
    let said = said(&run_on(forged("dies-when-ready").options(&limits()), &limits()).await);
    assert!([lost, late].contains(&said.as_str()), "{said}");
}

/// E-4: the sandbox is required whole, so a child that does not speak of a layer does not have it.
#[tokio::test]
async fn a_layer_that_nobody_speaks_of_is_not_there() {
    let program = forged("honest");
    let mut options = program.options(&limits());
    options.require_sandbox = true;
    let outcome = run_on(options, &limits()).await;
    assert_eq!(
        said(&outcome),
        "engine-exit: the sandbox of the process that was started to run the program lacks no-new-privileges, \
         not-dumpable, dies-with-host, descriptors, environment, limits, landlock, seccomp, and the host requires it \
         whole; this is for whoever runs the host to mend"
    );
}

/// E-3, E-8: V16. What a child says of an end is no longer than an honest child would make it, and its numbers are held
/// against the host's own clock.
#[tokio::test]
async fn an_end_that_is_told_at_length_is_cut() {
    let outcome = run_on(forged("boasts").options(&limits()), &limits()).await;
    assert_eq!(outcome.result, Ok(None));
    let bytes: usize = outcome.notes.iter().map(String::len).sum();
    assert!(bytes <= 64 * 1024, "{} notes of {bytes} bytes", outcome.notes.len());
    assert!(outcome.stats.busy_ms <= outcome.stats.wall_ms, "{:?}", outcome.stats);
    let failure = run_on(forged("rants").options(&limits()), &limits()).await.result.unwrap_err();
    for text in [Some(failure.message), failure.frame, failure.stack] {
        let bytes = text.unwrap().len();
        assert!(bytes <= 16 * 1024, "{bytes}");
    }
}

/// E-4, E-8: V15. A child that asks faster than it is answered, or never listens, waits for its host, whose memory stays
/// as it is.
#[test]
fn a_flood_of_frames_takes_no_memory_of_the_host() {
    if !alone("boxed::forged::a_flood_of_frames_takes_no_memory_of_the_host") {
        return;
    }
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut limits = RunLimits::default();
    limits.wall = Duration::from_secs(2);
    for part in ["records-for-ever", "asks-for-ever"] {
        let program = forged(part);
        let before = resident();
        let outcome = tokio.block_on(run_on(program.options(&limits), &limits));
        assert_eq!(
            said(&outcome),
            "wall-timeout: the run took longer than 2 s; do less in one program",
            "{part}"
        );
        let peak = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")).unwrap();
        let grown = (peak.trim().parse::<usize>().unwrap() * 1024).saturating_sub(before);
        assert!(grown < 64 << 20, "{part}: {} MiB", grown >> 20);
    }
}

/// E-3: a program that cannot be a child is named, with what is to be done.
#[tokio::test]
async fn a_program_that_is_not_isolane_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "not a program").unwrap();
    let missing = folder.path().join("missing");
    let start = |reason: &str| {
        format!(
            "engine-exit: no process could be started to run the program: {reason}; this is for whoever runs the host to \
             mend"
        )
    };
    let cases: Vec<(PathBuf, String)> = vec![
        (missing, start("No such file or directory (os error 2)")),
        (plain, start("Permission denied (os error 13)")),
        (folder.path().to_owned(), start("Permission denied (os error 13)")),
        ("/bin/true".into(), not_a_child("ended with exit code 0")),
        ("/bin/cat".into(), not_a_child("ended with exit code 1")),
    ];
    for (path, expected) in cases {
        let mut options = ProcessOptions::default();
        options.program = ChildProgram::At(path.clone());
        // The host is told which program it is, and what it has to be.
        let told = ProcessRuntime::new(options.clone()).unwrap().layers().await.unwrap_err().to_string();
        assert!(told.contains(&format!("`{}`", path.display())), "{told}");
        assert_eq!(said(&run_on(options, &limits()).await), expected);
    }
}
