//! The command line: arguments, and one file a subcommand. Knows nothing but which module to call.

mod args;
mod chosen;
mod explain;
mod export;
mod input;
mod layout;
mod list;
mod live;
mod open;
mod schema;
mod show;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use same_file::Handle;

use crate::dissect::{Decoders, Opening, is_unsafe};
use crate::output::paint::Paint;
use crate::output::tree_text::TreeOptions;
use crate::protocol::Catalog;
use args::{Arguments, Command, Common};

/// What a command ends with when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All was done.
    Done,
    /// An input is damaged or cut short; all that could be read has been processed.
    Damaged,
    /// A signal has told the screen to end.
    Told(i32),
}

/// Runs the command that the process was started with and gives its exit code (see CONTRACT: 0, 2, 3).
pub fn main() -> ExitCode {
    let arguments = args::with_default_command(std::env::args_os());
    ExitCode::from(match Arguments::try_parse_from(arguments) {
        Ok(arguments) => exit(run(&arguments)),
        Err(error) => usage(error),
    })
}

/// Says what is wrong with the arguments, or the help that they ask for, and gives the exit code.
fn usage(mut error: clap::Error) -> u8 {
    let is_of_show = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(argument))
        if argument.starts_with("-m") || argument.starts_with("--message"));
    if error.kind() == ErrorKind::UnknownArgument && is_of_show {
        let hint = "'-m N' is for trees: kafkascope show -m N FILE";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        return exit(printed.map(|()| End::Done).context("cannot write the help"));
    }
    // It repeats arguments as they are, and colours its own words; both only where arguments do no harm.
    let is_harmless = |argument: OsString| !argument.to_string_lossy().contains(is_unsafe);
    let printed = if std::env::args_os().all(is_harmless) {
        error.print()
    } else {
        write!(io::stderr(), "{}", visible(&error.render().to_string()))
    };
    // Nothing can be done about a standard error that is closed.
    drop(printed);
    2
}

/// Says what went wrong, and gives the exit code.
fn exit(outcome: anyhow::Result<End>) -> u8 {
    match outcome {
        Ok(End::Done) => 0,
        Ok(End::Damaged) => 3,
        // As shells have it of a process that a signal has ended.
        Ok(End::Told(signal)) => u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128)),
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            say(&format!("{error:#}"));
            2
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<End> {
    let common = &arguments.common;
    match &arguments.command {
        Command::Open(open) => open::run(open, common),
        Command::Live(live) => live::run(live, common),
        Command::List(list) => list::run(list, common),
        Command::Show(show) => show::run(show, common),
        Command::Export(export) => export::run(export, common),
        Command::Explain(arguments) => explain::run(arguments, common),
        Command::Layout(layout) => layout::run(layout, common),
        Command::Schema(schema) => schema::run(schema, common),
    }
}

/// Says something on standard error. Names of files, arguments and what comes from captures may be in it.
fn say(text: &str) {
    // Nothing can be done about a standard error that is closed.
    let _ = writeln!(io::stderr(), "kafkascope: {}", visible(text));
}

/// A text of several lines as a terminal can be given it.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '\n' && is_unsafe(character) {
            visible.extend(character.escape_default());
        } else {
            visible.push(character);
        }
    }
    visible
}

/// The messages that are known, with the reader's own folders laid over them.
fn catalog(common: &Common) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::builtin();
    for folder in &common.schemas {
        catalog.overlay(folder).context("cannot use the schemas")?;
    }
    Ok(catalog)
}

/// With what records are opened.
fn opening<'p>(catalog: &'p Catalog, common: &Common) -> Opening<'p> {
    Opening { max_inflate: common.max_inflate, ..Opening::new(catalog) }
}

/// The formats that the reader named for topics.
fn decoders(rules: &[String]) -> anyhow::Result<Decoders> {
    let mut decoders = Decoders::default();
    for rule in rules {
        decoders.add(rule).with_context(|| format!("--decode {rule}"))?;
    }
    Ok(decoders)
}

/// Where results go: standard output or the file of `-o`, buffered. It must be none of the inputs, by whatever name.
fn output<'a>(common: &'a Common, inputs: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<Box<dyn Write>> {
    match file(common) {
        Some(path) => {
            // What cannot be opened is not there yet.
            if let Ok(output) = Handle::from_path(path) {
                for input in inputs.into_iter().chain(common.schemas.iter().map(PathBuf::as_path)) {
                    let opened = if input.as_os_str() == "-" { Handle::stdin() } else { Handle::from_path(input) };
                    if opened.is_ok_and(|opened| opened == output) {
                        bail!(
                            "cannot write {}: it is the input {}, which would be lost; name another file",
                            path.display(),
                            input.display()
                        );
                    }
                }
            }
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
        }
        None if io::stdout().is_terminal() => Ok(Box::new(io::stdout().lock())),
        None => Ok(Box::new(BufWriter::with_capacity(1 << 16, io::stdout().lock()))),
    }
}

/// The file that results go to, where it is not standard output.
fn file(common: &Common) -> Option<&Path> {
    common.output.as_deref().filter(|path| path.as_os_str() != "-")
}

/// What tells that the process is to end; a second signal ends it at once.
fn end_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let told = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, told.clone())
            .and_then(|_| signal_hook::flag::register(signal, told.clone()))
            .context("signals cannot be taken")?;
    }
    Ok(told)
}

/// Whether results may be coloured.
fn is_coloured(common: &Common) -> bool {
    match common.color {
        args::Color::Always => true,
        args::Color::Never => false,
        args::Color::Auto => {
            let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            !unwanted && !is_dumb() && file(common).is_none() && io::stdout().is_terminal()
        }
    }
}

/// Whether the terminal is said to do nothing but text.
fn is_dumb() -> bool {
    std::env::var_os("TERM").map_or(cfg!(unix), |term| term.is_empty() || term == "dumb")
}

/// How trees are printed: on a terminal, lines fit it as far as that can be.
fn tree_options(common: &Common) -> TreeOptions {
    TreeOptions { verbose: common.verbose, width: terminal_width(common).map(|width| width.max(40)) }
}

fn paint(common: &Common) -> Paint {
    Paint { coloured: is_coloured(common) }
}

/// How wide text may be: as the terminal, or 100 columns where results go elsewhere.
fn text_width(common: &Common) -> usize {
    terminal_width(common).unwrap_or(100).clamp(40, 200)
}

/// The columns of the terminal that results go to; `COLUMNS` wins over what the terminal says. For files and other
/// programs, what is printed does not depend on the terminal that they are started in.
fn terminal_width(common: &Common) -> Option<usize> {
    if file(common).is_some() || !io::stdout().is_terminal() {
        return None;
    }
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    wanted.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.into_iter().any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
