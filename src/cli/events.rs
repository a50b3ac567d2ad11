//! The ledger of one command.
//!
//! Owns the session's name and the file that events go to, whose ending says of which kind it is. Sessions are appended
//! to the file, each with its own `seq`: a file may tell of many runs, and none is lost by the next one. It never fails
//! a command in silence.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::fstat;

use isolane::clock::Clock;
use isolane::host::{Host, Session, SessionError, SessionOptions};
use isolane::ids::SessionId;
use isolane::ledger::{FsyncPolicy, Ledger, LedgerOptions, OpenedLedger, open_ledger};

use super::deployment::Deployment;
use super::output::complain;

/// How long an event may be in the system's hands alone. The end of the command syncs in any case.
const SYNC_WITHIN: Duration = Duration::from_secs(1);

/// A name that no other command on this machine has: the time and the process.
pub(super) fn session_id(clock: &dyn Clock) -> SessionId {
    SessionId::new(format!("cli-{}-{}", clock.now().0, std::process::id()))
}

/// Opens the file before anything else happens; nothing when no events were asked for.
pub(super) fn open(
    path: Option<&Path>,
    deployment: &Deployment,
    session: &SessionId,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<Option<Ledger>> {
    let Some(path) = path else { return Ok(None) };
    if path.as_os_str() == "-" {
        anyhow::bail!(
            "events go to a file, not to standard output; name one (`./-` if it is to be called `-`)"
        );
    }
    if is_a_standard_stream(path) {
        anyhow::bail!("the events file {} is where the output goes; name another one", path.display());
    }
    // What a program can write must not be what tells of it.
    if !path.is_dir()
        && let Some(writable) = deployment.writable_root()
        && let Some(folder) = folder_of(path)
        && folder.starts_with(std::path::absolute(writable)?.canonicalize()?)
    {
        anyhow::bail!(
            "the events file {} lies in the folder that --allow-write opens to the program; name one outside of it",
            path.display()
        );
    }
    let OpenedLedger { store, warnings } = open_ledger(path, FsyncPolicy::Interval(SYNC_WITHIN))?;
    for warning in warnings {
        complain(&format!("warning: {warning}"));
    }
    let ledger = Ledger::new(session.clone(), Arc::clone(clock), store, LedgerOptions::default())?;
    Ok(Some(ledger))
}

/// As many links as the system itself follows.
const MAX_LINKS: usize = 40;

/// The folder of a file that may not be there yet; nothing when the folder is not.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let mut whole = std::path::absolute(path).ok()?;
    for _ in 0..MAX_LINKS {
        // A link leads to where the file really is, or will be.
        if let Ok(found) = whole.canonicalize() {
            return Some(found);
        }
        let Ok(target) = whole.read_link() else { return whole.parent()?.canonicalize().ok() };
        whole = whole.parent()?.join(target);
    }
    None
}

/// Whether this is where standard output or standard error goes, whatever it is called.
fn is_a_standard_stream(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    let streams = [fstat(std::io::stdout()), fstat(std::io::stderr())];
    streams.into_iter().flatten().any(|stream| (stream.st_dev, stream.st_ino) == (found.dev(), found.ino()))
}

/// Opens the command's one session.
pub(super) fn session(
    host: &Host,
    options: SessionOptions,
    ledger: Option<Ledger>,
) -> Result<Session, SessionError> {
    host.session(match ledger {
        Some(ledger) => options.ledger(ledger),
        None => options,
    })
}

/// Waits until all events are in the file, for good.
pub(super) async fn close(session: &Session) -> anyhow::Result<()> {
    session.ledger().flush().await.context("events are missing from the file")
}
