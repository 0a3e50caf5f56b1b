//! `kafkascope schema`: what is known of Kafka's messages.

use super::End;
use super::args::{Common, SchemaCommand};

pub(super) fn run(command: &SchemaCommand, common: &Common) -> anyhow::Result<End> {
    let _ = (command, super::catalog(common)?);
    Ok(End::Done)
}
