//! Dumps with offsets: xxd, hexdump, od, tcpdump, Wireshark, GDB, Netty, hexyl.

use super::{
    Form, MAX_EXPANDED, PasteError, Pasted,
    row::{Group, MAX_GROUPS, Offset, Row, is_border, is_column, is_stamped, margin},
    text::{Line, bad, bad_word, is_space, lines, slice},
};

const WHAT: &str = "dump";

/// How the groups of a dump are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Hex, in the order of the bytes.
    Bytes,
    /// Hex words, each with its last byte first.
    Words,
    /// Two-byte words in octal, last byte first: `od` without options.
    OctalWords,
    /// Bytes in octal: `od -b`.
    OctalBytes,
}

/// Reads a dump; `None` when the text is none.
pub(super) fn parse(text: &str) -> Option<Result<Pasted, PasteError>> {
    let mut all = lines(text, 0..text.len());
    // Numbers may stand above the characters.
    let characters = all.clone().filter(|line| !line.text.trim().is_empty()).take(2).find_map(escape_in_cells);
    if let Some((at, escape)) = characters {
        return Some(Err(bad_word(
            text,
            WHAT,
            at,
            escape,
            "bytes as hex, which `od -A x -t x1` or `xxd` prints: this is `od -c`",
        )));
    }
    loop {
        let line = all.next()?;
        if is_border(line.text) {
            continue;
        }
        if let Some(row) = Row::read(line) {
            let kind = kind(&row);
            if begins(&row, kind, all.clone()) {
                return Some(Dump::new(text, kind).read(row, all));
            }
        }
        if is_hex(line) {
            return None;
        }
    }
}

/// The first escape among characters in cells of four columns, as `od -c` and `hexdump -c` print them, and its place.
fn escape_in_cells(line: Line<'_>) -> Option<(usize, &str)> {
    let offset = line.text.find(is_space).filter(|end| *end > 5);
    let offset = offset.filter(|end| slice(line.text, 0..*end).bytes().all(|byte| byte.is_ascii_hexdigit()));
    // Without an offset there may be the room of one.
    let start = offset.unwrap_or(line.text.trim_end().len() % 4);
    let (mut found, mut end) = (None, start);
    for cell in slice(line.text, start..line.text.len()).as_bytes().chunks(4) {
        let place = end + cell.iter().take_while(|byte| **byte == b' ').count();
        end += cell.len();
        let is_cell = match (cell, slice(line.text, place..end).as_bytes()) {
            ([b' ', ..], [b'\\', b'0' | b'a' | b'b' | b't' | b'n' | b'v' | b'f' | b'r']) => {
                found = found.or(Some((line.start + place, slice(line.text, place..end))));
                cell.len() == 4
            }
            ([b' ', ..], [high, middle, low]) => [high, middle, low].iter().all(|digit| (b'0'..=b'7').contains(*digit)),
            ([b' ', b' ', b' ', b' '..=b'~'], _) => true,
            // Spaces at the end of a line are lost when it is copied.
            (_, rest) => rest.is_empty(),
        };
        if !is_cell {
            return None;
        }
    }
    found
}

fn kind(row: &Row<'_>) -> Kind {
    let width = row.groups.first().map_or(2, |group| group.digits.len());
    let octal = || row.groups.iter().all(|group| group.digits.len() == width && group.digits.bytes().all(|b| b < b'8'));
    match (row.offset.marked, width) {
        (false, 6) if row.offset.digits.len() == 7 && octal() => Kind::OctalWords,
        (false, 3) if row.offset.digits.len() == 7 && octal() => Kind::OctalBytes,
        (false, 4 | 8 | 16) => Kind::Words,
        (true, 4..) if is_reversed(row) => Kind::Words,
        _ => Kind::Bytes,
    }
}

