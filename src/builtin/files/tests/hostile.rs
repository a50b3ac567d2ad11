//! Files and trees made to take more than they should: time, memory, or a result that is not true.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use super::super::walk::{Walk, WalkOptions};
use super::*;

/// B-2
#[test]
fn a_sparse_file_of_5_gib_is_refused_unread() {
    on_both_ways(&[], |fixture| {
        let file = fs::File::create(fixture.path("sparse")).unwrap();
        file.set_len(5 << 30).unwrap();
        let refused = "`sparse` is too large: 5368709120 bytes, at most 10485760 are allowed";
        assert_eq!(message(fixture.read("sparse")), refused);
        assert_eq!(message(fixture.edit("sparse", "a", "b")), refused);
        let at = GrepArgs { path: Some("sparse".to_owned()), ..grep_args("a") };
        assert_eq!(message(fixture.grep(&at)), refused);
        assert_eq!(fixture.grep(&grep_args("a")).unwrap().skipped.too_large, 1);
        // What is replaced need not be read.
        let (output, diff) = fixture.write("sparse", "small").unwrap();
        assert_eq!((output.created, diff.old), (false, None));
    });
}

/// B-2
#[test]
fn a_file_of_millions_of_lines_is_read_in_parts() {
    let fixture = Fixture::new(&[]);
    fixture.put("lines", vec![b'\n'; 10 * 1024 * 1024]);
    insta::assert_snapshot!(message(fixture.read("lines")), @"`lines` has 10485760 lines to read, and at most 200000 are read at once; give a `limit`, and go on with `offset`");
    let part = ReadArgs { offset: Some(10_000_000), limit: Some(2), ..read_args("lines") };
    let output = read(&fixture.root, &part, &FileLimits::default()).unwrap();
    assert_eq!((output.lines.len(), output.total_lines), (2, 10 * 1024 * 1024));
    let limits = FileLimits { max_lines: 3, ..FileLimits::default() };
    let fits = |content: &str, limit| {
        fixture.put("few", content);
        read(&fixture.root, &ReadArgs { limit, ..read_args("few") }, &limits).is_ok()
    };
    assert!(fits("1\n2\n3\n", None) && fits("1\n2\n3", Some(4)) && fits("1\n2\n3\n4\n", Some(3)));
    assert!(!fits("1\n2\n3\n4\n", None) && !fits("1\n2\n3\n4\n", Some(4)));
}

