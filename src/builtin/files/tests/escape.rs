//! Attempts to get out of the root, and files that must not be opened.

use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

/// Every tool on the same path.
fn all_tools(fixture: &Fixture, path: &str) -> Vec<String> {
    let some = Some(path.to_owned());
    vec![
        message(fixture.read(path)),
        message(fixture.write(path, "x")),
        message(fixture.edit(path, "secret", "x")),
        message(fixture.list(&ListArgs { path: some.clone(), ..ListArgs::default() })),
        message(fixture.glob(&GlobArgs { path: some.clone(), ..glob_args("**") })),
        message(fixture.grep(&GrepArgs { path: some, ..grep_args("secret") })),
    ]
}

/// B-3
#[test]
fn paths_outside_the_root_are_refused_by_every_tool() {
    on_both_ways(&[("a/b.txt", "secret")], |fixture| {
        let absolute = fixture.outside("secret.txt").to_str().unwrap().to_owned();
        for path in ["..", "../outside/secret.txt", "a/../../outside/secret.txt", "/etc/passwd", &absolute] {
            let expected = ["file_path", "path"].map(|argument| {
                let text =
                    format!("`{path}` at /{argument} is outside the root; give a path relative to the root");
                [text.clone(), text.clone(), text]
            });
            assert_eq!(all_tools(fixture, path), expected.as_flattened());
        }
    });
}

/// B-3
#[test]
fn absolute_paths_inside_the_root_become_relative() {
    on_both_ways(&[("a/b.txt", "x")], |fixture| {
        let absolute = fixture.root.path().join("a/b.txt").to_str().unwrap().to_owned();
        assert_eq!(fixture.read(&absolute).unwrap().path, "a/b.txt");
        assert_eq!(fixture.read("a/../a/b.txt").unwrap().path, "a/b.txt");
    });
}

/// B-3
#[test]
fn links_are_refused_in_every_place_by_every_tool() {
    on_both_ways(&[("real/file.txt", "secret\n")], |fixture| {
        fixture.link(fixture.outside("secret.txt"), "file-link");
        fixture.link(fixture.outside(""), "dir-link");
        fixture.link("real", "inner-link");
        fixture.link("../../outside", "real/up");
        fixture.link("self", "self");
        fixture.link("nowhere", "dangling");
        for (path, link) in [
            ("file-link", "file-link"),
            ("dir-link", "dir-link"),
            ("dir-link/secret.txt", "dir-link"),
            ("inner-link/file.txt", "inner-link"),
            ("real/up/secret.txt", "real/up"),
            ("real/../dir-link/secret.txt", "dir-link"),
            ("self", "self"),
            ("self/x", "self"),
            ("dangling", "dangling"),
        ] {
            let expected = format!(
                "`{path}` is refused: `{link}` is a symbolic link, and links are not followed; name the real file"
            );
            assert_eq!(all_tools(fixture, path), vec![expected; 6], "{path}");
        }
        let args = WriteArgs { create_dirs: true, ..write_args("dir-link/new/f.txt", "x") };
        let result = write(&fixture.root, &args, &FileLimits::default());
        assert!(matches!(result, Err(FileError::Symlink { .. })), "{result:?}");
        assert_eq!(fs::read_dir(fixture.outside("")).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(fixture.outside("secret.txt")).unwrap(), "secret\n");
    });
}

/// B-3
#[test]
fn walks_list_links_but_never_enter_them() {
    on_both_ways(&[("real/file.txt", "nothing\n")], |fixture| {
        fixture.link(fixture.outside(""), "dir-link");
        fixture.link(fixture.outside("secret.txt"), "file-link.txt");
        fixture.link("..", "real/up");
        let args = ListArgs { depth: Some(9), ..ListArgs::default() };
        let listed: Vec<_> =
            fixture.list(&args).unwrap().entries.into_iter().map(|entry| (entry.path, entry.kind)).collect();
        assert_eq!(
            listed,
            [
                ("dir-link".to_owned(), EntryKind::Symlink),
                ("file-link.txt".to_owned(), EntryKind::Symlink),
                ("real".to_owned(), EntryKind::Dir),
                ("real/file.txt".to_owned(), EntryKind::File),
                ("real/up".to_owned(), EntryKind::Symlink),
            ]
        );
        assert_eq!(fixture.glob(&glob_args("**")).unwrap().paths, ["real/file.txt"]);
        assert_eq!(fixture.grep(&grep_args("secret")).unwrap().matches, []);
    });
}

