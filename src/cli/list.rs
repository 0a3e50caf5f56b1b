//! `kafkascope list`: one line a message.

use std::io::{self, IsTerminal};

use super::End;
use super::args::{Common, ListArgs};
use super::input::{self, Printer};
use crate::capture::Time;
use crate::conversation::Message;
use crate::output::list::{ListOptions, ListWriter};

pub(super) fn run(list: &ListArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    // Lines show no keys and values; what cannot be followed is an error all the same.
    super::decoders(&list.input.decode)?;
    let options = ListOptions { width: terminal_width(common), colour: super::is_coloured(common) };
    input::read(&list.input, common, &catalog, ListWriter::new(&catalog, options))
}

/// The columns of the terminal that results go to; `COLUMNS` wins over what the terminal says.
fn terminal_width(common: &Common) -> Option<usize> {
    if common.output.is_some() || !io::stdout().is_terminal() {
        return None;
    }
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    wanted.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
}

impl<'p> Printer<'p> for ListWriter<'p> {
    fn start(&mut self, time: Time) {
        self.start(time);
    }

    fn print(&mut self, out: &mut Vec<u8>, message: &Message<'_, 'p>) {
        self.message(out, message);
    }

    fn comment(&mut self, out: &mut Vec<u8>, text: &str) {
        self.comment(out, text);
    }
}
