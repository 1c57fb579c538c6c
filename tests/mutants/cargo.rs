//! Builds the mutated copy of the workspace, and finds mutants that do not compile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::rules::Rules;
use crate::tree::Tree;

/// Crates whose speed hardly affects the duration of tests, and which are therefore compiled without
/// optimization.
const PLAIN: [&str; 3] = ["papers", "warpsieve-cli", "warpsieve-command"];

/// Test binary that cargo has built.
#[derive(Clone, Debug)]
pub struct Binary {
    pub path: PathBuf,
    /// Working folder in which cargo would run the test binary.
    pub folder: PathBuf,
    pub package: String,
    /// Name of an integration test; `None` for the unit tests of a library.
    pub target: Option<String>,
}

impl Binary {
    /// Returns the name by which messages refer to the test binary.
    pub fn name(&self) -> String {
        self.target.clone().unwrap_or_else(|| self.package.clone())
    }
}

/// Runs cargo on the mutated copy of the workspace. Returns true if it succeeded, and its messages.
fn cargo(root: &Path, tree: &Tree, arguments: &[&str]) -> Result<(bool, Vec<Value>), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).args(["--locked", "--message-format", "json"]).current_dir(&tree.folder);
    for package in PLAIN {
        cargo.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    // The copy has its own build folder. Cargo identifies a crate by its path within its workspace, and would
    // confuse the build outputs of the copy with those of the original workspace.
    let build = root.join("target/mutants/build");
    cargo.env("CARGO_TARGET_DIR", &build).env("CARGO_BUILD_BUILD_DIR", &build);
    let ended = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&ended.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok((ended.status.success(), messages))
}

/// Returns the numbers of the mutants that do not compile.
///
/// # Errors
/// Returns an error if code outside of mutants does not compile either.
pub fn find_refused(root: &Path, tree: &Tree) -> Result<BTreeSet<u32>, String> {
    let folders = tree.packages(root);
    let packages = folders.iter().map(|folder| package_name(&tree.folder.join(folder)));
    let packages = packages.collect::<Result<Vec<_>, _>>()?;
    let mut arguments = vec!["check", "--quiet", "--keep-going", "--lib"];
    arguments.extend(packages.iter().flat_map(|package| ["--package", package.as_str()]));
    let (success, messages) = cargo(root, tree, &arguments)?;
    let mut refused = BTreeSet::new();
    for message in messages.iter().map(|message| &message["message"]).filter(|message| message["level"] == "error") {
        let found = find_blamed(tree, message);
        // The last error message of the compiler has no location, since it only counts the errors.
        if found.is_empty() && message["spans"].as_array().is_some_and(|spans| !spans.is_empty()) {
            return Err(format!("no mutant is to blame for\n{}", message["rendered"].as_str().unwrap_or("?")));
        }
        refused.extend(found);
    }
    match success || !refused.is_empty() {
        true => Ok(refused),
        false => Err("cargo check fails, and says nothing of any mutant".to_owned()),
    }
}

/// Returns the name of the package in a folder, as its manifest states it.
fn package_name(folder: &Path) -> Result<String, String> {
    let path = folder.join("Cargo.toml");
    let error = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| error(&e))?;
    let manifest: toml::Table = toml::from_str(&text).map_err(|e| error(&e))?;
    let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
    name.map(str::to_owned).ok_or_else(|| error(&"it has no name of a package"))
}

/// Returns the mutants at the primary location of a compiler message. If there are none, returns those at its
/// other locations.
fn find_blamed(tree: &Tree, message: &Value) -> Vec<u32> {
    let spans: Vec<_> = message["spans"].as_array().into_iter().flatten().collect();
    let at = |span: &&Value| {
        let byte = |key: &str| span[key].as_u64().unwrap_or(0) as usize;
        tree.at(span["file_name"].as_str().unwrap_or(""), &(byte("byte_start")..byte("byte_end")))
    };
    let (main, others): (Vec<_>, Vec<_>) = spans.into_iter().partition(|span| span["is_primary"] == true);
    let found: Vec<_> = main.iter().flat_map(at).collect();
    if found.is_empty() { others.iter().flat_map(at).collect() } else { found }
}

/// Builds all test binaries that are to run.
///
/// # Errors
/// Returns an error if the build fails.
pub fn binaries(root: &Path, tree: &Tree, rules: &Rules) -> Result<Vec<Binary>, String> {
    let mut arguments = vec!["test", "--no-run", "--workspace", "--exclude", "mutants"];
    let whole = rules.skip.iter().filter(|skip| skip.is_package());
    arguments.extend(whole.flat_map(|skip| ["--exclude", skip.package.as_str()]));
    let (success, messages) = cargo(root, tree, &arguments)?;
    if !success {
        let rendered = messages.iter().filter(|message| message["message"]["level"] == "error");
        let texts: Vec<_> = rendered.filter_map(|message| message["message"]["rendered"].as_str()).collect();
        return Err(format!("the tests do not build\n{}", texts.join("\n")));
    }
    let mut found: Vec<_> = messages.iter().filter_map(binary).collect();
    found.sort_by_key(|binary| (binary.package.clone(), binary.target.clone()));
    Ok(found)
}

/// Returns the test binary that a JSON message of cargo announces, or `None` if the message announces none.
fn binary(message: &Value) -> Option<Binary> {
    let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let (target, kind) = (message["target"]["name"].as_str()?.to_owned(), message["target"]["kind"][0].as_str()?);
    let id = message["package_id"].as_str()?;
    let last = id.rsplit(['#', '/']).next().unwrap_or(id);
    // The package id is `path+file:///.../rtl#0.1.0`. If the package is not named like its folder, it is
    // `...#name@0.1.0`.
    let package = match last.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => folder.file_name()?.to_str()?.to_owned(),
    };
    let target = (kind == "test").then_some(target);
    Some(Binary { path: path.into(), folder, package, target })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(kind: &str, id: &str) -> Value {
        json!({
            "executable": "/t/deps/x-1", "profile": { "test": true }, "manifest_path": "/w/rtl/Cargo.toml",
            "target": { "name": "machine", "kind": [kind] }, "package_id": id,
        })
    }

    #[test]
    fn a_test_binary_has_the_name_of_its_package_and_of_its_target_unless_it_is_the_librarys() {
        let library = binary(&message("lib", "path+file:///w/rtl#0.1.0")).unwrap();
        assert_eq!((library.package.as_str(), library.target.as_deref()), ("rtl", None));
        assert_eq!(library.folder, Path::new("/w/rtl"));
        let test = binary(&message("test", "path+file:///w/command#warpsieve-command@0.1.0")).unwrap();
        assert_eq!((test.package.as_str(), test.target.as_deref()), ("warpsieve-command", Some("machine")));
        let mut no_test = message("bin", "path+file:///w/cli#0.1.0");
        no_test["profile"]["test"] = json!(false);
        assert!(binary(&no_test).is_none());
    }
}
