//! Reads a sweep file in TOML, which lists workloads, machines and settings. All errors in the file are
//! reported together.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr};
use serde_json::Value;

use super::super::dictionary::counters;
use super::tidy::SPEEDUP;
use warpsieve::config::{ConfigError, Problem};
use warpsieve::content::Content;
use warpsieve::kernels::of_name;
use warpsieve::launch::{LaunchError, LaunchFile, Node, Number, Place, Problems, Table, locate};

/// Keys that the sweep file may have at its top level.
const KEYS: [&str; 9] = ["launch", "trace", "machine", "design", "check", "max_cycles", "set", "together", "baseline"];
/// Maximum number of core cycles per run, equal to the limit of the option `--max-cycles`.
const MAX_CYCLES: i128 = 1_000_000_000_000_000;
/// Maximum number of runs of a sweep. A larger number is most likely a mistake, and would exhaust the memory
/// of the computer.
const MAX_RUNS: usize = 100_000;
/// Maximum number of characters that are printed of the label of a rejected machine.
const MAX_LABEL: usize = 120;
/// Key that gives a name to an element of a list in the sweep file, such as a launch file.
const NAME: &str = "name";

/// Contents of a sweep file.
pub struct SweepFile {
    pub launches: Vec<NamedItem<PathBuf>>,
    pub traces: Vec<NamedItem<PathBuf>>,
    /// Parameters of the machine, in the order: machine, designs, lists of settings that vary together
    /// (`together`), and single settings.
    pub parameters: Vec<Parameter>,
    pub check: bool,
    pub max_cycles: Option<u64>,
    path: PathBuf,
    text: String,
}

/// Item with a name. The sweep file gives the name, or else the name is derived from the item.
pub struct NamedItem<T> {
    pub name: String,
    pub of: T,
}

/// Parameter that a sweep varies: the machine, its designs, or some of its settings.
pub struct Parameter {
    pub name: String,
    pub choices: Vec<Choice>,
    /// Index of this parameter's choice in the baseline run, to which speedups are relative. `None` if the
    /// baseline of each run has the same choice for this parameter as the run itself.
    pub baseline: Option<usize>,
}

/// Choice for a parameter of a sweep: a machine, designs or settings, with the text that stands for them in
/// tables.
pub struct Choice {
    /// Text or number that tables show for this choice.
    pub value: Value,
    pub machine: Option<String>,
    pub designs: Vec<String>,
    /// Settings that this choice applies.
    pub sets: Vec<Set>,
    pub place: Place,
}

/// Setting of a configuration field: key, value, and text `key=value` as for the option `--set`.
#[derive(Clone)]
pub struct Set {
    pub key: String,
    pub value: Value,
    pub text: String,
}

impl SweepFile {
    /// Reads a sweep file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or violates a rule. The error lists all violations.
    pub fn read(path: &Path) -> Result<Self, Report> {
        let text = Content::Sweep.read(path).into_diagnostic();
        let text = text.wrap_err_with(|| format!("{}: cannot read the sweep file", path.display()))?;
        Ok(Self::parse(path, text)?)
    }

