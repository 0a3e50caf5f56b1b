//! The screen where there is no terminal, and settings that make no sense: what is said then.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn run(arguments: &[&str], set: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let tour = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/tour.pcapng");
    let mut command = Command::cargo_bin("kafkascope").unwrap();
    command.env_remove("KAFKASCOPE_CONFIG").env("XDG_CONFIG_HOME", "/nowhere").env("TERM", "xterm-256color");
    let output = command.envs(set.iter().copied()).args(arguments).arg(tour).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    for term in ["xterm-256color", "dumb", ""] {
        let (code, out, error) = run(&["open"], &[("TERM", term)]);
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(error.starts_with("kafkascope: the screen needs a terminal"), "{error}");
        assert!(error.contains("`kafkascope list`") && error.contains("`kafkascope show`"), "{error}");
        // A file without a command is listed.
        let (code, out, _) = run(&[], &[("TERM", term)]);
        assert_eq!(code, Some(0));
        assert!(out.lines().next().unwrap().contains("Summary"), "{out}");
    }
}

#[test]
fn settings_that_make_no_sense_are_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    fs::write(&file, "[keys]\nquit = \"x\"\n\n[screen]\ncolors = \"none\"\n").unwrap();
    let path = file.to_str().unwrap();
    let expected =
        format!("kafkascope: {path}:5: no setting of the screen is called \"colors\"; did you mean colours?\n");
    for (arguments, set) in [
        (&["open", "--config", path][..], &[][..]),
        (&["--config", path, "open"], &[]),
        (&["open"], &[("KAFKASCOPE_CONFIG", path)]),
        (&["open", "--config", path], &[("KAFKASCOPE_CONFIG", "/nowhere")]),
    ] {
        let (code, out, error) = run(arguments, set);
        assert_eq!((code, out.as_str(), error.as_str()), (Some(2), "", expected.as_str()), "{arguments:?}");
    }
    let (code, _, error) = run(&["open", "--config", "/no/such/file"], &[]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("kafkascope: cannot read the configuration /no/such/file: "), "{error}");
    // Other commands do not look at them.
    assert_eq!(run(&["list", "--config", path], &[]).0, Some(0));
    // Where it usually is.
    let usual = folder.path().join("kafkascope");
    fs::create_dir(&usual).unwrap();
    fs::rename(&file, usual.join("config.toml")).unwrap();
    let home = folder.path().to_str().unwrap();
    let (code, _, error) = run(&["open"], &[("XDG_CONFIG_HOME", home), ("APPDATA", home)]);
    assert_eq!(code, Some(2));
    assert!(error.contains("config.toml:5: "), "{error}");
}
