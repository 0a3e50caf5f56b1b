#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn written(zone: &str, nanoseconds: i64) -> String {
    let mut out = String::new();
    zone.parse::<Zone>().unwrap().write(&mut out, Time::from_nanoseconds(nanoseconds));
    out
}

#[test]
fn times_are_written_in_their_zone() {
    // Seconds from `date -u -d 2026-11-29T10:00:00 +%s`.
    const TIME: i64 = 1_795_946_400_123_456_789;
    for (zone, text) in [
        ("UTC", "2026-11-29T10:00:00.123456789Z"),
        ("utc", "2026-11-29T10:00:00.123456789Z"),
        ("+02:00", "2026-11-29T12:00:00.123456789+02:00"),
        ("+00:00", "2026-11-29T10:00:00.123456789+00:00"),
        ("-0530", "2026-11-29T04:30:00.123456789-05:30"),
        ("+14", "2026-11-30T00:00:00.123456789+14:00"),
    ] {
        assert_eq!(written(zone, TIME), text);
    }
    let mut time = String::new();
    "+02:00".parse::<Zone>().unwrap().write_time_of_day(&mut time, Time::from_nanoseconds(TIME));
    assert_eq!(time, "12:00:00.123456");
    assert_eq!(written("-01:00", -1), "1969-12-31T22:59:59.999999999-01:00");
}

#[test]
fn summer_time_is_that_of_the_day() {
    if "Europe/Berlin".parse::<Zone>().is_err() {
        eprintln!("SKIPPED: the system has no time zones");
        return;
    }
    // `TZ=Europe/Berlin date -d @… --iso-8601=seconds`
    assert_eq!(written("Europe/Berlin", 1_795_946_400_000_000_000), "2026-11-29T11:00:00.000000000+01:00");
    assert_eq!(written("Europe/Berlin", 1_782_900_000_000_000_000), "2026-07-01T12:00:00.000000000+02:00");
}

#[test]
fn what_is_no_zone_is_an_error() {
    for wrong in ["", "+", "+2", "+24:00", "+02:60", "+02:0", "+0a:00", "+020", "Nowhere/Land", "+02:00:00", "+é1"] {
        assert!(wrong.parse::<Zone>().is_err(), "{wrong}");
    }
}
