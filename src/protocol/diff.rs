//! What differs between two schemas, or between two versions of one: field by field, and on the wire.

use std::collections::{BTreeSet, HashMap};

use super::payload::Role;
use super::plan::{Field, Plan, Struct, Type};
use super::schema::{Kind, Schema, SchemaField, TypeName, Versions};
use super::traits::{EnumerationId, FieldTraits, Secret};

/// What differs. Paths are field names from the top, as in `Topics.Name`; where a field was renamed, the new ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What differs of the message itself.
    pub message: Vec<MessageChange>,
    /// What differs of fields, in the order of the new schema; removed ones stand where they were.
    pub fields: Vec<FieldChange>,
    /// Explanations that differ.
    pub explanations: Vec<Explanation>,
    /// What differs in bytes.
    pub wire: Vec<WireRange>,
}

impl Comparison {
    /// Whether there is no difference at all.
    pub fn is_empty(&self) -> bool {
        self.message.is_empty() && self.fields.is_empty() && self.explanations.is_empty()
    }
}

/// A difference of a message as a whole: what was, what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageChange {
    /// The name.
    Name(Box<str>, Box<str>),
    /// The kind.
    Kind(Kind, Kind),
    /// The API's key or the record type.
    ApiKey(Option<i16>, Option<i16>),
    /// The versions that exist.
    Valid(Versions, Versions),
    /// The flexible versions.
    Flexible(Versions, Versions),
    /// Whether the newest version is not yet final.
    Unstable(bool, bool),
    /// Who listens to it.
    Listeners(Vec<Box<str>>, Vec<Box<str>>),
}

/// A difference of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// Which field.
    pub path: String,
    /// What differs.
    pub change: Change,
}

/// What differs of a field: what was, what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new: its type, its versions, its tag.
    Added(TypeName, Versions, Option<u32>),
    /// It is gone: its type, its versions, its tag.
    Removed(TypeName, Versions, Option<u32>),
    /// It has the same type and place, but had this name.
    Renamed(Box<str>),
    /// Its type.
    Type(TypeName, TypeName),
    /// Only the name of its struct.
    StructName(TypeName, TypeName),
    /// It stands behind another field now; `None`: it is the first one.
    Moved(Option<Box<str>>),
    /// The versions that have it.
    Versions(Versions, Versions),
    /// The versions in which it may be null.
    Nullable(Versions, Versions),
    /// Its tag and the versions in which it is tagged.
    Tagged(Option<(u32, Versions)>, Option<(u32, Versions)>),
    /// The default; `None` is that of the type.
    Default(Option<Box<str>>, Option<Box<str>>),
    /// The versions in which it is compact, where that differs from the message's.
    Flexible(Option<Versions>, Option<Versions>),
    /// Whether a writer may drop it.
    Ignorable(bool, bool),
    /// Whether it is (part of) the key of the array's elements.
    MapKey(bool, bool),
    /// What the value refers to.
    Entity(Option<Box<str>>, Option<Box<str>>),
}

/// An explanation that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Which field.
    pub path: String,
    /// What it was.
    pub was: Option<Box<str>>,
    /// What it is.
    pub is: Option<Box<str>>,
}

/// How the bytes compare in some versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireRange {
    /// The versions.
    pub versions: Versions,
    /// How they compare.
    pub wire: Wire,
}

/// How the bytes of two schemas compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wire {
    /// The same values give the same bytes.
    Same,
    /// The same, except that one of them allows null where the other does not.
    Nulls,
    /// The same, except for tagged fields that only one of them knows; the other one skips them.
    Tagged,
    /// They are laid out in different ways.
    Different,
    /// Only the first schema has the version.
    OnlyLeft,
    /// Only the second schema has the version.
    OnlyRight,
}

/// Compares two schemas, with all their versions.
pub fn compare(left: &Schema, right: &Schema) -> Comparison {
    // Fields that no version has are no fields.
    let (left, right) = (&left.within(left.valid), &right.within(right.valid));
    let mut comparison = Comparison { message: message_changes(left, right), ..Comparison::default() };
    if left.valid != right.valid {
        comparison.message.push(MessageChange::Valid(left.valid, right.valid));
    }
    let mut differ = Differ { left, right, open: Vec::new(), out: comparison };
    differ.structs("", (&left.fields, left.valid), (&right.fields, right.valid));
    let mut comparison = differ.out;
    comparison.wire = wire_ranges(left, right);
    comparison
}

