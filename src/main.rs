//! The command line of kafkascope.
fn main() {}
