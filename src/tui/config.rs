//! What the reader has set, in a TOML file.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::hex::HexWidth;
use super::keys::Keymap;
use super::layout::Arrangement;
use super::list::{Column, Shown, TimeFormat};
use super::theme::{Depth, Ground};
use crate::nearest::did_you_mean;

#[cfg(test)]
mod tests;

/// What the reader has set of the screen; what he has not is as usual.
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) keymap: Keymap,
    /// `None`: what the terminal says.
    pub(super) ground: Option<Ground>,
    pub(super) depth: Option<Depth>,
    pub(super) time: TimeFormat,
    /// `None`: what suits the screen.
    pub(super) arrangement: Option<Arrangement>,
    pub(super) hex_width: HexWidth,
    pub(super) detail: bool,
    pub(super) mouse: bool,
    pub(super) columns: Shown,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {file}")]
    Unreadable {
        /// The name of the file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It says something that makes no sense.
    #[error("{file}:{line}: {what}")]
    Wrong {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
}

/// Names and what they stand for.
type Choices<T> = [(&'static str, T)];

const THEMES: &Choices<Option<Ground>> =
    &[("auto", None), ("dark", Some(Ground::Dark)), ("light", Some(Ground::Light))];
const COLOURS: &Choices<Option<Depth>> = &[
    ("auto", None),
    ("none", Some(Depth::None)),
    ("16", Some(Depth::Sixteen)),
    ("256", Some(Depth::Palette)),
    ("true", Some(Depth::True)),
];
const TIMES: &Choices<TimeFormat> =
    &[("relative", TimeFormat::Relative), ("delta", TimeFormat::Delta), ("absolute", TimeFormat::Absolute)];
const LAYOUTS: &Choices<Option<Arrangement>> = &[
    ("auto", None),
    ("beside", Some(Arrangement::Beside)),
    ("stacked", Some(Arrangement::Stacked)),
    ("shared", Some(Arrangement::Shared)),
    ("alone", Some(Arrangement::Alone)),
];
const HEX_WIDTHS: &Choices<HexWidth> =
    &[("auto", HexWidth::Fitting), ("8", HexWidth::Fixed(8)), ("16", HexWidth::Fixed(16)), ("32", HexWidth::Fixed(32))];
const SWITCHES: &Choices<bool> = &[("true", true), ("false", false)];

const SECTIONS: [&str; 2] = ["keys", "screen"];
const SCREEN: [&str; 8] = ["theme", "colours", "time", "layout", "hex-width", "detail", "mouse", "columns"];

impl Config {
    /// What is set in a file: the one that is given, or else `kafkascope/config.toml` in the folder for configurations, if
    /// it is there. `variable` gives the value of an environment variable.
    ///
    /// # Errors
    /// When a file that is given is not there, or a file cannot be read or makes no sense.
    pub fn load(given: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let given = given.filter(|path| !path.as_os_str().is_empty());
        let Some(path) = given.map(Path::to_owned).or_else(|| usual_path(variable)) else { return Ok(Self::default()) };
        let file = path.display().to_string();
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound && given.is_none() => Ok(Self::default()),
            Err(source) => Err(ConfigError::Unreadable { file, source }),
        }
    }

    fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let reader = Reader { file, text };
        let document = DeTable::parse(text).map_err(|error| {
            let what = error.message().lines().next().unwrap_or_default().to_owned();
            reader.wrong(error.span().unwrap_or(0..0), what)
        })?;
        let mut config = Self::default();
        for (name, value) in document.get_ref() {
            let section = reader.known("section", name.get_ref(), name.span(), &SECTIONS)?;
            let Some(table) = value.get_ref().as_table() else {
                return Err(reader.wrong(value.span(), format!("{section} is a section: write [{section}]")));
            };
            if section == "keys" {
                config.keymap = reader.keys(table)?;
            } else {
                reader.screen(table, &mut config)?;
            }
        }
        Ok(config)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            keymap: Keymap::usual(),
            ground: None,
            depth: None,
            time: TimeFormat::default(),
            arrangement: None,
            hex_width: HexWidth::default(),
            detail: false,
            mouse: true,
            columns: Shown::default(),
        }
    }
}

/// `$XDG_CONFIG_HOME`, else `~/.config`; on Windows `%APPDATA%`. See the XDG Base Directory Specification.
fn usual_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        folder("APPDATA")
    } else {
        folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))
    };
    base.map(|base| base.join("kafkascope").join("config.toml"))
}

