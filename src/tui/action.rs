//! What keys can do: one table that binds them, explains them in the help, and names them for the configuration.

/// Something that a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Action {
    Move(Motion),
    NextPane,
    PreviousPane,
    Open,
    Toggle,
    ToggleAll,
    Escape,
    Back,
    GoTo,
    NextMessage,
    PreviousMessage,
    Pair,
    NextFault,
    PreviousFault,
    NextInConnection,
    PreviousInConnection,
    SetMark,
    GoToMark,
    Search,
    SearchNext,
    SearchPrevious,
    Filter,
    Zoom,
    CycleLayout,
    Narrower,
    Wider,
    Taller,
    Shorter,
    Detail,
    NextBuffer,
    HexWidth,
    Offsets,
    TimeFormat,
    Mouse,
    Follow,
    Pause,
    Copy,
    Save,
    Help,
    Redraw,
    Suspend,
    Cancel,
    Quit,
}

/// A movement in a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Motion {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    HalfPageUp,
    HalfPageDown,
    First,
    Last,
    LineStart,
    LineEnd,
}

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Moving,
    Messages,
    Tree,
    Finding,
    Looks,
    Taking,
    Program,
}

impl Topic {
    pub(super) const ALL: [Self; 7] =
        [Self::Moving, Self::Messages, Self::Tree, Self::Finding, Self::Looks, Self::Taking, Self::Program];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Moving => "Moving",
            Self::Messages => "Messages",
            Self::Tree => "Tree and bytes",
            Self::Finding => "Finding",
            Self::Looks => "What is shown",
            Self::Taking => "Taking things out",
            Self::Program => "Program",
        }
    }
}

/// What there is to know of an action.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) action: Action,
    /// Its name in the configuration.
    pub(super) name: &'static str,
    pub(super) topic: Topic,
    /// The keys that do it unless the configuration says otherwise: see [`Keys`](super::keys::Keys).
    pub(super) keys: &'static [&'static str],
    /// For the help.
    pub(super) help: &'static str,
    /// For the foot line, where it matters enough: how much it does, and a word.
    pub(super) hint: Option<(Rank, &'static str)>,
}

/// What the foot line has no room for goes in this order, the last first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// What nobody may have to look for.
    Always,
    Usual,
    Spare,
}

const fn entry(
    action: Action,
    name: &'static str,
    topic: Topic,
    keys: &'static [&'static str],
    help: &'static str,
) -> Entry {
    Entry { action, name, topic, keys, help, hint: None }
}

const fn hinted(entry: Entry, rank: Rank, hint: &'static str) -> Entry {
    Entry { hint: Some((rank, hint)), ..entry }
}

use Action::Move;
use Topic::{Finding, Looks, Messages, Moving, Program, Taking, Tree};

