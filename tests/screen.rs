//! The screen on a real terminal, which is tmux's. Without tmux this is skipped, loudly.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
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
    terminal.expect(&["standard input", "live", "ApiVersionsRequest message v5"]);
    terminal.press(&["G"]);
    terminal.expect(&["following", "messages"]);
    // The last messages are told when the input ends; all that are complete are there before.
    terminal.expect(&["33"]);
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
