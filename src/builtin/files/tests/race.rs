//! Directories and files that turn into links while the tools run.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

/// Fewest rounds, and the most when one of the outcomes does not show.
const ROUNDS: std::ops::Range<usize> = 300..20_000;

/// Runs `round` while another thread keeps exchanging `inside` with a link to `outside`. `round` says
/// whether it reached the inside; it must itself fail when it reached the outside.
fn while_swapping(fixture: &Fixture, inside: &str, outside: &str, mut round: impl FnMut() -> bool) {
    let link = format!("{inside}-link");
    fixture.link(fixture.outside(outside), &link);
    let (one, other) = (fixture.path(inside), fixture.path(&link));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Ends the other thread also when a round fails.
        let stopping = StopOnDrop(&stop);
        let (mut reached, mut refused) = (0, 0);
        for done in 0..ROUNDS.end {
            if done >= ROUNDS.start && reached > 0 && refused > 0 {
                break;
            }
            if round() {
                reached += 1;
            } else {
                refused += 1;
            }
        }
        drop(stopping);
        assert!(reached > 0 && refused > 0, "reached {reached}, refused {refused}");
    });
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const FILES: &[(&str, &str)] =
    &[("top/swap/deep/secret.txt", "inside\n"), ("top/swap/secret.txt", "inside\n")];

fn fill_outside(fixture: &Fixture) {
    fs::create_dir(fixture.outside("deep")).unwrap();
    fs::write(fixture.outside("deep/secret.txt"), "outside\n").unwrap();
    fs::write(fixture.outside("secret.txt"), "outside\n").unwrap();
}

fn outside_is_untouched(fixture: &Fixture) {
    let names = |path: PathBuf| {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(fixture.outside("")), ["deep", "secret.txt"]);
    assert_eq!(names(fixture.outside("deep")), ["secret.txt"]);
    assert_eq!(fs::read_to_string(fixture.outside("secret.txt")).unwrap(), "outside\n");
    assert_eq!(fs::read_to_string(fixture.outside("deep/secret.txt")).unwrap(), "outside\n");
}

/// B-3
#[test]
fn reading_below_a_swapped_directory_never_gets_outside() {
    on_both_ways(FILES, |fixture| {
        fill_outside(fixture);
        while_swapping(fixture, "top/swap", "", || match fixture.read("top/swap/deep/secret.txt") {
            Ok(output) => {
                assert_eq!(output.lines[0].text, "inside");
                true
            }
            Err(_) => false,
        });
    });
}

/// B-3
#[test]
fn reading_a_swapped_file_never_gets_outside() {
    on_both_ways(FILES, |fixture| {
        fill_outside(fixture);
        while_swapping(fixture, "top/swap/secret.txt", "secret.txt", || {
            match fixture.read("top/swap/secret.txt") {
                Ok(output) => {
                    assert_eq!(output.lines[0].text, "inside");
                    true
                }
                Err(_) => false,
            }
        });
    });
}

/// B-3
#[test]
fn searching_a_tree_with_a_swapped_directory_never_gets_outside() {
    on_both_ways(FILES, |fixture| {
        fill_outside(fixture);
        while_swapping(fixture, "top/swap", "", || {
            let output = fixture.grep(&grep_args("inside|outside")).unwrap();
            assert!(output.matches.iter().all(|found| found.text == "inside"), "{output:?}");
            !output.matches.is_empty()
        });
    });
}

/// B-3
#[test]
fn listing_a_tree_with_a_swapped_directory_never_gets_outside() {
    on_both_ways(&[("top/swap/inside/file", "")], |fixture| {
        fs::create_dir(fixture.outside("deep")).unwrap();
        fs::write(fixture.outside("deep/file"), "").unwrap();
        while_swapping(fixture, "top/swap", "", || {
            let args = ListArgs { depth: Some(9), ..ListArgs::default() };
            let list = fixture.list(&args).unwrap();
            assert!(!list.entries.iter().any(|entry| entry.path.contains("deep")), "{list:?}");
            let glob = fixture.glob(&glob_args("**")).unwrap();
            assert!(glob.paths.iter().all(|path| path.ends_with("/inside/file")), "{glob:?}");
            list.entries.iter().any(|entry| entry.path == "top/swap/inside/file")
        });
    });
}

/// B-3, B-4
#[test]
fn writing_below_a_swapped_directory_never_gets_outside() {
    on_both_ways(FILES, |fixture| {
        fill_outside(fixture);
        while_swapping(fixture, "top/swap", "", || {
            let new = WriteArgs { create_dirs: true, ..write_args("top/swap/deep/more/new.txt", "inside") };
            let made = write(&fixture.root, &new, &FileLimits::default()).is_ok();
            let written = fixture.write("top/swap/deep/secret.txt", "inside\n").is_ok();
            let _ = fixture.edit("top/swap/secret.txt", "inside\n", "inside\ninside\n");
            let _ = fixture.edit("top/swap/secret.txt", "inside\ninside\n", "inside\n");
            made && written
        });
        outside_is_untouched(fixture);
    });
}

/// B-3, B-4
#[test]
fn writing_to_a_swapped_file_never_gets_outside() {
    on_both_ways(FILES, |fixture| {
        fill_outside(fixture);
        let (one, other) = (fixture.path("top/swap/secret.txt"), fixture.path("top/swap/link"));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // A write replaces whichever stands there, so the link has to be made again and again.
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::os::unix::fs::symlink(fixture.outside("secret.txt"), &other).unwrap();
                    fs::rename(&other, &one).unwrap();
                }
            });
            let stopping = StopOnDrop(&stop);
            for _ in 0..ROUNDS.start {
                let written = fixture.write("top/swap/secret.txt", "inside\n").map(|(_, diff)| diff);
                let edited = fixture.edit("top/swap/secret.txt", "side", "SIDE").map(|(_, diff)| diff);
                for diff in written.into_iter().chain(edited) {
                    assert_ne!(diff.old.as_deref(), Some("outside\n"), "the old content comes from outside");
                }
                let _ = fs::remove_file(&one);
            }
            drop(stopping);
        });
        outside_is_untouched(fixture);
    });
}
