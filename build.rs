//! Lists the files of `schemas/messages` and `schemas/layouts` so that they are embedded: adding a message is adding a
//! file. Looks whether there is a libpcap to link `kafkascope-capture` with.

use std::process::{Command, Stdio};
use std::{env, fmt::Write, fs, io, path::Path};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let out = env::var("OUT_DIR").unwrap_or_default();
    for folder in ["messages", "layouts"] {
        println!("cargo:rerun-if-changed=schemas/{folder}");
        let table = table(&Path::new(&root).join("schemas").join(folder))?;
        fs::write(Path::new(&out).join(format!("{folder}.rs")), table)?;
    }
    println!("cargo:rustc-check-cfg=cfg(libpcap)");
    if env::var_os("CARGO_FEATURE_LIVE").is_some() {
        watch_for_libpcap();
        if links_libpcap(Path::new(&out))? {
            println!("cargo:rustc-cfg=libpcap");
        }
    }
    Ok(())
}

/// Whether a program links with libpcap here: tried, with the linker and the flags that the build has, because nothing
/// else tells it on all systems.
fn links_libpcap(out: &Path) -> io::Result<bool> {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let source = out.join("libpcap.rs");
    fs::write(&source, "fn main() {}")?;
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg(&source).arg("-o").arg(out.join("libpcap")).args(["--target", &variable("TARGET")]);
    rustc.args(["-l", if variable("CARGO_CFG_TARGET_OS") == "windows" { "wpcap" } else { "pcap" }]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    rustc.args(variable("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    // The places where the pcap crate looks as well.
    let folder = variable("LIBPCAP_LIBDIR");
    if folder.is_empty() {
        let package = Command::new("pkg-config").args(["--libs-only-L", "libpcap"]).stderr(Stdio::null()).output();
        let flags = package.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        rustc.args(flags.split_whitespace());
    } else {
        rustc.arg(format!("-L{folder}"));
    }
    Ok(rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()))
}

/// Has this script run again when a libpcap is installed: its package puts a file into one of these folders.
fn watch_for_libpcap() {
    for variable in ["LIBPCAP_LIBDIR", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let target = env::var("TARGET").unwrap_or_default().replacen("-unknown", "", 1);
    for folder in ["/usr/lib", "/usr/lib64", "/usr/local/lib", &format!("/usr/lib/{target}")] {
        let folder = Path::new(folder).join("pkgconfig");
        // What is named and is not there would be looked at as changed in every build.
        if folder.is_dir() {
            println!("cargo:rerun-if-changed={}", folder.display());
        }
    }
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
