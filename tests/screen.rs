//! The screen on a real terminal, which is tmux's. Without tmux this is skipped, loudly.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::Write;
#[cfg(target_os = "linux")]
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A terminal of its own, with the program in it.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Starts a command line in a terminal of a size; None where there is no tmux.
    fn start(name: &str, (width, height): (u16, u16), command: &str) -> Option<Self> {
        let socket = format!("kafkascope-{name}-{}", std::process::id());
        let terminal = Self { socket };
        let (width, height) = (width.to_string(), height.to_string());
        let program = format!("PATH='{}':$PATH; {command}; echo ENDED $?; sleep 60", folder());
        let started = Command::new("tmux")
            .args(["-L", &terminal.socket, "-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height])
            .args(["sh", "-c", &program])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("TERM", "xterm-256color")
            .output();
        match started {
            Ok(output) if output.status.success() => Some(terminal),
            other => {
                eprintln!("SKIPPED: no tmux, so the screen is not tried on a terminal ({other:?})");
                None
            }
        }
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.socket]).args(arguments).output().unwrap()
    }

    fn press(&self, keys: &[&str]) {
        for key in keys {
            self.tmux(&["send-keys", key]);
        }
    }

    fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// Waits until the screen has all these texts.
    #[track_caller]
    fn expect(&self, texts: &[&str]) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(since.elapsed() < Duration::from_secs(40), "{texts:?} do not come:\n{screen}");
            sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The folder of the program.
fn folder() -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_kafkascope"));
    program.parent().unwrap().display().to_string()
}

#[test]
fn a_capture_is_opened_walked_and_left() {
    let Some(terminal) = Terminal::start("walk", (120, 40), "kafkascope captures/tour.pcapng") else { return };
    terminal.expect(&["tour.pcapng", "341 messages", "ApiVersionsRequest message v5", "UNSUPPORTED_VERSION"]);
    terminal.press(&[":", "5", "Enter"]);
    terminal.expect(&["MetadataRequest message v12"]);
    terminal.press(&["p"]);
    terminal.expect(&["MetadataResponse message v12"]);
    terminal.press(&["Tab", "j", "j", "Tab", "l"]);
    terminal.press(&["?"]);
    terminal.expect(&["Keys", "Moving"]);
    terminal.press(&["Escape"]);
    terminal.tmux(&["resize-window", "-x", "60", "-y", "20"]);
    terminal.expect(&["Metadata       v12", "? help"]);
    terminal.press(&["q"]);
    let screen = terminal.expect(&["ENDED 0"]);
    assert!(!screen.contains("? help"), "the terminal is not given back:\n{screen}");
}

#[test]
fn what_is_piped_in_is_shown_as_it_comes() {
    let command =
        "(head -c 20000 captures/tour.pcapng; sleep 3; tail -c +20001 captures/tour.pcapng; sleep 30) | kafkascope -";
    let Some(terminal) = Terminal::start("pipe", (120, 40), command) else { return };
    terminal.expect(&["standard input", "live", "messages"]);
    // It still comes: so the newest is followed, though no key was pressed.
    terminal.expect(&["following"]);
    // The last messages are told when the input ends; all that are complete are there before.
    terminal.expect(&["/341  following"]);
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 0"]);
}

/// What the program that is piped in says on the terminal, when it begins and when it ends, is drawn over.
#[test]
fn what_others_write_on_the_screen_goes_away() {
    let write = |text: &str| format!("printf '{text}\\n%.0s' 1 2 3 4 5 6 7 8 >&2");
    let (begin, end) = (write("LISTENING"), write("RECEIVED"));
    let input = format!("(sleep 2; {begin}; sleep 3; cat captures/tour.pcapng; sleep 2; {end}; sleep 1)");
    let command = format!("{input} | kafkascope -");
    let Some(terminal) = Terminal::start("others", (120, 40), &command) else { return };
    for text in ["LISTENING", "RECEIVED"] {
        terminal.expect(&[text]);
        let since = Instant::now();
        while terminal.screen().contains(text) {
            assert!(since.elapsed() < Duration::from_secs(40), "{text} stays on the screen");
            sleep(Duration::from_millis(30));
        }
        let screen = terminal.expect(&["? help"]);
        assert!(screen.starts_with(" standard input"), "{screen}");
    }
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 0"]);
}