/// B-1, B-2
#[test]
fn a_file_that_grows_while_it_is_read_is_never_read_in_part() {
    let fixture = Fixture::new(&[]);
    let limits = FileLimits { max_file_bytes: 64 * 1024, ..FileLimits::default() };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::write(fixture.path("grows"), "start\n").unwrap();
                let mut file = OpenOptions::new().append(true).open(fixture.path("grows")).unwrap();
                for _ in 0..80 {
                    file.write_all(&[b'x'; 1024]).unwrap();
                }
            }
        });
        for _ in 0..300 {
            if let Ok(output) = read(&fixture.root, &read_args("grows"), &limits) {
                let bytes: usize = output.lines.iter().map(|line| line.text.len() + 1).sum();
                assert!(bytes <= 64 * 1024 + 1, "{bytes}");
            }
            let found = grep(&fixture.root, &grep_args("start"), &limits, &|| false).unwrap();
            let skipped = found.skipped;
            assert!(found.files_searched + skipped.too_large + skipped.unreadable <= 1, "{found:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// B-1
#[test]
fn a_file_that_does_not_state_its_size_is_not_searched_in_part() {
    // States a size of 0 and holds more than is allowed here.
    let limits = FileLimits { max_file_bytes: 100, ..FileLimits::default() };
    let root = Root::open(Path::new("/proc/self")).unwrap();
    let args = GrepArgs { path: Some("limits".to_owned()), ..grep_args("Limit") };
    let found = grep(&root, &args, &limits, &|| false).unwrap();
    assert_eq!((found.matches.len(), found.files_searched, found.skipped.too_large), (0, 0, 1), "{found:?}");
    let refused = message(read(&root, &read_args("limits"), &limits));
    assert_eq!(refused, "`limits` is too large: 101 bytes, at most 100 are allowed");
}

/// B-1
#[test]
fn long_paths_do_not_make_huge_results() {
    const LEVELS: usize = 300;
    let fixture = Fixture::new(&[]);
    let name = "n".repeat(200);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut dir = rustix::fs::open(fixture.path(""), flags, Mode::empty()).unwrap();
    for _ in 0..LEVELS {
        mkdirat(&dir, &name, Mode::RWXU).unwrap();
        dir = openat(&dir, &name, flags, Mode::empty()).unwrap();
        let create = OFlags::WRONLY | OFlags::CREATE;
        let file = openat(&dir, "f", create, Mode::RUSR | Mode::WUSR).unwrap();
        rustix::io::write(&file, b"x\n").unwrap();
    }
    let limits = FileLimits { max_result_bytes: 1024 * 1024, ..FileLimits::default() };
    let bounded = |paths: Vec<String>, truncated: bool| {
        assert!(truncated && !paths.is_empty());
        let bytes: usize = paths.iter().map(String::len).sum();
        // The last path may go beyond.
        assert!(bytes <= limits.max_result_bytes + LEVELS * 201, "{bytes}");
    };
    let glob = glob(&fixture.root, &glob_args("**"), &limits, &|| false).unwrap();
    bounded(glob.paths, glob.truncated);
    let args = ListArgs { depth: Some(9_999), ..ListArgs::default() };
    let list = list(&fixture.root, &args, &limits, &|| false).unwrap();
    bounded(list.entries.into_iter().map(|entry| entry.path).collect(), list.truncated);
    let matches = grep(&fixture.root, &grep_args("x"), &limits, &|| false).unwrap();
    bounded(matches.matches.into_iter().map(|found| found.path).collect(), matches.truncated);
    let count = GrepArgs { mode: GrepMode::Count, ..grep_args("x") };
    let counts = grep(&fixture.root, &count, &limits, &|| false).unwrap();
    bounded(counts.counts.into_iter().map(|found| found.path).collect(), counts.truncated);
}

/// B-1
#[test]
fn a_directory_that_cannot_be_read_is_told_of() {
    on_both_ways(&[("a/gone/x", ""), ("a/here", "")], |fixture| {
        let options = WalkOptions { hidden: false, ignored: false, max_depth: usize::MAX, max_visited: 99 };
        let start = fixture.root.target("path", "a").unwrap();
        let mut walk = Walk::start(&fixture.root, &start, options, &|| false).unwrap();
        assert_eq!(walk.next().unwrap(), Some(EntryKind::Dir));
        fs::remove_dir_all(fixture.path("a/gone")).unwrap();
        assert_eq!(walk.next().unwrap(), Some(EntryKind::File));
        assert_eq!((walk.next().unwrap(), walk.unreadable), (None, 1));
    });
}

/// B-1
#[test]
fn a_long_line_is_searched_to_its_end() {
    let fixture = Fixture::new(&[]);
    let mut line = vec![b'x'; 9 * 1024 * 1024];
    line.extend_from_slice(b"TODO \xff TODO");
    fixture.put("long", &line);
    let found = fixture.grep(&grep_args("TODO")).unwrap();
    assert_eq!((found.matches[0].column, found.matches[0].cut), (9 * 1024 * 1024 + 1, true));
    assert_eq!(found.matches[0].text.chars().count(), 136);
    let count = GrepArgs { mode: GrepMode::CountMatches, ..grep_args("TODO") };
    assert_eq!(fixture.grep(&count).unwrap().counts[0].count, 2);
}

/// B-1
#[test]
fn occurrences_that_overlap_are_more_than_one() {
    let fixture = Fixture::new(&[("f", "aXaXa\n"), ("g", "ääää\n"), ("h", "abab-ab")]);
    for (path, old) in [("f", "aXa"), ("g", "äää")] {
        assert_eq!(
            message(fixture.edit(path, old, "-")),
            format!(
                "`old_string` occurs 2 times in `{path}` (lines 1, 1); \
                 give more of the text around it, or pass `all: true`"
            )
        );
    }
    fixture.edit("h", "abab", "-").unwrap();
    assert_eq!(fixture.content("h"), "--ab");
    let all = EditArgs { all: true, ..edit_args("f", "aXa", "-") };
    let (output, _) = edit(&fixture.root, &all, &FileLimits::default()).unwrap();
    assert_eq!((output.replacements, fixture.content("f").as_str()), (1, "-Xa\n"));
}

/// P-16
#[test]
fn an_invalid_pattern_of_a_megabyte_has_a_short_message() {
    let fixture = Fixture::new(&[]);
    let long = format!("{}(", "x".repeat(1024 * 1024));
    assert_eq!(
        message(fixture.grep(&grep_args(&long))),
        "invalid regular expression: unclosed group at byte 1048576"
    );
    let short = message(fixture.grep(&grep_args("a(")));
    assert_eq!(
        short,
        "invalid regular expression: regex parse error:\n    a(\n     ^\nerror: unclosed group"
    );
}

/// B-3
#[test]
fn a_loop_of_links_is_named() {
    on_both_ways(&[], |fixture| {
        fixture.link("b", "a");
        fixture.link("a", "b");
        fixture.link(".", "self");
        for (path, link) in [("a", "a"), ("b/x", "b"), ("self/self/a", "self")] {
            assert_eq!(
                message(fixture.read(path)),
                format!(
                    "`{path}` is refused: `{link}` is a symbolic link, and links are not followed; name the real file"
                )
            );
        }
        let list = fixture.list(&ListArgs { depth: Some(99), ..ListArgs::default() }).unwrap();
        assert_eq!(list.entries.len(), 3);
        assert_eq!(fixture.glob(&glob_args("**")).unwrap().paths, [] as [&str; 0]);
    });
}