/// Whether the ASCII column shows that each group has its last byte first (`xxd -e`).
fn is_reversed(row: &Row<'_>) -> bool {
    let proven = |kind| Rules { kind, base: None, column: None }.count(row).1;
    !proven(Kind::Bytes) && proven(Kind::Words)
}

/// Whether a first line is surely a dump's: numbers without a colon may be bytes as well.
fn begins<'a>(row: &Row<'a>, kind: Kind, mut after: impl Iterator<Item = Line<'a>>) -> bool {
    let Some(first) = row.groups.first() else {
        return false;
    };
    if row.offset.marked || row.offset.is_od() {
        return true;
    }
    let next = after.find(|line| !is_border(line.text));
    let following = next.and_then(Row::read);
    if let Some(following) = &following
        && following.offset.digits.len() == row.offset.digits.len()
    {
        let rules = Rules { kind, base: None, column: None };
        let (count, _) = rules.count(row);
        let shown = rules.size(row, count);
        return [16, 8, 10].into_iter().any(|base| step(&row.offset, &following.offset, base) == Some(shown as u64))
            || row.offset.value(16) == Some(0) && kind == Kind::Bytes;
    }
    let alone = next.is_none_or(|line| line.text.trim() == "*");
    let gap = first.start - row.end_of(0);
    let value = row.offset.value(16).unwrap_or(1);
    match kind {
        Kind::Bytes => alone && first.digits.len() == 2 && (value == 0 || (gap > 1 && value.is_multiple_of(16))),
        _ => alone && row.offset.digits.len() == 6 && first.digits.len() == 4,
    }
}

/// Whether a line is plain hex, so that no heading of a dump is taken for bytes or bytes for a heading.
fn is_hex(line: Line<'_>) -> bool {
    let words = || line.text.split(is_space).filter(|word| !word.is_empty());
    // PowerShell's Format-Hex numbers its columns.
    let numbered =
        || words().enumerate().all(|(index, word)| usize::from_str_radix(word, 16).is_ok_and(|value| value == index));
    let hex = words().all(|word| word.len() % 2 == 0 && word.bytes().all(|b| b.is_ascii_hexdigit()));
    hex && !(words().take(17).count() == 16 && numbered())
}

fn step(from: &Offset<'_>, to: &Offset<'_>, base: u32) -> Option<u64> {
    to.value(base)?.checked_sub(from.value(base)?)
}

/// What the lines read so far have taught about the dump.
#[derive(Debug, Clone, Copy)]
struct Rules {
    kind: Kind,
    /// Base of the offsets.
    base: Option<u32>,
    /// Where the ASCII column starts at the latest, counted from the start of the offset.
    column: Option<usize>,
}

impl Rules {
    fn width(self, group: &Group<'_>) -> usize {
        match self.kind {
            Kind::Bytes | Kind::Words => group.digits.len() / 2,
            Kind::OctalWords => 2,
            Kind::OctalBytes => 1,
        }
    }

    fn fits(self, group: &Group<'_>) -> bool {
        match self.kind {
            Kind::Bytes | Kind::Words => group.digits.len().is_multiple_of(2),
            Kind::OctalWords => group.digits.len() == 6 && group.digits.bytes().all(|b| b < b'8'),
            Kind::OctalBytes => group.digits.len() == 3 && group.digits.bytes().all(|b| b < b'8'),
        }
    }

    fn size(self, row: &Row<'_>, count: usize) -> usize {
        row.groups.iter().take(count).map(|group| self.width(group)).sum()
    }

    fn bytes(self, row: &Row<'_>, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size(row, count));
        for group in row.groups.iter().take(count) {
            let start = bytes.len();
            match self.kind {
                Kind::OctalBytes => {
                    bytes.push(u16::from_str_radix(group.digits, 8).unwrap_or(0) as u8);
                }
                Kind::OctalWords => {
                    bytes.extend((u32::from_str_radix(group.digits, 8).unwrap_or(0) as u16).to_le_bytes());
                }
                Kind::Bytes | Kind::Words => {
                    let (pairs, _) = group.digits.as_bytes().as_chunks::<2>();
                    bytes.extend(pairs.iter().map(|pair| super::hex::pair(*pair)));
                }
            }
            if self.kind == Kind::Words
                && let Some(word) = bytes.get_mut(start..)
            {
                word.reverse();
            }
        }
        bytes
    }