#[test]
fn a_terminal_that_can_do_nothing_is_told_what_to_do() {
    let Some(terminal) = Terminal::start("dumb", (80, 24), "TERM=dumb kafkascope open captures/tour.pcapng") else {
        return;
    };
    terminal.expect(&["the screen needs a terminal", "as trees", "ENDED 2"]);
}

/// The program's process, when it has started.
fn process(file: &std::path::Path) -> String {
    let since = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(since.elapsed() < Duration::from_secs(20), "it does not start");
        sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, process: &str) -> bool {
    let command = format!("kill -{name} {process}");
    Command::new("sh").args(["-c", &command]).output().unwrap().status.success()
}

/// A command that shows the screen and says how it ended and whether the terminal is as it was.
fn noted(folder: &std::path::Path) -> String {
    let folder = folder.display();
    format!(
        "stty -g > {folder}/before; sh -c 'echo $$ > {folder}/process; exec kafkascope captures/tour.pcapng'; \
         echo CODE $?; stty -g | cmp - {folder}/before && echo SANE; true"
    )
}

#[test]
fn signals_give_the_terminal_back() {
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)] {
        let folder = tempfile::tempdir().unwrap();
        let Some(terminal) = Terminal::start(name, (120, 40), &noted(folder.path())) else { return };
        terminal.expect(&["ApiVersionsRequest message v5"]);
        let modes = ["display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"];
        let is = |expected: &str| String::from_utf8(terminal.tmux(&modes).stdout).unwrap().trim() == expected;
        assert!(is("1 1 0"), "{name}");
        assert!(signal(name, &process(&folder.path().join("process"))));
        let screen = terminal.expect(&[&format!("CODE {code}"), "SANE"]);
        assert!(!screen.contains("? help"), "the terminal is not given back:\n{screen}");
        assert!(is("0 0 1"), "{name}");
    }
}

/// Whoever stops the program from outside has the terminal; and who ends it then need not wait.
#[test]
fn a_stop_gives_the_terminal_back_until_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    // With job control, as a shell that a person uses.
    let command = format!(
        "bash -c 'set -m; {}; fg; echo CODE $?'",
        noted(folder.path()).replace('\'', "\"").replace("$$", "\\$\\$")
    );
    let Some(terminal) = Terminal::start("stop", (120, 40), &command) else { return };
    terminal.expect(&["ApiVersionsRequest message v5"]);
    let process = process(&folder.path().join("process"));
    assert!(signal("TSTP", &process));
    terminal.expect(&["ApiVersionsRequest message v5"]);
    terminal.press(&["q"]);
    terminal.expect(&["CODE 148", "SANE", "CODE 0"]);
}

#[test]
fn a_terminal_that_goes_away_takes_the_program_with_it() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody tells it with SIGHUP.
    let command = format!("trap '' HUP; {}", noted(folder.path()));
    let Some(terminal) = Terminal::start("gone", (120, 40), &command) else { return };
    terminal.expect(&["ApiVersionsRequest message v5"]);
    let process = process(&folder.path().join("process"));
    assert!(signal("0", &process));
    terminal.tmux(&["kill-server"]);
    let since = Instant::now();
    while signal("0", &process) {
        assert!(since.elapsed() < Duration::from_secs(10), "it is still there");
        sleep(Duration::from_millis(30));
    }
}

