//! The command line of kafkascope: arguments in, exit code out. What commands do is in `kafkascope::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kafkascope::cli::main()
}