    /// Parses a text as the contents of the sweep file `path`.
    ///
    /// # Errors
    /// Returns an error if the text violates a rule. The error lists all violations.
    pub fn parse(path: &Path, text: String) -> Result<Self, LaunchError> {
        let mut problems = Problems::new(path, &text);
        let Some(document) = problems.document(&text) else { return problems.or(None) };
        let root = Table::root(&document, &text);
        root.refuse_unknown(&KEYS, &mut problems);
        let folder = path.parent().unwrap_or(Path::new(""));
        let launches = files(&root, "launch", folder, &mut problems);
        let traces = files(&root, "trace", folder, &mut problems);
        if [&launches, &traces].iter().all(|files| files.is_empty())
            && ["launch", "trace"].iter().all(|key| root.get(key).is_none())
        {
            problems.add(
                0..0,
                "the file has neither `launch` nor `trace`, expected at least one of them".to_owned(),
                None,
            );
        }
        let names: HashSet<_> = launches.iter().map(|launch| &launch.name).collect();
        let is_both = |trace: &&NamedItem<PathBuf>| names.contains(&trace.name);
        if let Some(NamedItem { name, .. }) = traces.iter().find(is_both) {
            let message = format!("`{name}` is the name of a launch file and of a trace, expected two names");
            problems.add(0..0, message, None);
        }
        let mut parameters = vec![machines(&root, folder, &mut problems), designs(&root, folder, &mut problems)];
        parameters.extend(together(&root, &mut problems));
        let mut sets = Vec::new();
        if let Some(node) = root.get("set") {
            match node.any_table() {
                Some(table) => settings(&table, "", &mut problems, &mut sets),
                None => problems.refuse(&node.place, "a table of settings, such as [set] with l1.sets = [16, 32]"),
            }
        }
        parameters.extend(sets);
        once(&parameters, &mut problems);
        baselines(&root, &mut parameters, &mut problems);
        let check = root.get("check").and_then(|node| node.flag(&mut problems)).unwrap_or(false);
        let max_cycles = root.get("max_cycles");
        let max_cycles = max_cycles.and_then(|node| node.integer(1..=MAX_CYCLES, "core cycles per run", &mut problems));
        let runs =
            parameters.iter().fold(launches.len() + traces.len(), |runs, p| runs.saturating_mul(p.choices.len()));
        if runs > MAX_RUNS {
            problems.add(0..0, format!("the file lists {runs} runs, expected at most {MAX_RUNS}"), None);
        }
        problems.or(Some(()))?;
        let max_cycles = max_cycles.map(|cycles| cycles as u64);
        Ok(Self { launches, traces, parameters, check, max_cycles, path: path.to_owned(), text })
    }

    /// Returns one error about all machines that violate configuration rules. Each violation is reported
    /// once, at the value in the sweep file that causes it.
    pub fn refusal(&self, refused: &[(String, ConfigError)]) -> LaunchError {
        let mut problems = Problems::new(&self.path, &self.text);
        let mut known: Vec<(&Problem, Vec<&String>)> = Vec::new();
        let mut numbers = HashMap::new();
        // Labels are shortened. The label of a machine with thousands of settings is long, and is repeated in
        // each problem.
        let labelled: Vec<_> = refused.iter().map(|(label, error)| (shorten(label), error)).collect();
        for (label, problem) in labelled.iter().flat_map(|(label, e)| e.problems.iter().map(move |p| (label, p))) {
            let number = *numbers.entry((problem.line(), problem.given())).or_insert(known.len());
            match known.get_mut(number) {
                Some((_, labels)) => labels.push(label),
                None => known.push((problem, vec![label])),
            }
        }
        for (problem, labels) in known {
            let [first, others @ ..] = labels.as_slice() else { continue };
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            let (option, text) = problem.given();
            // Finding the value that causes a violation is slow. It is therefore left out for violations that
            // will not be printed.
            let is_shown = problems.wants_help();
            let mut choices = self.choices().filter(|_| is_shown);
            let place = choices.find(|choice| choice.gives(option, text)).map(|choice| choice.place.span.clone());
            let message = if place.is_some() { problem.to_string() } else { problem.line() };
            let place = place.unwrap_or(if is_shown { 0..0 } else { self.text.len()..self.text.len() });
            problems.add(place, format!("on {first}{more}: {message}"), problem.help.clone());
        }
        match problems.or::<()>(None) {
            Err(error) => error,
            Ok(()) => unreachable!("a rejected machine has a problem"),
        }
    }

    fn choices(&self) -> impl Iterator<Item = &Choice> {
        self.parameters.iter().flat_map(|parameter| &parameter.choices)
    }
}

/// Returns the beginning of a label, so that a long label does not hide the message that follows it.
fn shorten(label: &str) -> String {
    match label.char_indices().nth(MAX_LABEL) {
        Some((at, _)) => format!("{} ...", &label[..at]),
        None => label.to_owned(),
    }
}

/// Returns the elements of a list, or the single value given in place of a list.
fn list_elements<'a>(root: &Table<'a>, key: &str, what: &str, problems: &mut Problems<'_>) -> Vec<Node<'a>> {
    let Some(node) = root.get(key) else { return Vec::new() };
    if !node.is_array() {
        return vec![node];
    }
    let elements = node.elements(what, problems).unwrap_or_default();
    if elements.is_empty() {
        problems.refuse(&node.place, format!("one or more {what}"));
    }
    elements
}