/// What a process has done: how often its main thread, which draws, went to sleep, and how often it has written.
#[cfg(target_os = "linux")]
fn done(process: &str) -> (u64, u64) {
    let number = |file: &str, name: &str| {
        let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    (number("status", "voluntary_ctxt_switches:"), number("io", "syscw:"))
}

/// Nothing is drawn and nothing happens on the screen's thread while nothing comes: on a capture that is read, on one that may
/// go on, and with a filter that waits for more.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_screen_does_nothing() {
    let inputs = [
        ("idle", "", "captures/tour.pcapng", ["341 messages", "UNSUPPORTED_VERSION"]),
        ("quiet", "(cat captures/tour.pcapng; sleep 60) | ", "-", ["live", "UNSUPPORTED_VERSION"]),
    ];
    for (name, before, input, texts) in inputs {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("process");
        let command = format!("{before}sh -c 'echo $$ > {}; exec kafkascope {input}'", file.display());
        let Some(terminal) = Terminal::start(name, (120, 40), &command) else { return };
        terminal.expect(&texts[..1]);
        terminal.press(&["g", "g"]);
        terminal.expect(&texts);
        let process = process(&file);
        for filter in [false, true] {
            if filter {
                terminal.press(&["f", "fetch", "Enter"]);
                terminal.expect(&["of 341  filter: fetch", "FetchRe"]);
            }
            // What is still to be drawn is drawn, and then nothing.
            let since = Instant::now();
            loop {
                let before = done(&process);
                sleep(Duration::from_secs(2));
                let after = done(&process);
                if after == before {
                    break;
                }
                let is_late = since.elapsed() > Duration::from_secs(20);
                assert!(!is_late, "{name}, filter: {filter}: it does not come to rest: {before:?} {after:?}");
            }
        }
        // It is awake all the same. One press leaves a filter, and where nothing is looked for any more ctrl-c quits.
        terminal.press(&["Enter", "?"]);
        terminal.expect(&["any other key closes"]);
        terminal.press(&["x", "Escape"]);
        terminal.expect(&["341 messages", "121/341", "► #"]);
        assert!(!terminal.screen().contains("filter: fetch"));
        terminal.press(&["f", "fetch", "Enter"]);
        let since = Instant::now();
        while terminal.expect(&["of 341  filter: fetch", "FetchRe"]).lines().next().is_some_and(|bar| bar.contains('%'))
        {
            assert!(since.elapsed() < Duration::from_secs(40), "the filter is never through");
            sleep(Duration::from_millis(30));
        }
        terminal.press(&["C-c"]);
        let since = Instant::now();
        while terminal.screen().contains("? help") {
            assert!(since.elapsed() < Duration::from_secs(40), "ctrl-c does not quit");
            sleep(Duration::from_millis(30));
        }
    }
}

#[test]
fn what_comes_is_counted_by_the_second_until_all_is_there() {
    let command = "(cat captures/tour.pcapng; sleep 6) | kafkascope -";
    let Some(terminal) = Terminal::start("rate", (120, 40), command) else { return };
    terminal.expect(&["live", "msg/s", "B/s"]);
    terminal.expect(&["     0 msg/s      0 B/s"]);
    let since = Instant::now();
    while terminal.screen().contains("msg/s") {
        assert!(since.elapsed() < Duration::from_secs(40), "the end is not noticed");
        sleep(Duration::from_millis(30));
    }
    terminal.expect(&["341 messages"]);
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 0"]);
}

/// Where the cursor is and how many messages are listed: `12/34` in the bar.
fn place(screen: &str) -> (u64, u64) {
    let mut words = screen.lines().next().unwrap_or_default().split_whitespace();
    let pair = |word: &str| word.split_once('/').and_then(|(row, all)| Some((row.parse().ok()?, all.parse().ok()?)));
    words.find_map(pair).unwrap_or_default()
}

#[test]
fn a_file_that_grows_is_followed_and_held_still() {
    let whole = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/captures/tour.pcapng")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.pcapng");
    let mut file = std::fs::File::create(&path).unwrap();
    let thirds = [whole.len() / 3, whole.len() / 3 * 2, whole.len()];
    file.write_all(&whole[..thirds[0]]).unwrap();
    let command = format!("kafkascope --follow {}", path.display());
    let Some(terminal) = Terminal::start("follow", (120, 40), &command) else { return };
    terminal.expect(&["growing.pcapng", "live", "msg/s", "/89  following"]);
    terminal.press(&["F"]);
    terminal.expect(&["not following"]);
    terminal.press(&["F"]);
    let (row, first) = place(&terminal.expect(&["following the newest message"]));
    assert!(row == first && first > 10, "{row}/{first}");
    file.write_all(&whole[thirds[0]..thirds[1]]).unwrap();
    let since = Instant::now();
    let second = loop {
        let (row, all) = place(&terminal.screen());
        if all > first {
            assert_eq!(row, all, "the newest is not selected");
            break all;
        }
        assert!(since.elapsed() < Duration::from_secs(40), "nothing more comes");
        sleep(Duration::from_millis(30));
    };
    // What comes is kept, but not shown; that it comes can be seen.
    terminal.press(&["P"]);
    let (_, held) = place(&terminal.expect(&["paused", "what comes is kept"]));
    assert!(held >= second);
    file.write_all(&whole[thirds[1]..]).unwrap();
    let since = Instant::now();
    while terminal.screen().contains("     0 msg/s") {
        assert!(since.elapsed() < Duration::from_secs(40), "nothing comes");
        sleep(Duration::from_millis(30));
    }
    terminal.expect(&["     0 msg/s      0 B/s"]);
    assert_eq!(place(&terminal.screen()).1, held);
    terminal.press(&["P"]);
    terminal.expect(&["following", "going on"]);
    let (row, all) = place(&terminal.screen());
    assert!(row == all && all > held, "{row}/{all}");
    terminal.press(&["k"]);
    terminal.expect(&[&format!(" {}/{all}", all - 1)]);
    assert!(!terminal.screen().contains("following"));
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 0"]);
}

