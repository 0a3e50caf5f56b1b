//! Lists of numbers as programming languages write and print them.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_while_m_n, take_while1},
    character::complete::{char, space0},
    combinator::{all_consuming, map, opt, recognize, value},
    sequence::{delimited, preceded},
};

use super::{
    Form, PasteError, Pasted, escapes,
    text::{bad_word, from, is_space, lines, slice},
};

const WHAT: &str = "array";

/// Reads the list of numbers in brackets that the text holds; `None` when there is none.
pub(super) fn parse(text: &str) -> Option<Result<Pasted, PasteError>> {
    let first = lines(text, 0..text.len()).find(|line| !line.text.trim().is_empty())?;
    if escapes::starts_with_bytes(first.text) {
        return None;
    }
    let group = match largest(text)? {
        Ok(group) => group,
        Err(error) => return Some(Err(error)),
    };
    Some(read(text, &group))
}

/// Reads decimal numbers without brackets; `None` when the text may as well be hex.
pub(super) fn parse_bare(text: &str) -> Option<Result<Pasted, PasteError>> {
    let mut group = Group { open: ' ', start: 0, end: text.len(), count: 0, numbers: 0 };
    let mut facts = Facts::default();
    for token in Tokens::new(text) {
        match token.kind {
            TokenKind::Item => facts.add(number(slice(text, token.start..token.end))?),
            TokenKind::Comma => {}
            TokenKind::Cast => facts.cast = true,
            _ => return None,
        }
        group.count += 1;
    }
    let sure = facts.cast || facts.suffix || facts.radix(' ') == Radix::Decimal;
    (sure && group.count > 1).then(|| read(text, &group))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Open(char),
    Close(char),
    Comma,
    Semicolon,
    /// A number, or a word that is none.
    Item,
    /// A string in double quotes or behind a prefix, as `b'…'`.
    Text,
    /// `(byte)`
    Cast,
    /// A backslash outside of quotes.
    Backslash,
}

#[derive(Debug, Clone, Copy)]
struct Token {
    kind: TokenKind,
    start: usize,
    end: usize,
}

/// The tokens of code; comments and keys (`"data":`) are left out.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let rest = from(self.text, self.at);
            let bare = rest.trim_start_matches(is_space);
            let start = self.text.len() - bare.len();
            let first = bare.chars().next()?;
            if matches!(first, '/' | '#' | '-')
                && let Some(comment) = comment(bare)
            {
                self.at = start + comment;
                continue;
            }
            let (kind, length) = match first {
                '(' => match cast(bare) {
                    Ok((after, ())) => (TokenKind::Cast, bare.len() - after.len()),
                    Err(_) => (TokenKind::Open('('), 1),
                },
                '[' | '{' => (TokenKind::Open(first), 1),
                '<' => (TokenKind::Open('<'), if bare.starts_with("<Buffer") { "<Buffer".len() } else { 1 }),
                ']' | '}' | ')' | '>' => (TokenKind::Close(first), 1),
                ',' => (TokenKind::Comma, 1),
                ';' => (TokenKind::Semicolon, 1),
                '\\' => (TokenKind::Backslash, 1),
                '"' => {
                    let length = quoted(bare, '"');
                    if let Some(key) = from(bare, length).trim_start_matches(is_space).strip_prefix(':') {
                        self.at = self.text.len() - key.len();
                        continue;
                    }
                    (TokenKind::Text, length)
                }
                '\'' => (TokenKind::Item, quoted(bare, '\'')),
                _ => {
                    let word = bare.find(|c: char| {
                        !c.is_ascii_alphanumeric()
                            && (is_space(c)
                                || matches!(
                                    c,
                                    '[' | '{' | '(' | '<' | ']' | '}' | ')' | '>' | ',' | ';' | '"' | '\'' | '\\'
                                ))
                    });
                    let length = word.unwrap_or(bare.len()).max(first.len_utf8());
                    let after = from(bare, length);
                    let is_prefix = length <= 2 && slice(bare, 0..length).bytes().all(|b| b.is_ascii_alphabetic());
                    match after.chars().next().filter(|c| is_prefix && matches!(c, '"' | '\'')) {
                        Some(quote) => (TokenKind::Text, length + quoted(after, quote)),
                        None => (TokenKind::Item, length),
                    }
                }
            };
            self.at = start + length;
            return Some(Token { kind, start, end: self.at });
        }
    }
}

/// The length of a comment at the start of the text.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") || text.starts_with('#') || text.starts_with("-- ") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let inside = text.strip_prefix("/*")?;
    Some(inside.find("*/").map_or(text.len(), |end| end + 4))
}

/// The length of what stands in quotes, of the quote alone when it is not closed on its line.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => break,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    1
}

fn cast(input: &str) -> IResult<&str, ()> {
    let name = alt((
        alt((tag("unsigned char"), tag("signed char"), tag("uint8_t"), tag("int8_t"), tag("sbyte"), tag("jbyte"))),
        alt((tag("Byte"), tag("byte"), tag("char"), tag("u8"), tag("i8"))),
    ));
    value((), delimited((char('('), space0), name, (space0, char(')')))).parse(input)
}