    /// How many groups of a line are bytes, by the line alone, and whether an ASCII column proves it.
    fn count(self, row: &Row<'_>) -> (usize, bool) {
        let fitting = row.groups.iter().take_while(|group| self.fits(group)).count();
        let bytes = self.bytes(row, fitting);
        match row.proven(&bytes, |group| self.width(group)) {
            Some(count) => (count, true),
            None => (self.likely(row, fitting), false),
        }
    }

    fn likely(self, row: &Row<'_>, fitting: usize) -> usize {
        let unit = unit(row);
        let end = row.line.text.trim_end().len();
        let digits = row.groups.first().map_or(0, |group| group.digits.len());
        let most = if row.line.text.is_ascii() { 1 } else { 3 };
        let mut total = 0;
        for (index, group) in row.groups.iter().take(fitting).enumerate() {
            let gap = group.start - row.end_of(index);
            // Two spaces may part the halves of a row; an ASCII column is no longer than the bytes.
            let halves = total % 4 == 0 && gap == unit + 1;
            let column_fits = end - group.start <= (total + 1) * most;
            let in_column = self.column.is_some_and(|column| group.start - row.offset.start >= column);
            if index > 0 && (in_column || group.digits.len() > digits || (gap > unit && !halves && column_fits)) {
                return index;
            }
            total += self.width(group);
            if group.digits.len() < digits {
                return index + 1;
            }
        }
        fitting
    }
}

/// What stands between two groups of a line.
fn unit(row: &Row<'_>) -> usize {
    match row.groups.as_slice() {
        [first, second, ..] => second.start - first.end,
        _ => 1,
    }
}

struct Dump<'a> {
    text: &'a str,
    rules: Rules,
    bytes: Vec<u8>,
}

impl<'a> Dump<'a> {
    fn new(text: &'a str, kind: Kind) -> Self {
        Self { text, rules: Rules { kind, base: None, column: None }, bytes: Vec::new() }
    }

    fn read(mut self, first: Row<'a>, rest: impl Iterator<Item = Line<'a>>) -> Result<Pasted, PasteError> {
        self.refuse_words(&first)?;
        let mut pending = first;
        let mut repeat = None;
        for line in rest {
            let trimmed = slice(line.text, margin(line.text)..line.text.len()).trim_end();
            if is_border(line.text) || trimmed.starts_with('#') || trimmed.starts_with("//") {
                continue;
            }
            if trimmed == "*" {
                repeat = Some(line.start + line.text.len());
                continue;
            }
            let Some(row) = Row::read(line) else {
                if is_stamped(trimmed) {
                    continue;
                }
                let at = line.start + margin(line.text);
                return Err(bad(self.text, WHAT, at, "an offset, as the lines before have"));
            };
            self.add(&pending, Some(&row), repeat.take().is_some())?;
            pending = row;
        }
        if let Some(at) = repeat {
            return Err(bad(self.text, WHAT, at, "a line with the offset where the repeat (*) ends"));
        }
        if !pending.groups.is_empty() || !pending.tail(0).trim().is_empty() {
            self.add(&pending, None, false)?;
        }
        let form = if self.rules.kind == Kind::Words || self.rules.kind == Kind::OctalWords {
            Form::WordDump
        } else {
            Form::Dump
        };
        Ok(Pasted { bytes: self.bytes, form })
    }

