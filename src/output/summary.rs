//! What is in a message, in a few words: `1 broker, orders (3 partitions)`.
//!
//! What is said of which message is data, `schemas/summaries.tsv`. A rule is made ready once for each version of a
//! message; after that a message is walked once, and only the fields that its rule needs are looked at. Error codes
//! other than 0, throttling and faults are told of every message, whatever its rule says.

mod errors;
mod program;
mod rule;
mod slot;
mod token;

use std::fmt::Write;

use foldhash::{HashMap, HashMapExt};

use super::describe::counted;
use super::units;
use crate::conversation::Message;
use crate::dissect::{Fault, FaultKind, Opening, Part, Place, Scope, Span, TopicNames, Value, Visitor, dissect};
use crate::protocol::{Catalog, Field, Plan, Side};
use crate::wire::WireErrorKind;
use errors::{Errors, Mark, Role};
use program::{Op, Program, Target};
use rule::Rule;
use slot::{Heard, Names, Slot};
use token::Token;

static SUMMARIES: &str = include_str!("../../schemas/summaries.tsv");

/// Characters of what a rule says.
const MAX_SUMMARY: usize = 400;

/// Says what is in messages.
#[derive(Debug)]
pub struct Summarizer<'p> {
    catalog: &'p Catalog,
    /// The rules by the message's name.
    rules: HashMap<&'static str, &'static str>,
    /// By the address of the plan, which lives as long as the catalog.
    programs: HashMap<usize, Program<'p>>,
    state: State,
    errors: String,
    text: String,
    notes: String,
}

/// What is in a message. All texts are safe to show and may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary<'s> {
    /// What went wrong, as the broker says: `orders[1]: NOT_LEADER_OR_FOLLOWER`.
    pub errors: &'s str,
    /// What the message asks for or brings.
    pub text: &'s str,
    /// What is odd about its bytes or about how they were read: `fault at 0x3fa2: length 412 of 12 left`.
    pub notes: &'s str,
    /// Whether it has faults beside what the capture lacks.
    pub is_faulty: bool,
}

impl<'p> Summarizer<'p> {
    /// Says what the rules of `schemas/summaries.tsv` say.
    pub fn new(catalog: &'p Catalog) -> Self {
        Self {
            catalog,
            rules: rules().collect(),
            programs: HashMap::new(),
            state: State::default(),
            errors: String::new(),
            text: String::new(),
            notes: String::new(),
        }
    }

    /// Says what is in a message.
    pub fn summarize(&mut self, message: &Message<'_, 'p>) -> Summary<'_> {
        self.errors.clear();
        self.text.clear();
        self.notes.clear();
        self.state.clear();
        self.walk(message);
        notes(&mut self.notes, message, &self.state);
        cut(&mut self.text, MAX_SUMMARY);
        let is_faulty = self.state.faults > 0;
        Summary { errors: &self.errors, text: &self.text, notes: &self.notes, is_faulty }
    }

    fn walk(&mut self, message: &Message<'_, 'p>) {
        let catalog = self.catalog;
        let Some(plan) = message.reading.body else {
            dissect(&message.reading, message.frame, &mut Faults { state: &mut self.state });
            return;
        };
        let rules = &self.rules;
        let program = self
            .programs
            .entry(std::ptr::from_ref(plan).addr())
            .or_insert_with(|| Program::new(catalog, plan, &rule_of(rules, plan)));
        let mechanism = message.reading.known.mechanism;
        let mut listener = Listener {
            program,
            catalog,
            frame: message.frame,
            topics: message.topics,
            is_token: !mechanism.is_empty(),
            token: Token::default(),
            state: &mut self.state,
        };
        listener.open_frame(0, false);
        dissect(&message.reading, message.frame, &mut listener);
        listener.write(0, &mut self.text);
        listener.token.write(mechanism, message.side(), &mut self.text);
        let state = &self.state;
        state.errors.write(&mut self.errors, catalog.enumerations().named("ErrorCode"));
        if state.throttle > 0 {
            self.text.push_str(if self.text.is_empty() { "throttled " } else { ", throttled " });
            units::milliseconds(&mut self.text, state.throttle);
        }
        let is_well = program.tells_errors && state.errors.is_empty() && !state.cut_short;
        if self.text.is_empty() && is_well && message.side() == Side::Response {
            self.text.push_str("ok");
        }
    }
}

/// Message name and rule of each line of the data.
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    SUMMARIES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'))
}

