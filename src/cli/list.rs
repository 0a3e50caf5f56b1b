//! `kafkascope list`: one line a message.

use super::End;
use super::args::{Common, ListArgs};
use super::input::{self, Out, Printer};
use crate::capture::Time;
use crate::conversation::Message;
use crate::dissect::Tally;
use crate::output::list::{ListOptions, ListWriter};

pub(super) fn run(list: &ListArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    // Lines show no keys and values; what cannot be followed is an error all the same.
    super::decoders(&list.input.messages.decode)?;
    let options = ListOptions { width: super::terminal_width(common), colour: super::is_coloured(common) };
    input::read(&list.input, common, &catalog, ListWriter::new(&catalog, options))
}

impl<'p> Printer<'p> for ListWriter<'p> {
    fn start(&mut self, time: Time) {
        self.start(time);
    }

    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally {
        Tally { faulty: self.message(&mut out.buffer, message), cut: false }
    }

    fn comment(&mut self, out: &mut Out, text: &str) {
        self.comment(&mut out.buffer, text);
    }
}