    /// Numbers wider than a byte have lost the order of their bytes, unless the tool that printed them is known.
    fn refuse_words(&self, row: &Row<'_>) -> Result<(), PasteError> {
        let Some(group) = row.groups.first() else {
            return Ok(());
        };
        let (known, with) = match self.rules.kind {
            Kind::Bytes => (!group.prefixed || group.digits.len() == 2, "print them with x/…xb"),
            Kind::Words => {
                (row.offset.marked || matches!(row.offset.digits.len(), 6 | 7), "dump with `xxd` or `hexdump -C`")
            }
            _ => (true, ""),
        };
        let expected = || format!("single bytes: the order of the bytes in such words cannot be told, so {with}");
        if known {
            Ok(())
        } else {
            Err(bad_word(self.text, WHAT, row.line.start + group.start, group.digits, expected()))
        }
    }

    /// Adds the bytes of a line, checked against the offset of the next.
    fn add(&mut self, row: &Row<'_>, next: Option<&Row<'_>>, repeat: bool) -> Result<(), PasteError> {
        if let Some(last) = row.groups.get(MAX_GROUPS - 1) {
            let at = row.line.start + last.start;
            return Err(bad_word(self.text, WHAT, at, last.digits, "the end of the line: no dump has such long ones"));
        }
        let (mut likely, mut proven) = self.rules.count(row);
        if self.rules.kind == Kind::Bytes && row.offset.marked && !proven && is_reversed(row) {
            // The lines before read the same in both orders, or they would have told.
            self.rules.kind = Kind::Words;
            (likely, proven) = self.rules.count(row);
        }
        let Some(next) = next else {
            self.check_tail(row, likely, proven)?;
            self.bytes.extend(self.rules.bytes(row, likely));
            return Ok(());
        };
        if repeat {
            self.check_tail(row, likely, proven)?;
            return self.expand(row, likely, next);
        }
        let shown = self.rules.size(row, likely);
        let bases: &[u32] = match &self.rules.base {
            Some(base) => std::slice::from_ref(base),
            // `od` counts in octal, with seven digits, unless it is told otherwise.
            None if row.offset.is_od() => &[16, 8, 10],
            None => &[16, 10],
        };
        let steps = || {
            bases
                .iter()
                .filter_map(|base| Some((*base, usize::try_from(step(&row.offset, &next.offset, *base)?).ok()?)))
        };
        if let Some((base, _)) = steps().find(|(_, step)| *step == shown) {
            self.rules.base = Some(base);
            self.take(row, likely, shown);
            return Ok(());
        }
        let words = matches!(self.rules.kind, Kind::Words | Kind::OctalWords);
        if words && next.groups.is_empty() && steps().any(|(_, step)| step + 1 == shown) {
            // The last word was filled up with a zero byte.
            self.take(row, likely, shown - 1);
            return Ok(());
        }
        // The ASCII column looks like bytes, or the bytes like it: the offsets know.
        let by_step = || steps().find_map(|(base, step)| Some((base, step, self.groups_of(row, step)?)));
        if !proven && let Some((base, step, count)) = by_step() {
            self.rules.base = Some(base);
            self.take(row, count, step);
            return Ok(());
        }
        self.check_tail(row, likely, proven)?;
        Err(self.out_of_step(row, next, shown))
    }

    /// How many groups make exactly this many bytes.
    fn groups_of(&self, row: &Row<'_>, size: usize) -> Option<usize> {
        let mut total = 0;
        let fitting = row.groups.iter().take_while(|group| self.rules.fits(group));
        let count = fitting
            .take_while(|group| {
                total += self.rules.width(group);
                total <= size
            })
            .count();
        (size > 0 && self.rules.size(row, count) == size).then_some(count)
    }

    fn take(&mut self, row: &Row<'_>, count: usize, size: usize) {
        let tail = row.tail(count);
        let column = row.line.text.len() - tail.trim_start().len() - row.offset.start;
        if !tail.trim().is_empty() {
            self.rules.column = Some(self.rules.column.map_or(column, |known| known.min(column)));
        }
        self.bytes.extend(self.rules.bytes(row, count).into_iter().take(size));
    }

