//! Random instances of any plan: null where it is allowed, empty and long strings, characters of all widths, extreme
//! numbers, tagged fields known and unknown.

use super::minimal::is_before_batches;
use super::write::{Header, frame};
use super::{Datum, Instance, Record, RecordBatch, Tagged};
use crate::protocol::{ApiKey, Catalog, Field, Plan, Side, Struct, Type};

/// How large a random instance may become, and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Most elements of an array at the top; each array around an array takes one off.
    pub elements: u32,
    /// Most bytes of a string or of bytes; most are far shorter.
    pub length: u32,
    /// Whether there may be tagged fields that the schema does not know.
    pub unknown_tags: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { elements: 4, length: 300, unknown_tags: true }
    }
}

/// A random instance of a message. `source` gives random numbers; what is made depends on nothing else.
pub fn random(plan: &Plan, source: &mut impl FnMut() -> u64, options: &Options) -> Instance {
    Generator { plan, source, options }.instance(plan.top(), 0)
}

/// The frame of a random request or response with a random header; `None` where the version is not known.
pub fn random_frame(
    catalog: &Catalog,
    key: ApiKey,
    side: Side,
    version: i16,
    source: &mut impl FnMut() -> u64,
    options: &Options,
) -> Option<Vec<u8>> {
    let plan = catalog.api_plan(key, side, version)?;
    let header_plan = catalog.header_for(plan, side)?;
    let body = random(plan, source, options);
    let mut generator = Generator { plan: header_plan, source, options };
    let header = Header {
        correlation_id: generator.integer(32) as i32,
        client_id: generator.nullable(true, Generator::text),
        tagged: if header_plan.flexible { generator.tagged_fields(header_plan.top(), 0) } else { Vec::new() },
    };
    frame(catalog, key, side, version, &header, &body).ok()
}

struct Generator<'g, F> {
    plan: &'g Plan,
    source: &'g mut F,
    options: &'g Options,
}

