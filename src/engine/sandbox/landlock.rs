//! Landlock: the second layer over files and the network (E-4).
//!
//! Owns a set of rules that allows nothing. It holds for the thread that puts it on and those that it starts, and for
//! what is opened from then on. Its calls are the crate's; it calls nobody else.

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetError,
    RulesetStatus, Scope,
};

use super::layers::{Layer, LayerReport, LayerState};

/// The newest that is asked for; of it a kernel holds what it has.
const NEWEST: ABI = ABI::V10;

/// The first that refuses TCP connections.
const WITH_NETWORK: ABI = ABI::V4;

/// The first that refuses abstract sockets and signals of others.
const WITH_SCOPES: ABI = ABI::V6;

/// `alone`: no other thread runs, which it would not hold for.
pub(super) fn restrict(alone: bool) -> LayerReport {
    match allow_nothing() {
        Ok(_) if !alone => {
            let others =
                "it does not hold for the threads that ran already; call `run_if_child` first in `main`";
            LayerReport::new(Layer::Landlock, LayerState::Off(others.to_owned()))
        }
        Ok(status) => read(&status),
        Err(error) => LayerReport::new(Layer::Landlock, LayerState::Off(error.to_string())),
    }
}

fn allow_nothing() -> Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()
}

fn read(status: &RestrictionStatus) -> LayerReport {
    let unavailable = |reason: &str| LayerState::Unavailable(reason.to_owned());
    let state = match (&status.ruleset, &status.landlock) {
        (_, LandlockStatus::NotImplemented) => unavailable("the kernel was built without it"),
        (_, LandlockStatus::NotEnabled) => unavailable("it was not switched on when the system started"),
        (RulesetStatus::NotEnforced, LandlockStatus::Available { .. }) => {
            LayerState::Off("the kernel has it and did not put it on".to_owned())
        }
        (_, LandlockStatus::Available { .. }) => LayerState::On,
    };
    let note = match (&state, &status.landlock) {
        (LayerState::On, LandlockStatus::Available { effective_abi, .. }) => Some(held(*effective_abi)),
        _ => None,
    };
    LayerReport { layer: Layer::Landlock, state, note }
}

/// The version that holds, and what it lacks of what isolane asks for.
fn held(abi: ABI) -> String {
    match abi {
        abi if abi < WITH_NETWORK => format!("ABI {abi}: files alone"),
        abi if abi < WITH_SCOPES => format!("ABI {abi}: without abstract sockets and signals"),
        abi => format!("ABI {abi}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// E-4: by itself, without the other layers. It holds for one thread, which is why a test can have it.
    #[test]
    fn a_thread_that_it_is_put_on_opens_no_file_and_connects_nowhere() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let attempts = move || {
            [
                File::open(file).map(drop),
                std::fs::read_dir("/proc").map(drop),
                File::create(&made).map(drop),
                std::process::Command::new("/bin/true").status().map(drop),
                TcpStream::connect(address).map(drop),
                TcpListener::bind("127.0.0.1:0").map(drop),
            ]
            .map(|attempt| attempt.map_err(|error| error.kind()))
        };
        assert_eq!(attempts(), [Ok(()); 6]);
        let (report, refused) =
            std::thread::scope(|scope| scope.spawn(|| (restrict(true), attempts())).join()).unwrap();
        match (&report.state, report.note) {
            (LayerState::On, Some(note)) if note.ends_with("files alone") => {
                assert_eq!(refused[..4], [Err(ErrorKind::PermissionDenied); 4]);
            }
            (LayerState::On, _) => assert_eq!(refused, [Err(ErrorKind::PermissionDenied); 6]),
            (state, _) => assert!(matches!(state, LayerState::Unavailable(_)), "{state}"),
        }
        assert_eq!(attempts(), [Ok(()); 6], "it holds for that thread alone");
    }

    /// E-4: what a kernel lacks is told.
    #[test]
    fn the_version_is_told_with_what_it_lacks() {
        let told = [ABI::V1, ABI::V4, ABI::V6, ABI::V10].map(held);
        assert_eq!(
            told,
            ["ABI 1: files alone", "ABI 4: without abstract sockets and signals", "ABI 6", "ABI 10"]
        );
    }
}
