//! Where the bytes of messages lie: in the capture, as they are.

use kafkascope::capture::CaptureReader;
use kafkascope::conversation::{Message, MessageSink, Options, Session};
use kafkascope::protocol::Catalog;

use crate::support::shared;

/// Reads each message from the capture by its pieces.
struct Reader<'f> {
    file: &'f [u8],
    messages: u64,
}

impl<'p> MessageSink<'p> for Reader<'_> {
    fn message(&mut self, message: &Message<'_, 'p>) {
        self.messages += 1;
        let mut at = message.stream_offset;
        let mut bytes: Vec<u8> = Vec::new();
        for piece in message.frame_pieces() {
            assert_eq!((piece.start, piece.place.source), (at, 0));
            at = piece.end;
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
        let mut session = Session::new(&catalog, Options::default(), Reader { file: &file, messages: 0 });
        while let Ok(Some(packet)) = reader.next() {
            session.packet(&packet);
        }
        session.finish();
        messages += session.sink().messages;
    }
    assert!(messages > 10_000, "{messages}");
}
