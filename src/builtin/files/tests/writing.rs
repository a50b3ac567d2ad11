//! `write` and `edit`.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

/// B-4
#[test]
fn a_file_is_made_and_then_replaced() {
    on_both_ways(&[("dir/x", "")], |fixture| {
        let (output, diff) = fixture.write("dir/f.txt", "one\n").unwrap();
        assert_eq!(output, WriteOutput { path: "dir/f.txt".to_owned(), bytes_written: 4, created: true });
        assert_eq!(diff, DiffData { path: "dir/f.txt".to_owned(), old: None, new: "one\n".to_owned() });
        let (output, diff) = fixture.write("./dir/f.txt", "").unwrap();
        assert_eq!(output, WriteOutput { path: "dir/f.txt".to_owned(), bytes_written: 0, created: false });
        assert_eq!(diff.old.as_deref(), Some("one\n"));
        assert_eq!(fixture.content("dir/f.txt"), "");
    });
}

/// B-4
#[test]
fn the_mode_is_kept_and_the_file_is_replaced_not_rewritten() {
    on_both_ways(&[("run.sh", "a"), ("other", "")], |fixture| {
        let path = fixture.path("run.sh");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4750)).unwrap();
        fs::hard_link(&path, fixture.path("hard")).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        fixture.write("run.sh", "b").unwrap();
        fixture.edit("run.sh", "b", "c").unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!(now.mode() & 0o7777, 0o750, "set-id bits are not kept");
        assert_ne!(now.ino(), inode);
        assert_eq!((fixture.content("run.sh").as_str(), fixture.content("hard").as_str()), ("c", "a"));
        let fresh = fs::metadata(fixture.path("other")).unwrap().mode();
        fixture.write("new", "").unwrap();
        assert_eq!(fs::metadata(fixture.path("new")).unwrap().mode() & !fresh & 0o777, 0);
        assert_eq!(fixture.temporary_files(), 0);
    });
}

/// B-4
#[test]
fn directories_are_made_only_on_request() {
    on_both_ways(&[("src/a", "")], |fixture| {
        let with_dirs = |path: &str| {
            let args = WriteArgs { create_dirs: true, ..write_args(path, "x") };
            write(&fixture.root, &args, &FileLimits::default())
        };
        assert_eq!(
            message(fixture.write("srcs/b/c", "x")),
            "no such directory: `srcs`; did you mean `src`?; pass `create_dirs: true` to make it"
        );
        assert_eq!(
            message(fixture.write("new/c", "x")),
            "no such directory: `new`; pass `create_dirs: true` to make it"
        );
        assert!(with_dirs("new/deep/c").unwrap().0.created);
        assert_eq!(fixture.content("new/deep/c"), "x");
        assert_eq!(message(with_dirs("src/a/b")), "`src/a` is not a directory");
        let deep = format!("{}f", "d/".repeat(65));
        assert_eq!(
            message(with_dirs(&deep)),
            format!("`{deep}` needs 65 new directories; at most 64 are made at once")
        );
        assert!(!fixture.path("d").exists());
    });
}

/// B-4
#[test]
fn what_cannot_be_written_is_named() {
    on_both_ways(&[("dir/x", "")], |fixture| {
        let is_dir = |path| format!("`{path}` is a directory, not a file; use `list` to see what is in it");
        assert_eq!(message(fixture.write("dir", "x")), is_dir("dir"));
        assert_eq!(message(fixture.write(".", "x")), is_dir("."));
        assert_eq!(message(fixture.edit("dir", "x", "y")), is_dir("dir"));
        assert_eq!(
            message(fixture.write("new/", "x")),
            "the argument at /file_path must name a file, not a directory; leave out the `/` at its end"
        );
        assert_eq!(
            message(fixture.edit("dri/x", "a", "b")),
            "no such file or directory: `dri/x`; `dri` does not exist, did you mean `dir`?"
        );
        let limits = FileLimits { max_file_bytes: 3, ..FileLimits::default() };
        assert_eq!(
            message(write(&fixture.root, &write_args("f", "four"), &limits)),
            "`f` is too large: 4 bytes, at most 3 are allowed"
        );
        let long = "x".repeat(256);
        assert_eq!(
            message(fixture.write(&long, "x")),
            "the path at /file_path has a name that is too long for the file system (256 bytes); shorten it"
        );
        assert_eq!(fixture.temporary_files(), 0);
    });
}

