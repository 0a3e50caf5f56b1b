//! `kafkascope layout`: the reference page of a message.

use super::End;
use super::args::{Common, LayoutArgs};

pub(super) fn run(layout: &LayoutArgs, common: &Common) -> anyhow::Result<End> {
    let _ = (layout, super::catalog(common)?, super::output(common)?, super::is_coloured(common));
    Ok(End::Done)
}