/// The rule of a message: that of its version, else that of all. The embedded rules are checked by a test.
fn rule_of(rules: &HashMap<&str, &str>, plan: &Plan) -> Rule {
    let of_version = rules.get(format!("{}:{}", plan.name, plan.version).as_str());
    let text = of_version.or_else(|| rules.get(&*plan.name)).copied().unwrap_or_default();
    Rule::parse(text).unwrap_or_default()
}

/// What is heard of a message. Kept from one to the next, so that little is allocated.
#[derive(Debug, Default)]
struct State {
    /// The slots of all open frames, and behind them slots to be used again.
    slots: Vec<Slot>,
    frames: Vec<OpenFrame>,
    open: Vec<Open>,
    /// How many scopes are open that nobody listens to.
    skipping: u32,
    marks: Vec<Mark>,
    errors: Errors,
    throttle: i64,
    /// The first fault, in words, and the number of all.
    fault: String,
    faults: u32,
    /// Whether something of the message was not read, so that what is not there may have been there.
    cut_short: bool,
    trailing: u64,
    undecoded: u64,
    scratch: String,
}

/// A message or an element of a block of which something is heard.
#[derive(Debug, Clone, Copy)]
struct OpenFrame {
    plan: u16,
    /// The index of its first slot.
    base: usize,
    /// Whether it tells an error itself.
    failed: bool,
    /// Whether nobody will read what it says.
    muted: bool,
}

/// A scope that is listened to.
#[derive(Debug, Clone, Copy)]
enum Open {
    Message,
    Struct(u16),
    /// An array: the field in the list of the scope around it.
    Array(u16, u16),
}

impl State {
    fn clear(&mut self) {
        self.frames.clear();
        self.open.clear();
        self.skipping = 0;
        self.marks.clear();
        self.errors.clear();
        self.throttle = 0;
        self.fault.clear();
        self.faults = 0;
        self.cut_short = false;
        self.trailing = 0;
        self.undecoded = 0;
    }

    fn fault(&mut self, fault: &Fault) {
        self.cut_short = true;
        // What was lost is told by the message's gap.
        if matches!(fault.kind, FaultKind::Lost { .. }) {
            return;
        }
        if self.faults == 0 {
            describe(&mut self.fault, fault);
        }
        self.faults += 1;
    }

    fn part(&mut self, part: Part<'_>) {
        match part {
            Part::Undecoded(bytes) => self.undecoded += bytes.len() as u64,
            Part::Trailing(bytes) => self.trailing += bytes.len() as u64,
            _ => {}
        }
    }
}

/// Hears what is wrong with a message and nothing else.
struct Faults<'s> {
    state: &'s mut State,
}

impl Visitor<'_> for Faults<'_> {
    fn part(&mut self, part: Part<'_>, _: Span) {
        self.state.part(part);
    }

    fn fault(&mut self, fault: &Fault) {
        self.state.fault(fault);
    }
}

/// Hears what a program wants to know.
struct Listener<'s, 'p> {
    program: &'s Program<'p>,
    catalog: &'p Catalog,
    frame: &'s [u8],
    topics: &'s TopicNames,
    /// Whether it carries a token of a known mechanism, which is opened.
    is_token: bool,
    token: Token,
    state: &'s mut State,
}

