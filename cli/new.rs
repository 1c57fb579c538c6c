//! `warpsieve new`: a crate with a scheme of one's own, whose binary is this command line with the scheme in it. What it
//! writes is `examples/new-scheme` under another name.

use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use super::args::NewArguments;
use super::{Exit, output};
use warpsieve::config::designs;

/// Where this binary was built from.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The files, by their path in the crate.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("../examples/new-scheme/Cargo.toml")),
    ("new-scheme.toml", include_str!("../examples/new-scheme/new-scheme.toml")),
    ("src/lib.rs", include_str!("../examples/new-scheme/src/lib.rs")),
    ("src/main.rs", include_str!("../examples/new-scheme/src/main.rs")),
    ("src/twin.rs", include_str!("../examples/new-scheme/src/twin.rs")),
    ("tests/checked.rs", include_str!("../examples/new-scheme/tests/checked.rs")),
];

/// What a crate outside the workspace needs besides: the same versions, and tests that run at speed.
const OWN_WORKSPACE: &str = "\n[workspace]\n\n[profile.dev]\nopt-level = 3\n";
const LOCK: &str = include_str!("../Cargo.lock");

pub(super) fn new(arguments: &NewArguments) -> Result<Exit, Report> {
    let name = checked(&arguments.name)?;
    let home = home(arguments.from.as_deref())?;
    let folder = Path::new(name);
    if folder.symlink_metadata().is_ok() {
        return Err(miette!("{name} is there already, expected a name that no file or folder has"));
    }
    let part = PathBuf::from(format!("{name}.warpsieve.part"));
    let written = write_all(&part, name, &home).and_then(|()| fs::rename(&part, folder).into_diagnostic());
    if written.is_err() {
        // Whatever of it is there; the first error says more.
        let _ = fs::remove_dir_all(&part);
    }
    written.wrap_err_with(|| format!("cannot write {name}"))?;
    output::print(&format!(
        "{name}/src/lib.rs has the scheme, {name}/src/twin.rs its twin, {name}/{name}.toml the design\n\
         next: cd {name} && cargo test && cargo run --release -- compare {}/kernels/syrk/small.toml --design-set baseline --design-set {name}\n",
        home.display()
    ))?;
    Ok(Exit::Done)
}

/// A name that can be that of a package, a library, a kind and a design.
fn checked(name: &str) -> Result<&str, Report> {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.split('-').all(is_word) {
        return Err(miette!("the name is `{name}`, expected lower-case words and digits with hyphens: my-scheme"));
    }
    if let Some(design) = designs().iter().find(|design| design.name == name) {
        return Err(miette!("the name is `{name}`, expected another than that of a design: {}", design.path));
    }
    const TAKEN: [&str; 8] = ["golden", "rtl", "serde", "typetag", "warpsieve", "warpsieve-cli", "none", "test"];
    if TAKEN.contains(&name) {
        return Err(miette!("the name is `{name}`, which another crate or kind has, expected another"));
    }
    Ok(name)
}

/// The folder of warpsieve's own sources.
fn home(given: Option<&Path>) -> Result<PathBuf, Report> {
    let folder = given.unwrap_or(Path::new(HOME));
    let found = folder.canonicalize().ok().filter(|folder| folder.join("rtl/Cargo.toml").is_file());
    found.ok_or_else(|| {
        miette!("{} holds no sources of warpsieve, expected the folder of a clone: --from DIR", folder.display())
    })
}

fn write_all(part: &Path, name: &str, home: &Path) -> Result<(), Report> {
    for (path, text) in FILES {
        let text = renamed(text, name, home)?;
        let path = part.join(renamed(path, name, home)?);
        fs::create_dir_all(path.parent().unwrap_or(part)).into_diagnostic()?;
        let text = if path.ends_with("Cargo.toml") { text + OWN_WORKSPACE } else { text };
        fs::write(&path, text).into_diagnostic()?;
    }
    fs::write(part.join("Cargo.lock"), LOCK).into_diagnostic()?;
    fs::write(part.join(".gitignore"), "/target\n").into_diagnostic()
}

/// The text with the name in all its forms, and with the paths to the sources.
fn renamed(text: &str, name: &str, home: &Path) -> Result<String, Report> {
    let home = home.to_str().ok_or_else(|| miette!("{} is no UTF-8, which Cargo.toml needs", home.display()))?;
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let camel: String = name.split('-').map(capital).collect();
    let snake = name.replace('-', "_");
    let text = text.replace("new-scheme", name).replace("new_scheme", &snake).replace("NewScheme", &camel);
    Ok(text.replace("../..", home))
}