    /// What stands behind the bytes of a line must be its ASCII column or a comment.
    fn check_tail(&self, row: &Row<'_>, count: usize, proven: bool) -> Result<(), PasteError> {
        let tail = row.tail(count);
        let column = tail.trim();
        let bytes = self.rules.bytes(row, count);
        let marked = ["|", ">", "│", "#", "//", ";"].iter().any(|mark| column.starts_with(mark));
        let gap = tail.len() - tail.trim_start().len();
        let apart = gap > unit(row).max(1) && column.chars().count() <= bytes.len() + 1;
        let good = !bytes.is_empty() && (proven || column.is_empty() || marked || apart || is_column(&bytes, tail));
        let at = row.line.start + row.line.text.len() - tail.trim_start().len();
        if good {
            Ok(())
        } else {
            Err(bad(self.text, WHAT, at, "two hex digits, or two spaces before an ASCII column"))
        }
    }

    /// A line of `*`: the line before is repeated up to the next offset.
    fn expand(&mut self, row: &Row<'_>, count: usize, next: &Row<'_>) -> Result<(), PasteError> {
        let bytes = self.rules.bytes(row, count);
        let at = next.line.start + next.offset.start;
        let base = match self.rules.base {
            Some(base) => base,
            None => self.base_of_repeat(row, bytes.len(), next)?,
        };
        self.rules.base = Some(base);
        let size = step(&row.offset, &next.offset, base).unwrap_or(0);
        let whole = size.checked_rem(bytes.len() as u64) == Some(0) && size > 0;
        if !whole {
            let expected = format!("an offset that lies a multiple of {} bytes behind the repeated line", bytes.len());
            return Err(bad_word(self.text, WHAT, at, next.offset.digits, expected));
        }
        let left = MAX_EXPANDED.saturating_sub(self.bytes.len());
        let Some(size) = usize::try_from(size).ok().filter(|size| *size <= left) else {
            let expected = format!("repeats (*) of not more than {} MiB in all", MAX_EXPANDED >> 20);
            return Err(bad_word(self.text, WHAT, at, next.offset.digits, expected));
        };
        self.bytes.extend(bytes.iter().cycle().take(size));
        Ok(())
    }

    /// The base of the offsets when the first line is a repeated one.
    fn base_of_repeat(&self, row: &Row<'_>, shown: usize, next: &Row<'_>) -> Result<u32, PasteError> {
        if !row.offset.is_od() {
            return Ok(16);
        }
        let fits =
            |base| step(&row.offset, &next.offset, base).is_some_and(|step| step.checked_rem(shown as u64) == Some(0));
        match (self.rules.kind, fits(8), fits(16)) {
            (Kind::Words, true, true) => {
                let at = next.line.start + next.offset.start;
                let expected =
                    "an offset whose base can be told: dump with `xxd` or `hexdump -C`, or without squeezing (-v)";
                Err(bad_word(self.text, WHAT, at, next.offset.digits, expected))
            }
            (_, true, _) => Ok(8),
            _ => Ok(16),
        }
    }

    #[cold]
    fn out_of_step(&self, row: &Row<'_>, next: &Row<'_>, shown: usize) -> PasteError {
        let base = self.rules.base.unwrap_or(16);
        let width = row.offset.digits.len();
        let due = row.offset.value(base).unwrap_or(0).saturating_add(shown as u64);
        let due = match base {
            8 => format!("{due:0width$o}"),
            10 => format!("{due:0width$}"),
            _ => format!("{due:0width$x}"),
        };
        let again = next.offset.value(base) <= row.offset.value(base);
        let hint = if again { "; a second dump seems to begin here: paste one at a time" } else { "" };
        let expected = format!("offset {due}, because the line before shows {shown} bytes{hint}");
        bad_word(self.text, WHAT, next.line.start + next.offset.start, next.offset.digits, expected)
    }
}
