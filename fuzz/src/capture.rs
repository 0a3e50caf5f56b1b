//! Bytes as a capture file, all the way to lines of JSON and trees.

use kafkascope::capture::CaptureReader;
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::output::list::{ListOptions, ListWriter, heading};
use kafkascope::output::ndjson::NdjsonWriter;
use kafkascope::output::zone::Zone;
use kafkascope::protocol::Catalog;

use super::frame::{Way, check};
use super::{check_json, check_text};

/// All bytes are the file.
pub fn run(data: &[u8]) {
    let mut reader = match CaptureReader::new(data) {
        Ok(reader) => reader,
        Err(error) => return check_text(&error.to_string()),
    };
    let catalog = super::catalog();
    let sink = Printer {
        catalog,
        writer: NdjsonWriter::new(super::opening(catalog), false),
        list: ListWriter::new(catalog, ListOptions { width: Some(60), colour: false }),
        messages: 0,
    };
    let mut session = Session::new(catalog, Options::default(), sink);
    let (mut packets, mut damages) = (0, 0);
    loop {
        match reader.next() {
            Ok(Some(packet)) => {
                packets += 1;
                assert_eq!(packet.number, packets);
                session.packet(&packet);
            }
            Ok(None) => break,
            Err(error) => {
                check_text(&error.to_string());
                damages += 1;
                assert!(damages <= 22, "damage is told without end");
            }
        }
        assert!(reader.offset() <= data.len() as u64);
    }
    session.finish();
    assert_eq!(session.packets().packets, packets);
    let told = session.counters().messages;
    assert_eq!(session.sink().messages, told);
}

struct Printer<'p> {
    catalog: &'p Catalog,
    writer: NdjsonWriter<'p>,
    list: ListWriter<'p>,
    messages: u64,
}

impl<'p> MessageSink<'p> for Printer<'p> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        self.messages += 1;
        assert_eq!(message.index, self.messages);
        let behind: u64 = message.pieces.iter().map(|piece| piece.end - piece.start).sum();
        assert_eq!(message.size(), behind + message.gap);
        assert!(message.size() >= message.frame.len() as u64 + message.gap);
        assert!(
            message.request.is_none_or(|exchange| exchange.request < message.index),
            "answered before it was asked"
        );
        let mut line = Vec::new();
        self.writer.message(&mut line, message);
        check_json(&line);
        let mut text = String::new();
        heading(&mut text, message, &Zone::utc());
        check_text(&text);
        line.clear();
        self.list.message(&mut line, message);
        check_text(std::str::from_utf8(&line).expect("a line is UTF-8"));
        check(self.catalog, &Way::Message(message.reading), message.frame);
    }

    fn comment(&mut self, _: u64, text: &str) {
        let mut line = Vec::new();
        self.list.comment(&mut line, text);
        check_text(std::str::from_utf8(&line).expect("a line is UTF-8"));
    }
}
