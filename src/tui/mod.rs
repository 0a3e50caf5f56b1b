//! The screen: a list of messages above a tree beside its bytes.
//!
//! `App` is the state; a key changes it by way of one table (`action`), and `draw` shows it. Nothing is decoded on its
//! thread: a decoder makes rows and trees beside it, and the screen waits for it only for a moment.

mod action;
mod app;
mod config;
mod decoder;
mod detail;
mod draw;
mod facts;
mod filter;
mod find;
mod help;
mod hex;
mod keys;
mod layout;
mod list;
mod mouse;
mod opened;
mod pattern;
mod piped;
mod prompt;
mod rate;
mod rows;
mod scroll;
mod seeker;
#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "no_signals.rs"]
mod signals;
mod take;
mod terminal;
mod text;
mod theme;
mod tree;

pub use config::{Config, ConfigError};
pub use terminal::{Screen, Subject, prepare, run};

#[cfg(test)]
mod tests;
