//! Finds kernels by their C++ names. A launch file may name a kernel as in its C++ source, but PTX files
//! contain mangled names.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use cpp_demangle::{DemangleOptions, Symbol};
use input::join_names;

use super::model::{KernelLaunch, LaunchFile};
use super::problem::{LaunchError, Problems};
use crate::config::suggestion;

impl LaunchFile {
    /// Replaces the kernel names of all launches by names in the PTX files. `kernels` lists the names in each
    /// PTX file. Names such as `reduce`, `ns::reduce<float, 256>` and `reduce(float*, int)` can stand for a
    /// mangled name if they match only one kernel.
    ///
    /// # Errors
    /// Returns an error that lists all names that match no kernel or several kernels.
    pub fn resolve_kernels(&mut self, kernels: &BTreeMap<PathBuf, Vec<String>>) -> Result<(), LaunchError> {
        let (path, text) = (self.path.clone(), self.text.clone());
        let mut problems = Problems::new(&path, &text);
        let mut files: BTreeMap<PathBuf, Kernels<'_>> = BTreeMap::new();
        for launch in self.launches_mut() {
            let known = || Kernels::of(kernels.get(&launch.ptx).map_or(&[][..], Vec::as_slice));
            let known = files.entry(launch.ptx.clone()).or_insert_with(known);
            if let Some(name) = known.resolve(launch, &mut problems) {
                launch.kernel = name;
            }
        }
        problems.or(Some(()))
    }
}

/// Kernels of a PTX file, with their mangled and demangled names.
struct Kernels<'k> {
    names: HashSet<&'k str>,
    all: &'k [String],
    /// Mangled name, demangled name, and components of the demangled name of each kernel. They are computed
    /// when a launch first uses a name that is not in the PTX file.
    spelled: OnceCell<Vec<(&'k str, String, ParsedName)>>,
}

impl<'k> Kernels<'k> {
    fn of(all: &'k [String]) -> Self {
        Self { names: all.iter().map(String::as_str).collect(), all, spelled: OnceCell::new() }
    }

    fn demangled_names(&self) -> &[(&'k str, String, ParsedName)] {
        let spell = |name: &'k String| {
            let full = demangle(name);
            let parts = ParsedName::new(&full);
            (name.as_str(), full, parts)
        };
        self.spelled.get_or_init(|| self.all.iter().map(spell).collect())
    }

    fn resolve(&self, launch: &KernelLaunch, problems: &mut Problems<'_>) -> Option<String> {
        let asked = &launch.kernel;
        if self.names.contains(asked.as_str()) {
            return Some(asked.clone());
        }
        let asked_for = ParsedName::new(asked);
        let fitting: Vec<_> = self.demangled_names().iter().filter(|(_, _, parts)| parts.fits(&asked_for)).collect();
        match fitting.as_slice() {
            [(name, _, _)] => Some((*name).to_owned()),
            [] => {
                self.refuse(launch, problems);
                None
            }
            several => {
                let names: Vec<_> = several.iter().map(|(_, full, _)| full.as_str()).collect();
                let expected = format!("the name of one kernel: {} of {} match", names.len(), launch.ptx.display());
                let help = problems.wants_help().then(|| format!("kernels: {}", join_names(&names)));
                problems.refuse_with_help(&launch.kernel_place, expected, help);
                None
            }
        }
    }

    fn refuse(&self, launch: &KernelLaunch, problems: &mut Problems<'_>) {
        let is_whole = launch.kernel.contains('(');
        let short = |(_, full, parts): &(&str, String, ParsedName)| match is_whole {
            true => full.clone(),
            false => parts.path.join("::"),
        };
        let help = problems.wants_help().then(|| {
            let names: Vec<_> = self.demangled_names().iter().map(short).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            suggestion(&launch.kernel, "kernels", &names)
        });
        problems.refuse_with_help(&launch.kernel_place, format!("a kernel of {}", launch.ptx.display()), help);
    }
}

