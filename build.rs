//! Lists the files of `schemas/messages` and `schemas/layouts` so that they are embedded: adding a message is adding a
//! file.

use std::{env, fmt::Write, fs, io, path::Path};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let out = env::var("OUT_DIR").unwrap_or_default();
    for folder in ["messages", "layouts"] {
        println!("cargo:rerun-if-changed=schemas/{folder}");
        let table = table(&Path::new(&root).join("schemas").join(folder))?;
        fs::write(Path::new(&out).join(format!("{folder}.rs")), table)?;
    }
    Ok(())
}

/// Rust source of a list of names and texts.
fn table(folder: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
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
    Ok(table)
}
