//! Where the bytes of messages lie: in the capture, as they are.

use kafkascope::capture::{CaptureReader, Source, Spool};
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::protocol::Catalog;
use kafkascope::stream::KeyLog;

use crate::keys::key_log;
use crate::support::shared;

/// The number of the source in which datagrams lie.
const DATAGRAMS: u16 = 1;
/// The number of that in which the plaintext of TLS lies.
const PLAINTEXT: u16 = 2;

/// Reads each message from the capture by its pieces.
struct Reader<'f> {
    file: &'f [u8],
    /// What was put together of IP fragments, and what was inside of TLS.
    kept: [Source; 2],
    messages: u64,
}

impl<'p> MessageSink<'p> for Reader<'_> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        self.messages += 1;
        let mut at = message.stream_offset;
        let mut bytes: Vec<u8> = Vec::new();
        for piece in message.frame_pieces() {
            assert_eq!(piece.start, at);
            at = piece.end;
            assert_eq!(piece.place.source == PLAINTEXT, message.tls.is_some());
            if let DATAGRAMS | PLAINTEXT = piece.place.source {
                let start = bytes.len();
                bytes.resize(start + (piece.end - piece.start) as usize, 0);
                let source = &self.kept[usize::from(piece.place.source - DATAGRAMS)];
                source.read_at(&mut bytes[start..], piece.place.offset).unwrap();
                continue;
            }
            assert_eq!(piece.place.source, 0);
            bytes.extend(&self.file[piece.place.offset as usize..][..(piece.end - piece.start) as usize]);
        }
        assert!(bytes == message.frame, "message {}", message.index);
        let there: u64 = message.pieces.iter().map(|piece| piece.end - piece.start).sum();
        assert_eq!(there + message.gap, message.size());
        assert_eq!(message.pieces.iter().map(|piece| piece.time).max(), Some(message.time));
        let mut packets: Vec<_> = message.pieces.iter().map(|piece| piece.packet).collect();
        packets.sort_unstable();
        packets.dedup();
        assert_eq!(packets, message.packets);
    }
}

#[test]
fn every_message_lies_where_its_pieces_say() {
    let Some(folder) = shared("captures") else { return };
    let catalog = Catalog::builtin();
    let mut messages = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let file = std::fs::read(&path).unwrap_or_default();
        let Ok(mut reader) = CaptureReader::new(&file[..]) else { continue };
        let [datagrams, plaintext] = [Spool::new().unwrap(), Spool::new().unwrap()];
        let kept = [datagrams.source("datagrams"), plaintext.source("plaintext")];
        let sink = Reader { file: &file, kept, messages: 0 };
        let mut session = Session::new(&catalog, Options::default(), sink);
        session.keep_datagrams(datagrams, DATAGRAMS);
        session.keep_plaintext(plaintext, PLAINTEXT);
        if let Some(log) = key_log(&path) {
            let mut keys = KeyLog::new();
            keys.add_file(&log).unwrap();
            session.use_keys(keys);
        }
        while let Ok(Some(packet)) = reader.next() {
            session.packet(&packet);
        }
        session.finish();
        messages += session.sink().messages;
    }
    assert!(messages > 10_000, "{messages}");
}