/// Demangles a C++ name; other names stay unchanged.
fn demangle(name: &str) -> String {
    let symbol = Symbol::new(name).ok().filter(|_| name.starts_with("_Z"));
    let spelled = symbol.and_then(|symbol| symbol.demangle_with_options(&DemangleOptions::default()).ok());
    let spelled = spelled.unwrap_or_else(|| name.to_owned());
    // The demangled name of a function template begins with its return type. For a kernel this is `void`,
    // which is removed.
    spelled.strip_prefix("void ").map_or(spelled.clone(), str::to_owned)
}

/// Components of a demangled C++ name.
#[derive(Debug, PartialEq, Eq)]
struct ParsedName {
    /// Names of the enclosing namespaces, followed by the name of the function.
    path: Vec<String>,
    /// Template arguments; `None` if the name has no list of template arguments.
    arguments: Option<Vec<String>>,
    parameters: Option<Vec<String>>,
}

impl ParsedName {
    fn new(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_prefix("void ").unwrap_or(text);
        let (rest, parameters) = without_group(text, '(', ')');
        let (rest, arguments) = without_group(rest, '<', '>');
        let path = split(rest, "::").into_iter().map(|part| part.trim().to_owned()).collect();
        let list = |group: &str| split(group, ",").into_iter().map(plain).filter(|one| !one.is_empty()).collect();
        // The parameter lists of `k(void)` and `k()` are equivalent.
        let parameters = parameters.map(|group| if group.trim() == "void" { Vec::new() } else { list(group) });
        Self { path, arguments: arguments.map(list), parameters }
    }

    /// True if `asked`, a name written in a launch file, can stand for this kernel.
    fn fits(&self, asked: &Self) -> bool {
        let same = |mine: &Option<Vec<String>>, asked: &Option<Vec<String>>| asked.is_none() || mine == asked;
        self.path.ends_with(&asked.path)
            && same(&self.arguments, &asked.arguments)
            && same(&self.parameters, &asked.parameters)
    }
}

/// If the text ends in a group in brackets, such as `(int)`, returns the text before the group and the
/// contents of the group. Otherwise returns the whole text.
fn without_group(text: &str, open: char, close: char) -> (&str, Option<&str>) {
    let Some(inner) = text.strip_suffix(close) else { return (text, None) };
    let mut depth = 1;
    for (at, letter) in inner.char_indices().rev() {
        depth += i32::from(letter == close) - i32::from(letter == open);
        if depth == 0 {
            return (inner[..at].trim_end(), Some(&inner[at + open.len_utf8()..]));
        }
    }
    (text, None)
}

/// Splits a text at those separators that are not inside brackets.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        depth += i32::from("(<[".contains(letter)) - i32::from(")>]".contains(letter));
        if depth == 0 && at >= start && text[at..].starts_with(separator) {
            parts.push(&text[start..at]);
            start = at + separator.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Normalizes the spelling of a C++ type or number. Equivalent spellings become equal: `const unsigned *` and
/// `unsigned int const*`, or `(unsigned int)256`, `256u` and `256`.
fn plain(text: &str) -> String {
    let text = text.trim();
    let text = match text.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some(("bool", number)) => {
            if number == "0" {
                "false"
            } else {
                "true"
            }
        }
        Some((_, number)) => number,
        None => text,
    };
    let number = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if !number.is_empty() && number.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let (base, rest) = text.split_at(text.find(['*', '&', '<', '[', '(']).unwrap_or(text.len()));
    let mut words: Vec<_> = base.split_whitespace().collect();
    if words.iter().any(|word| ["unsigned", "long", "short"].contains(word)) {
        words.retain(|&word| word != "int");
    }
    words.sort_unstable();
    let rest: String = rest.chars().filter(|letter| !letter.is_whitespace()).collect();
    words.join(" ") + &rest
}
