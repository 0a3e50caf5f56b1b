//! Messages chosen by their numbers.

use std::fmt;
use std::str::FromStr;

use anyhow::bail;

use super::input::{Out, Printer};
use crate::capture::Time;
use crate::conversation::Message;
use crate::dissect::Tally;

/// Numbers of messages from one to another, both included; `N` is one, `N-M` several, `N-` all from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    first: u64,
    /// None: to the end.
    last: Option<u64>,
}

impl Numbers {
    fn contains(self, number: u64) -> bool {
        self.first <= number && self.last.is_none_or(|last| number <= last)
    }
}

impl FromStr for Numbers {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| match text.parse() {
            // `+5` is read as a number as well.
            _ if text.starts_with('+') => Err("it is a number without a sign"),
            Ok(0) => Err("messages are numbered from 1"),
            Ok(number) => Ok(number),
            Err(_) => Err("it is a number (5), or two with a dash between them (5-9)"),
        };
        let numbers = match text.split_once('-') {
            None => number(text).map(|first| Self { first, last: Some(first) }),
            Some((first, "")) => Ok(Self { first: number(first)?, last: None }),
            Some((first, last)) => Ok(Self { first: number(first)?, last: Some(number(last)?) }),
        }?;
        if numbers.last.is_some_and(|last| last < numbers.first) {
            return Err("the first number is greater than the last");
        }
        Ok(numbers)
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) if last == self.first => write!(f, "{last}"),
            Some(last) => write!(f, "{}-{last}", self.first),
            None => write!(f, "{}-", self.first),
        }
    }
}

/// So many numbers that are lacking are said.
const MOST_NAMED: usize = 8;

/// Has a printer print the messages that were chosen; all of them, when none was.
pub(super) struct Chosen<'a, P> {
    printer: P,
    numbers: &'a [Numbers],
    /// The number of the last message that came.
    came: u64,
}

impl<'a, P> Chosen<'a, P> {
    pub(super) fn new(printer: P, numbers: &'a [Numbers]) -> Self {
        Self { printer, numbers, came: 0 }
    }
}

impl<'p, P: Printer<'p>> Printer<'p> for Chosen<'_, P> {
    fn start(&mut self, time: Time) {
        self.printer.start(time);
    }

    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally {
        self.came = message.index;
        let is_chosen = self.numbers.is_empty() || self.numbers.iter().any(|numbers| numbers.contains(message.index));
        if is_chosen { self.printer.print(out, message) } else { Tally::default() }
    }

    fn comment(&mut self, out: &mut Out, text: &str) {
        self.printer.comment(out, text);
    }

    fn is_done(&self) -> bool {
        let is_behind = |numbers: &Numbers| numbers.last.is_some_and(|last| last <= self.came);
        self.printer.is_done() || !self.numbers.is_empty() && self.numbers.iter().all(is_behind)
    }

    fn finish(&self) -> anyhow::Result<()> {
        let is_lacking = |numbers: &&Numbers| numbers.first > self.came;
        let lacking: Vec<&Numbers> = self.numbers.iter().filter(is_lacking).collect();
        if !lacking.is_empty() {
            let came = self.came;
            let mut named: Vec<String> = lacking.iter().take(MOST_NAMED).map(ToString::to_string).collect();
            if lacking.len() > MOST_NAMED {
                named.push(format!("and {} more", lacking.len() - MOST_NAMED));
            }
            let messages = if came == 1 { "message" } else { "messages" };
            bail!("there is no message {}: the capture has {came} {messages}, numbered from 1", named.join(", "));
        }
        self.printer.finish()
    }
}
