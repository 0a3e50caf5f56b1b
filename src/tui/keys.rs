//! Keys by name, and which of them do what.

use std::fmt;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{ACTIONS, Action};
use crate::nearest::did_you_mean;

/// A key, or several in a row, as in `g g`. Its text form has blanks between keys, and `ctrl-`, `alt-`, `shift-` in front of
/// one; a letter or sign stands for itself, the others have the names of [`NAMED`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys(Vec<Key>);

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Names of keys that are no letters.
const NAMED: [(&str, KeyCode); 17] = [
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("insert", KeyCode::Insert),
    ("delete", KeyCode::Delete),
    ("backspace", KeyCode::Backspace),
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("esc", KeyCode::Esc),
    ("space", KeyCode::Char(' ')),
    ("minus", KeyCode::Char('-')),
    ("f1", KeyCode::F(1)),
];

impl Key {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((modifier, behind)) = modifier(rest) {
            modifiers |= modifier;
            rest = behind;
        }
        let named = NAMED.iter().find(|(name, _)| *name == rest).map(|(_, code)| *code);
        let function = || rest.strip_prefix('f')?.parse().ok().filter(|n| (1..=12).contains(n)).map(KeyCode::F);
        let single = || {
            let mut letters = rest.chars();
            letters.next().filter(|letter| letters.next().is_none() && !letter.is_control()).map(KeyCode::Char)
        };
        let code = named.or_else(function).or_else(single)?;
        Some(Self { code, modifiers }.plain())
    }

    /// As terminals send it: with a letter, `shift` is in the letter; `shift-tab` is a key of its own.
    fn plain(self) -> Self {
        let Self { mut code, mut modifiers } = self;
        if code == KeyCode::BackTab {
            code = KeyCode::Tab;
            modifiers |= KeyModifiers::SHIFT;
        }
        if let KeyCode::Char(letter) = code
            && modifiers.contains(KeyModifiers::SHIFT)
        {
            code = KeyCode::Char(letter.to_uppercase().next().unwrap_or(letter));
            modifiers -= KeyModifiers::SHIFT;
        }
        Self { code, modifiers: modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT) }
    }

    /// What it is, and whether it was pressed with ctrl.
    pub(super) fn code(self) -> (KeyCode, bool) {
        (self.code, self.modifiers.contains(KeyModifiers::CONTROL))
    }

    /// The letter that is typed with it, if it is one.
    pub(super) fn letter(self) -> Option<char> {
        match self.code {
            KeyCode::Char(letter) if self.modifiers.is_empty() => Some(letter),
            _ => None,
        }
    }
}

fn modifier(text: &str) -> Option<(KeyModifiers, &str)> {
    let (word, rest) = text.split_once('-').filter(|(_, rest)| !rest.is_empty())?;
    let modifier = match word {
        "ctrl" => KeyModifiers::CONTROL,
        "alt" => KeyModifiers::ALT,
        "shift" => KeyModifiers::SHIFT,
        _ => return None,
    };
    Some((modifier, rest))
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Self { code: event.code, modifiers: event.modifiers }.plain()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-"), (KeyModifiers::SHIFT, "shift-")];
        for (modifier, word) in words {
            if self.modifiers.contains(modifier) {
                f.write_str(word)?;
            }
        }
        match (NAMED.iter().find(|(name, code)| *code == self.code && *name != "minus"), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, code) => write!(f, "{code:?}"),
        }
    }
}

impl Keys {
    /// Reads the text form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let keys: Option<Vec<Key>> = text.split_whitespace().map(Key::parse).collect();
        keys.filter(|keys| !keys.is_empty()).map(Self)
    }

    fn starts_with(&self, keys: &[Key]) -> bool {
        self.0.starts_with(keys)
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, key) in self.0.iter().enumerate() {
            // `gg` reads better than `g g`; a named key needs the blank.
            let is_plain = |key: &Key| key.letter().is_some_and(|letter| letter != ' ');
            if index > 0 && !self.0.iter().all(is_plain) {
                f.write_str(" ")?;
            }
            key.fmt(f)?;
        }
        Ok(())
    }
}

