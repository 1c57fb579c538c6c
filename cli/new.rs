//! `warpsieve new`: writes a crate for a user-defined scheme. The binary of the crate is the command
//! `warpsieve` with the scheme added. The crate starts as a renamed copy of a scheme in
//! `examples/new-scheme`: the one that replaces the policy that the user names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use clap::ValueEnum;

use super::args::{NewArguments, SchemeSlot};
use super::{Exit, output};
use warpsieve::config::{Request, ResolvedMachine, designs};

/// Folder of the sources from which this binary was built.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Commit from which this binary was built; empty if unknown.
const COMMIT: &str = env!("WARPSIEVE_COMMIT");

/// Files that every new crate gets, by their path in the crate.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../examples/new-scheme/Cargo.toml")),
    ("src/main.rs", include_str!("../examples/new-scheme/src/main.rs")),
    ("tests/checked.rs", include_str!("../examples/new-scheme/tests/checked.rs")),
];
/// Library file of the example, which lists one scheme for each policy that a scheme can replace.
const LIBRARY: &str = include_str!("../examples/new-scheme/src/lib.rs");

/// Scheme of the example that replaces one policy of the machine.
struct Template {
    slot: SchemeSlot,
    /// Name of the Rust module of the scheme. The scheme's kind and its design are both named `new-` followed
    /// by this name.
    module: &'static str,
    scheme: &'static str,
    /// Golden model of the scheme; `None` if the policy cannot change the results of a kernel.
    twin: Option<&'static str>,
    design: &'static str,
}

/// Schemes of the example, one for each policy that a scheme can replace.
const TEMPLATES: [Template; 11] = [
    Template {
        slot: SchemeSlot::Bypass,
        module: "bypass",
        scheme: include_str!("../examples/new-scheme/src/bypass.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/bypass/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-bypass.toml"),
    },
    Template {
        slot: SchemeSlot::Prefetch,
        module: "prefetch",
        scheme: include_str!("../examples/new-scheme/src/prefetch.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/prefetch/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-prefetch.toml"),
    },
    Template {
        slot: SchemeSlot::L2Prefetch,
        module: "l2prefetch",
        scheme: include_str!("../examples/new-scheme/src/l2prefetch.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/l2prefetch/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-l2prefetch.toml"),
    },
    Template {
        slot: SchemeSlot::Victim,
        module: "victim",
        scheme: include_str!("../examples/new-scheme/src/victim.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/victim/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-victim.toml"),
    },
    Template {
        slot: SchemeSlot::Mshr,
        module: "mshr",
        scheme: include_str!("../examples/new-scheme/src/mshr.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/mshr/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-mshr.toml"),
    },
    Template {
        slot: SchemeSlot::Partition,
        module: "partition",
        scheme: include_str!("../examples/new-scheme/src/partition.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/partition/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-partition.toml"),
    },
    Template {
        slot: SchemeSlot::Replacement,
        module: "replacement",
        scheme: include_str!("../examples/new-scheme/src/replacement.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/replacement/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-replacement.toml"),
    },
    Template {
        slot: SchemeSlot::Index,
        module: "index",
        scheme: include_str!("../examples/new-scheme/src/index.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/index/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-index.toml"),
    },
    Template {
        slot: SchemeSlot::Scheduler,
        module: "scheduler",
        scheme: include_str!("../examples/new-scheme/src/scheduler.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/scheduler/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-scheduler.toml"),
    },
    Template {
        slot: SchemeSlot::Throttle,
        module: "throttle",
        scheme: include_str!("../examples/new-scheme/src/throttle.rs"),
        twin: None,
        design: include_str!("../examples/new-scheme/designs/new-throttle.toml"),
    },
    Template {
        slot: SchemeSlot::Dram,
        module: "dram",
        scheme: include_str!("../examples/new-scheme/src/dram.rs"),
        twin: Some(include_str!("../examples/new-scheme/src/dram/twin.rs")),
        design: include_str!("../examples/new-scheme/designs/new-dram.toml"),
    },
];