impl<'p> Listener<'_, 'p> {
    fn open_frame(&mut self, plan: u16, muted: bool) {
        let count = self.program.frames.get(usize::from(plan)).map_or(0, |frame| frame.slots.len());
        let base = self.state.frames.last().map_or(0, |outer| outer.base + self.slot_count(*outer));
        if self.state.slots.len() < base + count {
            self.state.slots.resize_with(base + count, Slot::default);
        }
        self.state.slots.iter_mut().skip(base).take(count).for_each(Slot::clear);
        self.state.frames.push(OpenFrame { plan, base, failed: false, muted });
    }

    fn slot_count(&self, frame: OpenFrame) -> usize {
        self.program.frames.get(usize::from(frame.plan)).map_or(0, |frame| frame.slots.len())
    }

    /// Ends the frame of an element: what it says goes to the slot of its block.
    fn close_frame(&mut self, target: Target) {
        let Some(own) = self.state.frames.last().copied() else { return };
        let mut text = std::mem::take(&mut self.state.scratch);
        text.clear();
        let says = !own.failed && self.says(own);
        if says && !own.muted {
            self.write(self.state.frames.len() - 1, &mut text);
        }
        self.state.frames.pop();
        if says && let Some((slot, _)) = self.slot(target) {
            slot.next_text(own.muted, |out| out.push_str(&text));
        }
        self.state.scratch = text;
    }

    /// A slot, and whether nobody will read what it says.
    fn slot(&mut self, target: Target) -> Option<(&mut Slot, bool)> {
        let frame = *self.state.frames.get(usize::from(target.level))?;
        self.state.slots.get_mut(frame.base + usize::from(target.slot)).map(|slot| (slot, frame.muted))
    }

    #[inline]
    fn tell(&mut self, targets: &[Target], heard: &Heard<'_>) {
        let program = self.program;
        for target in targets {
            let frame = self.state.frames.get(usize::from(target.level)).map(|frame| frame.plan);
            let plan = frame
                .and_then(|frame| program.frames.get(usize::from(frame)))
                .and_then(|frame| frame.slots.get(usize::from(target.slot)));
            let names = Names { codes: self.catalog.enumerations(), topics: self.topics };
            if let Some(plan) = plan
                && let Some((slot, muted)) = self.slot(*target)
            {
                slot.take(plan, heard, muted, names);
            }
        }
    }

    /// The field in the list of the innermost scope.
    #[inline]
    fn wanted(&self, scope: u16, field: &Field) -> Option<u16> {
        let wanted = &self.program.scopes.get(usize::from(scope))?.wanted;
        wanted.iter().position(|wanted| std::ptr::eq(wanted.field, field)).map(|index| index as u16)
    }

    fn open_struct(&mut self, place: Place<'p>, scope: u16) {
        let Some(plan) = self.program.scopes.get(usize::from(scope)) else { return };
        self.state.open.push(Open::Struct(scope));
        if plan.has_errors {
            let element = if let Place::Element(_, index) = place { Some(index) } else { None };
            self.state.marks.push(Mark { element, ..Mark::default() });
        }
        if let Some((frame, target)) = plan.opens {
            let outer = self.state.frames.get(usize::from(target.level)).is_some_and(|frame| frame.muted);
            let muted = outer || self.slot(target).is_some_and(|(slot, _)| slot.is_full());
            self.open_frame(frame, muted);
        }
    }

    fn close_struct(&mut self, scope: u16) {
        let Some(plan) = self.program.scopes.get(usize::from(scope)) else { return };
        if plan.has_errors {
            self.state.errors.note(&self.state.marks, self.frame, self.topics);
            self.state.marks.pop();
        }
        if let Some((_, target)) = plan.opens {
            self.close_frame(target);
        }
    }

    fn role(&mut self, role: Role, field: &Field, value: Value<'_>, span: Span) {
        let Some(mark) = self.state.marks.last_mut() else { return };
        match (role, value) {
            (Role::Code, Value::Int(0)) => {}
            (Role::Code, Value::Int(code)) => {
                if let Some(free) = mark.codes.iter_mut().find(|known| **known == 0) {
                    *free = code;
                }
                let is_own = matches!(self.state.open.last(), Some(Open::Struct(scope))
                    if self.program.scopes.get(usize::from(*scope)).is_some_and(|plan| plan.opens.is_some()));
                if let Some(frame) = self.state.frames.last_mut().filter(|_| is_own) {
                    frame.failed = true;
                }
            }
            (Role::Name | Role::TopicId, _) => {
                mark.name = Some((field.ty, span));
                mark.is_topic_id = role == Role::TopicId;
            }
            (Role::Message, _) => mark.message = Some((field.ty, span)),
            (Role::Number, Value::Int(number)) => mark.number = Some(number),
            _ => {}
        }
    }

    /// Whether an element has something to say.
    fn says(&self, frame: OpenFrame) -> bool {
        let plan = self.program.frames.get(usize::from(frame.plan));
        plan.is_some_and(|plan| plan.pieces.iter().flatten().any(|ops| self.all_say(ops, frame)))
    }

    fn all_say(&self, ops: &[Op], frame: OpenFrame) -> bool {
        ops.iter().all(|op| match op {
            Op::Literal(_) | Op::Optional(_) => true,
            Op::Slot(slots) => self.first(slots, frame).is_some(),
        })
    }

    fn first(&self, slots: &[u16], frame: OpenFrame) -> Option<(&Slot, u16)> {
        slots.iter().find_map(|&index| {
            let slot = self.state.slots.get(frame.base + usize::from(index))?;
            slot.says().then_some((slot, index))
        })
    }

    /// Writes what an open frame says.
    fn write(&self, level: usize, out: &mut String) {
        let Some(&frame) = self.state.frames.get(level) else { return };
        let Some(plan) = self.program.frames.get(usize::from(frame.plan)) else { return };
        let start = out.len();
        for piece in &plan.pieces {
            // What is said for want of something else, such as `no records`, is not true where the message tells an
            // error instead, or was not read to its end.
            let is_whole = self.state.errors.is_empty() && !self.state.cut_short;
            let may_say = |(index, ops): &(usize, &Vec<Op>)| (*index == 0 || is_whole) && self.all_say(ops, frame);
            let Some((_, ops)) = piece.iter().enumerate().find(may_say) else { continue };
            let before = out.len();
            if before > start {
                out.push_str(", ");
            }
            let begin = out.len();
            self.write_ops(ops, frame, out);
            if out.len() == begin {
                out.truncate(before);
            }
        }
    }

    fn write_ops(&self, ops: &[Op], frame: OpenFrame, out: &mut String) {
        for op in ops {
            match op {
                Op::Literal(text) => out.push_str(text),
                Op::Optional(inner) if self.all_say(inner, frame) => self.write_ops(inner, frame, out),
                Op::Optional(_) => {}
                Op::Slot(slots) => {
                    let plans = self.program.frames.get(usize::from(frame.plan)).map(|plan| &plan.slots);
                    if let Some((slot, index)) = self.first(slots, frame)
                        && let Some(plan) = plans.and_then(|plans| plans.get(usize::from(index)))
                    {
                        slot.write(plan, out);
                    }
                }
            }
        }
    }

    /// The scope of a struct that begins.
    fn child(&self, place: Place<'p>) -> Option<u16> {
        let (scope, wanted) = match (self.state.open.last(), place) {
            (Some(Open::Struct(scope)), Place::Field(field)) => (*scope, self.wanted(*scope, field)?),
            (Some(Open::Array(scope, wanted)), Place::Element(..)) => (*scope, *wanted),
            _ => return None,
        };
        self.program.scopes.get(usize::from(scope))?.wanted.get(usize::from(wanted))?.child
    }

    /// An array begins: whether its elements are of interest.
    fn array(&mut self, place: Place<'p>, count: Option<u32>) -> Option<Open> {
        let program = self.program;
        let (Some(&Open::Struct(scope)), Place::Field(field)) = (self.state.open.last(), place) else { return None };
        let index = self.wanted(scope, field)?;
        let wanted = program.scopes.get(usize::from(scope))?.wanted.get(usize::from(index))?;
        self.tell(&wanted.own, &Heard::Array(count));
        let is_interesting = wanted.child.is_some() || !wanted.elements.is_empty();
        is_interesting.then_some(Open::Array(scope, index))
    }
}

