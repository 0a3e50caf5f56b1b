//! What one line of pasted hex is made of: a margin, a log's prefix, an offset, groups of digits, an ASCII column.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, tag_no_case, take_while_m_n, take_while1},
    character::complete::{char, satisfy, space0},
    combinator::{opt, peek, recognize},
    multi::many0_count,
    sequence::{delimited, preceded},
};

use super::text::{Line, from, is_space, slice};

/// No dump prints more bytes a line than this; bounds the search for an ASCII column.
const MAX_ROW: usize = 256;

/// No dump prints so many groups a line either; bounds what is kept of one.
pub(super) const MAX_GROUPS: usize = 1 << 20;

/// A run of hex digits in a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) digits: &'a str,
    /// Where in the line it starts, its `0x` included.
    pub(super) start: usize,
    pub(super) end: usize,
    /// It stands behind `0x`.
    pub(super) prefixed: bool,
}

/// The digits of an offset, as printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offset<'a> {
    pub(super) digits: &'a str,
    /// Where in the line it starts.
    pub(super) start: usize,
    /// A colon or a table's bar follows, so it cannot be a byte.
    pub(super) marked: bool,
}

impl Offset<'_> {
    /// Written as `od` and `hexdump` without options do.
    pub(super) fn is_od(&self) -> bool {
        !self.marked && self.digits.len() == 7
    }

    pub(super) fn value(&self, base: u32) -> Option<u64> {
        u64::from_str_radix(self.digits, base).ok()
    }
}

/// A line with an offset.
#[derive(Debug, Clone)]
pub(super) struct Row<'a> {
    pub(super) line: Line<'a>,
    pub(super) offset: Offset<'a>,
    /// Where in the line the offset and its mark end.
    body: usize,
    pub(super) groups: Vec<Group<'a>>,
}

impl<'a> Row<'a> {
    /// Reads a line that starts with an offset behind its margin and a log's prefix.
    pub(super) fn read(line: Line<'a>) -> Option<Self> {
        let start = margin(line.text);
        Self::read_at(line, start).or_else(|| Self::read_at(line, log_prefix(line.text, start)?))
    }

    fn read_at(line: Line<'a>, start: usize) -> Option<Self> {
        let (rest, (digits, marked)) = offset(from(line.text, start)).ok()?;
        let body = line.text.len() - rest.len();
        Some(Self { line, offset: Offset { digits, start, marked }, body, groups: groups(line.text, body) })
    }

    /// Where the groups from number `count` on would begin.
    pub(super) fn end_of(&self, count: usize) -> usize {
        match count.checked_sub(1).and_then(|last| self.groups.get(last)) {
            Some(group) => group.end,
            None => self.body,
        }
    }

    /// What stands behind the first `count` groups, space before it included.
    pub(super) fn tail(&self, count: usize) -> &'a str {
        from(self.line.text, self.end_of(count))
    }

    /// How many groups are bytes, when an ASCII column proves it; `width` is the digits of a group in bytes.
    pub(super) fn proven(&self, bytes: &[u8], width: impl Fn(&Group<'_>) -> usize) -> Option<usize> {
        let mut total = 0;
        for (index, group) in self.groups.iter().enumerate() {
            total += width(group);
            if total > MAX_ROW {
                return None;
            }
            let column = is_column(bytes.get(..total)?, self.tail(index + 1));
            if column {
                return Some(index + 1);
            }
        }
        None
    }
}

/// Where a line begins behind space, quote marks (`> `) and a table's bar.
pub(super) fn margin(line: &str) -> usize {
    let rest = line.trim_start_matches(|c| is_space(c) || matches!(c, '>' | '|' | '│'));
    line.len() - rest.len()
}

/// A line without bytes in it that belongs to a dump: a frame of a table, empty.
pub(super) fn is_border(line: &str) -> bool {
    line.chars().all(|c| is_space(c) || matches!(c, '+' | '-' | '|' | '=' | '>' | '\u{2500}'..='\u{257f}'))
}

fn offset(input: &str) -> IResult<&str, (&str, bool)> {
    let digits = take_while_m_n(1, 16, |c: char| c.is_ascii_hexdigit());
    let (rest, (prefix, digits)) = (opt(tag_no_case("0x")), digits).parse(input)?;
    let symbol = delimited((space0, char('<')), take_while_m_n(1, 256, |c| c != '>'), char('>'));
    let mark = alt((
        recognize((opt(symbol), char(':'), peek(alt((satisfy(is_space), end))))),
        recognize((space0, alt((tag("│"), tag("|"))))),
    ));
    let (rest, mark) = opt(mark).parse(rest)?;
    let marked = mark.is_some() && (prefix.is_some() || digits.len() >= 2);
    if !marked {
        peek(alt((satisfy(is_space), end))).parse(rest)?;
        if mark.is_some() || prefix.is_some() || digits.len() < 4 {
            return Err(nom::Err::Error(nom::error::make_error(input, nom::error::ErrorKind::HexDigit)));
        }
    }
    Ok((rest, (digits, marked)))
}