/// Reads values and says where they are wrong.
#[derive(Debug, Clone, Copy)]
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
}

impl Reader<'_> {
    #[cold]
    fn wrong(self, at: Range<usize>, what: String) -> ConfigError {
        let before = self.text.as_bytes().get(..at.start).unwrap_or(self.text.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        ConfigError::Wrong { file: self.file.to_owned(), line, what }
    }

    /// A name that must be one of these.
    fn known(
        self,
        kind: &str,
        name: &str,
        at: Range<usize>,
        names: &[&'static str],
    ) -> Result<&'static str, ConfigError> {
        names.iter().find(|known| **known == name).copied().ok_or_else(|| {
            let hint = match did_you_mean(name, names.iter().copied()) {
                hint if hint.is_empty() => format!("; there are {}", names.join(", ")),
                hint => hint,
            };
            self.wrong(at, format!("no {kind} is called {name:?}{hint}"))
        })
    }

    /// One of some values. Quotes around numbers and switches make no difference.
    fn choice<T: Copy>(self, name: &str, value: &Spanned<DeValue<'_>>, choices: &Choices<T>) -> Result<T, ConfigError> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            _ => String::new(),
        };
        let found = choices.iter().find(|(choice, _)| *choice == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let all: Vec<String> = choices.iter().map(|(choice, _)| format!("\"{choice}\"")).collect();
            let (last, first) =
                all.split_last().map(|(last, first)| (last.as_str(), first.join(", "))).unwrap_or_default();
            let given = if text.is_empty() { String::new() } else { format!(", not {text:?}") };
            self.wrong(value.span(), format!("{name} is {first} or {last}{given}"))
        })
    }

    fn screen(self, table: &DeTable<'_>, config: &mut Config) -> Result<(), ConfigError> {
        for (name, value) in table {
            let name = self.known("setting of the screen", name.get_ref(), name.span(), &SCREEN)?;
            match name {
                "theme" => config.ground = self.choice(name, value, THEMES)?,
                "colours" => config.depth = self.choice(name, value, COLOURS)?,
                "time" => config.time = self.choice(name, value, TIMES)?,
                "layout" => config.arrangement = self.choice(name, value, LAYOUTS)?,
                "hex-width" => config.hex_width = self.choice(name, value, HEX_WIDTHS)?,
                "detail" => config.detail = self.choice(name, value, SWITCHES)?,
                "mouse" => config.mouse = self.choice(name, value, SWITCHES)?,
                _ => config.columns = self.columns(value)?,
            }
        }
        Ok(())
    }

    fn columns(self, value: &Spanned<DeValue<'_>>) -> Result<Shown, ConfigError> {
        let names = Column::ALL.map(|(name, _)| name);
        let mut shown = Vec::new();
        for (name, at) in self.texts("columns", value)? {
            let name = self.known("column", &name, at, &names)?;
            shown.extend(Column::ALL.iter().filter(|(known, _)| *known == name).map(|(_, column)| *column));
        }
        Ok(Shown(shown))
    }

    fn keys(self, table: &DeTable<'_>) -> Result<Keymap, ConfigError> {
        let mut changes = Vec::new();
        let mut places = Vec::new();
        for (name, value) in table {
            let keys = match value.get_ref() {
                DeValue::String(key) => vec![key.to_string()],
                _ => self.texts(name.get_ref(), value)?.into_iter().map(|(key, _)| key).collect(),
            };
            places.push((name.get_ref().to_string(), name.span()));
            changes.push((name.get_ref().to_string(), keys));
        }
        Keymap::new(&changes).map_err(|error| {
            let actions = error.actions();
            let place = places.iter().filter(|(name, _)| actions.contains(&name.as_str())).map(|(_, at)| at.clone());
            self.wrong(place.max_by_key(|at| at.start).unwrap_or(0..0), error.to_string())
        })
    }

    /// A list of texts, and where they stand.
    fn texts(self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<(String, Range<usize>)>, ConfigError> {
        let wrong = |at| self.wrong(at, format!("{name} takes texts in quotes: [\"…\", \"…\"]"));
        let list = value.get_ref().as_array().ok_or_else(|| wrong(value.span()))?;
        list.iter()
            .map(|text| match text.get_ref() {
                DeValue::String(content) => Ok((content.to_string(), text.span())),
                _ => Err(wrong(text.span())),
            })
            .collect()
    }
}
