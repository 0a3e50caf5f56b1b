//! Columns that stand below each other, and text that is wrapped.

use crate::dissect::is_unsafe;

/// Which side of its column a text stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of texts in columns.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[Align]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; texts behind the last column are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The rows as lines, two spaces between columns, nothing behind the last text. All but the last column are as wide
    /// as their widest text; the last one is cut, with `...` behind, so that a line is not wider than `width`.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max())
            .map(Option::unwrap_or_default)
            .collect();
        self.rows.iter().map(|row| self.line(row, &widths, width)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize], width: usize) -> String {
        let mut line = String::new();
        for (index, ((cell, wide), align)) in row.iter().zip(widths).zip(&self.columns).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            let gap = " ".repeat(wide.saturating_sub(columns(cell)));
            let is_last = index + 1 == self.columns.len();
            match align {
                Align::Right => line.extend([&gap, cell.as_str()]),
                Align::Left if is_last && index > 0 => line.push_str(&cut(cell, width.saturating_sub(columns(&line)))),
                Align::Left => line.extend([cell.as_str(), &gap]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// How many columns a text takes, each character one.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A text that is not longer than `width`, with `...` behind where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

/// A text in lines of at most `width` columns, broken at spaces, each with `indent` spaces in front.
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + columns(&line) + 1 + columns(word) > width {
            lines.push(format!("{}{line}", " ".repeat(indent)));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(format!("{}{line}", " ".repeat(indent)));
    }
    lines
}

/// A text from a reader's own file without characters that a terminal acts on.
pub fn harmless(text: &str) -> String {
    // Most texts are plain, and each node of a tree has one.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars().map(|character| if is_unsafe(character) { ' ' } else { character }).collect()
}
