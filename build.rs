//! Lists the files of `schemas/messages` so that they are embedded: adding a message is adding a file.

use std::{env, fmt::Write, fs, io, path::Path};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let folder = Path::new(&root).join("schemas/messages");
    println!("cargo:rerun-if-changed=schemas/messages");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".json") {
            names.push(stem.to_owned());
        }
    }
    names.sort();
    let mut table = String::from("&[\n");
    for name in &names {
        let path = folder.join(format!("{name}.json"));
        // Writing into a string cannot fail.
        let _ = writeln!(table, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    table.push(']');
    let out = env::var("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("messages.rs"), table)
}