impl<'p> Visitor<'p> for Listener<'_, 'p> {
    #[inline]
    fn enter(&mut self, scope: Scope<'p>, _: u32) {
        if self.state.skipping > 0 {
            self.state.skipping += 1;
            return;
        }
        match scope {
            Scope::Message => self.state.open.push(Open::Message),
            // Records stay closed here, so most of these are never met; tokens hear for themselves.
            Scope::Frame
            | Scope::Header(..)
            | Scope::Records(..)
            | Scope::Payload(..)
            | Scope::Batch(..)
            | Scope::OneRecord
            | Scope::Inflated(_) => self.state.skipping = 1,
            Scope::Body(_) => {
                self.state.open.push(Open::Struct(0));
                self.state.marks.push(Mark::default());
            }
            Scope::Struct(place, _) => match self.child(place) {
                Some(child) => self.open_struct(place, child),
                None => self.state.skipping = 1,
            },
            Scope::Array(place, _, count) => match self.array(place, count) {
                Some(open) => self.state.open.push(open),
                None => self.state.skipping = 1,
            },
        }
    }

    #[inline]
    fn leave(&mut self, scope: Scope<'p>, _: u32) {
        if self.state.skipping > 0 {
            self.state.skipping -= 1;
            return;
        }
        match (self.state.open.pop(), scope) {
            (Some(Open::Struct(_)), Scope::Body(_)) => {
                self.state.errors.note(&self.state.marks, self.frame, self.topics);
            }
            (Some(Open::Struct(index)), _) => self.close_struct(index),
            _ => {}
        }
    }

