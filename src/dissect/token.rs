//! Tokens of SASL mechanisms: texts whose ends are told by the marks between them. Their layouts have the names and what
//! stands in front of each; here is the grammar.

use std::fmt::Write;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::IgnoredAny;

use super::array::StructArray;
use super::known::Word;
use super::walk::{Halt, Step, Walk};
use super::{FaultKind, Part, Place, Scope, Span, Visitor, display_text};
use crate::protocol::{Field, Plan};
use crate::wire::Bytes;

/// Tokens that are longer stay closed: brokers take no more (`sasl.server.max.receive.size`).
pub(super) const MAX_TOKEN: usize = 512 << 10;

/// What stands between the pairs of OAUTHBEARER (`kvsep`, RFC 7628).
const PAIR_END: u8 = 1;

/// A token that is being read.
struct Reader<'b> {
    /// What was not told yet.
    input: Bytes<'b>,
    /// How many bytes of it are marks that were read.
    marks: usize,
}

impl<'b> Reader<'b> {
    /// What was not read yet.
    fn ahead(&self) -> &'b [u8] {
        self.input.as_slice().get(self.marks..).unwrap_or_default()
    }

    /// Reads a mark, where it is there.
    fn accepts(&mut self, mark: &[u8]) -> bool {
        let is_there = self.ahead().starts_with(mark);
        self.marks += if is_there { mark.len() } else { 0 };
        is_there
    }

    /// The bytes before the next mark, or before the end.
    fn until(&self, mark: u8) -> &'b [u8] {
        self.ahead().split(|byte| *byte == mark).next().unwrap_or_default()
    }
}

impl<'p, V: Visitor<'p>> Walk<'_, 'p, V> {
    /// A whole token. What is left of the input could not be read, or is too much.
    pub(super) fn token(&mut self, input: &mut Bytes<'_>, plan: &'p Plan) -> Step {
        let fields = plan.untagged(plan.top());
        let mut reader = Reader { input: *input, marks: 0 };
        let step = match (&*plan.name, fields) {
            ("SaslPlain", [authorization, user, password]) => self.plain(&mut reader, [authorization, user, password]),
            ("SaslScramClientFirst", [flag, authorization, attributes @ ..]) => self
                .gs2_header(&mut reader, flag, authorization)
                .and_then(|()| self.attributes(&mut reader, plan, attributes)),
            ("SaslScramServerFirst" | "SaslScramClientFinal" | "SaslScramServerFinal", attributes) => {
                self.attributes(&mut reader, plan, attributes)
            }
            ("SaslOauthbearer", [flag, authorization, pairs]) => {
                self.oauthbearer(&mut reader, plan, flag, authorization, pairs)
            }
            (_, [all, ..]) => {
                let length = reader.ahead().len();
                self.text(&mut reader, all, length)
            }
            (_, []) => Ok(()),
        };
        self.marks(&mut reader);
        *input = reader.input;
        step
    }

