//! `kafkascope export`: messages for other programs.

use super::End;
use super::args::{Common, ExportArgs, ExportFormat};
use super::chosen::Chosen;
use super::input::{self, Out, Printer};
use crate::conversation::Message;
use crate::dissect::{Opening, Tally};
use crate::output::ndjson::NdjsonWriter;
use crate::output::tree_json::TreeJsonWriter;

pub(super) fn run(export: &ExportArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    let decoders = super::decoders(&export.input.messages.decode)?;
    let opening = Opening { decoders: Some(&decoders), ..super::opening(&catalog, common) };
    let (input, numbers) = (&export.input, &export.chosen.message);
    match export.format {
        ExportFormat::Ndjson => {
            let printer = NdjsonWriter::new(opening, common.show_secrets);
            input::read(input, common, &catalog, Chosen::new(printer, numbers))
        }
        ExportFormat::Tree => {
            let printer = TreeJsonWriter::new(opening, common.show_secrets);
            input::read(input, common, &catalog, Chosen::new(printer, numbers))
        }
    }
}

impl<'p> Printer<'p> for NdjsonWriter<'p> {
    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally {
        self.message(&mut out.buffer, message)
    }
}

impl<'p> Printer<'p> for TreeJsonWriter<'p> {
    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally {
        let Out { buffer, results } = out;
        self.message(buffer, message, |buffer| {
            if buffer.len() > input::LARGE
                && let Some(last) = buffer.pop()
            {
                results.write(buffer);
                buffer.clear();
                buffer.push(last);
            }
        })
    }
}
