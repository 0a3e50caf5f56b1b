//! Colours: of the regions of a message, and of what the screen says about it.

use ratatui::style::{Color, Modifier, Style};

use crate::output::grid::Region;

/// How many colours a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// None; or none are wanted (`NO_COLOR`).
    None,
    /// The sixteen that terminals have names for.
    Sixteen,
    /// The palette of xterm.
    Palette,
    /// Any.
    True,
}

impl Depth {
    /// What the environment says. `variable` gives the value of an environment variable.
    pub(super) fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, words: &[&str]| {
            variable(name).is_some_and(|value| words.iter().any(|word| value.contains(word)))
        };
        if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) || is("TERM", &["mono", "vt100", "vt220"]) {
            Self::None
        } else if is("COLORTERM", &["truecolor", "24bit"]) {
            Self::True
        } else if is("TERM", &["256color", "kitty", "alacritty", "ghostty", "foot"]) {
            Self::Palette
        } else {
            Self::Sixteen
        }
    }
}

/// What the screen is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    Dark,
    Light,
}

impl Ground {
    /// What terminals say in `COLORFGBG` (`15;0`: white on black); dark where they say nothing.
    pub(super) fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let colours = variable("COLORFGBG").unwrap_or_default();
        match colours.rsplit(';').next() {
            Some("7" | "15") => Self::Light,
            _ => Self::Dark,
        }
    }
}

/// A colour in each depth: of the sixteen, of the palette, and as red, green, blue.
#[derive(Debug, Clone, Copy)]
struct Shade(Color, u8, [u8; 3]);

impl Shade {
    fn at(self, depth: Depth) -> Option<Color> {
        let Self(sixteen, palette, [red, green, blue]) = self;
        match depth {
            Depth::None => None,
            Depth::Sixteen => Some(sixteen),
            Depth::Palette => Some(Color::Indexed(palette)),
            Depth::True => Some(Color::Rgb(red, green, blue)),
        }
    }
}

/// The styles of the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    depth: Depth,
    ground: Ground,
}

impl Look {
    pub(super) const fn new(depth: Depth, ground: Ground) -> Self {
        Self { depth, ground }
    }

    fn shaded(self, dark: Shade, light: Shade) -> Style {
        let shade = if self.ground == Ground::Dark { dark } else { light };
        shade.at(self.depth).map_or_else(Style::new, |colour| Style::new().fg(colour))
    }

    /// Bytes and names of a region: the colours of the reference pages.
    pub(super) fn region(self, region: Region) -> Style {
        let (dark, light) = match region {
            Region::Frame => {
                (Shade(Color::Magenta, 176, [0xd1, 0x8c, 0xd6]), Shade(Color::Magenta, 90, [0x86, 0x22, 0x8c]))
            }
            Region::Header => {
                (Shade(Color::LightBlue, 111, [0x82, 0xaa, 0xff]), Shade(Color::Blue, 26, [0x1b, 0x55, 0xc4]))
            }
            Region::RequestBody => {
                (Shade(Color::Green, 114, [0x8b, 0xc9, 0x7a]), Shade(Color::Green, 28, [0x1d, 0x73, 0x2a]))
            }
            Region::RecordBatch => {
                (Shade(Color::Yellow, 179, [0xd9, 0xa8, 0x5c]), Shade(Color::Yellow, 130, [0x96, 0x5a, 0x06]))
            }
            Region::Record => {
                (Shade(Color::LightYellow, 229, [0xf3, 0xe3, 0x8e]), Shade(Color::Red, 94, [0x7a, 0x62, 0x00]))
            }
            Region::ResponseBody => {
                (Shade(Color::Cyan, 80, [0x5f, 0xc8, 0xcf]), Shade(Color::Cyan, 30, [0x0b, 0x6f, 0x78]))
            }
            Region::TaggedFields => {
                (Shade(Color::LightRed, 210, [0xf0, 0x93, 0x8a]), Shade(Color::LightRed, 160, [0xc0, 0x35, 0x2b]))
            }
        };
        self.shaded(dark, light)
    }

    /// Requests in the list.
    pub(super) fn request(self) -> Style {
        self.region(Region::RequestBody)
    }

    /// Responses in the list.
    pub(super) fn response(self) -> Style {
        self.region(Region::ResponseBody)
    }

    /// What stands behind the rest: offsets, types, notes.
    pub(super) fn faint(self) -> Style {
        match self.depth {
            Depth::None => Style::new().add_modifier(Modifier::DIM),
            _ => self.shaded(
                Shade(Color::DarkGray, 245, [0x8a, 0x8f, 0x98]),
                Shade(Color::DarkGray, 242, [0x6a, 0x6f, 0x78]),
            ),
        }
    }

