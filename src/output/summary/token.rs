//! What a token of a SASL mechanism says, in a few words: `SCRAM-SHA-256, user alice`.

use std::fmt::Write;

use super::slot::{MAX_TEXT, write_text};
use crate::dissect::{Place, Value, Word, jwt_json};
use crate::output::json::{Plain, member, plain_text};
use crate::output::units;
use crate::protocol::{Secret, Side, Type};

/// What was heard of a token.
#[derive(Debug, Default)]
pub(super) struct Token {
    /// Pieces, each with a comma in front.
    text: String,
}

impl Token {
    /// Hears a value of the token. Secrets are told by what they are.
    pub(super) fn hear(&mut self, place: Place<'_>, value: Value<'_>) {
        let Place::Field(field) = place else { return };
        let text = match value {
            Value::String(Some(text)) => text,
            Value::Int(iterations) if field.key() == "iterations" => {
                self.text.push_str(", ");
                units::grouped(&mut self.text, iterations.unsigned_abs());
                self.text.push_str(" iterations");
                return;
            }
            _ => return,
        };
        if text.is_empty() {
            return;
        }
        match field.key() {
            "username" => self.piece("user", field.ty, text),
            "authorizationId" => self.piece("as", field.ty, text),
            "tokenAuth" if text == b"true" => self.text.push_str(", delegation token"),
            "proof" => self.text.push_str(", proof"),
            "serverSignature" => self.text.push_str(", server signature"),
            "claims" => {
                if let Some(subject) = jwt_json(text).and_then(|claims| member(&claims, "sub")) {
                    self.piece("sub", Type::Text, subject.as_bytes());
                }
            }
            "error" => {
                let status = str::from_utf8(text).ok().and_then(|json| member(json, "status"));
                self.piece("error", Type::Text, status.as_deref().map_or(text, str::as_bytes));
            }
            "token" if field.secret == Secret::Always => {
                self.text.push_str(", ");
                units::bytes(&mut self.text, text.len() as u64);
                self.text.push_str(" token");
            }
            _ => {}
        }
    }

    fn piece(&mut self, what: &str, ty: Type, text: &[u8]) {
        // Writing into a string cannot fail.
        let _ = write!(self.text, ", {what} ");
        match plain_text(ty, text) {
            Plain::Text(text) => write_text(&mut self.text, &text, MAX_TEXT),
            Plain::Json(json) => write_text(&mut self.text, json.as_bytes(), MAX_TEXT),
        }
    }

    /// Puts the mechanism and what was heard before what else is said. A response that has nothing to say has none.
    pub(super) fn write(&self, mechanism: Word, side: Side, out: &mut String) {
        let has_nothing_to_say = self.text.is_empty() && out.is_empty() && side == Side::Response;
        if mechanism.is_empty() || has_nothing_to_say {
            return;
        }
        let mut text = String::new();
        write_text(&mut text, mechanism.as_bytes(), MAX_TEXT);
        text.push_str(&self.text);
        if !out.is_empty() {
            text.push_str(", ");
        }
        out.insert_str(0, &text);
    }
}