/// Compares two versions, of one schema or of two. The one range of `wire` has the second version.
pub fn compare_versions(left: (&Schema, i16), right: (&Schema, i16)) -> Comparison {
    let (was, is) = (resolved(left.0, left.1), resolved(right.0, right.1));
    let mut differ = Differ {
        left: &was,
        right: &is,
        open: Vec::new(),
        out: Comparison { message: message_changes(&was, &is), ..Comparison::default() },
    };
    differ.structs("", (&was.fields, was.valid), (&is.fields, is.valid));
    let mut comparison = differ.out;
    let (was, is) = (Plan::build(left.0, left.1, &NoTraits), Plan::build(right.0, right.1, &NoTraits));
    let wire = compare_plans(&was, &is);
    comparison.wire = vec![WireRange { versions: Versions { first: right.1, last: right.1 }, wire }];
    comparison
}

/// The schema as if there were one version only: what holds in it holds always, the rest never.
fn resolved(schema: &Schema, version: i16) -> Schema {
    fn always(holds: bool) -> Versions {
        if holds { Versions::ALL } else { Versions::NONE }
    }
    fn fields(list: &mut [SchemaField], version: i16, is_flexible: bool) {
        for field in list {
            field.versions = Versions::ALL;
            field.nullable = always(field.nullable.contains(version));
            field.tagged = always(is_flexible && field.tagged.contains(version));
            field.tag = field.tag.filter(|_| !field.tagged.is_empty());
            field.flexible = field.flexible.map(|flexible| always(flexible.contains(version)));
            fields(&mut field.fields, version, is_flexible);
        }
    }
    let mut one = schema.within(Versions { first: version, last: version });
    let is_flexible = schema.flexible.contains(version);
    fields(&mut one.fields, version, is_flexible);
    for shared in &mut one.common {
        fields(&mut shared.fields, version, is_flexible);
    }
    one.valid = Versions::ALL;
    one.flexible = always(is_flexible);
    one
}

fn message_changes(left: &Schema, right: &Schema) -> Vec<MessageChange> {
    let mut changes = Vec::new();
    if left.name != right.name {
        changes.push(MessageChange::Name(left.name.clone(), right.name.clone()));
    }
    if left.kind != right.kind {
        changes.push(MessageChange::Kind(left.kind, right.kind));
    }
    if left.api_key != right.api_key {
        changes.push(MessageChange::ApiKey(left.api_key, right.api_key));
    }
    let flexible = |schema: &Schema| (schema.flexible.intersect(schema.valid), schema.valid);
    if !is_same_range(flexible(left), flexible(right), (left.valid, right.valid)) {
        changes.push(MessageChange::Flexible(left.flexible, right.flexible));
    }
    if left.latest_unstable != right.latest_unstable {
        changes.push(MessageChange::Unstable(left.latest_unstable, right.latest_unstable));
    }
    let sorted = |schema: &Schema| schema.listeners.iter().cloned().collect::<BTreeSet<_>>();
    if sorted(left) != sorted(right) {
        changes.push(MessageChange::Listeners(left.listeners.clone(), right.listeners.clone()));
    }
    changes
}

struct Differ<'s> {
    left: &'s Schema,
    right: &'s Schema,
    /// The structs that are being compared; inside of themselves they are not compared again.
    open: Vec<&'s str>,
    out: Comparison,
}

/// Fields, and the versions in which what holds them exists.
type Held<'s> = (&'s [SchemaField], Versions);

impl<'s> Differ<'s> {
    fn structs(&mut self, path: &str, left: Held<'s>, right: Held<'s>) {
        let pairs = pair_up(left, right);
        let moved = moved(&pairs.matched, right);
        // Removed fields are told of where they were: behind the field that stood before them.
        let mut removed = pairs.removed.iter().peekable();
        for (place, field) in right.0.iter().enumerate() {
            let partner = pairs.partners.get(place).copied().flatten();
            if let Some(before) = partner {
                while let Some(&&index) = removed.peek().filter(|&&&index| index < before) {
                    self.gone(path, left.0.get(index), left.1);
                    removed.next();
                }
            }
            let here = join(path, &field.name);
            let Some(was) = partner.and_then(|index| left.0.get(index)) else {
                self.added(&here, field, right.1);
                continue;
            };
            if was.name != field.name {
                self.push(&here, Change::Renamed(was.name.clone()));
            }
            if moved.contains(&place) {
                let before = place.checked_sub(1).and_then(|before| right.0.get(before));
                self.push(&here, Change::Moved(before.map(|field| field.name.clone())));
            }
            self.field(&here, (was, left.1), (field, right.1));
        }
        for &index in removed {
            self.gone(path, left.0.get(index), left.1);
        }
    }

