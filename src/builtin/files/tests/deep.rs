//! Trees deeper than the stack, the descriptors and one system call allow.

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::super::beneath::FILE;
use super::super::limits::MAX_PATH_BYTES;
use super::super::walk::{Walk, WalkOptions};
use super::*;

const LEVELS: usize = 2_000;

/// Makes `LEVELS` directories below each other, each with a file that sorts after its directory.
fn deep_tree(fixture: &Fixture, name: &str) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut dir = openat(CWD, fixture.path(""), flags, Mode::empty()).unwrap();
    for _ in 0..LEVELS {
        put_file(&dir);
        mkdirat(&dir, name, Mode::RWXU).unwrap();
        dir = openat(&dir, name, flags, Mode::empty()).unwrap();
    }
    put_file(&dir);
}

fn put_file(dir: &OwnedFd) {
    let file = openat(dir, "z.txt", OFlags::WRONLY | OFlags::CREATE, Mode::RUSR | Mode::WUSR).unwrap();
    rustix::io::write(&file, b"found\n").unwrap();
}

/// The standard library removes trees by recursion; this takes the tree apart from the top.
fn remove_tree(fixture: &Fixture, name: &str) {
    let (top, spare) = (fixture.path(name), fixture.path("spare"));
    for _ in 0..LEVELS {
        fs::rename(&top, &spare).unwrap();
        let below = spare.join(name);
        if below.exists() {
            fs::rename(below, &top).unwrap();
        }
        fs::remove_dir_all(&spare).unwrap();
    }
}

/// Walks, searches and reads the tree.
fn use_tree(fixture: &Fixture, name: &str) {
    let options =
        WalkOptions { hidden: false, ignored: false, max_depth: usize::MAX, max_visited: usize::MAX };
    let start = fixture.root.target("path", ".").unwrap();
    let mut walk = Walk::start(&fixture.root, &start, options, &|| false).unwrap();
    let (mut files, mut most_open) = (0, 0);
    while let Some(kind) = walk.next().unwrap() {
        files += usize::from(kind == EntryKind::File);
        most_open = most_open.max(walk.open_dirs());
    }
    assert_eq!((files, most_open, walk.unreadable), (LEVELS + 1, 32, 0));
    let limits = FileLimits { max_result_bytes: usize::MAX, ..FileLimits::default() };
    let args = GrepArgs { mode: GrepMode::Count, ..grep_args("found") };
    let found = grep(&fixture.root, &args, &limits, &|| false).unwrap();
    assert_eq!((found.counts.len(), found.skipped), (LEVELS + 1, GrepSkipped::default()));
    let deepest = format!("{}z.txt", format!("{name}/").repeat(LEVELS));
    assert_eq!(fixture.glob(&glob_args("**/z.txt")).unwrap().paths.first(), Some(&deepest));
    let read = fixture.read(&deepest).map(|output| output.lines[0].text.clone());
    if deepest.len() > MAX_PATH_BYTES {
        let bytes = deepest.len();
        let expected = format!(
            "the path at /file_path is too long: {bytes} bytes, at most {MAX_PATH_BYTES} are allowed"
        );
        assert!(read.unwrap_err().to_string().starts_with(&expected));
    } else {
        assert_eq!(read.unwrap(), "found");
    }
}

/// B-1, B-3
#[test]
fn a_tree_of_2000_levels_is_walked_with_few_descriptors() {
    // One name whose full path fits a system call, one whose full path does not.
    for name in ["d", "directory"] {
        let fixture = Fixture::new(&[]);
        deep_tree(&fixture, name);
        use_tree(&fixture, name);
        fixture.root.beneath().force_walk();
        use_tree(&fixture, name);
        remove_tree(&fixture, name);
    }
}

/// B-3
#[test]
fn a_directory_that_became_a_link_is_not_entered_again() {
    on_both_ways(&[], |fixture| {
        let levels = 40;
        for (top, content) in [(fixture.path("d"), "inside"), (fixture.outside("d"), "outside")] {
            let mut dir = top;
            for _ in 0..levels {
                fs::create_dir(&dir).unwrap();
                fs::write(dir.join("z.txt"), content).unwrap();
                dir.push("d");
            }
        }
        let options =
            WalkOptions { hidden: false, ignored: false, max_depth: usize::MAX, max_visited: usize::MAX };
        let start = fixture.root.target("path", ".").unwrap();
        let mut walk = Walk::start(&fixture.root, &start, options, &|| false).unwrap();
        for _ in 0..levels {
            assert_eq!(walk.next().unwrap(), Some(EntryKind::Dir));
        }
        // By now the upper directories had to be closed.
        fs::rename(fixture.path("d"), fixture.path("moved")).unwrap();
        fixture.link(fixture.outside("d"), "d");
        let (mut read, mut refused) = (0, 0);
        while let Some(kind) = walk.next().unwrap() {
            assert_eq!(kind, EntryKind::File);
            match walk.open(FILE) {
                Ok(file) => {
                    assert_eq!(std::io::read_to_string(fs::File::from(file)).unwrap(), "inside");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
        assert_eq!((read, refused), (32, levels - 32));
    });
}

/// B-1
#[test]
fn walks_stop_when_cancelled() {
    let fixture = Fixture::new(&[("a/b/c.txt", "x"), ("d.txt", "x")]);
    let limits = FileLimits::default();
    for allowed in 0..4_u32 {
        let left = std::cell::Cell::new(allowed);
        let cancelled = || {
            let now = left.get();
            left.set(now.saturating_sub(1));
            now == 0
        };
        let result = grep(&fixture.root, &grep_args("x"), &limits, &cancelled);
        assert!(matches!(result, Err(FileError::Cancelled)), "{result:?}");
        left.set(allowed);
        let result = glob(&fixture.root, &glob_args("**"), &limits, &cancelled);
        assert!(matches!(result, Err(FileError::Cancelled)), "{result:?}");
        left.set(allowed);
        let args = ListArgs { depth: Some(9), ..ListArgs::default() };
        let result = list(&fixture.root, &args, &limits, &cancelled);
        assert!(matches!(result, Err(FileError::Cancelled)), "{result:?}");
    }
}

/// B-1
#[test]
fn walks_that_see_too_much_say_so() {
    let fixture = Fixture::new(&[("a/1", "x"), ("a/2", "x"), ("b/3", "x"), ("c", "x")]);
    let limits = FileLimits { max_visited: 4, ..FileLimits::default() };
    let output = glob(&fixture.root, &glob_args("**"), &limits, &|| false).unwrap();
    assert!(output.truncated);
    assert_eq!(output.paths.len(), 2, "{output:?}");
    let limits = FileLimits { max_visited: 6, ..FileLimits::default() };
    let output = glob(&fixture.root, &glob_args("**"), &limits, &|| false).unwrap();
    assert_eq!((output.truncated, output.paths.len()), (false, 4));
}
