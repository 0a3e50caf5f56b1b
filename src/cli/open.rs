//! `kafkascope open`: the screen.

use std::fs::File;

use super::End;
use super::args::{Common, OpenArgs};
use crate::book::{Book, Writer};
use crate::capture::CaptureReader;
use crate::conversation::{Options, Session};
use crate::tui::{self, Screen};

pub(super) fn run(open: &OpenArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    let book = Book::new(&catalog);
    let options = Options { max_frame: open.input.max_frame, ports: open.input.port.clone() };
    let path = open.input.files.iter().chain(&open.input.read).next().ok_or_else(|| anyhow::anyhow!("no file"))?;
    let mut reader = CaptureReader::new(File::open(path)?)?;
    let mut session = Session::new(&catalog, options, Writer(&book));
    while let Some(packet) = reader.next()? {
        session.packet(&packet);
    }
    session.finish();
    let counters = session.counters();
    book.update(|status| {
        status.finished = true;
        status.counters = counters;
    });
    let screen = Screen {
        name: path.display().to_string(),
        opening: super::opening(&catalog, common),
        show_secrets: common.show_secrets,
        coloured: true,
    };
    tui::run(&screen, &book)?;
    Ok(End::Done)
}
