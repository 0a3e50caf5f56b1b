//! Colours in text. Where colours are off, text stays as it is.

use std::fmt::Display;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// Whether escape sequences are written at all.
    pub coloured: bool,
}

impl Paint {
    /// Text in a colour, given as the numbers of an SGR sequence (ECMA-48): `1;32` is bold and green.
    pub fn with(self, sgr: &str, text: impl Display) -> String {
        if self.coloured { format!("\x1b[{sgr}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// A heading.
    pub fn heading(self, text: impl Display) -> String {
        self.with("1", text)
    }

    /// What stands behind the rest.
    pub fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }
}
