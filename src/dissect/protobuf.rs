//! Messages of Protocol Buffers: fields in any order, each behind a key with its number and how its end is found.
//! Source: the encoding chapter of the language's own guide.

use super::primitive::primitive;
use super::walk::{Halt, Step, Tags, Walk};
use super::{FaultKind, Part, Place, Scope, Visitor};
use crate::protocol::{Element, Field, Plan, Scalar, Struct, Type};
use crate::wire::{self, Bytes, Parsed};

/// How the end of a field is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireType {
    /// A varint ends itself.
    Varint,
    /// Eight bytes.
    Fixed64,
    /// A size stands in front: strings, bytes, messages, packed numbers.
    Sized,
    /// Four bytes.
    Fixed32,
}

impl WireType {
    /// The wire type of the three lowest bits of a key; groups, which are no longer used, have none.
    fn of(code: u64) -> Option<Self> {
        [Self::Varint, Self::Fixed64, Self::Sized, Self::Fixed32]
            .into_iter()
            .find(|wire| u64::from(wire.code()) == code)
    }

    /// The three lowest bits of a key.
    pub fn code(self) -> u8 {
        match self {
            Self::Varint => 0,
            Self::Fixed64 => 1,
            Self::Sized => 2,
            Self::Fixed32 => 5,
        }
    }

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Varint => "a varint",
            Self::Fixed64 => "8 bytes",
            Self::Sized => "bytes behind their size",
            Self::Fixed32 => "4 bytes",
        }
    }

    /// How values of a type are written that is no array.
    fn of_type(ty: Type) -> Self {
        match ty {
            Type::Protobuf(Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64) => Self::Fixed64,
            Type::Protobuf(Scalar::String | Scalar::Bytes) | Type::Struct(_) => Self::Sized,
            _ => Self::Varint,
        }
    }
}

/// What stands before a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    number: u32,
    wire: WireType,
}

impl Key {
    /// The largest number that a field can have.
    const LAST: u32 = (1 << 29) - 1;

    fn new(key: u64) -> Option<Self> {
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..=Self::LAST).contains(number))?;
        Some(Self { number, wire: WireType::of(key & 7)? })
    }

    /// The key at the beginning of the input, and what is behind it.
    fn peek(input: Bytes<'_>) -> Option<(Self, Bytes<'_>)> {
        let (rest, key) = wire::uvarlong(input).ok()?;
        Some((Self::new(key)?, rest))
    }

    fn part(self) -> Part<'static> {
        Part::FieldKey { number: self.number, wire: self.wire }
    }
}