/// All actions, in the order of the help.
pub(super) const ACTIONS: &[Entry] = &[
    entry(Move(Motion::Up), "up", Moving, &["up", "k"], "up"),
    entry(Move(Motion::Down), "down", Moving, &["down", "j"], "down"),
    entry(Move(Motion::Left), "left", Moving, &["left", "h"], "left; in the tree: fold, or to what holds it"),
    entry(Move(Motion::Right), "right", Moving, &["right", "l"], "right; in the tree: unfold, or to what is in it"),
    entry(Move(Motion::PageUp), "page-up", Moving, &["pageup", "ctrl-b"], "a page up"),
    entry(Move(Motion::PageDown), "page-down", Moving, &["pagedown", "ctrl-f"], "a page down"),
    entry(Move(Motion::HalfPageUp), "half-page-up", Moving, &["ctrl-u"], "half a page up"),
    entry(Move(Motion::HalfPageDown), "half-page-down", Moving, &["ctrl-d"], "half a page down"),
    entry(Move(Motion::First), "first", Moving, &["g g", "ctrl-home"], "to the first"),
    entry(Move(Motion::Last), "last", Moving, &["G", "ctrl-end"], "to the last"),
    entry(Move(Motion::LineStart), "line-start", Moving, &["home", "0"], "to the first; in the bytes: of the row"),
    entry(Move(Motion::LineEnd), "line-end", Moving, &["end", "$"], "to the last; in the bytes: of the row"),
    hinted(entry(Action::NextPane, "next-pane", Moving, &["tab"], "to the next pane"), Rank::Usual, "pane"),
    entry(Action::PreviousPane, "previous-pane", Moving, &["shift-tab"], "to the pane before"),
    entry(Action::GoTo, "go-to", Moving, &[":"], "to a message by number; in the bytes: an offset (0x1f), #N"),
    entry(Action::Back, "back", Moving, &["ctrl-o"], "back to where you were before a jump"),
    hinted(entry(Action::Pair, "pair", Messages, &["p"], "to the response of a request, or back"), Rank::Usual, "pair"),
    hinted(entry(Action::NextFault, "next-fault", Messages, &["e"], "to the next fault"), Rank::Usual, "fault"),
    entry(Action::PreviousFault, "previous-fault", Messages, &["E"], "to the fault before"),
    entry(Action::NextInConnection, "next-in-connection", Messages, &["]"], "next message of the same connection"),
    entry(Action::PreviousInConnection, "previous-in-connection", Messages, &["["], "message before, same connection"),
    entry(Action::NextMessage, "next-message", Messages, &["J", "shift-down"], "next message, from any pane"),
    entry(Action::PreviousMessage, "previous-message", Messages, &["K", "shift-up"], "message before, from any pane"),
    entry(Action::SetMark, "set-mark", Messages, &["m"], "mark the message with the letter that follows"),
    entry(Action::GoToMark, "go-to-mark", Messages, &["'"], "to the message marked with the letter that follows"),
    hinted(
        entry(Action::Follow, "follow", Messages, &["F"], "follow the newest message (ends a pause), and stop that"),
        Rank::Spare,
        "follow",
    ),
    entry(Action::Pause, "pause", Messages, &["P"], "hold the screen still, and go on; what comes is kept"),
    hinted(
        entry(Action::Open, "open", Tree, &["enter"], "open the message; in the tree: fold or unfold"),
        Rank::Usual,
        "open",
    ),
    entry(Action::Toggle, "toggle", Tree, &["space"], "fold or unfold"),
    entry(Action::ToggleAll, "toggle-all", Tree, &["*"], "fold or unfold all that is below"),
    entry(Action::NextBuffer, "next-buffer", Tree, &["b"], "bytes: the frame, or what was inflated from it"),
    hinted(
        entry(Action::Search, "search", Finding, &["/"], "search names, values, comments: text, 0x00ff, /regex/"),
        Rank::Usual,
        "search",
    ),
    entry(Action::SearchNext, "search-next", Finding, &["n"], "to the next match"),
    entry(Action::SearchPrevious, "search-previous", Finding, &["N"], "to the match before"),
    hinted(
        entry(Action::Filter, "filter", Finding, &["f"], "show only messages with all these words"),
        Rank::Usual,
        "filter",
    ),
    hinted(entry(Action::Zoom, "zoom", Looks, &["\\"], "this pane alone, and back"), Rank::Spare, "zoom"),
    hinted(
        entry(
            Action::CycleLayout,
            "layout",
            Looks,
            &["|"],
            "side by side, stacked, one below the list, one alone, auto",
        ),
        Rank::Spare,
        "layout",
    ),
    entry(Action::Narrower, "narrower", Looks, &["<"], "move the line between tree and bytes left"),
    entry(Action::Wider, "wider", Looks, &[">"], "move it right"),
    entry(Action::Taller, "taller", Looks, &["+"], "a longer list"),
    entry(Action::Shorter, "shorter", Looks, &["-"], "a shorter list"),
    hinted(
        entry(Action::Detail, "detail", Looks, &["i"], "all that is known of a field, or one line"),
        Rank::Spare,
        "detail",
    ),
    entry(Action::HexWidth, "hex-width", Looks, &["w"], "8, 16 or 32 bytes a row where they fit, or as many as do"),
    entry(Action::Offsets, "offsets", Looks, &["o"], "offsets in the frame, the stream, the file"),
    entry(Action::TimeFormat, "time-format", Looks, &["t"], "time since the first, since the one before, of day"),
    entry(Action::Mouse, "mouse", Looks, &["M"], "give the mouse to the terminal, and back"),
    hinted(
        entry(Action::Copy, "copy", Taking, &["c"], "copy: hex, value, path, JSON, an array of a language"),
        Rank::Usual,
        "copy",
    ),
    hinted(entry(Action::Save, "save", Taking, &["s"], "save messages as pcapng or NDJSON"), Rank::Usual, "save"),
    hinted(entry(Action::Help, "help", Program, &["?", "f1"], "all keys"), Rank::Always, "help"),
    entry(Action::Escape, "escape", Program, &["esc"], "one at a time: stop, unzoom, leave the filter, to the list"),
    entry(Action::Redraw, "redraw", Program, &["ctrl-l"], "draw the screen again"),
    entry(Action::Suspend, "suspend", Program, &["ctrl-z"], "put the program into the background"),
    entry(Action::Cancel, "cancel", Program, &["ctrl-c"], "stop what takes long; quit when nothing does"),
    hinted(entry(Action::Quit, "quit", Program, &["q"], "quit"), Rank::Always, "quit"),
];

/// What there is to know of an action.
pub(super) fn describe(action: Action) -> Option<&'static Entry> {
    ACTIONS.iter().find(|entry| entry.action == action)
}
