//! `kafkascope show`: annotated trees.

use super::End;
use super::args::{Common, ShowArgs};
use super::chosen::Chosen;
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
        options: super::tree_options(common),
        zone: show.input.messages.time_zone.clone(),
    };
    input::read(&show.input, common, &catalog, Chosen::new(printer, &show.chosen.message))
}

struct TreePrinter<'p> {
    opening: Opening<'p>,
    show_secrets: bool,
    options: TreeOptions,
    zone: Zone,
}

impl<'p> Printer<'p> for TreePrinter<'p> {
    fn print(&mut self, out: &mut Out, message: &Message<'_, 'p>) -> Tally {
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
}
