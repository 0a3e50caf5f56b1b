//! The language of `schemas/summaries.tsv`, as `schemas/README.md` explains it.

use thiserror::Error;

/// What is said of a message or of an element: pieces, joined by commas.
#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) pieces: Vec<Piece>,
}

/// Texts of which the first that has something to say is taken.
pub(super) type Piece = Vec<Vec<Part>>;

/// A part of a text.
#[derive(Debug)]
pub(super) enum Part {
    /// What stands there.
    Literal(Box<str>),
    /// `<…>`: left out when it has nothing to say, without taking the text around it away.
    Optional(Vec<Part>),
    /// `{path/path as format if condition}`: the first of the fields that has something to say.
    Value { paths: Vec<Path>, format: Format, condition: Condition },
    /// `{path: rule}`: what the rule says of each element.
    Each(Path, Rule),
}

/// Where a field is, from the message or the element at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// The names in JSON.
    pub(super) keys: Vec<Box<str>>,
    /// Whether the elements of the array at its end are meant, not the array.
    pub(super) elements: bool,
    /// Whether it goes through arrays, so that there may be many values.
    pub(super) many: bool,
}

/// How a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    /// As fits its type; codes by their names.
    Plain,
    /// `as count word/words`: the number of elements, or a number of things; the sum of all.
    Count { one: Box<str>, many: Box<str> },
    /// `as size`: a number of bytes; the sum of all.
    Size,
    /// `as ms`: milliseconds.
    Milliseconds,
    /// `as time`: milliseconds since 1970.
    Time,
    /// `as "text"`: a text in the place of the value.
    Text(Box<str>),
}

/// Which values count; others are as good as not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// All that have something to say: not null, not empty.
    Any,
    /// `if null`.
    Null,
    /// `if empty`: an array without elements.
    Empty,
    /// `if true` or `if false`.
    Bool(bool),
    /// `if = N`.
    Equal(i64),
    /// `if != N`.
    Unequal(i64),
    /// `if > N`, or `if >= N` with the number before it.
    Above(i64),
}

/// What is wrong with a rule.
#[derive(Debug, Error)]
#[error("{what} before `{rest}`")]
pub(super) struct RuleError {
    what: &'static str,
    rest: String,
}

type Parsed<T> = Result<T, RuleError>;

/// Blocks inside of blocks, as deep as a rule may go.
const MAX_DEPTH: u32 = 8;

impl Rule {
    /// Reads a rule.
    pub(super) fn parse(text: &str) -> Parsed<Self> {
        let mut parser = Parser { rest: text, depth: 0 };
        let rule = parser.rule()?;
        if parser.rest.is_empty() { Ok(rule) } else { parser.fail("something that does not belong here") }
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: u32,
}

impl<'t> Parser<'t> {
    fn rule(&mut self) -> Parsed<Rule> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("too many blocks inside of each other");
        }
        let mut pieces = Vec::new();
        loop {
            let mut piece = vec![self.parts()?];
            while self.eat(" ?? ") {
                piece.push(self.parts()?);
            }
            pieces.push(piece);
            if !self.eat(" | ") {
                break;
            }
        }
        self.depth -= 1;
        Ok(Rule { pieces })
    }

    fn parts(&mut self) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        loop {
            if self.eat("{") {
                parts.push(self.placeholder()?);
                self.expect("}", "no closing brace")?;
            } else if self.eat("<") {
                parts.push(Part::Optional(self.parts()?));
                self.expect(">", "no closing angle bracket")?;
            } else {
                let ends = [self.rest.find(['{', '}', '<', '>']), self.rest.find(" | "), self.rest.find(" ?? ")];
                let end = ends.into_iter().flatten().min().unwrap_or(self.rest.len());
                if end == 0 {
                    return Ok(parts);
                }
                parts.push(Part::Literal(self.take(end).into()));
            }
        }
    }

    fn placeholder(&mut self) -> Parsed<Part> {
        let path = self.path()?;
        if self.eat(": ") {
            return Ok(Part::Each(path, self.rule()?));
        }
        let mut paths = vec![path];
        while self.eat("/") {
            paths.push(self.path()?);
        }
        let format = if self.eat(" as ") { self.format()? } else { Format::Plain };
        let condition = if self.eat(" if ") { self.condition()? } else { Condition::Any };
        Ok(Part::Value { paths, format, condition })
    }

    fn path(&mut self) -> Parsed<Path> {
        let mut path = Path { keys: Vec::new(), elements: false, many: false };
        loop {
            let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
            if end == 0 {
                return self.fail("no field's name");
            }
            path.keys.push(self.take(end).into());
            path.elements = self.eat("[]");
            path.many |= path.elements;
            if !self.eat(".") {
                return Ok(path);
            }
        }
    }

    fn format(&mut self) -> Parsed<Format> {
        if self.eat("\"") {
            let Some(end) = self.rest.find('"') else { return self.fail("no closing quote") };
            let text = self.take(end).into();
            self.expect("\"", "no closing quote")?;
            return Ok(Format::Text(text));
        }
        let end = [self.rest.find('}'), self.rest.find(" if ")].into_iter().flatten().min();
        let words = self.take(end.unwrap_or(self.rest.len()));
        match words {
            "size" => Ok(Format::Size),
            "ms" => Ok(Format::Milliseconds),
            "time" => Ok(Format::Time),
            _ => {
                let Some(unit) = words.strip_prefix("count ") else { return self.fail("no format that is known") };
                let (one, many) = unit.split_once('/').unwrap_or((unit, ""));
                let many = if many.is_empty() { format!("{one}s") } else { many.to_owned() };
                Ok(Format::Count { one: one.into(), many: many.into() })
            }
        }
    }

    fn condition(&mut self) -> Parsed<Condition> {
        let words = self.take(self.rest.find('}').unwrap_or(self.rest.len()));
        let number = |text: &str| text.trim().parse::<i64>().ok();
        let condition = match words {
            "null" => Some(Condition::Null),
            "empty" => Some(Condition::Empty),
            "true" => Some(Condition::Bool(true)),
            "false" => Some(Condition::Bool(false)),
            _ => {
                let split = words.split_once(' ').and_then(|(sign, text)| Some((sign, number(text)?)));
                match split {
                    Some(("=", number)) => Some(Condition::Equal(number)),
                    Some(("!=", number)) => Some(Condition::Unequal(number)),
                    Some((">", number)) => Some(Condition::Above(number)),
                    Some((">=", number)) => Some(Condition::Above(number.saturating_sub(1))),
                    _ => None,
                }
            }
        };
        condition.map_or_else(|| self.fail("no condition that is known"), Ok)
    }

    /// The next bytes, which must end between two characters.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str, what: &'static str) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { self.fail(what) }
    }

    fn fail<T>(&self, what: &'static str) -> Parsed<T> {
        Err(RuleError { what, rest: self.rest.to_owned() })
    }
}