/// Manifest of warpsieve's workspace. The new crate copies the build profiles in it; without them, the crate
/// would run slowly.
const WORKSPACE: &str = include_str!("../Cargo.toml");
/// Lock file of warpsieve's workspace, which gives the versions of all dependencies.
const LOCK: &str = include_str!("../Cargo.lock");

/// Keywords of Rust, including reserved ones, which cannot be the name of a crate.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// Names that a crate cannot have: names of crates that come with Rust, and of folders and targets that Cargo
/// uses.
const OF_RUST: [&str; 11] =
    ["alloc", "core", "proc-macro", "std", "test", "build", "deps", "examples", "incremental", "bench", "doc"];
/// Device names of Windows: no file on Windows can have such a name.
const DEVICES: [&str; 4] = ["aux", "con", "nul", "prn"];

pub(super) fn new(arguments: &NewArguments) -> Result<Exit, Report> {
    let name = check_name(&arguments.name, arguments.slot)?;
    let template = Template::of(arguments.slot);
    let sources = Sources::of(arguments)?;
    let folder = Path::new(name);
    if folder.symlink_metadata().is_ok() {
        return Err(miette!("{name} already exists, expected a name that no file or folder has"));
    }
    // The crate is first written to a temporary folder next to its final folder, so that its relative paths
    // stay valid when it is renamed.
    let part = PathBuf::from(format!("{name}.warpsieve.part"));
    let written = write_all(&part, name, template, &sources);
    let locked = written.and_then(|()| {
        let locked = matches!(sources, Sources::Folder(_)) && lock(&part);
        fs::rename(&part, folder).into_diagnostic().map(|()| locked)
    });
    if locked.is_err() {
        // The incomplete crate is removed. If its removal fails too, the user sees only the first error,
        // which is more useful.
        let _ = fs::remove_dir_all(&part);
    }
    let locked = locked.wrap_err_with(|| format!("cannot write {name}"))?;
    let lock = if locked { "complete: it builds offline and with --locked" } else { "completed by the first build" };
    let lines = [
        match template.twin {
            Some(_) => format!(
                "scheme of {}: {name}/src/scheme.rs; twin: {name}/src/scheme/twin.rs; \
                 design: {name}/designs/{name}.toml",
                template.key()
            ),
            None => format!("scheme of {}: {name}/src/scheme.rs; design: {name}/designs/{name}.toml", template.key()),
        },
        format!("dependencies: {}; Cargo.lock is {lock}", sources.show_first_steps()),
        format!(
            "next: cd {name} && cargo test && cargo run --release -- compare syrk/small --design-set baseline,{name}"
        ),
        "the first build of a profile takes about five minutes of CPU time and 1 GB of disk space, later ones seconds"
            .to_owned(),
    ];
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(Exit::Done)
}

/// Returns the name of the new crate, after a check that it is valid for a package, a library, a scheme and a
/// design.
fn check_name(name: &str, slot: SchemeSlot) -> Result<&str, Report> {
    let refuse = |why: &str| Err(miette!("the name is `{name}`, {why}"));
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.split('-').all(is_word) {
        return refuse(
            "expected lower-case words and digits joined by hyphens, starting with a letter, such as my-scheme",
        );
    }
    if KEYWORDS.contains(&name) {
        return refuse("a Rust keyword, expected another name, such as my-scheme");
    }
    if OF_RUST.contains(&name) {
        return refuse("reserved by Rust or Cargo, expected another name, such as my-scheme");
    }
    let is_port = |kind| name.strip_prefix(kind).is_some_and(|rest| rest.len() == 1 && rest != "0");
    if DEVICES.contains(&name) || is_port("com") || is_port("lpt") {
        return refuse("a Windows device name, expected another name, such as my-scheme");
    }
    if let Some(design) = designs().iter().find(|design| design.name == name) {
        return refuse(&format!("the name of a design, expected another name: {}", design.path));
    }
    let is_example = ["new-scheme", "own-scheme"].contains(&name);
    let packages = LOCK.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    // Packages of warpsieve are used under the names of their libraries: `warpsieve-rtl` as `rtl`.
    let mut crates = packages.flat_map(|package| [package, package.strip_prefix("warpsieve-").unwrap_or(package)]);
    let is_crate = crates.any(|known| known == name || known == name.replace('-', "_"));
    if is_crate && !is_example || name == "none" || is_kind(name, slot) {
        return refuse("the name of another crate or kind, expected another name");
    }
    Ok(name)
}