impl<F: FnMut() -> u64> Generator<'_, F> {
    fn instance(&mut self, of: &Struct, depth: u32) -> Instance {
        let plan = self.plan;
        let fields = plan.untagged(of).iter().map(|field| self.field(field, depth)).collect();
        let tagged = if of.flexible { self.tagged_fields(of, depth) } else { Vec::new() };
        Instance { fields, tagged }
    }

    fn tagged_fields(&mut self, of: &Struct, depth: u32) -> Vec<Tagged> {
        let plan = self.plan;
        let mut tagged = Vec::new();
        for field in plan.tagged(of) {
            if let Some(tag) = field.tag.filter(|_| self.once_in(2)) {
                tagged.push(Tagged::Known(tag, self.field(field, depth)));
            }
        }
        if self.options.unknown_tags && self.once_in(4) {
            for _ in 0..=self.below(2) {
                let bits = self.below(33);
                let tag = (self.next() & ((1 << bits) - 1)) as u32;
                if plan.tagged_field(of, tag).is_none() {
                    tagged.push(Tagged::Unknown(tag, self.bytes()));
                }
            }
        }
        tagged.sort_by_key(Tagged::tag);
        tagged.dedup_by_key(|one| one.tag());
        tagged
    }

    fn field(&mut self, field: &Field, depth: u32) -> Datum {
        self.datum(field.ty, field.nullable, depth)
    }

    fn datum(&mut self, ty: Type, nullable: bool, depth: u32) -> Datum {
        let plan = self.plan;
        match ty {
            Type::Bool => Datum::Bool(self.once_in(2)),
            Type::Int8 => Datum::Int(self.integer(8)),
            Type::Int16 => Datum::Int(self.integer(16)),
            Type::Uint16 => Datum::Int(self.integer(16) & 0xffff),
            Type::Int32 | Type::Varint => Datum::Int(self.integer(32)),
            Type::Uint32 => Datum::Int(self.integer(32) & 0xffff_ffff),
            Type::Int64 | Type::Varlong | Type::Decimal => Datum::Int(self.integer(64)),
            // Protocol Buffers are not written.
            Type::Protobuf(_) => Datum::Int(0),
            Type::Float64 => Datum::Float(self.float()),
            Type::Uuid => Datum::Uuid(self.uuid()),
            Type::String | Type::CompactString | Type::Text | Type::SaslName | Type::Json | Type::Jwt => {
                Datum::String(self.nullable(nullable, Self::text))
            }
            Type::Bytes | Type::CompactBytes | Type::Raw => Datum::Bytes(self.nullable(nullable, Self::bytes)),
            Type::Records | Type::CompactRecords => Datum::Records(self.nullable(nullable, Self::records)),
            Type::Struct(id) => {
                Datum::Struct(self.nullable(nullable, |own| own.instance(plan.structure(id), depth + 1)))
            }
            Type::Array(id) | Type::CompactArray(id) => {
                let element = plan.element(id).ty;
                Datum::Array(self.nullable(nullable, |own| {
                    let most = own.options.elements.saturating_sub(depth);
                    (0..own.below(most + 1)).map(|_| own.datum(element, false, depth + 1)).collect()
                }))
            }
        }
    }

    fn nullable<T>(&mut self, nullable: bool, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if nullable && self.once_in(6) { None } else { Some(make(self)) }
    }

    /// A signed number of so many bits: extreme, small, or of any magnitude.
    fn integer(&mut self, bits: u32) -> i64 {
        let unused = 64 - bits;
        match self.below(8) {
            0 => i64::MAX >> unused,
            1 => i64::MIN >> unused,
            2 => -1,
            3 => 0,
            _ => {
                let shift = self.below(bits);
                self.next().cast_signed() >> unused >> shift
            }
        }
    }

    /// Any float but not a number: one of those does not equal itself.
    fn float(&mut self) -> f64 {
        let extremes = [0.0, -0.0, f64::MIN, f64::MAX, f64::MIN_POSITIVE, 4.9e-324, f64::INFINITY, f64::NEG_INFINITY];
        if let Some(&extreme) = extremes.get(self.below(16) as usize) {
            return extreme;
        }
        let any = f64::from_bits(self.next());
        if any.is_nan() { 1.0 } else { any }
    }

    fn uuid(&mut self) -> [u8; 16] {
        match self.below(4) {
            0 => [0; 16],
            _ => (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes(),
        }
    }

    fn text(&mut self) -> Vec<u8> {
        let length = self.length();
        let mut text = String::new();
        while text.len() < length {
            let character = self.character();
            if text.len() + character.len_utf8() <= length {
                text.push(character);
            } else {
                text.push('.');
            }
        }
        text.into_bytes()
    }

    fn character(&mut self) -> char {
        let (first, last) = match self.below(16) {
            0 => (0x00, 0x7f),
            1 | 2 => (0x80, 0x7ff),
            3 | 4 => (0x800, 0xffff),
            5 => (0x1_0000, 0x10_ffff),
            _ => (u32::from('a'), u32::from('z')),
        };
        let code = first + self.below(last - first + 1);
        // Surrogates are no characters.
        char::from_u32(code).unwrap_or('\u{ffff}')
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.length()).map(|_| self.next() as u8).collect()
    }

    /// A length in bytes: often short, sometimes 0, seldom as long as may be.
    fn length(&mut self) -> usize {
        let most = self.options.length;
        let length = match self.below(16) {
            0 | 1 => 0,
            2 => self.below(most.saturating_add(1)),
            _ => 1 + self.below(12),
        };
        length.min(most) as usize
    }

    fn records(&mut self) -> Vec<u8> {
        if is_before_batches(self.plan) {
            return Vec::new();
        }
        (0..self.below(3)).flat_map(|_| self.batch().encode()).collect()
    }

    fn batch(&mut self) -> RecordBatch {
        let records = (0..self.below(self.options.elements + 1)).map(|_| self.record()).collect();
        let base_offset = i64::from(self.below(u32::MAX));
        // Some moment of this century.
        let base_timestamp = 1_000_000_000_000 + i64::from(self.below(u32::MAX)) * 256;
        RecordBatch::of(base_offset, base_timestamp, records)
    }

    fn record(&mut self) -> Record {
        Record {
            timestamp_delta: self.below(100_000).into(),
            offset_delta: 0,
            key: self.nullable(true, Self::text),
            value: self.nullable(true, Self::bytes),
            headers: (0..self.below(3)).map(|_| (self.text(), self.nullable(true, Self::bytes))).collect(),
        }
    }

    fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A number below `bound`, and 0 where that is 0.
    fn below(&mut self, bound: u32) -> u32 {
        // The higher half, because the lower bits of simple generators are the worse ones.
        ((self.next() >> 32) % u64::from(bound.max(1))) as u32
    }

    fn next(&mut self) -> u64 {
        (self.source)()
    }
}