/// A pair of brackets with items directly in it.
#[derive(Debug, Clone, Copy)]
struct Group {
    open: char,
    start: usize,
    end: usize,
    count: usize,
    /// How many of the items are numbers.
    numbers: usize,
}

/// Brackets inside of each other; where there are more, the text is no array.
const MAX_NESTED: usize = 1 << 10;

/// The pairs of brackets that were met whose items are numbers: not all of them, as there may be as many as bytes.
#[derive(Default)]
struct Groups {
    /// Of those with most items, the first.
    largest: Option<Group>,
    /// How many hold several items.
    several: usize,
    /// The second of those.
    second: Option<Group>,
}

impl Groups {
    fn add(&mut self, group: Group) {
        // Words in brackets are not an array with slips in it.
        if group.numbers * 2 <= group.count {
            return;
        }
        if self.largest.is_none_or(|largest| group.count > largest.count) {
            self.largest = Some(group);
        }
        if group.count > 1 {
            self.several += 1;
            if self.several == 2 {
                self.second = Some(group);
            }
        }
    }
}

/// The brackets that hold the bytes: those with most items. Lengths (`pkt[15] = …`) are brackets with one item.
fn largest(text: &str) -> Option<Result<Group, PasteError>> {
    let mut open: Vec<Group> = Vec::new();
    let mut found = Groups::default();
    let mut last_outside = 0;
    for token in Tokens::new(text) {
        match token.kind {
            TokenKind::Backslash if from(text, token.end).trim_start_matches([' ', '\t', '\r']).starts_with('\n') => {}
            TokenKind::Backslash => return None,
            TokenKind::Open(bracket) => {
                if open.len() == MAX_NESTED {
                    return None;
                }
                open.push(Group { open: bracket, start: token.end, end: text.len(), count: 0, numbers: 0 });
            }
            TokenKind::Close(bracket) => {
                if open.last().is_some_and(|group| closes(group.open, bracket))
                    && let Some(group) = open.pop()
                {
                    found.add(Group { end: token.start, ..group });
                }
            }
            TokenKind::Item | TokenKind::Text => match open.last_mut() {
                Some(group) => {
                    group.numbers += usize::from(is_like_number(slice(text, token.start..token.end), group.open));
                    group.count += 1;
                }
                None if number(slice(text, token.start..token.end)).is_some() => {
                    last_outside = token.start;
                }
                None => {}
            },
            TokenKind::Comma | TokenKind::Semicolon | TokenKind::Cast => {}
        }
    }
    // Brackets that are not closed were cut, with what followed.
    for group in open {
        found.add(group);
    }
    let largest = found.largest?;
    // `[1] sent: 00 00`: numbers in a log's prefix.
    if (largest.count == 1 || largest.numbers < largest.count) && last_outside > largest.end {
        return None;
    }
    match found.second {
        Some(second) if largest.count > 1 => {
            let bracket = slice(text, second.start - 1..second.start);
            Some(Err(bad_word(text, WHAT, second.start - 1, bracket, "one array only: a second one begins here")))
        }
        _ => Some(Ok(largest)),
    }
}

fn closes(open: char, close: char) -> bool {
    matches!((open, close), ('[', ']') | ('{', '}') | ('(', ')') | ('<', '>'))
}

/// Whether a word is a number, or one with a slip in it; `be` and `dead` are words as well, outside of `<…>`.
fn is_like_number(word: &str, open: char) -> bool {
    let as_word = word.len() > 2 && open != '<' && word.bytes().all(|b| b.is_ascii_alphabetic());
    let slip = word.starts_with(|c: char| c.is_ascii_digit()) && word.bytes().all(|b| b.is_ascii_alphanumeric());
    slip || (!as_word && number(word).is_some())
}

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
struct Number<'a> {
    negative: bool,
    style: Style,
    digits: &'a str,
    suffix: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Digits alone: decimal or hex.
    Plain,
    /// `0x…`
    Hex,
    /// `0b…`
    Binary,
    /// `'…'`
    Character,
}