/// Keys that are written when the connections have begun open them, while the screen is there.
#[test]
fn keys_that_come_late_open_what_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let name = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/44-sarama-tls12-aes256gcm-rsa");
    let whole = std::fs::read(format!("{name}.pcap")).unwrap();
    let (keys, fifo) = (folder.path().join("keys.log"), folder.path().join("fifo"));
    std::fs::write(&keys, "").unwrap();
    let command = format!("mkfifo {0}; kafkascope --keylog {1} {0}", fifo.display(), keys.display());
    let Some(terminal) = Terminal::start("keys", (120, 40), &command) else { return };
    terminal.expect(&["waiting for input"]);
    let mut input = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let (first, second) = whole.split_at(whole.len() / 2);
    input.write_all(first).unwrap();
    terminal.expect(&["0 messages", "live", "no messages yet"]);
    std::fs::copy(format!("{name}.keylog"), &keys).unwrap();
    // Key logs are not looked into again at once where they have just been.
    sleep(Duration::from_millis(500));
    input.write_all(second).unwrap();
    terminal.expect(&["→ :9392  ApiVersions", "ApiVersionsRequest message v3", "live"]);
    drop(input);
    // As many as `list` has of the whole capture, and its key log.
    terminal.expect(&[" 48 messages  4 connections"]);
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 0"]);
}

#[test]
fn the_screen_does_not_wait_for_the_first_bytes() {
    let Some(terminal) = Terminal::start("first", (120, 40), "sleep 4 | kafkascope -") else { return };
    terminal.expect(&["standard input", "waiting for input", "? help"]);
    // What came was no capture.
    terminal.expect(&["standard input", "no Kafka messages found"]);
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 2"]);
    let command = "mkfifo \"$F\"; kafkascope \"$F\"";
    let folder = tempfile::tempdir().unwrap();
    let command = format!("F={}/fifo; {command}", folder.path().display());
    let Some(terminal) = Terminal::start("fifo", (120, 40), &command) else { return };
    terminal.expect(&["waiting for input"]);
    terminal.press(&["C-c"]);
    terminal.expect(&["ENDED 0"]);
}

#[test]
fn a_terminal_that_can_only_write_gets_no_colours() {
    for (name, term) in [("write", "dumb"), ("nothing", "")] {
        let command = format!("TERM='{term}' kafkascope list -c 2 captures/tour.pcapng");
        let Some(terminal) = Terminal::start(name, (120, 60), &command) else { return };
        terminal.expect(&["ApiVersions", "ENDED 0"]);
        let screen = String::from_utf8(terminal.tmux(&["capture-pane", "-p", "-e"]).stdout).unwrap();
        assert!(!screen.contains('\x1b'), "{screen}");
    }
    let Some(terminal) = Terminal::start("usual", (120, 60), "kafkascope list -c 2 captures/tour.pcapng") else {
        return;
    };
    terminal.expect(&["ApiVersions", "ENDED 0"]);
    let output = terminal.tmux(&["capture-pane", "-p", "-e"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains('\x1b'), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interface_is_watched_and_let_go() {
    let capture = env!("CARGO_BIN_EXE_kafkascope-capture");
    let tried = Command::new(capture).args(["-i", "lo", "-c", "0"]).output().unwrap();
    if !tried.status.success() {
        eprintln!("SKIPPED: nothing can be captured here: {}", String::from_utf8_lossy(&tried.stderr).trim());
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let command = format!("kafkascope live lo port {}", address.port());
    let Some(terminal) = Terminal::start("live", (120, 40), &command) else { return };
    terminal.expect(&["lo  0 messages", "live", "following", "no messages yet"]);
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"\0\0\0\x0f\0\x3c\0\x02\0\0\0\x07\0\0\0\0\0\0\0").unwrap();
    terminal.expect(&["1 message ", "DescribeClusterRequest message v2"]);
    terminal.press(&["q"]);
    terminal.expect(&["ENDED 0"]);
}
