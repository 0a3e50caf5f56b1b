//! Decoding beside the screen: the screen asks and goes on, so that no message is too large for it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::opened::Opened;
use super::rows::{Row, RowMaker};
use crate::book::{Book, Room};
use crate::dissect::Opening;

/// What the screen wants.
#[derive(Debug)]
enum Ask {
    Rows(Vec<u64>),
    Open(u64),
}

/// What it gets.
#[derive(Debug)]
pub(super) enum Answer<'p> {
    Rows(Vec<(u64, Row)>),
    Opened(Box<Opened<'p>>),
    /// A message that cannot be read any more, and why.
    Failed(u64, String),
}

/// The screen's end.
#[derive(Debug)]
pub(super) struct Decoder<'p> {
    asks: Sender<Ask>,
    answers: Receiver<Answer<'p>>,
    /// How long the screen waits for what it wants to show at once.
    patience: Duration,
}

/// The other end: run it on a thread of its own.
#[derive(Debug)]
pub(super) struct Worker<'b, 'p> {
    book: &'b Book<'p>,
    opening: Opening<'p>,
    show_secrets: bool,
    asks: Receiver<Ask>,
    answers: Sender<Answer<'p>>,
}

/// Both ends.
pub(super) fn decoder<'b, 'p>(
    book: &'b Book<'p>,
    opening: Opening<'p>,
    show_secrets: bool,
    patience: Duration,
) -> (Decoder<'p>, Worker<'b, 'p>) {
    let (ask, asks) = channel();
    let (answer, answers) = channel();
    (Decoder { asks: ask, answers, patience }, Worker { book, opening, show_secrets, asks, answers: answer })
}

impl<'p> Decoder<'p> {
    pub(super) fn rows(&self, numbers: Vec<u64>) {
        // A worker that is gone answers nothing; the screen then shows numbers alone.
        let _ = self.asks.send(Ask::Rows(numbers));
    }

    pub(super) fn open(&self, number: u64) {
        let _ = self.asks.send(Ask::Open(number));
    }

    /// What has been decoded so far; with `wait`, it waits a moment for the first.
    pub(super) fn answers(&self, wait: bool) -> Vec<Answer<'p>> {
        let mut all = Vec::new();
        if wait {
            all.extend(self.answers.recv_timeout(self.patience));
        }
        while let Ok(answer) = self.answers.try_recv() {
            all.push(answer);
        }
        all
    }

    /// How long the screen may wait.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }
}

impl<'p> Worker<'_, 'p> {
    /// Decodes until the screen is gone.
    pub(super) fn run(self) {
        let mut maker = RowMaker::new(self.opening.catalog);
        let mut room = Room::default();
        while let Ok(first) = self.asks.recv() {
            // Only the latest of each kind is still wanted.
            let (mut rows, mut open) = (None, None);
            let mut next = Some(first);
            while let Some(ask) = next {
                match ask {
                    Ask::Rows(numbers) => rows = Some(numbers),
                    Ask::Open(number) => open = Some(number),
                }
                next = self.asks.try_recv().ok();
            }
            let is_there = open.is_none_or(|number| self.send(self.open(&mut room, number)))
                && rows.is_none_or(|numbers| self.make_rows(&mut maker, &mut room, &numbers));
            if !is_there {
                return;
            }
        }
    }

    fn open(&self, room: &mut Room, number: u64) -> Answer<'p> {
        match self.book.message(number, room) {
            Ok(message) => {
                let mut opened = Opened::new(&message, self.opening, self.show_secrets, self.book.topics());
                opened.take_comments(self.book);
                Answer::Opened(Box::new(opened))
            }
            Err(error) => Answer::Failed(number, error.to_string()),
        }
    }

    /// Sends rows as they are made, a few milliseconds' worth at a time. Whether somebody still listens.
    fn make_rows(&self, maker: &mut RowMaker<'p>, room: &mut Room, numbers: &[u64]) -> bool {
        let mut made = Vec::new();
        let mut since = Instant::now();
        for number in numbers {
            match self.book.message(*number, room) {
                Ok(message) => made.push((*number, maker.row(&message, self.book))),
                Err(error) if !self.send(Answer::Failed(*number, error.to_string())) => return false,
                Err(_) => {}
            }
            if since.elapsed() > Duration::from_millis(4) {
                since = Instant::now();
                if !self.send(Answer::Rows(std::mem::take(&mut made))) {
                    return false;
                }
            }
        }
        self.send(Answer::Rows(made))
    }

    fn send(&self, answer: Answer<'p>) -> bool {
        let is_there = self.answers.send(answer).is_ok();
        self.book.bell().ring();
        is_there
    }
}