fn number(word: &str) -> Option<Number<'_>> {
    let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_plain && !word.starts_with("0b") && !word.starts_with("0B") {
        // Most numbers; the rest of this takes its time.
        return Some(Number { negative: false, style: Style::Plain, digits: word, suffix: false });
    }
    let suffix = opt((opt(char('_')), alt((tag("u8"), tag("i8"), tag("uy"), tag("U"), tag("u")))));
    let hex = || take_while1(|c: char| c.is_ascii_hexdigit());
    let binary = take_while_m_n(3, 8, |c| matches!(c, '0' | '1'));
    let body = alt((
        map(preceded(alt((tag("0x"), tag("0X"))), hex()), |digits| (Style::Hex, digits)),
        map(preceded(alt((tag("0b"), tag("0B"))), binary), |digits| (Style::Binary, digits)),
        map(recognize((char('\''), take_while1(|_| true))), |digits| (Style::Character, digits)),
        map(hex(), |digits| (Style::Plain, digits)),
    ));
    let sign = opt(alt((char('-'), char('\u{2212}'))));
    let parsed: IResult<&str, _> = all_consuming((sign, body, suffix)).parse(word);
    let (_, (sign, (style, digits), suffix)) = parsed.ok()?;
    if style == Style::Character && escapes::character(digits).is_none() {
        return None;
    }
    Some(Number { negative: sign.is_some(), style, digits, suffix: suffix.is_some() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Radix {
    Decimal,
    Hex,
}

/// What the plain numbers of a list look like, all together.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent observations")]
struct Facts {
    prefix: bool,
    letter: bool,
    negative: bool,
    leading_zero: bool,
    one_digit: bool,
    three_digits: bool,
    odd_and_long: bool,
    longest: usize,
    comma: bool,
    cast: bool,
    suffix: bool,
}

impl Facts {
    fn add(&mut self, number: Number<'_>) {
        self.suffix |= number.suffix;
        self.negative |= number.negative;
        if number.style != Style::Plain {
            self.prefix = true;
            return;
        }
        let length = number.digits.len();
        self.letter |= !number.digits.bytes().all(|b| b.is_ascii_digit());
        self.leading_zero |= length > 1 && number.digits.starts_with('0');
        self.one_digit |= length == 1;
        self.three_digits |= length == 3;
        self.odd_and_long |= length > 3 && length % 2 == 1;
        self.longest = self.longest.max(length);
    }

    /// The base of the plain numbers; `open` is the bracket before them, a space when there is none.
    fn radix(&self, open: char) -> Radix {
        let in_brackets = open != ' ';
        let decimal = if self.letter || (open == '<' && !self.comma) {
            false
        } else if self.prefix || self.suffix || self.cast {
            in_brackets || self.cast || self.suffix
        } else if self.longest > 3 {
            self.negative || (self.odd_and_long && in_brackets)
        } else if self.negative || self.three_digits {
            true
        } else if self.leading_zero && !self.one_digit {
            false
        } else {
            in_brackets || (self.one_digit && !self.leading_zero)
        };
        if decimal { Radix::Decimal } else { Radix::Hex }
    }
}

fn read(text: &str, group: &Group) -> Result<Pasted, PasteError> {
    let inside = slice(text, 0..group.end);
    let tokens = || Tokens { text: inside, at: group.start };
    let mut facts = Facts::default();
    for token in tokens() {
        match token.kind {
            TokenKind::Item => {
                if let Some(number) = number(slice(text, token.start..token.end)) {
                    facts.add(number);
                }
            }
            TokenKind::Comma => facts.comma = true,
            TokenKind::Cast => facts.cast = true,
            _ => {}
        }
    }
    let radix = facts.radix(group.open);
    let mut bytes = Vec::with_capacity(group.count);
    for token in tokens() {
        let word = slice(text, token.start..token.end);
        match token.kind {
            TokenKind::Item => match number(word) {
                Some(number) => add(text, token.start, word, number, radix, &mut bytes)?,
                None if word.starts_with("...") || word.starts_with('…') => {
                    return Err(bad_word(text, WHAT, token.start, word, "all bytes: the print was cut short here"));
                }
                None => return Err(bad_word(text, WHAT, token.start, word, expected(radix))),
            },
            TokenKind::Comma | TokenKind::Cast | TokenKind::Backslash => {}
            _ => return Err(bad_word(text, WHAT, token.start, word, expected(radix))),
        }
    }
    let form = if radix == Radix::Decimal && !facts.prefix { Form::DecimalArray } else { Form::HexArray };
    Ok(Pasted { bytes, form })
}

fn expected(radix: Radix) -> &'static str {
    match radix {
        Radix::Decimal => "a number from -128 to 255",
        Radix::Hex => "a byte of two hex digits",
    }
}

fn add(
    text: &str,
    at: usize,
    word: &str,
    number: Number<'_>,
    radix: Radix,
    bytes: &mut Vec<u8>,
) -> Result<(), PasteError> {
    let bad = |expected: &str| Err(bad_word(text, WHAT, at, word, expected));
    let small =
        |base| i16::from_str_radix(number.digits, base).ok().map(|value| if number.negative { -value } else { value });
    let value = match (number.style, radix) {
        (Style::Character, _) => match escapes::character(number.digits) {
            Some(byte) => Some(i16::from(byte)),
            None => return bad("a character of one byte in quotes"),
        },
        (Style::Binary, _) => small(2),
        (Style::Plain, Radix::Decimal) => small(10),
        (Style::Hex, _) if number.negative || number.digits.len() < 3 => small(16),
        (Style::Hex, _) | (Style::Plain, Radix::Hex) => {
            let (pairs, odd) = number.digits.as_bytes().as_chunks::<2>();
            if !odd.is_empty() || number.negative {
                return bad("an even number of hex digits");
            }
            bytes.extend(pairs.iter().map(|pair| super::hex::pair(*pair)));
            return Ok(());
        }
    };
    match value {
        Some(value @ 0..=255) => bytes.push(value.cast_unsigned() as u8),
        Some(value @ -128..0) => bytes.push((value + 256).cast_unsigned() as u8),
        _ => return bad("a number that fits in a byte, from -128 to 255"),
    }
    Ok(())
}