/// Returns the content of a list element, and its name if it has one. For example, if `key` is `"file"`, the
/// element is either `"a"` or `{ name = "b", file = "a" }`.
fn read_name<'a>(node: Node<'a>, key: &str, problems: &mut Problems<'_>) -> Option<(Option<String>, Node<'a>)> {
    if !node.is_table() {
        return Some((None, node));
    }
    let table = node.table(&[NAME, key], problems)?;
    let name = table.require(NAME, problems).and_then(|node| node.text("a name", problems));
    Some((Some(name?.to_owned()), table.require(key, problems)?))
}

/// Returns the files that a list of names and patterns denotes, in the order of the list. Files that match
/// the same pattern are sorted by name. A file without a `name` gets its path as written in the sweep file,
/// no matter what the current folder is.
fn files(root: &Table<'_>, key: &str, folder: &Path, problems: &mut Problems<'_>) -> Vec<NamedItem<PathBuf>> {
    let what = "names or patterns of files";
    let (mut found, mut names) = (Vec::new(), HashSet::new());
    for node in list_elements(root, key, what, problems) {
        let Some((name, node)) = read_name(node, key, problems) else { continue };
        let Some(text) = node.text("the name or pattern of a file", problems) else { continue };
        let kernel = || of_name(text).filter(|_| key == "launch");
        let (name, paths) = match matching(folder, text, key) {
            Ok(paths) => (name, paths),
            Err(why) => match kernel() {
                Some(launch) => (name.or_else(|| Some(text.to_owned())), vec![launch]),
                None => {
                    problems.refuse(&node.place, why);
                    continue;
                }
            },
        };
        if name.is_some() && paths.len() > 1 {
            problems.refuse(&node.place, format!("one file, since the entry has a `{NAME}`, not {}", paths.len()));
            continue;
        }
        for path in paths {
            let own = path.strip_prefix(folder).unwrap_or(&path).display();
            let name = name.clone().unwrap_or_else(|| own.to_string());
            if !names.insert(name.clone()) {
                problems.add(node.place.span.clone(), format!("`{name}` is given twice in `{key}`"), None);
            }
            found.push(NamedItem { name, of: path });
        }
    }
    found
}

/// Returns the files that a name or pattern denotes, or the reason why it denotes no file.
fn matching(folder: &Path, text: &str, key: &str) -> Result<Vec<PathBuf>, String> {
    if !text.contains(['*', '?', '[']) {
        let path = folder.join(text);
        // Values in a path, such as `n=100`, are checked when the launch file is read.
        let has_values = || locate(&path).1.is_some_and(|part| part.contains('='));
        let exists = path.exists() || (key == "launch" && (LaunchFile::exists(&path) || has_values()));
        return if exists { Ok(vec![path]) } else { Err(format!("a file: {} does not exist", path.display())) };
    }
    let pattern = PathBuf::from(glob::Pattern::escape(&folder.display().to_string())).join(text);
    let find = |pattern: &Path| {
        let paths = glob::glob(&pattern.display().to_string()).map_err(|error| format!("a pattern: {error}"))?;
        paths.collect::<Result<Vec<_>, _>>().map_err(|error| format!("files that can be read: {error}"))
    };
    let mut paths = find(&pattern)?;
    // In a pattern for launch files, the last component may be the name of a problem size, or values such as
    // `n=100`. The other components then select kernels, of which only those with this problem size, or with
    // parameters of these names, match.
    if let (true, Some(parent), Some(size)) = (key == "launch", pattern.parent(), pattern.file_name()) {
        let sized = find(parent)?.into_iter().map(|path| path.join(size));
        paths.extend(sized.filter(|path| !path.exists() && LaunchFile::exists(path)));
        paths.sort();
    }
    if paths.is_empty() {
        Err(format!("a pattern with files: none matches {}", folder.join(text).display()))
    } else {
        Ok(paths)
    }
}

/// Returns the name of a machine or design. A relative path is relative to the folder of the sweep file.
fn beside(folder: &Path, name: &str) -> String {
    let is_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
    if is_file { folder.join(name).display().to_string() } else { name.to_owned() }
}