    /// An error code that a broker has answered.
    pub(super) fn error(self) -> Style {
        self.shaded(Shade(Color::LightRed, 203, [0xf2, 0x6d, 0x6d]), Shade(Color::Red, 160, [0xb8, 0x1f, 0x1f]))
    }

    /// A fault, a gap, a guess: something that is not as it should be.
    pub(super) fn odd(self) -> Style {
        self.error().add_modifier(Modifier::BOLD)
    }

    /// The row of a list that is selected, in the pane that has the keys or in another one.
    pub(super) fn selected(self, has_keys: bool) -> Style {
        if has_keys {
            return match self.depth {
                Depth::None | Depth::Sixteen => Style::new().add_modifier(Modifier::REVERSED),
                _ => {
                    self.ground(Shade(Color::Blue, 24, [0x1f, 0x4e, 0x79]), Shade(Color::Cyan, 153, [0xbb, 0xd9, 0xf7]))
                }
            }
            .add_modifier(Modifier::BOLD);
        }
        match self.depth {
            Depth::None | Depth::Sixteen => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            _ => self
                .ground(Shade(Color::DarkGray, 238, [0x3a, 0x41, 0x4b]), Shade(Color::Gray, 253, [0xe0, 0xe4, 0xe8])),
        }
    }

    /// The other message of an exchange.
    pub(super) fn partner(self) -> Style {
        match self.depth {
            Depth::None | Depth::Sixteen => Style::new().add_modifier(Modifier::BOLD),
            _ => {
                self.ground(Shade(Color::Black, 236, [0x2b, 0x30, 0x38]), Shade(Color::White, 254, [0xec, 0xee, 0xf1]))
            }
        }
    }

    /// Bytes of the node that is selected.
    pub(super) fn bytes(self) -> Style {
        match self.depth {
            Depth::None | Depth::Sixteen => Style::new().add_modifier(Modifier::REVERSED),
            _ => self
                .ground(Shade(Color::Blue, 24, [0x1f, 0x4e, 0x79]), Shade(Color::Cyan, 153, [0xbb, 0xd9, 0xf7]))
                .add_modifier(Modifier::BOLD),
        }
    }

    /// Bytes of the nodes around it.
    pub(super) fn bytes_around(self) -> Style {
        match self.depth {
            Depth::None | Depth::Sixteen => Style::new().add_modifier(Modifier::UNDERLINED),
            _ => {
                self.ground(Shade(Color::Black, 236, [0x2b, 0x30, 0x38]), Shade(Color::White, 254, [0xec, 0xee, 0xf1]))
            }
        }
    }

    /// The byte under the cursor.
    pub(super) fn byte_cursor(self) -> Style {
        match self.depth {
            Depth::None | Depth::Sixteen => {
                Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD | Modifier::UNDERLINED)
            }
            _ => self
                .ground(Shade(Color::Yellow, 214, [0xff, 0xb4, 0x3b]), Shade(Color::Yellow, 214, [0xff, 0xb4, 0x3b]))
                .fg(Color::Black),
        }
    }

    /// The lines above and below all else.
    pub(super) fn bar(self) -> Style {
        match self.depth {
            Depth::None | Depth::Sixteen => Style::new().add_modifier(Modifier::REVERSED),
            _ => self.ground(Shade(Color::Black, 235, [0x24, 0x29, 0x30]), Shade(Color::Gray, 252, [0xd4, 0xd9, 0xdf])),
        }
    }

    /// Names of columns, titles of panes.
    #[allow(clippy::unused_self, reason = "all styles are asked for in one way")]
    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Titles of the pane that has the keys.
    pub(super) fn heading_with_keys(self) -> Style {
        self.region(Region::Header).add_modifier(Modifier::BOLD)
    }

    fn ground(self, dark: Shade, light: Shade) -> Style {
        let shade = if self.ground == Ground::Dark { dark } else { light };
        shade.at(self.depth).map_or_else(Style::new, |colour| Style::new().bg(colour))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_many_colours() {
        let with = |set: &'static [(&'static str, &'static str)]| {
            Depth::of_environment(move |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Depth::True);
        assert_eq!(with(&[("TERM", "xterm-256color")]), Depth::Palette);
        assert_eq!(with(&[("TERM", "linux")]), Depth::Sixteen);
        assert_eq!(with(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), Depth::None);
        assert_eq!(with(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]), Depth::Palette);
        assert_eq!(with(&[("TERM", "vt100")]), Depth::None);
    }
}