/// Passes over a field's value.
fn skip(input: Bytes<'_>, wire: WireType) -> Parsed<'_, ()> {
    match wire {
        WireType::Varint => wire::uvarlong(input).map(|(rest, _)| (rest, ())),
        WireType::Fixed64 => wire::take(input, 8).map(|(rest, _)| (rest, ())),
        WireType::Fixed32 => wire::take(input, 4).map(|(rest, _)| (rest, ())),
        WireType::Sized => wire::sized(input, wire::length_plain).map(|(rest, _)| (rest, ())),
    }
}

/// Whether elements of an array may be written so: each for itself or, if they are numbers, many in one field.
fn is_element(element: &Element, wire: WireType) -> bool {
    let own = WireType::of_type(element.ty);
    let is_array = matches!(element.ty, Type::Array(_) | Type::CompactArray(_));
    !is_array && (own == wire || wire == WireType::Sized)
}

/// How many whole elements stand behind each other in the same form.
fn count(mut input: Bytes<'_>, element: &Element, key: Key) -> u32 {
    let own = WireType::of_type(element.ty);
    let mut count = 0;
    while let Some((_, value)) = Key::peek(input).filter(|(next, _)| *next == key) {
        if own == key.wire {
            let Ok((behind, ())) = skip(value, key.wire) else { break };
            (input, count) = (behind, count + 1);
            continue;
        }
        let Ok((behind, packed)) = wire::sized(value, wire::length_plain) else { break };
        let packed = packed.unwrap_or_default();
        input = behind;
        count += match own {
            WireType::Fixed64 => packed.len() / 8,
            _ => packed.iter().filter(|byte| **byte < 0x80).count(),
        };
    }
    count as u32
}

impl<'p, V: Visitor<'p>> Walk<'_, 'p, V> {
    /// The fields of a message, up to the end of the input.
    pub(super) fn protobuf(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, of: &'p Struct) -> Step {
        let mut seen = Tags::default();
        while !input.is_empty() {
            let before = *input;
            let key = self.key(input)?;
            let field = plan.tagged_field(of, key.number);
            match field.map(|field| (field, field.ty)) {
                Some((field, Type::Array(id))) if is_element(plan.element(id), key.wire) => {
                    *input = before;
                    self.run(input, plan, field, plan.element(id), key)?;
                }
                Some((field, ty)) if !matches!(ty, Type::Array(_)) && WireType::of_type(ty) == key.wire => {
                    self.visitor.part(key.part(), self.span(before.offset(), *input));
                    if seen.is_new(key.number) {
                        self.field(input, plan, Place::Field(field))?;
                    } else {
                        let kind = FaultKind::FieldAgain { number: key.number };
                        self.place_fault(Place::Field(field), self.span(before.offset(), *input), kind);
                        self.unknown(input, key)?;
                    }
                }
                // Also a known field that is written in another way: readers take it for an unknown one.
                _ => {
                    self.visitor.part(key.part(), self.span(before.offset(), *input));
                    self.unknown(input, key)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a key without telling of it; where it is none, the input stays where it is.
    fn key(&mut self, input: &mut Bytes<'_>) -> Result<Key, Halt> {
        self.room(*input)?;
        let before = *input;
        let number = self.read_part(input, wire::uvarlong, "key", "uvarint")?;
        Key::new(number).ok_or_else(|| {
            let at = self.span(before.offset(), *input);
            *input = before;
            self.fault("key", "uvarint", at, FaultKind::FieldKey { key: number });
            Halt
        })
    }

    /// Whether the visitor can take more.
    fn room(&mut self, input: Bytes<'_>) -> Step {
        if !self.visitor.is_full() {
            return Ok(());
        }
        self.fault("key", "uvarint", self.span(input.offset(), input), FaultKind::Overfull);
        Err(Halt)
    }

    /// Elements of an array, as far as they stand behind each other in the same form.
    fn run(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, field: &'p Field, element: &'p Element, key: Key) -> Step {
        let (start, place) = (input.offset(), Place::Field(field));
        let scope = Scope::Array(place, element, Some(count(*input, element, key)));
        self.visitor.enter(scope, start);
        let mut step = self.push(place, start);
        if step.is_ok() {
            step = self.elements(input, plan, element, key);
            self.trail.pop();
        }
        self.visitor.leave(scope, input.offset());
        step
    }

    fn elements(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, element: &'p Element, key: Key) -> Step {
        let mut index = 0;
        while Key::peek(*input).is_some_and(|(next, _)| next == key) {
            let start = input.offset();
            self.key(input)?;
            self.visitor.part(key.part(), self.span(start, *input));
            let place = Place::Element(element, index);
            if WireType::of_type(element.ty) == key.wire {
                self.field(input, plan, place)?;
                index += 1;
            } else {
                index = self.packed(input, plan, element, index)?;
            }
        }
        Ok(())
    }

    /// Numbers in one field; gives the index behind the last one. A fault in them ends with the field.
    fn packed(
        &mut self,
        input: &mut Bytes<'_>,
        plan: &'p Plan,
        element: &'p Element,
        mut index: u32,
    ) -> Result<u32, Halt> {
        let start = input.offset();
        let mut inside = self.sized_bytes(input, Place::Element(element, index))?;
        self.tell_size(start, inside);
        let complete = std::mem::replace(&mut self.complete, true);
        while !inside.is_empty() {
            let step = self.room(inside).and_then(|()| self.field(&mut inside, plan, Place::Element(element, index)));
            if step.is_err() {
                self.rest(&mut inside, Part::Undecoded);
            }
            index += 1;
        }
        self.complete = complete;
        Ok(index)
    }

    /// A value behind its key.
    fn field(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, place: Place<'p>) -> Step {
        let start = input.offset();
        if let Type::Struct(id) = place.ty() {
            return self.message_field(input, plan, plan.structure(id), place);
        }
        let value = self.read(input, |bytes| primitive(place.ty(), bytes), place)?;
        self.visitor.value(place, value, self.span(start, *input));
        Ok(())
    }

    /// A message inside of a message. A fault in it ends with it.
    fn message_field(&mut self, input: &mut Bytes<'_>, plan: &'p Plan, of: &'p Struct, place: Place<'p>) -> Step {
        let start = input.offset();
        let mut inside = self.sized_bytes(input, place)?;
        let scope = Scope::Struct(place, of);
        self.visitor.enter(scope, start);
        self.tell_size(start, inside);
        let complete = std::mem::replace(&mut self.complete, true);
        if self.push(place, start).is_ok() {
            // Its faults were told where they were met.
            let _ = self.protobuf(&mut inside, plan, of);
            self.trail.pop();
        }
        self.rest(&mut inside, Part::Undecoded);
        self.complete = complete;
        self.visitor.leave(scope, inside.offset());
        Ok(())
    }

    /// Reads bytes behind their size without telling of them.
    fn sized_bytes<'b>(&mut self, input: &mut Bytes<'b>, place: Place<'p>) -> Result<Bytes<'b>, Halt> {
        let bytes = self.read(input, |bytes| wire::sized(bytes, wire::length_plain), place)?.unwrap_or_default();
        Ok(Bytes::at(bytes, input.offset() - bytes.len() as u32))
    }

    fn tell_size(&mut self, start: u32, inside: Bytes<'_>) {
        self.visitor.part(Part::FieldSize(inside.len() as u32), self.span(start, inside));
    }

    /// The value of a field that the schema does not know, as it stands.
    fn unknown(&mut self, input: &mut Bytes<'_>, key: Key) -> Step {
        let before = *input;
        self.read_part(input, |bytes| skip(bytes, key.wire), "field", key.wire.word())?;
        let (mut value, _) = before.split((input.offset() - before.offset()) as usize);
        if key.wire == WireType::Sized {
            // The size could be read, or the field could not have been passed over.
            if let Ok((inside, _)) = wire::length_plain(value) {
                self.tell_size(before.offset(), inside);
                value = inside;
            }
        }
        self.visitor.part(Part::UnknownTag(key.number, value.as_slice()), self.span(value.offset(), *input));
        Ok(())
    }
}