/// True if the policy that `slot` selects already has a scheme of the kind `name`.
fn is_kind(name: &str, slot: SchemeSlot) -> bool {
    let sets = vec![format!("{}={{ kind = \"{name}\" }}", Template::of(slot).key())];
    let request = Request { machine: "fermi".to_owned(), sets, ..Request::default() };
    // If no scheme is called `name`, the error lists the expected names. Any other error means that the
    // scheme exists, but needs further keys or does not fit the machine.
    ResolvedMachine::new(&request).map_or_else(|error| !error.lines().concat().contains("expected one of"), |_| true)
}

/// Location of warpsieve's sources, as the manifest of the new crate states it.
enum Sources {
    /// Path of a folder, relative to the new crate or absolute.
    Folder(String),
    /// URL of a git repository.
    Git(String),
}

impl Sources {
    fn of(arguments: &NewArguments) -> Result<Self, Report> {
        if let Some(url) = &arguments.git {
            // Cargo accepts neither a file path nor the short SSH form (`git@HOST:PATH`) as the URL of a git
            // repository.
            let is_plain = url.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
                && !url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '"' || c == '\\');
            return match is_plain {
                true => Ok(Self::Git(url.clone())),
                false => Err(miette!(
                    "`--git` is {url:?}, expected the URL of a repository, such as https://host/name.git or \
                     ssh://git@host/name.git"
                )),
            };
        }
        let folder = arguments.path.as_deref().unwrap_or(Path::new(HOME));
        let found = folder.canonicalize().ok().filter(|folder| folder.join("rtl/Cargo.toml").is_file());
        let found = found.ok_or_else(|| {
            miette!(
                "{} does not contain the sources of warpsieve, expected the folder of a clone (--path DIR) or a \
                 repository (--git URL)",
                folder.display()
            )
        })?;
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).into_diagnostic();
        let here = here.wrap_err("the current folder cannot be found")?;
        let seen = match &arguments.path {
            // The user gives a path relative to the current folder. The new crate is one folder below the
            // current folder, so the path in its manifest needs one more `..`.
            Some(given) if given.is_absolute() => given.clone(),
            Some(given) => Path::new("..").join(given),
            None => relative(&here, &found).unwrap_or(found),
        };
        let seen = seen.to_str().map(|seen| seen.replace('\\', "/"));
        seen.map(Self::Folder).ok_or_else(|| miette!("{} is not UTF-8, which Cargo.toml requires", folder.display()))
    }

    fn show_first_steps(&self) -> String {
        match self {
            Self::Folder(folder) => format!("path {folder}"),
            Self::Git(url) if COMMIT.is_empty() => format!("git {url}"),
            Self::Git(url) => format!("git {url} at {COMMIT}"),
        }
    }

    /// Returns the keys by which a manifest locates a package of the workspace.
    fn dependency(&self, package: &str) -> String {
        match self {
            Self::Folder(folder) => format!("path = {}", toml::Value::from(format!("{folder}/{package}"))),
            Self::Git(url) if COMMIT.is_empty() => format!("git = \"{url}\""),
            Self::Git(url) => format!("git = \"{url}\", rev = \"{COMMIT}\""),
        }
    }
}

/// Returns the relative path to the folder `to` from a folder inside `here`. Returns `None` if `here` and
/// `to` share only the root folder.
fn relative(here: &Path, to: &Path) -> Option<PathBuf> {
    let common = here.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    // Two folders that share only the root are unlikely to be moved together.
    (common > 1).then(|| {
        let up = here.components().skip(common).map(|_| "..").chain([".."]);
        up.map(PathBuf::from).chain(to.components().skip(common).map(|part| PathBuf::from(part.as_os_str()))).collect()
    })
}

