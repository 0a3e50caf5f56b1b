//! Points in time, in nanoseconds.

use std::fmt;

/// Nanoseconds since 1970-01-01T00:00:00Z.
///
/// Times beyond the range (the years 1677 to 2262) are held at its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Nanoseconds in a second.
    pub const SECOND: i64 = 1_000_000_000;
    /// Nanoseconds in a millisecond.
    pub const MILLISECOND: i64 = 1_000_000;
    /// Bytes of a time in text, see [`Time::write_rfc3339`].
    pub const TEXT_LENGTH: usize = 30;

    /// The time that is `nanoseconds` after 1970-01-01T00:00:00Z.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    /// As [`Time::from_nanoseconds`], for numbers that may lie outside of the range.
    pub fn saturating_from(nanoseconds: i128) -> Self {
        let held = nanoseconds.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Self(held as i64)
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z, negative before it.
    pub const fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this time, negative when `earlier` is later.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time `nanoseconds` later.
    #[must_use]
    pub const fn after(self, nanoseconds: i64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// Writes the time as RFC 3339 has it, in UTC and to the nanosecond: `2026-11-29T10:00:00.123456789Z`.
    pub fn write_rfc3339(self, buffer: &mut [u8; Self::TEXT_LENGTH]) -> &str {
        let seconds = self.0.div_euclid(Self::SECOND);
        let second_of_day = seconds.rem_euclid(86_400);
        let (year, month, day) = civil_date(seconds.div_euclid(86_400));
        *buffer = *b"0000-00-00T00:00:00.000000000Z";
        let fields = [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, second_of_day / 3600),
            (14, 2, second_of_day / 60 % 60),
            (17, 2, second_of_day % 60),
            (20, 9, self.0.rem_euclid(Self::SECOND)),
        ];
        for (start, width, value) in fields {
            let mut rest = value;
            for digit in buffer.iter_mut().skip(start).take(width).rev() {
                *digit = b'0' + rest.rem_euclid(10).cast_unsigned() as u8;
                rest /= 10;
            }
        }
        str::from_utf8(buffer).unwrap_or_default()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.write_rfc3339(&mut [0; Self::TEXT_LENGTH]))
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil_date(days_since_1970: i64) -> (i64, i64, i64) {
    // Counting from 0000-03-01 puts the leap day at the end of a year, and 400 years always have 146,097 days.
    const DAYS_FROM_YEAR_0: i64 = 719_468;
    const DAYS_IN_400_YEARS: i64 = 146_097;

    let days = days_since_1970 + DAYS_FROM_YEAR_0;
    let era = days.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = days.rem_euclid(DAYS_IN_400_YEARS);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, months have 31 and 30 days by turns in groups of five: 153 days.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}
