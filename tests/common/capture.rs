//! A capture of frames that a test has made.

use kafkascope::protocol::Side;

/// A pcapng file without a link layer: one connection, from its beginning, with a packet for each frame and comments on
/// every packet.
pub(crate) fn pcapng(frames: &[(Side, Vec<u8>)], comments: &[&[u8]]) -> Vec<u8> {
    fn block(kind: u32, mut body: Vec<u8>) -> Vec<u8> {
        body.resize(body.len().next_multiple_of(4), 0);
        let length = body.len() as u32 + 12;
        [&kind.to_le_bytes()[..], &length.to_le_bytes(), &body, &length.to_le_bytes()].concat()
    }
    let mut file = block(0x0a0d_0d0a, [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    file.extend(block(1, vec![101, 0, 0, 0, 0, 0, 4, 0]));
    let (mut sent, mut answered) = (1000_u32, 5000_u32);
    let packet = |file: &mut Vec<u8>, side: Side, sequence: u32, acknowledged: u32, flags: u8, payload: &[u8]| {
        let (source, destination) = if side == Side::Request { (1, 2) } else { (2, 1) };
        let (from, to) = if side == Side::Request { (50_000_u16, 9092_u16) } else { (9092, 50_000) };
        let tcp = [
            &from.to_be_bytes()[..],
            &to.to_be_bytes(),
            &sequence.to_be_bytes(),
            &acknowledged.to_be_bytes(),
            &[0x50, flags, 0xff, 0xff, 0, 0, 0, 0],
            payload,
        ]
        .concat();
        let length = (20 + tcp.len()) as u16;
        let ip = [
            &[0x45, 0][..],
            &length.to_be_bytes(),
            &[0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, source, 10, 0, 0, destination],
            &tcp,
        ]
        .concat();
        let captured = (ip.len() as u32).to_le_bytes();
        let mut body = [&[0; 12][..], &captured, &captured, &ip].concat();
        body.resize(body.len().next_multiple_of(4), 0);
        for comment in comments {
            body.extend([&1_u16.to_le_bytes()[..], &(comment.len() as u16).to_le_bytes(), *comment].concat());
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body.extend([0; 4]);
        file.extend(block(6, body));
    };
    packet(&mut file, Side::Request, sent - 1, 0, 2, &[]);
    packet(&mut file, Side::Response, answered - 1, sent, 0x12, &[]);
    for (side, frame) in frames {
        let (sequence, acknowledged) =
            if *side == Side::Request { (&mut sent, answered) } else { (&mut answered, sent) };
        packet(&mut file, *side, *sequence, acknowledged, 0x18, frame);
        *sequence += frame.len() as u32;
    }
    file
}