/// Runs Cargo to remove unneeded packages from the lock file and to add the new crate. Returns true on
/// success.
fn lock(folder: &Path) -> bool {
    let mut cargo = Command::new("cargo");
    let cargo = cargo.args(["update", "--workspace", "--offline"]).current_dir(folder);
    cargo.stdin(Stdio::null()).output().is_ok_and(|ran| ran.status.success())
}

/// Returns the build profiles of warpsieve's workspace as TOML. Settings for packages that the new crate does
/// not use are left out.
fn profiles() -> String {
    let mut workspace: toml::Table = WORKSPACE.parse().unwrap_or_default();
    let mut profiles = workspace.remove("profile").and_then(|profiles| profiles.try_into().ok()).unwrap_or_default();
    let of_dev = |profiles: &mut toml::Table| -> Option<toml::Table> {
        profiles.get_mut("dev")?.as_table_mut()?.remove("package")?.try_into().ok()
    };
    of_dev(&mut profiles);
    profiles.remove("bench");
    let table = toml::Table::from_iter([("profile".to_owned(), toml::Value::Table(profiles))]);
    toml::to_string(&table).unwrap_or_default()
}

impl Template {
    /// Returns the example's scheme for a slot. The slot is the policy of the machine that the scheme
    /// replaces.
    fn of(slot: SchemeSlot) -> &'static Self {
        let [first, others @ ..] = &TEMPLATES;
        others.iter().find(|template| template.slot == slot).unwrap_or(first)
    }

    /// Returns the configuration key that selects the scheme.
    fn key(&self) -> String {
        self.slot.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the library file of the example with this scheme only. The schemes for other policies are
    /// removed.
    fn library(&self) -> String {
        let mut kept = Vec::new();
        let mut lines = LIBRARY.lines();
        while let Some(line) = lines.next() {
            if let Some(module) = line.strip_prefix("pub mod ") {
                if module.strip_suffix(';') == Some(self.module) {
                    kept.push("pub mod scheme;");
                }
            } else if line.starts_with("    Builtin {") {
                // Each design in the source of the example ends with `},`, either at the end of its only line
                // or on a line of its own.
                let is_end = |line: &str| line.trim_end().ends_with("},");
                let mut design = vec![line];
                while !design.last().is_some_and(|line| is_end(line)) {
                    let Some(line) = lines.next() else { break };
                    design.push(line);
                }
                if design.iter().any(|line| line.contains(&format!("\"new-{}\"", self.module))) {
                    kept.append(&mut design);
                }
            } else {
                kept.push(line);
            }
        }
        kept.join("\n") + "\n"
    }

    /// Returns the contents of all files of the new crate, by their path in the crate.
    fn files(&self) -> Vec<(&'static str, String)> {
        let shared = FILES.map(|(path, text)| (path, text.to_owned()));
        let own = [("src/lib.rs", self.library()), ("src/scheme.rs", self.scheme.to_owned())];
        let twin = self.twin.map(|twin| ("src/scheme/twin.rs", twin.to_owned()));
        let design = [("designs/new-scheme.toml", self.design.to_owned())];
        shared.into_iter().chain(own).chain(twin).chain(design).collect()
    }

    /// Returns the text with the name of the example and of its scheme replaced by the name of the new crate,
    /// in all their spellings.
    fn rename(&self, text: &str, name: &str) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        let camel: String = name.split('-').map(capital).collect();
        let snake = name.replace('-', "_");
        ["scheme", self.module].iter().fold(text.to_owned(), |text, of| {
            let text = text.replace(&format!("new-{of}"), name).replace(&format!("new_{of}"), &snake);
            text.replace(&format!("New{}", capital(of)), &camel)
        })
    }
}

