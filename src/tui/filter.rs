//! Which messages are listed. The one seam for a filter: text in, yes or no for a row out.

use super::rows::Row;
use crate::protocol::{Catalog, Side};

/// Words, all of which must be true of a message.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    words: Vec<Word>,
}

#[derive(Debug, Clone)]
struct Word {
    is_wanted: bool,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// The API has this name.
    Api(String),
    Side(Side),
    /// An error code was answered.
    Error,
    /// Something is odd: a fault, a gap, a guess.
    Odd,
    /// The capture lacks some of it.
    Cut,
    /// The text is somewhere in the row.
    Text(String),
}

impl Filter {
    /// Reads words: names of APIs, `request` or `→`, `response` or `←`, `error`, `odd` or `!`, else text that must be in the row. `-` in front
    /// means not; quotes hold text with blanks together. No words: all messages.
    pub(super) fn parse(text: &str, catalog: &Catalog) -> Option<Self> {
        let words: Vec<Word> = words(text)
            .into_iter()
            .map(|(is_wanted, word, is_quoted)| {
                let lower = word.to_lowercase();
                let what = match lower.as_str() {
                    _ if is_quoted => What::Text(lower),
                    "request" | "requests" | "→" => What::Side(Side::Request),
                    "response" | "responses" | "←" => What::Side(Side::Response),
                    "error" | "errors" => What::Error,
                    "odd" | "!" => What::Odd,
                    "fault" | "faults" => What::Text("fault".to_owned()),
                    "gap" | "gaps" | "cut" => What::Cut,
                    "guess" | "guesses" | "guessed" => What::Text("guessed".to_owned()),
                    _ => match catalog.api_named(&word).filter(|_| word.parse::<u16>().is_err()) {
                        Some(api) => What::Api(api.name.clone()),
                        None => What::Text(lower),
                    },
                };
                Word { is_wanted, what }
            })
            .collect();
        Some(Self { words }).filter(|filter| !filter.words.is_empty())
    }

    /// Whether a message is listed.
    pub(super) fn passes(&self, row: &Row) -> bool {
        let searchable = row.searchable();
        let is_true = |what: &What| match what {
            What::Api(name) => row.api == *name,
            What::Side(side) => row.side == Some(*side),
            What::Error => !row.errors.is_empty(),
            What::Odd => !row.notes.is_empty(),
            What::Cut => row.is_cut,
            What::Text(text) => searchable.contains(text),
        };
        self.words.iter().all(|word| is_true(&word.what) == word.is_wanted)
    }
}

/// Words with whether they are wanted and whether they stood in quotes.
fn words(text: &str) -> Vec<(bool, String, bool)> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (is_wanted, word) = match rest.strip_prefix('-').filter(|word| !word.starts_with(' ')) {
            Some(word) => (false, word),
            None => (true, rest),
        };
        let quoted = word.strip_prefix('"');
        let is_quoted = quoted.is_some();
        let word = quoted.unwrap_or(word);
        let (word, behind) = word.split_once(if is_quoted { '"' } else { ' ' }).unwrap_or((word, ""));
        if !word.is_empty() {
            words.push((is_wanted, word.to_owned(), is_quoted));
        }
        rest = behind.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Time;

    fn row(api: &str, side: Side, summary: &str, errors: &str) -> Row {
        Row {
            side: Some(side),
            time: Some(Time::default()),
            client: "10.0.0.1:50000".to_owned(),
            broker: "10.0.0.2:9092".to_owned(),
            api: api.to_owned(),
            version: "v1".to_owned(),
            correlation: "7".to_owned(),
            size: "1.0K".to_owned(),
            latency: String::new(),
            errors: errors.to_owned(),
            summary: summary.to_owned(),
            notes: String::new(),
            is_cut: false,
            comment: String::new(),
            client_id: "\"app-1\"".to_owned(),
        }
    }

    #[test]
    fn all_words_must_be_true() {
        let catalog = Catalog::builtin();
        let fetch = row("Fetch", Side::Response, "Orders[0]: 3 records", "NOT_LEADER_OR_FOLLOWER");
        let passes = |text: &str| Filter::parse(text, &catalog).is_none_or(|filter| filter.passes(&fetch));
        for text in
            ["", "fetch", "FETCH orders", "response error", "-request", "-produce 10.0.0.2", "\"3 records\"", "app-1"]
        {
            assert!(passes(text), "{text}");
        }
        for text in ["produce", "request", "fetch payments", "-fetch", "odd", "\"records 3\"", "FetchSnapshot"] {
            assert!(!passes(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_neither_request_nor_response() {
        let catalog = Catalog::builtin();
        let row = Row::unreadable("it is gone");
        for text in ["request", "response", "→", "←", "\"request\"", "\"response\""] {
            assert!(!Filter::parse(text, &catalog).unwrap().passes(&row), "{text}");
        }
    }
}
