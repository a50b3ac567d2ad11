//! The host of the probes: a careless one.
//!
//! Owns what each process is given (an environment, an open descriptor, a file, a socket) and the verdict on what became
//! of it. Every wait has a bound. It calls `calls` and reads the table of `probes`.

use std::ffi::CString;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::arguments::Arguments;
use crate::calls::{bits, call, place, text};
use crate::probes::{Expected, PROBES, Probe, VALUE, VARIABLE};

/// How long a process is waited for, in milliseconds.
const PATIENCE: usize = 60_000;

/// What became of a probe.
#[derive(Debug, PartialEq, Eq)]
enum Became {
    Done,
    Refused(i32),
    Ended(i32),
    /// Something that no probe does.
    Odd(String),
}

enum Verdict {
    Passed,
    Failed(String),
    /// On this machine no process can do it.
    Skipped(String),
}

/// Tries what is asked for; gives the exit code.
pub(crate) fn main(arguments: &Arguments) -> i32 {
    let meant: Vec<&Probe> = PROBES.iter().filter(|probe| arguments.mean(probe.name)).collect();
    if arguments.list {
        for probe in &meant {
            println!("{}: test", probe.name);
        }
        return 0;
    }
    // Where a process may trace only its children, these may trace their host: what holds them then is the sandbox.
    let _ = call(libc::SYS_prctl, &[bits(libc::PR_SET_PTRACER), usize::MAX]);
    println!("\nrunning {} tests", meant.len());
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for probe in &meant {
        let verdict = match judge(probe) {
            Verdict::Passed => {
                passed += 1;
                "ok".to_owned()
            }
            Verdict::Failed(why) => {
                failed += 1;
                format!("FAILED: {why}")
            }
            Verdict::Skipped(why) => {
                skipped += 1;
                format!("ignored, {why}")
            }
        };
        println!("test {} ... {verdict}", probe.name);
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    let others = PROBES.len() - meant.len();
    println!(
        "\ntest result: {result}. {passed} passed; {failed} failed; {skipped} ignored; 0 measured; {others} filtered out\n"
    );
    i32::from(failed > 0)
}

fn judge(probe: &Probe) -> Verdict {
    let free = become_of(probe, false);
    let does = match (&free, probe.expected) {
        (Became::Refused(_), Expected::Gained) | (Became::Ended(libc::SIGABRT), Expected::Aborts) => true,
        (Became::Done, expected) => !matches!(expected, Expected::Gained),
        _ => false,
    };
    if !does && probe.may_be_refused && matches!(free, Became::Refused(_) | Became::Ended(_)) {
        return Verdict::Skipped(format!("this machine refuses it to everyone: {free:?}"));
    }
    if !does {
        return Verdict::Failed(format!("shows nothing: a process that is free gives {free:?}"));
    }
    let confined = become_of(probe, true);
    let fits = match probe.expected {
        Expected::Refused(errors) => matches!(confined, Became::Refused(error) if errors.contains(&error)),
        Expected::RefusedWithoutCompiler => confined == Became::Refused(libc::EPERM),
        Expected::Killed => confined == Became::Ended(libc::SIGSYS),
        Expected::Works | Expected::WorksOnce | Expected::Gained => confined == Became::Done,
        Expected::Aborts => confined == Became::Ended(libc::SIGABRT),
        Expected::Orphaned => confined == Became::Ended(libc::SIGKILL),
    };
    if fits {
        Verdict::Passed
    } else {
        Verdict::Failed(format!("{confined:?} instead of {:?}", probe.expected))
    }
}

fn become_of(probe: &Probe, confined: bool) -> Became {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, VALUE).unwrap();
    let inherited = open_for_children(&secret);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    if matches!(probe.expected, Expected::Orphaned) {
        command.arg("--start");
    }
    let kind = if confined { "confined" } else { "free" };
    command.args(["--try", probe.name, kind, &inherited.to_string(), &std::process::id().to_string()]);
    command.arg(&secret).env(VARIABLE.to_str().unwrap(), VALUE).stderr(Stdio::null());
    let child = command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).spawn().unwrap();
    // Its end of the socket is open here for as long as the command is.
    drop(command);
    let _ = call(libc::SYS_close, &[inherited]);
    match probe.expected {
        Expected::Orphaned => orphan(child, ours, confined),
        _ => serve(child, ours),
    }
}

/// The number of a descriptor that every process started from here has too.
fn open_for_children(path: &Path) -> usize {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    call(libc::SYS_openat, &[bits(libc::AT_FDCWD), text(&path), bits(libc::O_RDONLY)]).unwrap()
}

/// Sends back what the process sends, until it has ended.
fn serve(mut child: Child, mut ours: UnixStream) -> Became {
    let mut output = child.stdout.take().unwrap();
    let mut bytes = [0_u8; 64];
    while wait_for(&ours) {
        match ours.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(length) => ours.write_all(&bytes[..length]).unwrap(),
        }
    }
    if !wait_for(&output) {
        let _ = child.kill();
    }
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    became(&said, child.wait().unwrap())
}

/// What becomes of a process whose starter has ended.
fn orphan(mut starter: Child, mut ours: UnixStream, confined: bool) -> Became {
    let mut output = starter.stdout.take().unwrap();
    let started = starter.wait().unwrap();
    if !started.success() {
        return Became::Odd(format!("it was not started: {started}"));
    }
    // One that has died with its starter has said nothing, and its end of the socket is closed. One that goes on says
    // so once it is told to end.
    if confined && wait_for(&ours) && wait_for(&output) {
        let mut said = String::new();
        output.read_to_string(&mut said).unwrap();
        return if said.is_empty() { Became::Ended(libc::SIGKILL) } else { Became::Odd(said) };
    }
    let _ = ours.write_all(b"end");
    let mut said = String::new();
    if wait_for(&output) {
        output.read_to_string(&mut said).unwrap();
    }
    became(&said, started)
}

/// Starts the probe as a process of its own, and ends once it is there.
pub(crate) fn start_and_leave(probe: &[&str]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut probe = command.args(probe).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0_u8; 5];
    probe.stderr.take().unwrap().read_exact(&mut ready).unwrap();
    std::process::exit(i32::from(&ready != b"ready"));
}

/// Waits until there is something to read, or nothing more to come.
fn wait_for(file: &impl AsRawFd) -> bool {
    let mut wanted = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    call(libc::SYS_poll, &[place(&mut wanted), 1, PATIENCE]).is_ok_and(|ready| ready > 0)
}

/// Reads what a process said last; what it said before is for people.
fn became(said: &str, status: ExitStatus) -> Became {
    let (told, verdict): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with("  "));
    for line in told {
        println!("{line}");
    }
    if let Some(signal) = status.signal() {
        return Became::Ended(signal);
    }
    match verdict.as_slice() {
        ["done"] => Became::Done,
        [refused] => match refused.strip_prefix("refused ").and_then(|error| error.parse().ok()) {
            Some(error) => Became::Refused(error),
            None => Became::Odd(said.to_owned()),
        },
        _ => Became::Odd(format!("{said:?}, {status}")),
    }
}
