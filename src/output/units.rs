//! Numbers with units, for people.

use std::fmt::Write;

use crate::capture::Time;

// Writing into a string cannot fail, so the results of `write!` are dropped here.

/// A number with a comma between groups of three digits: `1,024`.
pub(super) fn grouped(out: &mut String, number: u64) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
}

/// A number of bytes: `189 B`, `12.3 KiB`.
pub(super) fn bytes(out: &mut String, bytes: u64) {
    if bytes < 1024 {
        out.push_str(itoa::Buffer::new().format(bytes));
        out.push_str(" B");
        return;
    }
    let (number, unit) = scaled(bytes);
    let _ = write!(out, "{number} {unit}iB");
}

/// A number of bytes in at most 7 characters: `99999`, `97.7K`, `1.0M`, as `ls -h` has it.
pub(crate) fn short_bytes(out: &mut String, bytes: u64) {
    if bytes < 100_000 {
        out.push_str(itoa::Buffer::new().format(bytes));
        return;
    }
    let (number, unit) = scaled(bytes);
    out.push_str(&number);
    out.push(unit);
}

fn scaled(bytes: u64) -> (String, char) {
    let mut tenths = u128::from(bytes) * 10;
    let mut unit = ' ';
    for next in ['K', 'M', 'G', 'T', 'P', 'E'] {
        // What would be rounded to 1024 is one of the next unit.
        if tenths < 10_235 {
            break;
        }
        tenths = (tenths + 512) / 1024;
        unit = next;
    }
    (format!("{}.{}", tenths / 10, tenths % 10), unit)
}

/// Milliseconds in at most two units: `500 ms`, `1.5 s`, `5 min`, `23 h 59 min`.
pub(super) fn milliseconds(out: &mut String, number: i64) {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")];
    if number < 0 {
        out.push('-');
    }
    let mut rest = number.unsigned_abs();
    if rest < 1000 {
        let _ = write!(out, "{rest} ms");
        return;
    }
    if rest < 60_000 {
        let tenths = rest % 1000 / 100;
        let _ = if tenths == 0 { write!(out, "{} s", rest / 1000) } else { write!(out, "{}.{tenths} s", rest / 1000) };
        return;
    }
    let whole = rest;
    let mut units = UNITS.iter().skip_while(|(size, _)| whole < *size);
    for separator in ["", " "] {
        let Some((size, unit)) = units.next() else { return };
        if rest >= *size {
            let _ = write!(out, "{separator}{} {unit}", rest / size);
        }
        rest %= size;
    }
}

/// Milliseconds since 1970 as a time in UTC, to the millisecond: `2026-11-29T10:00:00.123Z`.
pub(super) fn time(out: &mut String, milliseconds: i64) {
    let time = Time::saturating_from(i128::from(milliseconds) * i128::from(Time::MILLISECOND));
    let mut buffer = [0; Time::TEXT_LENGTH];
    out.push_str(time.write_rfc3339(&mut buffer).get(..23).unwrap_or_default());
    out.push('Z');
}

/// Nanoseconds as a latency in one unit with one place: `0.7 ms`, `12.3 s`, `4.1 min`; below 0.1 ms as `45 µs`.
pub(super) fn latency(out: &mut String, nanoseconds: i64) {
    if nanoseconds.unsigned_abs() < 100_000 {
        let microseconds = (nanoseconds.unsigned_abs() + 500) / 1000;
        out.push_str(if nanoseconds < 0 && microseconds > 0 { "-" } else { "" });
        out.push_str(itoa::Buffer::new().format(microseconds));
        out.push_str(" µs");
        return;
    }
    let tenths = |unit: u64| (nanoseconds.unsigned_abs() + unit / 20) / (unit / 10);
    let milliseconds = tenths(1_000_000);
    let seconds = tenths(1_000_000_000);
    let minutes = tenths(60_000_000_000);
    let (number, unit) = match () {
        () if milliseconds < 10_000 => (milliseconds, " ms"),
        () if seconds < 6000 => (seconds, " s"),
        () => (minutes, " min"),
    };
    out.push_str(if nanoseconds < 0 && number > 0 { "-" } else { "" });
    out.push_str(itoa::Buffer::new().format(number / 10));
    out.push('.');
    out.push_str(itoa::Buffer::new().format(number % 10));
    out.push_str(unit);
}
