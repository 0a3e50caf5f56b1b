#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{self, Receiver, Sender};

use super::*;

/// A pcap file with a packet of one byte at each of the seconds.
fn pcap(seconds: &[u32]) -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for second in seconds {
        for word in [*second, 0, 1, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.push(*second as u8);
    }
    bytes
}

fn all(captures: &mut Captures) -> Vec<(u64, u16, u8)> {
    let mut packets = Vec::new();
    loop {
        match captures.next() {
            Ok(Some(packet)) => packets.push((packet.number, packet.place.source, packet.data[0])),
            Ok(None) => return packets,
            Err(damage) => packets.push((0, 0, damage.name.as_bytes()[0])),
        }
    }
}

#[test]
fn packets_come_in_order_of_time_and_damage_ends_only_one_capture() {
    let mut captures = Captures::new();
    captures.add_stream("a", Cursor::new(pcap(&[1, 4, 4])), Again::No).unwrap();
    let cut = pcap(&[2, 4, 9]);
    captures.add_stream("b", Cursor::new(cut[..cut.len() - 1].to_vec()), Again::No).unwrap();
    captures.add_stream("c", Cursor::new(pcap(&[3, 5])), Again::No).unwrap();
    assert_eq!(captures.peek_time().unwrap(), Some(Time::from_nanoseconds(Time::SECOND)));
    let expected = [(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 0, 4), (5, 0, 4), (6, 1, 4), (0, 0, b'b'), (7, 2, 5)].to_vec();
    assert_eq!(all(&mut captures), expected);
    assert_eq!(captures.length(), None);
}

#[test]
fn what_comes_from_a_pipe_is_read_again_at_the_same_place() {
    let bytes = pcap(&[7, 8]);
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(bytes.clone()), Again::Yes).unwrap();
    let source = captures.sources().remove(0);
    let mut again = vec![0; bytes.len()];
    while let Some(packet) = captures.next().unwrap() {
        let mut byte = [0];
        source.read_at(&mut byte, packet.place.offset).unwrap();
        assert_eq!(byte, packet.data);
    }
    source.read_at(&mut again, 0).unwrap();
    assert_eq!(again, bytes);
    assert_eq!(captures.offset(), bytes.len() as u64);
    let beyond = source.read_at(&mut [0; 2], bytes.len() as u64 - 1).unwrap_err();
    assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_capture_that_is_not_kept_cannot_be_read_again() {
    let mut captures = Captures::new();
    captures.add_stream("-", Cursor::new(pcap(&[7])), Again::No).unwrap();
    assert!(captures.sources()[0].read_at(&mut [0], 0).is_err());
}

/// A pipe that gives what was sent in pieces, as they were sent.
struct Pipe(Receiver<Vec<u8>>, Vec<u8>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.is_empty() {
            let Ok(bytes) = self.0.recv() else { return Ok(0) };
            self.1 = bytes;
        }
        let count = buffer.len().min(self.1.len());
        buffer[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

fn pipe() -> (Sender<Vec<u8>>, Pipe) {
    let (sender, receiver) = mpsc::channel();
    (sender, Pipe(receiver, Vec::new()))
}

#[test]
fn a_pipe_is_waited_for_only_when_a_packet_is_not_there() {
    let bytes = pcap(&[1, 2, 3]);
    let (first, rest) = bytes.split_at(24 + 17 + 17 + 5);
    let (sender, pipe) = pipe();
    sender.send(first.to_vec()).unwrap();
    let mut captures = Captures::new();
    captures.add_stream("-", pipe, Again::No).unwrap();
    for number in [1, 2] {
        assert!(captures.is_ready());
        assert_eq!(captures.next().unwrap().unwrap().number, number);
    }
    assert!(!captures.is_ready());
    sender.send(rest.to_vec()).unwrap();
    assert_eq!(captures.next().unwrap().unwrap().number, 3);
    drop(sender);
    assert!(captures.next().unwrap().is_none());
    assert!(captures.is_ready());
}