/// The end of the line, as a character that cannot stand in one.
fn end(input: &str) -> IResult<&str, char> {
    nom::combinator::eof(input).map(|(rest, _)| (rest, '\n'))
}

/// The groups of hex digits from `at` on, up to the first thing that is none.
fn groups(line: &str, at: usize) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    let mut rest = from(line, at);
    loop {
        // A dash parts the two halves of a row in some dumps: `00 00-00 00`.
        let gap = rest.trim_start_matches(|c| is_space(c) || c == '┊');
        let gap = if groups.is_empty() {
            gap
        } else {
            gap.strip_prefix('-').map_or(gap, |half| half.trim_start_matches(is_space))
        };
        let Ok((after, (prefix, digits))) = group(gap) else {
            return groups;
        };
        if groups.len() == MAX_GROUPS {
            return groups;
        }
        let end = line.len() - after.len();
        groups.push(Group { digits, start: line.len() - gap.len(), end, prefixed: prefix.is_some() });
        rest = after;
    }
}

fn group(input: &str) -> IResult<&str, (Option<&str>, &str)> {
    let digits = take_while1(|c: char| c.is_ascii_hexdigit());
    let (rest, found) = (opt(alt((tag("0x"), tag("0X")))), digits).parse(input)?;
    let stop = satisfy(|c| is_space(c) || matches!(c, '-' | '┊' | '│' | '|' | '>'));
    let (rest, _) = peek(alt((stop, end))).parse(rest)?;
    Ok((rest, found))
}

/// Whether what stands behind bytes is their ASCII column.
pub(super) fn is_column(bytes: &[u8], tail: &str) -> bool {
    if bytes.is_empty() || bytes.len() > MAX_ROW {
        return false;
    }
    let column = tail.trim();
    if column.is_empty() {
        return false;
    }
    if let Some(inside) = between_bars(column)
        && inside.chars().filter(|c| *c != '┊').take(MAX_ROW + 1).count() == bytes.len()
    {
        return true;
    }
    // One space is what stands between bytes as well. A column may begin with spaces of its own.
    let starts = (1..=3).filter_map(|gap| tail.get(gap..).filter(|_| slice(tail, 0..gap).chars().all(is_space)));
    starts.chain([column]).any(|text| reads_as(bytes, text.trim_end()))
}

fn between_bars(column: &str) -> Option<&str> {
    let inside = |open, close| column.strip_prefix(open)?.strip_suffix(close);
    inside('|', '|').or_else(|| inside('>', '<')).or_else(|| inside('│', '│')).or_else(|| {
        // hexyl closes both halves: `│....│....│`.
        column.strip_prefix('│')
    })
}

fn reads_as(bytes: &[u8], text: &str) -> bool {
    // Wireshark parts the column as it parts the bytes.
    let halves = || text.chars().enumerate().filter(|(index, _)| *index != 8).map(|(_, c)| c);
    let parted = bytes.len() > 8 && text.chars().nth(8) == Some(' ');
    equal(bytes, text.chars()) || (parted && equal(bytes, halves()))
}

fn equal(bytes: &[u8], mut text: impl Iterator<Item = char>) -> bool {
    // Spaces at the end of a line are lost when it is copied.
    bytes.iter().all(|&byte| match text.next() {
        None => byte == b' ',
        Some('.') => true,
        Some(c) => c == char::from(byte) && (b' '..=b'~').contains(&byte),
    }) && text.next().is_none()
}

/// Where the bytes begin in a line that starts as a log's lines do; `None` when it does not or holds no bytes.
pub(super) fn log_prefix(line: &str, start: usize) -> Option<usize> {
    let rest = from(line, start);
    if !is_log(rest) {
        return None;
    }
    let mut run = Run::default();
    for (at, word) in words(line, start + stamps(rest)) {
        if let Some(found) = run.add(at, word, line) {
            return Some(found);
        }
    }
    run.finish()
}

