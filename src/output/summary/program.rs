//! A rule made ready for one version of a message: which fields to listen to, and what to do with each.

use super::errors::Role;
use super::rule::{Condition, Format, Part, Path, Rule};
use super::slot::SlotPlan;
use crate::protocol::{Catalog, EnumerationId, Field, Plan, Secret, Struct, TopicField, Type};

/// What is listened to in a message, and what is said in the end.
#[derive(Debug)]
pub(super) struct Program<'p> {
    /// The first is the message's own; the others are those of blocks.
    pub(super) frames: Vec<FramePlan>,
    /// The structs that are listened to. The first is the message's own.
    pub(super) scopes: Vec<Scope<'p>>,
    /// Whether the message can tell of errors, so that saying nothing means that all is well.
    pub(super) tells_errors: bool,
}

/// What a rule says of a message or of an element of a block.
#[derive(Debug, Default)]
pub(super) struct FramePlan {
    pub(super) slots: Vec<SlotPlan>,
    pub(super) pieces: Vec<Vec<Vec<Op>>>,
}

/// A part of what is said.
#[derive(Debug)]
pub(super) enum Op {
    Literal(Box<str>),
    Optional(Vec<Op>),
    /// The first of these slots of the frame that says something.
    Slot(Vec<u16>),
}

/// A struct that is listened to.
#[derive(Debug, Default)]
pub(super) struct Scope<'p> {
    pub(super) wanted: Vec<Wanted<'p>>,
    /// The frame that each struct of its kind opens, and the slot of the frame around it that takes what is said.
    pub(super) opens: Option<(u16, Target)>,
    /// Whether there is an error code in it or in what lies in it.
    pub(super) has_errors: bool,
}

/// A field that is listened to.
#[derive(Debug)]
pub(super) struct Wanted<'p> {
    pub(super) field: &'p Field,
    /// Slots for its value, or for the number of its elements.
    pub(super) own: Vec<Target>,
    /// Slots for its elements.
    pub(super) elements: Vec<Target>,
    /// The scope of its struct, or of the structs that are its elements.
    pub(super) child: Option<u16>,
    pub(super) role: Option<Role>,
    /// Whether it says that the client was throttled.
    pub(super) throttle: bool,
}

/// A slot of one of the open frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// How many frames are open outside of it.
    pub(super) level: u16,
    pub(super) slot: u16,
}

/// What a rule asks of a struct: a path that is left to go, and what is at its end.
#[derive(Clone)]
struct Want<'r> {
    keys: &'r [Box<str>],
    goal: Goal<'r>,
}

#[derive(Clone)]
enum Goal<'r> {
    Value { target: Target, elements: bool },
    Block { rule: &'r Rule, target: Target },
}

impl<'p> Program<'p> {
    /// Makes a rule ready. Fields that this version does not have say nothing.
    pub(super) fn new(catalog: &Catalog, plan: &'p Plan, rule: &Rule) -> Self {
        let errors = catalog.enumerations().id("ErrorCode");
        let mut compiler = Compiler { plan, errors, frames: Vec::new(), scopes: Vec::new() };
        let mut wants = Vec::new();
        compiler.frame(rule, plan.top(), 0, &mut wants);
        compiler.scope(plan.top(), &wants, 0);
        let tells_errors = compiler.scopes.first().is_some_and(|top| top.has_errors);
        Self { frames: compiler.frames, scopes: compiler.scopes, tells_errors }
    }
}

struct Compiler<'p> {
    plan: &'p Plan,
    errors: Option<EnumerationId>,
    frames: Vec<FramePlan>,
    scopes: Vec<Scope<'p>>,
}

/// Structs inside of structs, as deep as they are searched for errors.
const MAX_DEPTH: u32 = 16;