    fn field(
        &mut self,
        path: &str,
        (was, was_held): (&'s SchemaField, Versions),
        (is, is_held): (&'s SchemaField, Versions),
    ) {
        let (was_there, is_there) = (was.versions.intersect(was_held), is.versions.intersect(is_held));
        let same = |was_range: Versions, is_range: Versions| {
            let (was_range, is_range) = (was_range.intersect(was_there), is_range.intersect(is_there));
            is_same_range((was_range, was_there), (is_range, is_there), (self.left.valid, self.right.valid))
        };
        let mut changes = Vec::new();
        if was.ty != is.ty {
            let only_name =
                was.ty.struct_name().is_some() && depth(&was.ty) == depth(&is.ty) && is.ty.struct_name().is_some();
            changes.push(if only_name {
                Change::StructName(was.ty.clone(), is.ty.clone())
            } else {
                Change::Type(was.ty.clone(), is.ty.clone())
            });
        }
        if !is_same_range((was_there, was_held), (is_there, is_held), (self.left.valid, self.right.valid)) {
            changes.push(Change::Versions(open_end(was_there, self.left), open_end(is_there, self.right)));
        }
        if !same(was.nullable, is.nullable) {
            changes.push(Change::Nullable(
                open_end(was.nullable.intersect(was_there), self.left),
                open_end(is.nullable.intersect(is_there), self.right),
            ));
        }
        let tag = |field: &SchemaField, there: Versions, schema: &Schema| {
            let tagged = field.tagged.intersect(there);
            field.tag.filter(|_| !tagged.is_empty()).map(|tag| (tag, open_end(tagged, schema)))
        };
        let (was_tag, is_tag) = (tag(was, was_there, self.left), tag(is, is_there, self.right));
        if was_tag.map(|tag| tag.0) != is_tag.map(|tag| tag.0) || !same(was.tagged, is.tagged) {
            changes.push(Change::Tagged(was_tag, is_tag));
        }
        if default_of(was) != default_of(is) {
            changes.push(Change::Default(was.default.clone(), is.default.clone()));
        }
        if was.flexible != is.flexible {
            changes.push(Change::Flexible(was.flexible, is.flexible));
        }
        if was.ignorable != is.ignorable {
            changes.push(Change::Ignorable(was.ignorable, is.ignorable));
        }
        if was.map_key != is.map_key {
            changes.push(Change::MapKey(was.map_key, is.map_key));
        }
        if was.entity != is.entity {
            changes.push(Change::Entity(was.entity.clone(), is.entity.clone()));
        }
        for change in changes {
            self.push(path, change);
        }
        if was.about != is.about {
            let explanation = Explanation { path: path.to_owned(), was: was.about.clone(), is: is.about.clone() };
            self.out.explanations.push(explanation);
        }
        self.within(&[was, is], |differ| {
            differ.structs(path, (differ.left.members(was), was_there), (differ.right.members(is), is_there));
        });
    }

    fn added(&mut self, path: &str, field: &'s SchemaField, holder: Versions) {
        let there = field.versions.intersect(holder);
        let tag = field.tag.filter(|_| !field.tagged.intersect(there).is_empty());
        self.push(path, Change::Added(field.ty.clone(), open_end(there, self.right), tag));
        self.within(&[field], |differ| {
            for inner in differ.right.members(field) {
                differ.added(&join(path, &inner.name), inner, there);
            }
        });
    }

    fn gone(&mut self, path: &str, field: Option<&'s SchemaField>, holder: Versions) {
        let Some(field) = field else { return };
        let (path, there) = (join(path, &field.name), field.versions.intersect(holder));
        let tag = field.tag.filter(|_| !field.tagged.intersect(there).is_empty());
        self.push(&path, Change::Removed(field.ty.clone(), open_end(there, self.left), tag));
        self.within(&[field], |differ| {
            for inner in differ.left.members(field) {
                differ.gone(&path, Some(inner), there);
            }
        });
    }

    /// Goes into the structs of fields, unless it is in them already.
    fn within(&mut self, fields: &[&'s SchemaField], go: impl FnOnce(&mut Self)) {
        let names: Vec<&'s str> = fields.iter().filter_map(|field| field.ty.struct_name()).collect();
        if names.iter().any(|name| self.open.contains(name)) {
            return;
        }
        let before = self.open.len();
        self.open.extend(names);
        go(self);
        self.open.truncate(before);
    }

    fn push(&mut self, path: &str, change: Change) {
        self.out.fields.push(FieldChange { path: path.to_owned(), change });
    }
}

/// A range that ends with the newest version, as schema files write it: without an end.
fn open_end(range: Versions, schema: &Schema) -> Versions {
    if range.last >= schema.valid.last && !range.is_empty() { Versions { last: i16::MAX, ..range } } else { range }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// How many arrays a type is inside of each other.
fn depth(ty: &TypeName) -> usize {
    match ty {
        TypeName::Array(element) => 1 + depth(element),
        TypeName::Primitive(_) | TypeName::Struct(_) => 0,
    }
}

/// The default where it is not that of the type: `"0"`, `"false"` and `""` say nothing, hexadecimal is a number too.
fn default_of(field: &SchemaField) -> Option<String> {
    let text = field.default.as_deref()?;
    let hexadecimal = text.strip_prefix("0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
    let text = hexadecimal.map_or_else(|| text.to_owned(), |number| number.to_string());
    let is_plain = match &field.ty {
        TypeName::Primitive(super::schema::Primitive::Bool) => text == "false",
        TypeName::Primitive(super::schema::Primitive::String) | TypeName::Struct(_) | TypeName::Array(_) => {
            text.is_empty()
        }
        TypeName::Primitive(_) => text == "0" || text.is_empty(),
    };
    if is_plain { None } else { Some(text) }
}

/// Whether two ranges, each with the versions of what holds it, mean the same. Versions that one of the schemas does not
/// have at all make no difference as long as nothing begins or ends there.
fn is_same_range(was: (Versions, Versions), is: (Versions, Versions), valid: (Versions, Versions)) -> bool {
    let common = valid.0.intersect(valid.1);
    if common.is_empty() {
        return was.0 == is.0;
    }
    let open = |(range, holder): (Versions, Versions)| {
        if range.is_empty() {
            return Versions::NONE;
        }
        let from_the_start = range.first <= holder.first.max(common.first) && range.last >= common.first;
        let to_the_end = range.last >= holder.last && range.first <= common.last;
        Versions {
            first: if from_the_start { 0 } else { range.first },
            last: if to_the_end { i16::MAX } else { range.last },
        }
    };
    open(was) == open(is)
}

/// Which fields of two structs belong together.
struct Pairs {
    /// For each field of the second struct, the index of its partner in the first one.
    partners: Vec<Option<usize>>,
    /// Index in the second and in the first struct, of fields with the same name.
    matched: Vec<(usize, usize)>,
    /// Indices of the fields of the first struct that have no partner.
    removed: Vec<usize>,
}

fn pair_up((left, left_held): Held<'_>, (right, right_held): Held<'_>) -> Pairs {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, field) in left.iter().enumerate().rev() {
        by_name.entry(&field.name).or_default().push(index);
    }
    // A name that was given to another field, of other versions and another type, is not the same field.
    let is_same = |index: usize, is: &SchemaField| {
        let Some(was) = left.get(index) else { return false };
        let both = was.versions.intersect(left_held).intersect(is.versions.intersect(right_held));
        !both.is_empty() || is_same_sort(was, is)
    };
    let mut partners: Vec<Option<usize>> = right
        .iter()
        .map(|is| {
            let candidates = by_name.get_mut(&*is.name)?;
            let at = candidates.iter().rposition(|&index| is_same(index, is))?;
            Some(candidates.remove(at))
        })
        .collect();
    let matched: Vec<(usize, usize)> =
        partners.iter().enumerate().filter_map(|(place, partner)| Some((place, (*partner)?))).collect();
    let mut taken = vec![false; left.len()];
    for &(_, index) in &matched {
        if let Some(slot) = taken.get_mut(index) {
            *slot = true;
        }
    }
    // Renamed: no partner by name, but the same type right behind the same field.
    let mut next = Some(0);
    for (field, partner) in right.iter().zip(&mut partners) {
        if partner.is_none()
            && let Some(index) = next.filter(|index| taken.get(*index) == Some(&false))
            && left.get(index).is_some_and(|was| is_alike(was, field))
        {
            *partner = Some(index);
            if let Some(slot) = taken.get_mut(index) {
                *slot = true;
            }
        }
        next = partner.map(|index| index + 1);
    }
    let removed = (0..left.len()).filter(|index| taken.get(*index) == Some(&false)).collect();
    Pairs { partners, matched, removed }
}

/// Whether a field can be another one under a new name.
fn is_alike(was: &SchemaField, is: &SchemaField) -> bool {
    is_same_sort(was, is) && was.versions.first == is.versions.first && was.tag == is.tag
}

/// Whether types are the same, names of structs aside.
fn is_same_sort(was: &SchemaField, is: &SchemaField) -> bool {
    let are_structs = was.ty.struct_name().is_some() && is.ty.struct_name().is_some();
    was.ty == is.ty || (are_structs && depth(&was.ty) == depth(&is.ty))
}

/// The places of fields that have changed their order: all but the longest run of fields that kept it. Fields that are
/// never in one version together have no order.
fn moved(matched: &[(usize, usize)], (fields, held): Held<'_>) -> BTreeSet<usize> {
    // `best[i]`: length of the longest run that ends with field i, and the field before it in that run.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(matched.len());
    for (index, (_, left)) in matched.iter().enumerate() {
        let before = matched.iter().zip(&best).enumerate().take(index).filter(|(_, ((_, earlier), _))| earlier < left);
        let longest =
            before.map(|(at, (_, (length, _)))| (*length, at)).max_by_key(|(length, at)| (*length, usize::MAX - at));
        best.push(longest.map_or((1, None), |(length, at)| (length + 1, Some(at))));
    }
    let mut kept = BTreeSet::new();
    let longest = best.iter().enumerate().max_by_key(|(index, (length, _))| (*length, usize::MAX - index));
    let mut at = longest.map(|(index, _)| index);
    while let Some(index) = at {
        kept.insert(index);
        at = best.get(index).and_then(|(_, before)| *before);
    }
    let versions = |place: usize| fields.get(place).map_or(Versions::NONE, |field| field.versions.intersect(held));
    let displaced = matched.iter().enumerate().filter(|(index, _)| !kept.contains(index)).map(|(_, pair)| *pair);
    displaced
        .filter(|&(place, index)| {
            matched.iter().any(|&(other_place, other_index)| {
                let is_swapped = (place < other_place) != (index < other_index);
                is_swapped && !versions(place).intersect(versions(other_place)).is_empty()
            })
        })
        .map(|(place, _)| place)
        .collect()
}

/// How the bytes compare in every version that one of the schemas has, in order, neighbours that are alike together.
fn wire_ranges(left: &Schema, right: &Schema) -> Vec<WireRange> {
    let mut starts = BTreeSet::new();
    for schema in [left, right] {
        starts.extend(boundaries(schema));
    }
    let starts: Vec<i32> = starts.into_iter().collect();
    let mut ranges: Vec<WireRange> = Vec::new();
    for (&first, behind) in starts.iter().zip(starts.iter().skip(1)) {
        let (Ok(first), Ok(last)) = (i16::try_from(first), i16::try_from(behind - 1)) else { continue };
        let wire = match (left.valid.contains(first), right.valid.contains(first)) {
            (false, false) => continue,
            (true, false) => Wire::OnlyLeft,
            (false, true) => Wire::OnlyRight,
            (true, true) => compare_plans(&Plan::build(left, first, &NoTraits), &Plan::build(right, first, &NoTraits)),
        };
        match ranges.last_mut() {
            Some(range) if range.wire == wire && i32::from(range.versions.last) + 1 == i32::from(first) => {
                range.versions.last = last;
            }
            _ => ranges.push(WireRange { versions: Versions { first, last }, wire }),
        }
    }
    ranges
}

/// The versions in which something may begin or have ended.
fn boundaries(schema: &Schema) -> BTreeSet<i32> {
    fn add(starts: &mut BTreeSet<i32>, range: Versions) {
        if !range.is_empty() {
            starts.extend([i32::from(range.first), i32::from(range.last) + 1]);
        }
    }
    fn fields(starts: &mut BTreeSet<i32>, list: &[SchemaField]) {
        for field in list {
            for range in [field.versions, field.nullable, field.tagged, field.flexible.unwrap_or(Versions::NONE)] {
                add(starts, range);
            }
            fields(starts, &field.fields);
        }
    }
    let mut starts = BTreeSet::new();
    add(&mut starts, schema.valid);
    add(&mut starts, schema.flexible);
    fields(&mut starts, &schema.fields);
    for shared in &schema.common {
        fields(&mut starts, &shared.fields);
    }
    starts
}

/// How the bytes of two plans compare; names do not matter.
pub fn compare_plans(left: &Plan, right: &Plan) -> Wire {
    if left.kind == Kind::Protobuf || right.kind == Kind::Protobuf {
        // Such a plan may hold itself.
        let is_same = left.kind == right.kind && left.reads_like(right);
        return if is_same { Wire::Same } else { Wire::Different };
    }
    compare_structs((left, left.top()), (right, right.top()))
}

fn compare_structs((left, was): (&Plan, &Struct), (right, is): (&Plan, &Struct)) -> Wire {
    let (was_plain, is_plain) = (left.untagged(was), right.untagged(is));
    if was_plain.len() != is_plain.len() || was.flexible != is.flexible {
        return Wire::Different;
    }
    let mut worst = Wire::Same;
    for (was, is) in was_plain.iter().zip(is_plain) {
        worst = worst.max(compare_fields((left, was), (right, is)));
    }
    let known_tags =
        |plan: &Plan, of: &Struct| -> BTreeSet<u32> { plan.tagged(of).iter().filter_map(|field| field.tag).collect() };
    if known_tags(left, was) != known_tags(right, is) {
        worst = worst.max(Wire::Tagged);
    }
    for was in left.tagged(was) {
        if let Some(is) = was.tag.and_then(|tag| right.tagged_field(is, tag)) {
            let default = if is_left_out_alike(was, is) { Wire::Same } else { Wire::Different };
            worst = worst.max(default).max(compare_fields((left, was), (right, is)));
        }
    }
    worst
}

fn compare_fields((left, was): (&Plan, &Field), (right, is): (&Plan, &Field)) -> Wire {
    let types = compare_types((left, was.ty), (right, is.ty));
    // Whether a struct may be null says whether a byte in front of it says that it is there.
    let has_presence = matches!(was.ty, Type::Struct(_));
    match (was.nullable == is.nullable, has_presence) {
        (true, _) => types,
        (false, true) => Wire::Different,
        (false, false) => types.max(Wire::Nulls),
    }
}

/// A tagged field that has its default is not written, so the default matters on the wire.
fn is_left_out_alike(was: &Field, is: &Field) -> bool {
    let is_null = |field: &Field| field.default_json.as_deref() == Some("null");
    match (was.ty, is.ty) {
        // The default of a struct is text with names.
        (Type::Struct(_), Type::Struct(_)) => is_null(was) == is_null(is),
        _ => was.default_json == is.default_json,
    }
}

fn compare_types((left, was): (&Plan, Type), (right, is): (&Plan, Type)) -> Wire {
    match (was, is) {
        (Type::Struct(was), Type::Struct(is)) => {
            compare_structs((left, left.structure(was)), (right, right.structure(is)))
        }
        (Type::Array(was), Type::Array(is)) | (Type::CompactArray(was), Type::CompactArray(is)) => {
            compare_types((left, left.element(was).ty), (right, right.element(is).ty))
        }
        (Type::Array(_) | Type::CompactArray(_) | Type::Struct(_), _) => Wire::Different,
        _ if was == is => Wire::Same,
        _ => Wire::Different,
    }
}

/// Names of codes and secrets do not matter here.
struct NoTraits;

impl FieldTraits for NoTraits {
    fn enumeration(&self, _: &str, _: &str, _: &TypeName) -> Option<EnumerationId> {
        None
    }

    fn role(&self, _: &str) -> Role {
        Role::None
    }

    fn secret(&self, _: &str) -> Secret {
        Secret::No
    }
}