fn machines(root: &Table<'_>, folder: &Path, problems: &mut Problems<'_>) -> Parameter {
    let mut choices = Vec::new();
    for node in list_elements(root, "machine", "machines", problems) {
        let Some((name, node)) = read_name(node, "machine", problems) else { continue };
        let Some(text) = node.text("the name of a machine, or a TOML file", problems) else { continue };
        let machine = Some(beside(folder, text));
        let value = name.unwrap_or_else(|| text.to_owned()).into();
        choices.push(Choice { value, machine, designs: Vec::new(), sets: Vec::new(), place: node.place });
    }
    let fermi = || Choice { machine: Some("fermi".to_owned()), ..Choice::nothing("fermi") };
    Parameter::new("machine", choices, fermi)
}

fn designs(root: &Table<'_>, folder: &Path, problems: &mut Problems<'_>) -> Parameter {
    let what = "the name of a design or a TOML file, or a list of those that are applied together";
    let mut choices = Vec::new();
    for node in list_elements(root, "design", "designs", problems) {
        let Some((name, node)) = read_name(node, "design", problems) else { continue };
        let place = node.place.clone();
        let nodes = if node.is_array() { node.elements(what, problems).unwrap_or_default() } else { vec![node] };
        let texts: Option<Vec<_>> = nodes.iter().map(|node| node.text(what, problems)).collect();
        let Some(texts) = texts else { continue };
        let designs = texts.iter().map(|text| beside(folder, text)).collect();
        let value = name.unwrap_or_else(|| texts.join("+")).into();
        choices.push(Choice { value, machine: None, designs, sets: Vec::new(), place });
    }
    let baseline = || Choice { designs: vec!["baseline".to_owned()], ..Choice::nothing("baseline") };
    Parameter::new("design", choices, baseline)
}

/// Reads the lists below `together`. Each list has one table of settings per choice, and all settings of a
/// table apply together. The key of a list is the name of its parameter.
fn together(root: &Table<'_>, problems: &mut Problems<'_>) -> Vec<Parameter> {
    let what = "tables of settings that go together, such as [{ name = \"small\", l1.sets = 16, l1.ways = 2 }]";
    let Some(node) = root.get("together") else { return Vec::new() };
    let Some(table) = node.any_table() else {
        problems.refuse(&node.place, format!("names with lists of {what}"));
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for (name, node) in table.entries() {
        let mut choices = Vec::new();
        for element in node.elements(what, problems).unwrap_or_default() {
            let Some(table) = element.any_table() else {
                problems.refuse(&element.place, what);
                continue;
            };
            let chosen = table.get(NAME).and_then(|node| node.text("a name", problems));
            let mut sets = Vec::new();
            leaves(&table, "", &mut |key, node| {
                if key != NAME {
                    sets.push(Set::new(key, &node));
                }
            });
            let texts: Vec<_> = sets.iter().map(|set| set.text.as_str()).collect();
            let value = chosen.map_or_else(|| texts.join(" "), str::to_owned).into();
            choices.push(Choice { value, machine: None, designs: Vec::new(), sets, place: element.place });
        }
        if choices.is_empty() {
            problems.refuse(&node.place, format!("one or more {what}"));
        }
        if counters().iter().any(|counter| counter.key == name) {
            problems.add(
                node.place.span.clone(),
                format!("`{name}` is a column of the results, expected another name"),
                None,
            );
        }
        parameters.push(Parameter { name: name.to_owned(), choices, baseline: None });
    }
    parameters
}

/// Reads the single settings. Each key is a parameter, with one value or a list of values.
fn settings(table: &Table<'_>, above: &str, problems: &mut Problems<'_>, parameters: &mut Vec<Parameter>) {
    leaves(table, above, &mut |key, node| {
        let nodes = match node.is_array() {
            true => node.elements("values", problems).unwrap_or_default(),
            false => Vec::new(),
        };
        if node.is_array() && nodes.is_empty() {
            problems.refuse(&node.place, "a value, or a list of at least one");
        }
        let choice = |node: Node<'_>| {
            let set = Set::new(key, &node);
            let value = set.value.clone();
            Choice { value, machine: None, designs: Vec::new(), sets: vec![set], place: node.place }
        };
        let choices = if node.is_array() { nodes.into_iter().map(choice).collect() } else { vec![choice(node)] };
        parameters.push(Parameter { name: key.to_owned(), choices, baseline: None });
    });
}

