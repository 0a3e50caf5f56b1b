//! A line of text that is typed in the foot of the screen.

use ratatui::crossterm::event::KeyCode;

use super::keys::Key;

/// A question, and what was typed so far.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) question: Question,
    text: String,
    /// Where in the text the cursor is, in bytes.
    cursor: usize,
    /// Whether the text is an old one, which the first letter that is typed replaces.
    is_old: bool,
}

/// What a key has led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// The line goes on.
    Goes,
    /// The line is done.
    Answer(String),
    /// The question is dropped.
    Dropped,
}

/// What a line of text is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// The number of a message.
    Message,
    /// The offset of a byte.
    Offset,
    Search,
    Filter,
    /// The name of a file.
    File,
    /// The same, for what is too large for the clipboard.
    LargeFile,
}

impl Question {
    /// What stands before the text.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Message => "go to message: ",
            Self::Offset => "go to offset (hexadecimal), or #message: ",
            Self::Search => "search: ",
            Self::Filter => "filter: ",
            Self::File => "save as: ",
            Self::LargeFile => "too large for the clipboard; save as: ",
        }
    }
}

impl Prompt {
    /// With a text to begin with.
    pub(super) fn new(question: Question, text: &str) -> Self {
        let is_old = question == Question::Filter && !text.is_empty();
        Self { question, text: text.to_owned(), cursor: text.len(), is_old }
    }

    /// Whether the text goes with the first letter that is typed.
    pub(super) fn is_old(&self) -> bool {
        self.is_old
    }

    /// What was typed, before and behind the cursor.
    pub(super) fn parts(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: Key) -> Typed {
        let (code, is_ctrl) = key.code();
        if std::mem::take(&mut self.is_old) && matches!(code, KeyCode::Char(_)) && !is_ctrl {
            self.text.clear();
            self.cursor = 0;
        }
        let before = self.parts().0.chars().next_back().map_or(0, char::len_utf8);
        let behind = self.parts().1.chars().next().map_or(0, char::len_utf8);
        match code {
            KeyCode::Enter => return Typed::Answer(std::mem::take(&mut self.text)),
            KeyCode::Esc => return Typed::Dropped,
            KeyCode::Char('c') if is_ctrl => return Typed::Dropped,
            KeyCode::Char('u') if is_ctrl => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('a') if is_ctrl => self.cursor = 0,
            KeyCode::Char('e') if is_ctrl => self.cursor = self.text.len(),
            KeyCode::Char('w') if is_ctrl => {
                let head = self.parts().0.trim_end();
                let start = head.rfind(' ').map_or(0, |at| at + 1);
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Char(letter) if !is_ctrl => {
                self.text.insert(self.cursor, letter);
                self.cursor += letter.len_utf8();
            }
            // Going back behind the beginning drops the question.
            KeyCode::Backspace if self.text.is_empty() => return Typed::Dropped,
            KeyCode::Backspace => {
                self.cursor -= before;
                self.text.drain(self.cursor..self.cursor + before);
            }
            KeyCode::Delete => drop(self.text.drain(self.cursor..self.cursor + behind)),
            KeyCode::Left => self.cursor -= before,
            KeyCode::Right => self.cursor += behind,
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => {}
        }
        Typed::Goes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_edited() {
        let mut prompt = Prompt::new(Question::Search, "");
        for key in ["a", "ä", "left", "b", "home", "x", "end", "space", "c", "backspace"] {
            assert_eq!(prompt.press(Key::parse(key).unwrap()), Typed::Goes);
        }
        assert_eq!(prompt.parts(), ("xabä ", ""));
        assert_eq!(prompt.press(Key::parse("ctrl-w").unwrap()), Typed::Goes);
        assert_eq!(prompt.press(Key::parse("enter").unwrap()), Typed::Answer(String::new()));
        assert_eq!(prompt.press(Key::parse("backspace").unwrap()), Typed::Dropped);
    }

    #[test]
    fn an_old_filter_goes_with_the_first_letter_or_is_edited() {
        let after = |keys: &[&str]| {
            let mut prompt = Prompt::new(Question::Filter, "fetch");
            keys.iter().for_each(|key| assert_eq!(prompt.press(Key::parse(key).unwrap()), Typed::Goes));
            prompt.parts().0.to_owned()
        };
        assert_eq!(after(&["x", "y"]), "xy");
        assert_eq!(after(&["backspace", "x"]), "fetcx");
        assert_eq!(after(&["end", "x"]), "fetchx");
    }
}