/// Why keys cannot be bound so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeysError {
    #[error("no action is called {name:?}{}", did_you_mean(name, ACTIONS.iter().map(|entry| entry.name)))]
    NoAction { name: String },
    #[error("{text:?}, for {action}, is no key; keys are written as \"x\", \"X\", \"ctrl-x\", \"f5\", \"g g\"")]
    NoKey { text: String, action: &'static str },
    #[error("{}", twice(keys, other, *actions))]
    Twice { keys: String, other: String, actions: [&'static str; 2] },
    #[error("no key is left to quit with; give one to quit or to cancel")]
    NoWayOut,
}

fn twice(keys: &str, other: &str, [first, second]: [&str; 2]) -> String {
    let give = "give one of them another key";
    if keys == other {
        format!("{keys:?} is bound twice, to {first} and to {second}; {give}")
    } else {
        format!("{keys:?}, for {first}, begins {other:?}, for {second}; {give}")
    }
}

impl KeysError {
    /// The names that it is about.
    pub(super) fn actions(&self) -> Vec<&str> {
        match self {
            Self::NoAction { name } => vec![name],
            Self::NoKey { action, .. } => vec![action],
            Self::Twice { actions, .. } => actions.to_vec(),
            Self::NoWayOut => vec!["quit", "cancel"],
        }
    }
}

/// Which keys do what.
#[derive(Debug, Clone)]
pub(super) struct Keymap {
    bindings: Vec<(Keys, Action)>,
    /// Keys of a row that is not complete.
    begun: Vec<Key>,
}

/// What a key has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// An action.
    Action(Action),
    /// Nothing yet: more keys may follow.
    Begun,
    /// Nothing.
    Nothing,
}

impl Keymap {
    /// The bindings of the table.
    pub(super) fn usual() -> Self {
        // Tests hold that the table binds no key twice.
        Self::new(&[]).unwrap_or(Self { bindings: Vec::new(), begun: Vec::new() })
    }

    /// The bindings of the table, but those of `changes`: actions by their names, with the keys that do them instead.
    ///
    /// # Errors
    /// Names that are no actions or keys, and keys that would do two things.
    pub(super) fn new(changes: &[(String, Vec<String>)]) -> Result<Self, KeysError> {
        let mut bindings = Vec::new();
        if let Some((name, _)) = changes.iter().find(|(name, _)| ACTIONS.iter().all(|entry| entry.name != name)) {
            return Err(KeysError::NoAction { name: name.clone() });
        }
        for entry in ACTIONS {
            let instead = changes.iter().find(|(name, _)| name == entry.name).map(|(_, keys)| keys);
            let texts: Vec<&str> = match instead {
                Some(keys) => keys.iter().map(String::as_str).collect(),
                None => entry.keys.to_vec(),
            };
            for text in texts {
                let no_key = || KeysError::NoKey { text: text.to_owned(), action: entry.name };
                let keys = Keys::parse(text).ok_or_else(no_key)?;
                bindings.push((keys, entry.action));
            }
        }
        let keymap = Self { bindings, begun: Vec::new() };
        keymap.check()?;
        if keymap.bindings.iter().all(|(_, action)| !matches!(action, Action::Quit | Action::Cancel)) {
            return Err(KeysError::NoWayOut);
        }
        Ok(keymap)
    }

    /// Whether no key does two things, or begins a row and does something alone.
    fn check(&self) -> Result<(), KeysError> {
        for (at, (keys, action)) in self.bindings.iter().enumerate() {
            let others = self.bindings.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (other, other_action)) in others {
                if other.starts_with(&keys.0) && (other != keys || action != other_action) {
                    let name = |action| super::action::describe(action).map_or("", |entry| entry.name);
                    let actions = [name(*action), name(*other_action)];
                    return Err(KeysError::Twice { keys: keys.to_string(), other: other.to_string(), actions });
                }
            }
        }
        Ok(())
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: Key) -> Pressed {
        self.begun.push(key);
        if let Some((_, action)) = self.bindings.iter().find(|(keys, _)| keys.0 == self.begun) {
            self.begun.clear();
            return Pressed::Action(*action);
        }
        if self.bindings.iter().any(|(keys, _)| keys.starts_with(&self.begun)) {
            return Pressed::Begun;
        }
        // A key that does not go on with what was begun begins anew; Esc only drops it.
        let had_begun = self.begun.len() > 1;
        self.begun.clear();
        if had_begun && key.code != KeyCode::Esc { self.press(key) } else { Pressed::Nothing }
    }

    /// The keys that do something, as text.
    pub(super) fn keys_of(&self, action: Action) -> Vec<String> {
        self.bindings.iter().filter(|(_, bound)| *bound == action).map(|(keys, _)| keys.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::action::Motion;
    use super::*;

    fn press(keymap: &mut Keymap, text: &str) -> Pressed {
        keymap.press(Key::parse(text).unwrap())
    }

    #[test]
    fn the_table_binds_no_key_twice_and_reads_back() {
        let keymap = Keymap::new(&[]).unwrap();
        for entry in ACTIONS {
            assert!(!entry.keys.is_empty(), "{}", entry.name);
            for keys in entry.keys {
                assert!(Keys::parse(keys).is_some(), "{keys}");
            }
            let same_name = ACTIONS.iter().filter(|other| other.name == entry.name);
            assert_eq!(same_name.count(), 1, "{}", entry.name);
        }
        assert_eq!(keymap.keys_of(Action::Move(Motion::First)), ["gg", "ctrl-home"]);
    }

    #[test]
    fn rows_of_keys() {
        let mut keymap = Keymap::new(&[]).unwrap();
        assert_eq!(press(&mut keymap, "g"), Pressed::Begun);
        assert_eq!(press(&mut keymap, "g"), Pressed::Action(Action::Move(Motion::First)));
        assert_eq!(press(&mut keymap, "g"), Pressed::Begun);
        assert_eq!(press(&mut keymap, "j"), Pressed::Action(Action::Move(Motion::Down)));
        assert_eq!(press(&mut keymap, "g"), Pressed::Begun);
        assert_eq!(press(&mut keymap, "esc"), Pressed::Nothing);
        assert_eq!(press(&mut keymap, "esc"), Pressed::Action(Action::Escape));
        assert_eq!(press(&mut keymap, "shift-tab"), Pressed::Action(Action::PreviousPane));
        assert_eq!(press(&mut keymap, "ctrl-t"), Pressed::Nothing);
    }

    #[test]
    fn changes_are_checked() {
        let change = |name: &str, key: &str| {
            Keymap::new(&[(name.to_owned(), vec![key.to_owned()])]).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(change("quit", "x"), Ok(()));
        assert!(change("quit", "j").unwrap_err().contains("bound twice"));
        assert!(change("quit", "g").unwrap_err().contains("begins \"gg\", for first"));
        assert!(change("quit", "hyper-x").unwrap_err().contains("no key"));
        assert!(change("exit", "x").unwrap_err().contains("no action"));
    }
}
