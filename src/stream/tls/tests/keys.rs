//! Key logs, and what is done to find the right secret in one.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Duration, SystemTime};

use super::*;

fn random(number: u64) -> [u8; 32] {
    let mut random = [0; 32];
    random[..8].copy_from_slice(&number.to_be_bytes());
    random
}

/// The line of a connection with a number.
fn line(number: u64) -> String {
    format!("CLIENT_RANDOM {number:016x}{:048} {}\n", 0, "5a".repeat(48))
}

#[test]
fn the_oldest_of_too_many_secrets_are_forgotten() {
    let mut keys = KeyLog::new();
    for number in 0..keylog::MOST as u64 + 3 {
        keys.add(line(number).as_bytes());
    }
    assert_eq!((keys.forgotten(), keys.wrong_lines()), (3, 0));
    assert!(!keys.knows(&random(2)) && keys.knows(&random(3)));
    assert!(keys.knows(&random(keylog::MOST as u64 + 2)));
}

#[test]
fn files_are_not_looked_at_for_each_segment() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut keys = KeyLog::new();
    keys.follow(file.path());
    let start = std::time::Instant::now();
    for _ in 0..100 {
        keys.look_again(false);
    }
    std::fs::write(file.path(), format!("CLIENT_RANDOM {} {}\n", "00".repeat(32), "5a".repeat(48))).unwrap();
    keys.look_again(false);
    // On a machine that is very slow it may be looked at.
    assert!(keys.news() == 0 || start.elapsed() >= std::time::Duration::from_millis(100));
    keys.look_again(true);
    assert_eq!(keys.news(), 1);
}

/// Lines that were read are not read again, and one that is not whole is read when it is.
#[test]
fn a_file_that_grows_is_read_on() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut keys = KeyLog::new();
    keys.follow(file.path());
    write!(file, "no secret\n{}", line(1)).unwrap();
    keys.look_again(true);
    assert!(keys.knows(&random(1)));
    assert_eq!((keys.news(), keys.wrong_lines()), (1, 1));
    let second = line(2);
    let (start, rest) = second.split_at(100);
    write!(file, "{start}").unwrap();
    keys.look_again(true);
    assert!(!keys.knows(&random(2)));
    write!(file, "{rest}{}", line(3)).unwrap();
    keys.look_again(true);
    assert!(keys.knows(&random(2)) && keys.knows(&random(3)));
    // The wrong line counts once: it was read once. No half of a line was taken for one.
    assert_eq!((keys.news(), keys.wrong_lines()), (3, 1));
}

#[test]
fn a_file_that_is_begun_anew_is_read_anew() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path();
    let later = |seconds: u64| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + seconds);
        OpenOptions::new().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    let mut keys = KeyLog::new();
    std::fs::write(path, line(1) + &line(2)).unwrap();
    later(0);
    keys.follow(path);
    // Shorter, as long as before, and longer; the last one is another file in the same place.
    std::fs::write(path, line(3)).unwrap();
    later(1);
    keys.look_again(true);
    assert!(keys.knows(&random(3)));
    std::fs::write(path, line(4)).unwrap();
    later(2);
    keys.look_again(true);
    assert!(keys.knows(&random(4)));
    let other = path.with_extension("other");
    write!(File::create(&other).unwrap(), "{}{}{}", line(5), line(6), line(7)).unwrap();
    std::fs::rename(other, path).unwrap();
    later(3);
    keys.look_again(true);
    assert!((1..=7).all(|number| keys.knows(&random(number))));
    // While it is gone nothing happens.
    std::fs::remove_file(path).unwrap();
    keys.look_again(true);
    std::fs::write(path, line(8)).unwrap();
    keys.look_again(true);
    assert_eq!((keys.news(), keys.wrong_lines()), (8, 0));
}

/// A line that is too long says as well as any other whether a file is still the same.
#[test]
fn a_file_with_a_long_line_may_be_begun_anew() {
    for length in [1024, 1500, 4096, 5000] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut keys = KeyLog::new();
        std::fs::write(file.path(), "x".repeat(length) + "\n").unwrap();
        keys.follow(file.path());
        std::fs::write(file.path(), line(1) + &"y".repeat(length) + "\n").unwrap();
        keys.look_again(true);
        assert!(keys.knows(&random(1)), "{length}");
    }
}

/// A connection of TLS 1.3 without its hellos.
fn without_hellos() -> (Script, Vec<(Direction, Part)>) {
    let suite = script::suites().into_iter().find(|suite| u16::from(suite.suite()) == 0x1303).unwrap();
    let script = Talk::new(suite).script();
    let mut parts = segments(&script, 65_536);
    for of in [Direction::Forward, Direction::Backward] {
        let (_, part) = parts.iter_mut().find(|(direction, _)| *direction == of).unwrap();
        *part = lost(part);
    }
    (script, parts)
}

/// Secrets of so many other connections.
fn others(count: u64) -> String {
    use std::fmt::Write as _;

    let mut log = String::new();
    for number in 1..=count {
        for label in ["HANDSHAKE_TRAFFIC_SECRET", "TRAFFIC_SECRET_0"] {
            for side in ["CLIENT", "SERVER"] {
                writeln!(log, "{side}_{label} {number:016x}{:048} {number:064x}", 0).unwrap();
            }
        }
    }
    log
}

/// Lets it be told when much was looked at for nothing already, so that no more than 1 MiB is.
fn tell(log: &str, parts: &[(Direction, Part)]) -> Decrypting<Told> {
    let mut decrypting = Decrypting::new(Told::default());
    decrypting.effort.spent = 1 << 40;
    decrypting.learn(log.as_bytes());
    let connection = connection(true);
    decrypting.open(&connection);
    tell_parts(&mut decrypting, &connection, parts);
    if !decrypting.refuses() {
        decrypting.close(&connection, Close::Finished);
    }
    decrypting.finish();
    decrypting
}

const OTHERS: u64 = 20;

#[test]
fn secrets_are_tried_in_all_suites_however_many_there_are() {
    let (script, parts) = without_hellos();
    // Its own are the oldest; the secrets of the others are as long, so each is tried in two suites and two stages.
    let decrypting = tell(&(script.log.clone() + &others(OTHERS)), &parts);
    for direction in [Direction::Forward, Direction::Backward] {
        assert_eq!(decrypting.sink().bytes(direction), script.said(direction));
    }
    assert_eq!(decrypting.sink().tls.unwrap().suite.0, 0x1303);
    let tried = decrypting.effort.tried_keys;
    assert!((OTHERS * 4..=2 * (OTHERS + 1) * 4).contains(&tried), "{tried}");
    // Where they are the newest, few are.
    let decrypting = tell(&(others(OTHERS) + &script.log), &parts);
    assert_eq!(decrypting.sink().bytes(Direction::Forward), script.said(Direction::Forward));
    assert!(decrypting.effort.tried_keys <= 8, "{}", decrypting.effort.tried_keys);
}

#[test]
fn trying_secrets_has_an_end() {
    let (_, parts) = without_hellos();
    let decrypting = tell(&others(500), &parts);
    assert_eq!(decrypting.counters(), Counters { torn: 1, ..Counters::default() });
    // A key is worth 1 kB at least: 1 MiB in all, and an eighth of it too much at most, which was begun before.
    let tried = decrypting.effort.tried_keys;
    assert!((100..=1024 + 128).contains(&tried), "{tried}");
}