    #[inline]
    fn opening(&self) -> Option<Opening<'p>> {
        self.is_token.then(|| Opening::new(self.catalog))
    }

    #[inline]
    fn value(&mut self, place: Place<'p>, value: Value<'_>, span: Span) {
        if self.state.skipping > 0 {
            if self.is_token {
                self.token.hear(place, value);
            }
            return;
        }
        let program = self.program;
        match (self.state.open.last(), place) {
            (Some(&Open::Struct(scope)), Place::Field(field)) => {
                let Some(plan) = program.scopes.get(usize::from(scope)) else { return };
                let Some(wanted) = plan.wanted.iter().find(|wanted| std::ptr::eq(wanted.field, field)) else { return };
                self.tell(&wanted.own, &Heard::Value(value));
                if let Some(role) = wanted.role {
                    self.role(role, field, value, span);
                }
                if wanted.throttle
                    && let Value::Int(milliseconds) = value
                {
                    self.state.throttle = milliseconds;
                }
            }
            (Some(&Open::Array(scope, wanted)), Place::Element(..)) => {
                let scope = program.scopes.get(usize::from(scope));
                if let Some(wanted) = scope.and_then(|scope| scope.wanted.get(usize::from(wanted))) {
                    self.tell(&wanted.elements, &Heard::Value(value));
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn part(&mut self, part: Part<'_>, _: Span) {
        self.state.part(part);
    }

    fn fault(&mut self, fault: &Fault) {
        self.state.fault(fault);
    }
}

/// What is odd about a message, in the order of how much it matters.
fn notes(out: &mut String, message: &Message<'_, '_>, state: &State) {
    let mut note = |text: std::fmt::Arguments<'_>| {
        if !out.is_empty() {
            out.push_str(", ");
        }
        // Writing into a string cannot fail.
        let _ = out.write_fmt(text);
    };
    if state.faults > 0 {
        note(format_args!("{}", state.fault));
    }
    if state.faults > 1 {
        note(format_args!("{} faults in all", state.faults));
    }
    let size = |bytes: u64| {
        let mut text = String::new();
        units::bytes(&mut text, bytes);
        text
    };
    if message.gap > 0 {
        note(format_args!("{} missing", size(message.gap)));
    }
    let is_unmatched = message.side() == Side::Response && message.request.is_none();
    if is_unmatched {
        note(format_args!("request not seen"));
    }
    match (message.guessed, is_unmatched, message.key()) {
        (true, true, Some(_)) => note(format_args!("API guessed")),
        (true, _, _) => note(format_args!("beginning guessed")),
        (false, ..) => {}
    }
    if let Some(version) = message.assumed {
        note(format_args!("read as v{version}"));
    } else if message.reading.body.is_none() && message.key().is_some() {
        note(format_args!("unknown API or version"));
    }
    if state.undecoded > 0 && state.faults == 0 && message.gap == 0 {
        note(format_args!("{} undecoded", size(state.undecoded)));
    }
    if state.trailing > 0 {
        note(format_args!("{} too many", size(state.trailing)));
    }
}

/// A fault in few words.
#[cold]
fn describe(out: &mut String, fault: &Fault) {
    let _ = write!(out, "fault at 0x{:04x}: ", fault.span.start);
    // Writing into a string cannot fail.
    let _ = match fault.kind {
        FaultKind::Wire(WireErrorKind::Short { needed, available }) => {
            write!(out, "{} needed, {available} left", counted(needed, "byte"))
        }
        FaultKind::Wire(WireErrorKind::VarintTooLong { .. }) => write!(out, "varint too long"),
        FaultKind::Wire(WireErrorKind::LengthTooLarge { length, available }) => {
            write!(out, "length {length} of {available} left")
        }
        FaultKind::Wire(WireErrorKind::LengthNegative { length }) => write!(out, "length {length}"),
        FaultKind::Null => write!(out, "null where none may be"),
        FaultKind::TooManyElements { count, available, .. } => write!(out, "{count} elements in {available} bytes"),
        FaultKind::TooManyTags { count, available } => write!(out, "{count} tagged fields in {available} bytes"),
        FaultKind::TagSize { size, used } => write!(out, "tagged field of {used} bytes in {size}"),
        FaultKind::FrameSize { size, available } => write!(out, "size {size}, but {available} bytes follow"),
        _ => write!(out, "{} expected, {} found", fault.expected(), fault.found()),
    };
}

/// Cuts a text to so many characters.
fn cut(text: &mut String, limit: usize) {
    if text.len() > limit
        && let Some((at, _)) = text.char_indices().nth(limit - 1)
        && text.chars().nth(limit).is_some()
    {
        text.truncate(at);
        text.push('…');
    }
}

#[cfg(test)]
mod tests;
