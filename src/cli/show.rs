//! `kafkascope show`: annotated trees.

use anyhow::bail;

use super::End;
use super::args::{Common, ShowArgs};
use super::input::{self, Out, Printer};
use crate::conversation::Message;
use crate::dissect::{Opening, Tally, Tree, dissect};
use crate::output::describe::{Describer, title};
use crate::output::list::heading;
use crate::output::tree_text::{TreeOptions, write_tree_by_line};
use crate::output::zone::Zone;

pub(super) fn run(show: &ShowArgs, common: &Common) -> anyhow::Result<End> {
    let catalog = super::catalog(common)?;
    let decoders = super::decoders(&show.input.messages.decode)?;
    let printer = TreePrinter {
        opening: Opening { decoders: Some(&decoders), ..super::opening(&catalog, common) },
        show_secrets: common.show_secrets,
        options: TreeOptions { verbose: common.verbose },
        zone: show.input.messages.time_zone.clone(),
        wanted: show.message.clone(),
        last: None,
    };
    input::read(&show.input, common, &catalog, printer)
}

struct TreePrinter<'p> {
    opening: Opening<'p>,
    show_secrets: bool,
    options: TreeOptions,
    zone: Zone,
    /// The messages to show, by number; none: all.
    wanted: Vec<u64>,
    /// The number of the last message that came.
    last: Option<u64>,
}

impl<'p> Printer<'p> for TreePrinter<'p> {
    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally {
        self.last = Some(message.index);
        if !self.wanted.is_empty() && !self.wanted.contains(&message.index) {
            return Tally::default();
        }
        let mut tree = Tree::opened(self.opening.with_topics(message.topics));
        dissect(&message.reading, message.frame, &mut tree);
        let (name, ty) = title(self.opening.catalog, message);
        let describer = Describer {
            catalog: self.opening.catalog,
            tree: &tree,
            frame: message.frame,
            title: (&name, &ty),
            sample: false,
            show_secrets: self.show_secrets,
            topics: Some(message.topics),
        };
        let mut text = String::new();
        heading(&mut text, message, &self.zone);
        write_tree_by_line(&mut text, &describer, self.options, |text| {
            if text.len() > input::LARGE {
                out.results.write(text.as_bytes());
                text.clear();
            }
        });
        text.push('\n');
        out.buffer.extend_from_slice(text.as_bytes());
        Tally::of(tree.faults())
    }

    fn is_done(&self) -> bool {
        self.wanted.iter().max().is_some_and(|last| self.last >= Some(*last))
    }

    fn finish(&self) -> anyhow::Result<()> {
        let last = self.last.unwrap_or(0);
        let is_there = |number: &u64| (1..=last).contains(number);
        let lacking: Vec<String> = self.wanted.iter().filter(|number| !is_there(number)).map(u64::to_string).collect();
        if !lacking.is_empty() {
            let messages = if last == 1 { "message" } else { "messages" };
            bail!("there is no message {}: the capture has {last} {messages}, numbered from 1", lacking.join(", "));
        }
        Ok(())
    }
}