/// B-4
#[test]
fn a_file_that_is_not_text_may_be_replaced_without_a_diff() {
    let fixture = Fixture::new(&[]);
    fixture.put("f", b"\xff");
    let (output, diff) = fixture.write("f", "text").unwrap();
    assert_eq!((output.created, diff.old), (false, None));
    assert_eq!(fixture.content("f"), "text");
}

/// B-4
#[test]
fn an_edit_replaces_the_one_occurrence() {
    on_both_ways(&[("f", "a\nb\nc\n")], |fixture| {
        let (output, diff) = fixture.edit("f", "b\n", "B\nB\n").unwrap();
        assert_eq!(output, EditOutput { path: "f".to_owned(), replacements: 1, first_line: 2 });
        let old = Some("a\nb\nc\n".to_owned());
        assert_eq!(diff, DiffData { path: "f".to_owned(), old, new: "a\nB\nB\nc\n".to_owned() });
        assert_eq!(fixture.content("f"), "a\nB\nB\nc\n");
    });
}

/// B-1
#[test]
fn an_edit_of_several_occurrences_needs_all() {
    let fixture = Fixture::new(&[("f", "x\nx x\n"), ("many", &"x\n".repeat(12))]);
    assert_eq!(
        message(fixture.edit("f", "x", "y")),
        "`old_string` occurs 3 times in `f` (lines 1, 2, 2); give more of the text around it, or pass `all: true`"
    );
    assert_eq!(
        message(fixture.edit("many", "x", "y")),
        "`old_string` occurs 12 times in `many` (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...); \
         give more of the text around it, or pass `all: true`"
    );
    let args = EditArgs { all: true, ..edit_args("f", "x", "y") };
    let (output, _) = edit(&fixture.root, &args, &FileLimits::default()).unwrap();
    assert_eq!((output.replacements, fixture.content("f").as_str()), (3, "y\ny y\n"));
    let grow = EditArgs { all: true, ..edit_args("many", "x", &"y".repeat(1_000_000)) };
    assert_eq!(
        message(edit(&fixture.root, &grow, &FileLimits::default())),
        "`many` is too large: 12000012 bytes, at most 10485760 are allowed"
    );
}

/// B-1
#[test]
fn an_edit_that_finds_nothing_names_the_nearest_text() {
    let fixture = Fixture::new(&[
        ("lf", "fn main() {\n    let a = 1;\n    let b = 2;\n}\n"),
        ("crlf", "one\r\ntwo\r\nthree\r\n"),
    ]);
    for (path, old, hint) in [
        ("crlf", "one\ntwo", "its lines end with CRLF: write `\\r\\n` for each `\\n`"),
        ("lf", "{\r\n    let a", "its lines end with LF: write `\\n` for each `\\r\\n`"),
        ("lf", "  2\t    let a = 1;\n  3\t    let b = 2;", "leave out the line numbers"),
        ("lf", "\tlet a = 1;\n\tlet b = 2;\n", "lines 2 to 3 differ only in white space: copy them exactly"),
        ("lf", "let  b = 2;", "line 3 differs only in white space: copy it exactly"),
        ("lf", "    let a = 1;\n    let c = 2;", "its first line is line 2, but the lines after it differ"),
        ("lf", "absent", "read the file again"),
        ("lf", "\n\n\n", "read the file again"),
    ] {
        let expected = format!("`old_string` does not occur in `{path}`; {hint}");
        assert_eq!(message(fixture.edit(path, old, "x")), expected, "{old:?}");
    }
}

/// B-1
#[test]
fn an_edit_without_effect_is_refused() {
    let fixture = Fixture::new(&[("f", "a")]);
    assert_eq!(
        message(fixture.edit("f", "", "x")),
        "the argument at /old_string must not be empty; use `write` to make a file or replace all of it"
    );
    assert_eq!(
        message(fixture.edit("f", "a", "a")),
        "the argument at /new_string is the same as the one at /old_string; give the text to put in its place"
    );
}
