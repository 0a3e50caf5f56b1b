//! What the tests share: everything that can be decoded, and what must hold for each tree.

use kafkascope::dissect::{self, Fault, Known, Outcome, Part, Reading, Tree, Visitor, What};
use kafkascope::encode::{self, Collector, Options};
use kafkascope::protocol::{ApiKey, Catalog, Kind, Plan, Side};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use proptest::{prelude::any, prop_assert, prop_assert_eq};

pub(crate) type Check = Result<(), TestCaseError>;

/// A message in one version, and how it is read.
pub(crate) struct Subject<'c> {
    catalog: &'c Catalog,
    pub(crate) plan: &'c Plan,
    /// Of a request or response; `None` for what is not framed.
    reading: Option<Reading<'c>>,
}

impl<'c> Subject<'c> {
    pub(crate) fn new(catalog: &'c Catalog, plan: &'c Plan) -> Self {
        let side = match plan.kind {
            Kind::Request => Some(Side::Request),
            Kind::Response => Some(Side::Response),
            _ => None,
        };
        let reading = side.map(|side| Reading {
            side,
            header: catalog.header_for(plan, side),
            body: Some(plan),
            sized: true,
            missing: 0,
            known: Known::default(),
        });
        Self { catalog, plan, reading }
    }

    /// All messages in all versions, framed and not.
    pub(crate) fn all(catalog: &'c Catalog) -> Vec<Self> {
        let mut subjects = Vec::new();
        for name in catalog.names() {
            let versions = catalog.versions(name);
            for version in versions.first..=versions.last {
                subjects.push(Self::new(catalog, catalog.plan(name, version).unwrap()));
            }
        }
        let framed = subjects.iter().filter(|subject| subject.is_framed()).count();
        assert_eq!(framed, 736, "368 API versions, both directions");
        subjects
    }

    pub(crate) fn is_framed(&self) -> bool {
        self.reading.is_some()
    }

    pub(crate) fn name(&self) -> String {
        format!("{} v{}", self.plan.name, self.plan.version)
    }

    fn key(&self) -> ApiKey {
        ApiKey(self.plan.api_key.unwrap())
    }

    pub(crate) fn minimal(&self) -> Vec<u8> {
        match &self.reading {
            Some(reading) => encode::minimal_frame(self.catalog, self.key(), reading.side, self.plan.version).unwrap(),
            None => encode::payload(self.plan, &encode::prefix(self.plan), &encode::minimal(self.plan)).unwrap(),
        }
    }

    /// A random instance; `size` bounds its arrays.
    pub(crate) fn random(&self, seed: u64, size: u32) -> Vec<u8> {
        let mut generator = fastrand::Rng::with_seed(seed);
        let mut source = || generator.u64(..);
        let options = Options { elements: size, ..Options::default() };
        let Some(reading) = &self.reading else {
            let body = encode::random(self.plan, &mut source, &options);
            return encode::payload(self.plan, &encode::prefix(self.plan), &body).unwrap();
        };
        let version = self.plan.version;
        encode::random_frame(self.catalog, self.key(), reading.side, version, &mut source, &options).unwrap()
    }

    pub(crate) fn walk(&self, bytes: &[u8], missing: u32, visitor: &mut impl Visitor<'c>) -> Outcome {
        match self.reading {
            Some(reading) => dissect::dissect(&Reading { missing, ..reading }, bytes, visitor),
            None => dissect::dissect_payload(self.plan, bytes, visitor),
        }
    }

    /// Decodes and writes again; `None` where the bytes are not exactly this message.
    pub(crate) fn rewrite(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut collector = Collector::new();
        if !self.walk(bytes, 0, &mut collector).is_exact() {
            return None;
        }
        let body = (self.plan, collector.body().unwrap());
        let written = match self.reading.and_then(|reading| reading.header) {
            Some(header) => encode::frame_of_parts((header, collector.header().unwrap()), body),
            None => encode::payload(body.0, collector.prefix(), body.1),
        };
        Some(written.unwrap())
    }

    /// A property of random instances, held against `cases` of them. Arrays shrink when it fails.
    pub(crate) fn holds_for_random(&self, cases: u32, check: impl Fn(&[u8]) -> Check) {
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let result =
            TestRunner::new(config).run(&(any::<u64>(), 0..=5u32), |(seed, size)| check(&self.random(seed, size)));
        if let Err(error) = result {
            panic!("{}: (seed, size) {error}", self.name());
        }
    }

    /// Decodes bytes, whatever they are, and checks all that must hold of the tree.
    pub(crate) fn sound(&self, bytes: &[u8], missing: u32) -> Result<(Outcome, Vec<Fault>), TestCaseError> {
        let mut tree = Tree::new();
        let outcome = self.walk(bytes, missing, &mut tree);
        check_tree(&tree, &outcome, bytes)?;
        Ok((outcome, tree.faults().to_vec()))
    }
}

/// What holds of every tree: its leaves tile the bytes, its nodes lie inside of each other, it is not much larger than
/// the bytes, and the outcome counts what is in it.
fn check_tree(tree: &Tree<'_>, outcome: &Outcome, bytes: &[u8]) -> Check {
    let nodes = tree.nodes();
    let (mut end, mut faults, mut trailing, mut undecoded) = (0, 0, 0, 0);
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.span.buffer == 0) {
        match node.what {
            What::Fault(_) => faults += 1,
            What::Part(Part::Trailing(_)) => trailing += node.span.len,
            What::Part(Part::Undecoded(_)) => undecoded += node.span.len,
            _ => {}
        }
        if node.is_leaf() {
            prop_assert_eq!(node.span.start, end, "leaf {} leaves a gap or overlaps: {:?}", index, node.what);
            end = node.span.end();
            prop_assert_eq!(node.descendants, 0, "leaf {} holds nodes", index);
        }
        let parent = &nodes[node.parent as usize];
        let last = node.parent + parent.descendants;
        if index == 0 {
            prop_assert_eq!((node.parent, node.depth, last as usize), (0, 0, nodes.len() - 1));
        } else {
            prop_assert!(node.parent < index as u32 && index as u32 + node.descendants <= last);
            prop_assert_eq!(node.depth, parent.depth + 1);
        }
        // A fault's bytes may be those of a leaf further on that could not be decoded.
        let bound = if matches!(node.what, What::Fault(_)) { bytes.len() as u32 } else { parent.span.end() };
        prop_assert!(
            parent.span.start <= node.span.start && node.span.end() <= bound,
            "{:?} {:?} is not inside of {:?} {:?}",
            node.what,
            node.span,
            parent.what,
            parent.span
        );
    }
    prop_assert_eq!(end as usize, bytes.len(), "bytes without a leaf at the end");
    prop_assert_eq!((faults, trailing, undecoded), (outcome.faults, outcome.trailing, outcome.undecoded));
    prop_assert_eq!(tree.faults().len(), faults as usize);
    prop_assert!(nodes.len() <= 6 * bytes.len() + 16, "{} nodes for {} bytes", nodes.len(), bytes.len());
    check_children(tree)
}

/// Every node but the root is the child of its parent, once.
fn check_children(tree: &Tree<'_>) -> Check {
    let mut met = 1;
    for index in 0..tree.nodes().len() {
        for child in tree.children(index) {
            prop_assert!(child > index && tree.nodes()[child].parent as usize == index);
            met += 1;
        }
    }
    prop_assert_eq!(met, tree.nodes().len());
    Ok(())
}