/// Calls a function for every value in nested tables, with the dotted key of the value.
fn leaves<'a>(table: &Table<'a>, above: &str, visit: &mut impl FnMut(&str, Node<'a>)) {
    for (key, node) in table.entries() {
        let key = if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
        match node.any_table() {
            Some(inner) => leaves(&inner, &key, visit),
            None => visit(&key, node),
        }
    }
}

/// Rejects a parameter or value that the file gives twice, since several columns or rows of the table would
/// have the same name.
fn once(parameters: &[Parameter], problems: &mut Problems<'_>) {
    let mut names = HashSet::new();
    for parameter in parameters {
        let Parameter { name, choices, .. } = parameter;
        let is_taken = ["launch", "trace", SPEEDUP].contains(&name.as_str());
        let is_another = !names.insert(name);
        if let Some(first) = choices.first().filter(|_| is_taken || is_another) {
            let message = format!("`{name}` is the name of two columns, expected another name");
            problems.add(first.place.span.clone(), message, None);
        }
        let mut values = HashSet::new();
        for choice in choices {
            if !values.insert(&choice.value) {
                let value = text_of(&choice.value);
                problems.add(choice.place.span.clone(), format!("`{value}` is given twice in `{name}`"), None);
            }
        }
    }
}

/// Sets the baseline choices, with which speedups are computed. They are the choices in `[baseline]`, or else
/// the first choice of each parameter except the machine.
fn baselines(root: &Table<'_>, parameters: &mut [Parameter], problems: &mut Problems<'_>) {
    let Some(node) = root.get("baseline") else {
        parameters.iter_mut().skip(1).for_each(|parameter| parameter.baseline = Some(0));
        return;
    };
    let names: Vec<_> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let Some(table) = node.any_table() else {
        problems.refuse(&node.place, format!("a table of {}", names.join(", ")));
        return;
    };
    leaves(&table, "", &mut |key, node| {
        let Some(parameter) = parameters.iter_mut().find(|parameter| parameter.name == key) else {
            let message = format!("`{key}` is not a parameter of this sweep, expected one of {}", names.join(", "));
            problems.add(node.place.span.clone(), message, None);
            return;
        };
        let wanted = value_of(&node);
        parameter.baseline = parameter.choices.iter().position(|choice| choice.value == wanted);
        if parameter.baseline.is_none() {
            let legal: Vec<_> = parameter.choices.iter().map(|choice| text_of(&choice.value)).collect();
            problems.refuse(&node.place, format!("a value of `{key}`: {}", legal.join(", ")));
        }
    });
}

impl Parameter {
    fn new(name: &str, choices: Vec<Choice>, default: impl FnOnce() -> Choice) -> Self {
        let choices = if choices.is_empty() { vec![default()] } else { choices };
        Self { name: name.to_owned(), choices, baseline: None }
    }
}

impl Choice {
    /// Returns the default choice of a parameter that the file does not mention.
    fn nothing(value: &str) -> Self {
        let place = Place { path: String::new(), value: value.to_owned(), span: 0..0 };
        Self { value: value.into(), machine: None, designs: Vec::new(), sets: Vec::new(), place }
    }
}

impl Choice {
    /// True if this choice contains `text` as a value of the command line option `option`, such as `--set`.
    fn gives(&self, option: &str, text: &str) -> bool {
        match option {
            "--machine" => self.machine.as_deref() == Some(text),
            "--design" => self.designs.iter().any(|design| design == text),
            "--set" => self.sets.iter().any(|set| set.text == text),
            _ => false,
        }
    }
}

impl Set {
    fn new(key: &str, node: &Node<'_>) -> Self {
        Self { key: key.to_owned(), value: value_of(node), text: format!("{key}={}", node.written()) }
    }
}

/// Returns a value in the form that tables use: a number or a text. A value of any other type is returned as
/// the text in the file.
fn value_of(node: &Node<'_>) -> Value {
    let number = || match node.number()? {
        Number::Integer(integer) => i64::try_from(integer).ok().map(Value::from),
        Number::Real(real) => Some(real.into()),
    };
    let text = || node.as_text().unwrap_or_else(|| node.written()).to_owned();
    number().unwrap_or_else(|| text().into())
}

/// Returns a value as text without quotes.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