fn write_all(part: &Path, name: &str, template: &Template, sources: &Sources) -> Result<(), Report> {
    for (path, text) in template.files() {
        let path = part.join(template.rename(path, name));
        let mut text = template.rename(&text, name);
        if path.ends_with("Cargo.toml") {
            for package in ["cli", "golden", "rtl", "sim", "tb"] {
                text = text.replace(&format!("path = \"../../{package}\""), &sources.dependency(package));
            }
            // The workspace table keeps Cargo from adding the new crate to another workspace whose folder
            // contains it.
            text = format!(
                "{text}\n[workspace]\n\n# Build profiles of warpsieve: without them, it runs slowly.\n{}",
                profiles()
            );
        }
        fs::create_dir_all(path.parent().unwrap_or(part)).into_diagnostic()?;
        fs::write(&path, text).into_diagnostic()?;
    }
    if let Sources::Folder(_) = sources {
        fs::write(part.join("Cargo.lock"), LOCK).into_diagnostic()?;
    }
    fs::write(part.join(".gitignore"), "/target\n").into_diagnostic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_rust_cargo_windows_or_warpsieve_have_are_refused_with_the_reason() {
        for (names, why) in [
            (&["type", "self", "async", "gen", "where"][..], "a Rust keyword"),
            (&["test", "core", "std", "build", "deps"], "reserved by Rust or Cargo"),
            (&["con", "nul", "com1", "lpt9"], "a Windows device name"),
            (&["pric", "streaming"], "the name of a design, expected another name"),
            (
                &["rtl", "serde", "clap", "serde-json", "none", "all", "contentious"],
                "the name of another crate or kind",
            ),
            (
                &["9lives", "My-Scheme", "my_scheme", "sch\u{e9}ma", "a--b", "a-", "-a", "", "../x"],
                "expected lower-case words and digits joined by hyphens",
            ),
        ] {
            for name in names {
                let message = check_name(name, SchemeSlot::Bypass).unwrap_err().to_string();
                assert!(message.contains(why), "{name}: {message}");
            }
        }
        for name in ["my-scheme", "com", "com10", "typed", "lru2", "new-scheme"] {
            assert!(check_name(name, SchemeSlot::Bypass).is_ok(), "{name}");
        }
        for (name, slot) in [("bliss", SchemeSlot::Dram), ("lru", SchemeSlot::Replacement), ("fcfs", SchemeSlot::Dram)]
        {
            assert!(check_name(name, slot).is_err() && check_name(name, SchemeSlot::Bypass).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_slot_has_a_scheme_of_its_own_and_its_library_lists_no_other() {
        for slot in SchemeSlot::value_variants() {
            let template = Template::of(*slot);
            assert_eq!(template.slot, *slot);
            let library = template.library();
            assert_eq!(library.matches("pub mod ").count(), 1, "{library}");
            assert_eq!(library.matches("Builtin {").count(), 1, "{library}");
            assert_eq!(library.matches('{').count(), library.matches('}').count(), "{library}");
            assert!(template.design.contains(&format!("kind = \"new-{}\"", template.module)), "{}", template.design);
            assert!(template.scheme.contains("pub mod twin;") == template.twin.is_some());
            for (path, text) in template.files() {
                let text = template.rename(&text, "two-words");
                let left = ["new-", "new_", "NewS"].iter().filter(|part| text.contains(*part)).count();
                assert_eq!(left, 0, "{path}: {text}");
            }
        }
    }

    #[test]
    fn folders_that_are_moved_together_are_named_by_the_way_from_one_to_the_other() {
        let way = |here: &str, to: &str| relative(Path::new(here), Path::new(to)).map(|way| way.display().to_string());
        assert_eq!(way("/home/me", "/home/me/warpsieve").as_deref(), Some("../warpsieve"));
        assert_eq!(way("/home/me/mine", "/home/me/warpsieve").as_deref(), Some("../../warpsieve"));
        assert_eq!(way("/home/me/warpsieve", "/home/me/warpsieve").as_deref(), Some(".."));
        assert_eq!(way("/tmp", "/home/me/warpsieve"), None);
    }

    #[test]
    fn the_crate_has_the_profiles_of_the_workspace() {
        let profiles: toml::Table = profiles().parse().unwrap();
        let release = &profiles["profile"]["release"];
        assert_eq!(release["package"]["*"]["opt-level"], 0.into());
        assert_eq!(release["package"]["warpsieve-golden"]["opt-level"], 2.into());
        assert_eq!(profiles["profile"]["dev"]["opt-level"], 2.into());
        assert!(profiles["profile"]["dev"].get("package").is_none());
    }
}
