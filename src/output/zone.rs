//! Time zones in which times are written for people.

use std::fmt::Write;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::capture::Time;

#[cfg(test)]
mod tests;

/// A time zone: UTC, that of the system, a fixed offset, or one of the IANA database as the system has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// None is UTC.
    zone: Option<TimeZone>,
    name: String,
}

impl Zone {
    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self { zone: None, name: "UTC".to_owned() }
    }

    /// As it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Appends a time as RFC 3339 has it: `2026-11-29T10:00:00.123456789Z`, `2026-11-29T12:00:00.123456789+02:00`. Offsets
    /// of long ago, which are no whole minutes, have seconds behind them.
    pub fn write(&self, out: &mut String, time: Time) {
        let mut buffer = [0; Time::TEXT_LENGTH];
        let Some(offset) = self.zone.as_ref().map(|zone| offset(zone, time)) else {
            out.push_str(time.write_rfc3339(&mut buffer));
            return;
        };
        let local = time.after(i64::from(offset) * Time::SECOND);
        out.push_str(local.write_rfc3339(&mut buffer).trim_end_matches('Z'));
        let size = offset.unsigned_abs();
        let (sign, hours, minutes, seconds) =
            (if offset < 0 { '-' } else { '+' }, size / 3600, size / 60 % 60, size % 60);
        // Writing into a string cannot fail.
        let _ = write!(out, "{sign}{hours:02}:{minutes:02}");
        if seconds > 0 {
            let _ = write!(out, ":{seconds:02}");
        }
    }

    /// Appends the time of the day, to the microsecond: `10:00:00.123456`.
    pub fn write_time_of_day(&self, out: &mut String, time: Time) {
        let mut whole = String::new();
        self.write(&mut whole, time);
        out.push_str(whole.get(11..26).unwrap_or_default());
    }
}

/// Seconds that a zone is ahead of UTC at a time.
fn offset(zone: &TimeZone, time: Time) -> i32 {
    let at = Timestamp::from_nanosecond(time.nanoseconds().into());
    at.map_or(0, |at| zone.to_offset(at).seconds())
}

impl FromStr for Zone {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let zone = match name {
            _ if name.eq_ignore_ascii_case("utc") || name == "Z" => return Ok(Self::utc()),
            "local" => {
                TimeZone::try_system().map_err(|error| format!("the system does not say its time zone: {error}"))?
            }
            _ if name.starts_with(['+', '-']) => fixed(name).ok_or("an offset reads like +02:00 or -0530")?,
            _ => TimeZone::get(name).map_err(|error| error.to_string())?,
        };
        Ok(Self { zone: Some(zone), name: name.to_owned() })
    }
}

/// `+02:00`, `+0200` or `+02`, up to 23:59.
fn fixed(text: &str) -> Option<TimeZone> {
    let (sign, digits) = text.split_at_checked(1)?;
    let digits = digits.replacen(':', "", usize::from(digits.as_bytes().get(2) == Some(&b':')));
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at_checked(2)?;
    let hours: i32 = hours.parse().ok()?;
    let minutes: i32 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60;
    Offset::from_seconds(if sign == "-" { -seconds } else { seconds }).ok().map(TimeZone::fixed)
}