/// Whether a line starts as a log's lines do: a bracket, a level of syslog, a time, or a word.
pub(super) fn is_log(rest: &str) -> bool {
    let may_be_of = |c: char| c.is_alphabetic() || matches!(c, '_' | '.' | '(' | ')' | '<' | '>' | '-');
    let word = slice(rest, 0..rest.find(|c| !may_be_of(c)).unwrap_or(rest.len()));
    let is_ended = from(rest, word.len()).chars().next().is_none_or(|c| is_space(c) || matches!(c, ':' | '=' | '|'));
    let is_word = is_ended && word.len() > 1 && word.chars().any(|c| c.is_alphabetic() && !c.is_ascii_hexdigit());
    is_word || is_stamped(rest)
}

/// Whether a line is surely a log's, with or without bytes in it: a bracket, a level of syslog or a time stands first.
pub(super) fn is_stamped(rest: &str) -> bool {
    rest.starts_with(['[', '%']) || stamps(rest) > 0
}

/// The length of the dates and times at the start of a line, brackets around them included.
fn stamps(rest: &str) -> usize {
    fn digits(input: &str) -> IResult<&str, &str> {
        take_while1(|c: char| c.is_ascii_digit())(input)
    }
    fn date(input: &str) -> IResult<&str, &str> {
        let mark = || satisfy(|c| matches!(c, '-' | '/'));
        recognize((take_while_m_n(4, 4, |c: char| c.is_ascii_digit()), mark(), digits, mark(), digits, opt(char('T'))))
            .parse(input)
    }
    fn time(input: &str) -> IResult<&str, &str> {
        let zone = recognize((satisfy(|c| matches!(c, '+' | '-')), digits, opt((char(':'), digits))));
        let fraction = || preceded(satisfy(|c| matches!(c, '.' | ',')), digits);
        recognize((digits, char(':'), digits, char(':'), digits, opt(fraction()), opt(alt((tag("Z"), zone)))))
            .parse(input)
    }
    // A time alone may be bytes with colons; with a fraction or behind a date it is a time.
    fn exact(input: &str) -> IResult<&str, &str> {
        let fraction = (satisfy(|c| matches!(c, '.' | ',')), digits);
        recognize((digits, char(':'), digits, char(':'), digits, fraction, opt(char('Z')))).parse(input)
    }
    let dated = recognize((date, space0, opt(time)));
    let stamp = (opt(char('[')), alt((dated, exact)), opt(char(']')), space0);
    let parsed: IResult<&str, usize> = many0_count(stamp).parse(rest);
    parsed.map_or(0, |(after, _)| rest.len() - after.len())
}

/// The words of a line with their places; what stands in square brackets is left out.
fn words(line: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = start;
    let mut in_brackets = false;
    from(line, start).split(|c: char| is_space(c) || c == '|').filter_map(move |word| {
        let place = at;
        at += word.len() + line.get(at + word.len()..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        in_brackets |= word.starts_with('[');
        let hidden = in_brackets;
        if word.contains(']') {
            in_brackets = false;
        }
        (!hidden && !word.is_empty()).then_some((place, word))
    })
}

/// The run of hex words that may be the bytes of a log's line.
#[derive(Default)]
struct Run {
    start: Option<usize>,
    pairs: usize,
    digits: usize,
}

impl Run {
    /// Adds a word; tells where the bytes begin as soon as that is sure.
    fn add(&mut self, at: usize, word: &str, line: &str) -> Option<usize> {
        let start = *self.start.get_or_insert(at);
        let hex = word.strip_prefix("0x").unwrap_or(word).trim_end_matches(',');
        let plain = hex.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'-' | b',')) && !hex.is_empty();
        let digits = hex.bytes().filter(u8::is_ascii_hexdigit).count();
        if word.ends_with(':') && offset(from(line, at)).is_ok_and(|(_, (digits, marked))| marked && digits.len() >= 4)
        {
            return Some(at);
        }
        if plain && digits % 2 == 0 && !word.ends_with(':') {
            self.digits += digits;
            self.pairs = if digits == 2 { self.pairs + 1 } else { 0 };
            return (self.pairs >= 3).then_some(start);
        }
        *self = Self::default();
        // `payload=0000000f003c0002`
        let glued = word.rfind(['=', ':']).map_or(0, |mark| mark + 1);
        let value = from(word, glued);
        if glued > 0
            && value.len() >= 8
            && value.len().is_multiple_of(2)
            && value.bytes().all(|b| b.is_ascii_hexdigit())
        {
            (self.start, self.digits) = (Some(at + glued), value.len());
        }
        None
    }

    fn finish(self) -> Option<usize> {
        self.start.filter(|_| self.digits >= 4)
    }
}