    /// PLAIN (RFC 4616): authorization id, user, password with a NUL between them. A further NUL cannot be in a password.
    fn plain(&mut self, reader: &mut Reader<'_>, [authorization, user, password]: [&'p Field; 3]) -> Step {
        for field in [authorization, user] {
            let length = reader.until(0).len();
            if reader.ahead().len() == length {
                return self.unexpected(reader, field, "NUL behind it");
            }
            if length > 0 || !field.nullable {
                self.text(reader, field, length)?;
            }
            reader.accepts(&[0]);
        }
        let length = reader.until(0).len();
        self.text(reader, password, length)
    }

    /// The header of GS2 mechanisms (RFC 5801): `n,,` or `n,a=user,`; `y` or `p=channel` in the place of `n`.
    fn gs2_header(&mut self, reader: &mut Reader<'_>, flag: &'p Field, authorization: &'p Field) -> Step {
        let binding = reader.until(b',');
        if !(matches!(binding, b"n" | b"y") || binding.starts_with(b"p=")) {
            return self.unexpected(reader, flag, "n, y or p=");
        }
        self.text(reader, flag, binding.len())?;
        if !reader.accepts(b",") {
            return self.unexpected(reader, authorization, "a comma");
        }
        if reader.ahead().first() != Some(&b',') {
            self.prefix_of(reader, authorization)?;
            let length = reader.until(b',').len();
            self.text(reader, authorization, length)?;
        }
        if reader.accepts(b",") { Ok(()) } else { self.unexpected(reader, authorization, "a comma behind it") }
    }

    /// Attributes of SCRAM (RFC 5802): `n=user,r=nonce`, in the order of the fields, commas between them.
    fn attributes(&mut self, reader: &mut Reader<'_>, plan: &'p Plan, fields: &'p [Field]) -> Step {
        // Whether a comma stands before what is ahead, so that an attribute must follow.
        let mut follows = true;
        for (index, field) in fields.iter().enumerate() {
            if let Some(list) = StructArray::new(plan, field) {
                let next = fields.get(index + 1).and_then(|next| next.prefix.as_deref());
                if follows && next.is_none_or(|next| !reader.ahead().starts_with(next.as_bytes())) {
                    follows = self.extensions(reader, list, next)?;
                }
                continue;
            }
            let prefix = field.prefix.as_deref().unwrap_or_default().as_bytes();
            if !(follows && reader.ahead().starts_with(prefix)) {
                if field.nullable {
                    continue;
                }
                return self.prefix_of(reader, field);
            }
            reader.accepts(prefix);
            let length = reader.until(b',').len();
            self.text(reader, field, length)?;
            follows = reader.accepts(b",");
        }
        Ok(())
    }

    /// Attributes that SCRAM does not name, up to one that begins with `next`; whether one follows.
    fn extensions(&mut self, reader: &mut Reader<'_>, list: StructArray<'p>, next: Option<&str>) -> Result<bool, Halt> {
        let is_extension = |piece: &&[u8]| next.is_none_or(|next| !piece.starts_with(next.as_bytes()));
        let count = reader.ahead().split(|byte| *byte == b',').take_while(is_extension).count() as u32;
        self.list(reader, list, count, b",", |walk, reader| {
            let piece = reader.until(b',');
            let Some(length) = piece.iter().position(|byte| *byte == b'=').filter(|length| *length > 0) else {
                return walk.unexpected(reader, list.named("Name")?, "a name and =");
            };
            walk.text(reader, list.named("Name")?, length)?;
            reader.accepts(b"=");
            walk.text(reader, list.named("Value")?, piece.len() - length - 1)
        })?;
        Ok(reader.accepts(b","))
    }

    /// Tells a list of so many pairs, each of which `read` reads.
    fn list<'b>(
        &mut self,
        reader: &mut Reader<'b>,
        list: StructArray<'p>,
        count: u32,
        separator: &[u8],
        read: impl Fn(&mut Self, &mut Reader<'b>) -> Step,
    ) -> Step {
        self.marks(reader);
        let array = Scope::Array(Place::Field(list.field), list.element, Some(count));
        self.visitor.enter(array, reader.input.offset());
        let step = self.push(Place::Field(list.field), reader.input.offset()).and_then(|()| {
            let step = (0..count).try_for_each(|index| {
                let place = Place::Element(list.element, index);
                if index > 0 && reader.accepts(separator) {
                    self.marks(reader);
                }
                self.push(place, reader.input.offset())?;
                self.visitor.enter(Scope::Struct(place, list.of), reader.input.offset());
                let step = read(self, reader);
                self.marks(reader);
                self.visitor.leave(Scope::Struct(place, list.of), reader.input.offset());
                self.trail.pop();
                step
            });
            self.trail.pop();
            step
        });
        self.visitor.leave(array, reader.input.offset());
        step
    }

    /// OAUTHBEARER (RFC 7628): the GS2 header, then `name=value` pairs between bytes of 1, and one more at the end.
    fn oauthbearer(
        &mut self,
        reader: &mut Reader<'_>,
        plan: &'p Plan,
        flag: &'p Field,
        authorization: &'p Field,
        pairs: &'p Field,
    ) -> Step {
        if reader.ahead() == [PAIR_END] {
            reader.accepts(&[PAIR_END]);
            return Ok(());
        }
        self.gs2_header(reader, flag, authorization)?;
        if !reader.accepts(&[PAIR_END]) {
            return self.unexpected(reader, pairs, "a byte of 1");
        }
        let list = StructArray::new(plan, pairs).ok_or(Halt)?;
        let pieces = reader.ahead().split(|byte| *byte == PAIR_END);
        let count = pieces.take_while(|piece| !piece.is_empty()).count() as u32;
        if count > 0 {
            self.list(reader, list, count, &[], |walk, reader| walk.pair(reader, list))?;
        }
        if reader.accepts(&[PAIR_END]) { Ok(()) } else { self.unexpected(reader, pairs, "a byte of 1") }
    }

    fn pair(&mut self, reader: &mut Reader<'_>, list: StructArray<'p>) -> Step {
        let pair = reader.until(PAIR_END);
        let Some(length) = pair.iter().position(|byte| *byte == b'=').filter(|length| *length > 0) else {
            return self.unexpected(reader, list.named("Name")?, "a name and =");
        };
        let is_auth = pair.get(..length) == Some(b"auth");
        self.text(reader, list.named("Name")?, length)?;
        reader.accepts(b"=");
        if is_auth {
            self.bearer(reader, list)?;
        } else {
            let length = reader.until(PAIR_END).len();
            self.text(reader, list.named("Value")?, length)?;
        }
        if reader.accepts(&[PAIR_END]) { Ok(()) } else { self.unexpected(reader, list.named("Value")?, "a byte of 1") }
    }

    /// `Bearer token` (RFC 6750). Of a signed JWT (RFC 7515) header and claims are told; of others nothing is known.
    fn bearer(&mut self, reader: &mut Reader<'_>, list: StructArray<'p>) -> Step {
        let auth = reader.until(PAIR_END);
        let scheme = auth.iter().position(|byte| *byte == b' ').and_then(|length| auth.get(..length));
        let scheme = scheme.filter(|scheme| scheme.eq_ignore_ascii_case(b"bearer"));
        if let Some(scheme) = scheme {
            self.text(reader, list.named("Scheme")?, scheme.len())?;
            while reader.accepts(b" ") {}
        }
        let token = reader.until(PAIR_END);
        let mut parts = token.split(|byte| *byte == b'.');
        let jwt = (parts.next(), parts.next(), parts.next(), parts.next());
        if let (Some(header), Some(claims), Some(signature), None) = jwt
            && scheme.is_some()
            && is_object(header)
            && is_object(claims)
        {
            self.text(reader, list.named("Header")?, header.len())?;
            reader.accepts(b".");
            self.text(reader, list.named("Claims")?, claims.len())?;
            reader.accepts(b".");
            return if signature.is_empty() {
                Ok(())
            } else {
                self.text(reader, list.named("Signature")?, signature.len())
            };
        }
        self.text(reader, list.named("Token")?, token.len())
    }

    /// Reads what must stand in front of a field.
    fn prefix_of(&mut self, reader: &mut Reader<'_>, field: &'p Field) -> Step {
        let prefix = field.prefix.as_deref().unwrap_or_default();
        if reader.accepts(prefix.as_bytes()) {
            return Ok(());
        }
        self.unexpected(reader, field, &display_text(prefix.as_bytes()))
    }

    /// Tells the value of a field: so many bytes from here on, with the marks in front of them.
    fn text(&mut self, reader: &mut Reader<'_>, field: &'p Field, length: usize) -> Step {
        self.marks(reader);
        let (text, rest) = reader.input.split(length);
        match super::value_of(field.ty, text.as_slice()) {
            Some(value) => self.visitor.value(Place::Field(field), value, self.span(text.offset(), rest)),
            None => return self.unexpected(reader, field, "digits"),
        }
        reader.input = rest;
        Ok(())
    }

    /// Tells the marks that were read.
    fn marks(&mut self, reader: &mut Reader<'_>) {
        if reader.marks == 0 {
            return;
        }
        let (marks, rest) = reader.input.split(reader.marks);
        self.visitor.part(Part::Mark(marks.as_slice()), self.span(marks.offset(), rest));
        *reader = Reader { input: rest, marks: 0 };
    }

    #[cold]
    fn unexpected(&mut self, reader: &mut Reader<'_>, field: &'p Field, expected: &str) -> Step {
        self.marks(reader);
        // All that is expected is short; of what is longer the beginning would do.
        let mut words = Word::new();
        let _ = words.write_str(expected);
        let available = reader.input.len() as u32;
        let at = Span { buffer: self.buffer, start: reader.input.offset(), len: available };
        self.place_fault(Place::Field(field), at, FaultKind::Token { expected: words, available });
        Err(Halt)
    }
}

/// JSON Web Tokens have no padding; who writes it is understood.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The JSON in a part of a JWT; `None` where it is no base64url of text.
pub fn jwt_json(part: &[u8]) -> Option<String> {
    String::from_utf8(BASE64URL.decode(part).ok()?).ok()
}

/// Whether a part of a JWT is a JSON object.
fn is_object(part: &[u8]) -> bool {
    let is_json = |json: &String| serde_json::from_str::<IgnoredAny>(json).is_ok();
    jwt_json(part).is_some_and(|json| json.trim_start().starts_with('{') && is_json(&json))
}

/// A name without its escapes: `=2C` is a comma, `=3D` an equals sign (RFC 5802).
pub fn sasl_name(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, behind)) = rest.split_first() {
        let (byte, length) = match rest {
            [b'=', b'2', b'C', ..] => (b',', 3),
            [b'=', b'3', b'D', ..] => (b'=', 3),
            _ => (*first, 1),
        };
        plain.push(byte);
        rest = behind.get(length - 1..).unwrap_or_default();
    }
    plain
}

#[cfg(test)]
mod tests;