impl<'p> Compiler<'p> {
    /// Adds a frame for a rule about a struct, and what the rule asks of that struct.
    fn frame<'r>(&mut self, rule: &'r Rule, of: &'p Struct, level: u16, wants: &mut Vec<Want<'r>>) -> u16 {
        let mut frame = FramePlan::default();
        for piece in &rule.pieces {
            let alternatives = piece.iter().filter_map(|parts| self.parts(parts, of, level, &mut frame.slots, wants));
            let alternatives: Vec<Vec<Op>> = alternatives.collect();
            if !alternatives.is_empty() {
                frame.pieces.push(alternatives);
            }
        }
        self.frames.push(frame);
        (self.frames.len() - 1) as u16
    }

    /// `None` where a part has no field in this version.
    fn parts<'r>(
        &self,
        parts: &'r [Part],
        of: &'p Struct,
        level: u16,
        slots: &mut Vec<SlotPlan>,
        wants: &mut Vec<Want<'r>>,
    ) -> Option<Vec<Op>> {
        let mut ops = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Literal(text) => ops.push(Op::Literal(text.clone())),
                Part::Optional(inner) => {
                    ops.extend(self.parts(inner, of, level, slots, wants).map(Op::Optional));
                }
                Part::Value { paths, format, condition } => {
                    let mut places = Vec::new();
                    for path in paths {
                        let Some(field) = self.find(of, path) else { continue };
                        let target = Target { level, slot: slots.len() as u16 };
                        slots.push(SlotPlan {
                            format: format.clone(),
                            condition: *condition,
                            enumeration: field.enumeration,
                            many: path.many,
                            secret: field.secret != Secret::No,
                            topic: field.topic == Some(TopicField::Id),
                        });
                        places.push(target.slot);
                        let goal = Goal::Value { target, elements: path.elements };
                        wants.push(Want { keys: &path.keys, goal });
                    }
                    if places.is_empty() {
                        return None;
                    }
                    ops.push(Op::Slot(places));
                }
                Part::Each(path, rule) => {
                    self.find(of, path)?;
                    let target = Target { level, slot: slots.len() as u16 };
                    slots.push(SlotPlan {
                        format: Format::Plain,
                        condition: Condition::Any,
                        enumeration: None,
                        many: true,
                        secret: false,
                        topic: false,
                    });
                    wants.push(Want { keys: &path.keys, goal: Goal::Block { rule, target } });
                    ops.push(Op::Slot(vec![target.slot]));
                }
            }
        }
        Some(ops)
    }

    /// The field at the end of a path.
    fn find(&self, of: &'p Struct, path: &Path) -> Option<&'p Field> {
        let (last, inner) = path.keys.split_last()?;
        let mut of = of;
        for key in inner {
            of = self.struct_of(self.member(of, key)?)?;
        }
        self.member(of, last)
    }

    fn member(&self, of: &'p Struct, key: &str) -> Option<&'p Field> {
        self.members(of).find(|field| field.key() == key)
    }

    fn members(&self, of: &'p Struct) -> impl Iterator<Item = &'p Field> + use<'p> {
        self.plan.untagged(of).iter().chain(self.plan.tagged(of))
    }

    /// The struct that a field is or that its elements are.
    fn struct_of(&self, field: &Field) -> Option<&'p Struct> {
        let ty = match field.ty {
            Type::Array(id) | Type::CompactArray(id) => self.plan.element(id).ty,
            ty => ty,
        };
        if let Type::Struct(id) = ty { Some(self.plan.structure(id)) } else { None }
    }

    /// Adds the scope of a struct; its own index is taken before those of the structs in it, so the top is 0.
    fn scope(&mut self, of: &'p Struct, wants: &[Want<'_>], depth: u32) -> u16 {
        let index = self.scopes.len();
        self.scopes.push(Scope::default());
        let mut wanted = Vec::new();
        let mut has_errors = false;
        let roles = self.roles(of);
        for field in self.members(of) {
            let (here, below): (Vec<_>, Vec<_>) = wants
                .iter()
                .filter(|want| want.keys.first().is_some_and(|key| **key == *field.key()))
                .partition(|want| want.keys.len() == 1);
            let role = roles.iter().find(|(named, _)| std::ptr::eq(*named, field)).map(|(_, role)| *role);
            let throttle = depth == 0 && field.key() == "throttleTimeMs";
            let mut one = Wanted { field, own: Vec::new(), elements: Vec::new(), child: None, role, throttle };
            let mut block = None;
            for want in here {
                match want.goal {
                    Goal::Value { target, elements: true } => one.elements.push(target),
                    Goal::Value { target, elements: false } => one.own.push(target),
                    Goal::Block { rule, target } => block = Some((rule, target)),
                }
            }
            if let Some(inner) = self.struct_of(field).filter(|_| depth < MAX_DEPTH) {
                let mut inside: Vec<Want<'_>> = below
                    .iter()
                    .map(|want| Want { keys: want.keys.get(1..).unwrap_or_default(), goal: want.goal.clone() })
                    .collect();
                let opens = block.map(|(rule, target): (&Rule, Target)| {
                    (self.frame(rule, inner, target.level + 1, &mut inside), target)
                });
                if !inside.is_empty() || opens.is_some() || self.tells_errors(inner, depth) {
                    let child = self.scope(inner, &inside, depth + 1);
                    if let Some(scope) = self.scopes.get_mut(usize::from(child)) {
                        scope.opens = opens;
                        has_errors |= scope.has_errors;
                    }
                    one.child = Some(child);
                }
            }
            has_errors |= role == Some(Role::Code);
            let is_idle = one.own.is_empty() && one.elements.is_empty() && one.child.is_none();
            if !is_idle || throttle || role.is_some() {
                wanted.push(one);
            }
        }
        if !has_errors {
            for one in &mut wanted {
                one.role = None;
            }
            wanted
                .retain(|one| !(one.own.is_empty() && one.elements.is_empty() && one.child.is_none()) || one.throttle);
        }
        if let Some(scope) = self.scopes.get_mut(index) {
            scope.wanted = wanted;
            scope.has_errors = has_errors;
        }
        index as u16
    }

    /// Whether there is an error code in a struct or in what lies in it.
    fn tells_errors(&self, of: &'p Struct, depth: u32) -> bool {
        depth < MAX_DEPTH
            && self.members(of).any(|field| {
                self.is_error(field) || self.struct_of(field).is_some_and(|inner| self.tells_errors(inner, depth + 1))
            })
    }

    fn is_error(&self, field: &Field) -> bool {
        field.ty == Type::Int16 && field.enumeration.is_some() && field.enumeration == self.errors
    }

    /// Which fields of a struct tell of an error: the codes, the first message, what names the struct (its first string
    /// or uuid, not its kind), and what numbers it.
    fn roles(&self, of: &'p Struct) -> Vec<(&'p Field, Role)> {
        let is_text = |field: &Field| matches!(field.ty, Type::String | Type::CompactString | Type::Uuid);
        let is_message = |field: &Field| is_text(field) && field.name.ends_with("ErrorMessage");
        let is_number = |field: &Field| {
            field.ty == Type::Int32 && matches!(field.key(), "index" | "partition" | "partitionIndex" | "partitionId")
        };
        let mut roles: Vec<(&Field, Role)> =
            self.members(of).filter(|field| self.is_error(field)).map(|field| (field, Role::Code)).collect();
        let is_top = std::ptr::eq(of, self.plan.top());
        let name = self.members(of).find(|field| is_text(field) && !is_message(field) && !is_top);
        roles.extend(
            name.map(|field| (field, if field.topic == Some(TopicField::Id) { Role::TopicId } else { Role::Name })),
        );
        roles.extend(self.members(of).find(|field| is_message(field)).map(|field| (field, Role::Message)));
        roles.extend(self.members(of).find(|field| is_number(field)).map(|field| (field, Role::Number)));
        roles
    }
}