/// B-3
#[test]
fn a_rule_file_that_is_a_link_is_not_followed() {
    on_both_ways(&[("a.txt", "")], |fixture| {
        fs::write(fixture.outside("rules"), "*.txt\n").unwrap();
        fixture.link(fixture.outside("rules"), ".gitignore");
        assert_eq!(fixture.glob(&glob_args("*")).unwrap().paths, ["a.txt"]);
    });
}

/// B-3
#[cfg(target_os = "linux")]
#[test]
fn magic_links_are_refused_when_the_root_is_everything() {
    let process = std::process::id();
    for walk in [false, true] {
        let root = Root::open(Path::new("/")).unwrap();
        if walk {
            root.beneath().force_walk();
        }
        for (path, link) in [
            ("/proc/self/status".to_owned(), "proc/self".to_owned()),
            (format!("proc/{process}/root/etc"), format!("proc/{process}/root")),
            (format!("proc/{process}/cwd"), format!("proc/{process}/cwd")),
            (format!("proc/{process}/fd/0"), format!("proc/{process}/fd/0")),
            (format!("proc/{process}/exe"), format!("proc/{process}/exe")),
        ] {
            let expected = format!(
                "`{path}` is refused: `{link}` is a symbolic link, and links are not followed; name the real file"
            );
            assert_eq!(message(read(&root, &read_args(&path), &FileLimits::default())), expected);
        }
        // A file that states no size is read all the same.
        let status = read(&root, &read_args(&format!("/proc/{process}/status")), &FileLimits::default());
        assert!(status.unwrap().total_lines > 1);
    }
}

/// B-3
#[test]
fn special_files_are_refused_and_do_not_hang() {
    on_both_ways(&[], |fixture| {
        mknodat(CWD, fixture.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let _listener = UnixListener::bind(fixture.path("sock")).unwrap();
        for (path, what) in [("pipe", "a named pipe"), ("sock", "a socket")] {
            let expected = format!("`{path}` is {what}; only regular files are opened");
            assert_eq!(message(fixture.read(path)), expected);
            assert_eq!(message(fixture.write(path, "x")), expected);
            assert_eq!(message(fixture.edit(path, "a", "b")), expected);
            let args = GrepArgs { path: Some(path.to_owned()), ..grep_args("x") };
            assert_eq!(message(fixture.grep(&args)), expected);
            let args = ListArgs { path: Some(path.to_owned()), ..ListArgs::default() };
            assert_eq!(message(fixture.list(&args)), expected);
        }
        assert_eq!(fixture.grep(&grep_args("x")).unwrap().files_searched, 0);
        let kinds: Vec<_> =
            fixture.list(&ListArgs::default()).unwrap().entries.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [EntryKind::Other, EntryKind::Other]);
    });
    let root = Root::open(Path::new("/")).unwrap();
    assert_eq!(
        message(read(&root, &read_args("/dev/null"), &FileLimits::default())),
        "`/dev/null` is a device; only regular files are opened"
    );
}

/// B-3
#[test]
fn a_renamed_root_stays_the_same_directory() {
    on_both_ways(&[("a.txt", "inside")], |fixture| {
        fs::rename(fixture.path(""), fixture.dir.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(fixture.outside(""), fixture.root.path()).unwrap();
        assert_eq!(fixture.read("a.txt").unwrap().lines[0].text, "inside");
        assert_eq!(
            message(fixture.read("secret.txt")),
            "no such file or directory: `secret.txt`; use `list` or `glob` to find it"
        );
    });
}

/// B-3
#[test]
fn a_root_that_is_no_directory_is_refused() {
    let fixture = Fixture::new(&[("a.txt", "")]);
    for name in ["a.txt", "missing"] {
        assert!(matches!(Root::open(&fixture.path(name)), Err(FileError::Root { .. })), "{name}");
    }
}
