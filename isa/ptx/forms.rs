//! # Forms of the PTX ISA
//! Explains why an instruction is rejected: either PTX does not have it, or PTX has it but the machine does
//! not model it. The file `forms.txt` lists the forms of all instructions, that is, their combinations of
//! modifiers. The notation of the forms is described in the file itself.

use std::fmt;

use super::ast::Name;

const TABLE: &str = include_str!("forms.txt");

/// Classification of an instruction, according to the forms that the PTX ISA defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// PTX has no instruction with this name.
    NoName,
    /// The modifier with this index does not exist in PTX.
    NoModifier(usize),
    /// Each modifier exists in PTX, but this instruction does not have it, or not in this combination with
    /// the others.
    NoForm,
    /// PTX has the instruction, and the machine models it.
    Modelled,
    /// PTX has the instruction, but the machine does not model it.
    NotModelled(Advice),
}

/// Advice on what to use instead of an instruction that is not modeled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Advice {
    /// First target architecture that has the form, such as 90 for `sm_90`; `None` if all targets have it.
    pub(super) since: Option<u32>,
    /// Text that names alternative instructions.
    pub(super) instead: Option<&'static str>,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Pairs of target architectures, the newer one first. PTX compiled for the older architecture does
        // not contain the instructions that the newer one introduced.
        const OLDER: [(u32, u32); 8] =
            [(70, 60), (72, 70), (75, 70), (80, 75), (89, 80), (90, 80), (100, 90), (120, 90)];
        let older = OLDER.iter().find(|(target, _)| Some(*target) == self.since).map(|(_, older)| older);
        match (self.instead, older) {
            (Some(instead), Some(older)) => write!(f, "instead: {instead}, or code for `-arch=sm_{older}`"),
            (Some(instead), None) => write!(f, "instead: {instead}"),
            (None, Some(older)) => write!(f, "code for `-arch=sm_{older}` does without it"),
            (None, None) => f.write_str("`docs/programs.md` lists the supported forms"),
        }
    }
}

/// Form of an instruction: one line of the table `forms.txt`.
#[derive(Clone, Copy, Debug)]
struct Form {
    is_modelled: bool,
    groups: &'static str,
    since: Option<u32>,
    instead: Option<&'static str>,
}

/// Classifies an instruction by its opcode and modifiers.
pub(super) fn classify(opcode: &str, modifiers: &[Name<'_>]) -> Verdict {
    const MAX_MODIFIERS: usize = 24;
    let found: Vec<Form> = forms(opcode).collect();
    if found.is_empty() {
        return Verdict::NoName;
    }
    let words: Vec<&str> = modifiers.iter().map(|name| name.text).collect();
    let is_short = words.len() <= MAX_MODIFIERS;
    let fitting: Vec<&Form> = found.iter().filter(|form| is_short && form.fits(&words)).collect();
    match fitting.first() {
        Some(_) if fitting.iter().any(|form| form.is_modelled) => Verdict::Modelled,
        Some(form) => Verdict::NotModelled(Advice { since: form.since, instead: form.instead }),
        None => {
            let is_known = |word: &str| lines().any(|line| form_of(line).1.groups().any(|group| group.has(word)));
            words.iter().position(|word| !is_known(word)).map_or(Verdict::NoForm, Verdict::NoModifier)
        }
    }
}

/// Yields a pair for each form in the table. The first value is true if the machine models the form. The
/// second is the text of an instruction of this form, without operands and optional modifiers.
#[cfg(test)]
pub(super) fn simplest() -> impl Iterator<Item = (bool, String)> {
    let names: std::collections::BTreeSet<&str> =
        lines().filter_map(|line| line.split_whitespace().next()).map(|name| name.trim_start_matches('-')).collect();
    names.into_iter().flat_map(|name| {
        forms(name).map(move |form| {
            let needed = form.groups().filter(|group| !group.is_optional() && group.0 != "*");
            let words = needed.filter_map(|group| group.words().next()).map(|word| word.replace('#', "16"));
            let text = std::iter::once(name.to_string()).chain(words).collect::<Vec<_>>().join(".");
            (form.is_modelled, text)
        })
    })
}

/// Returns the instruction name that is most similar to the misspelled name `opcode`.
pub(super) fn closest_name(opcode: &str) -> Option<&'static str> {
    closest(opcode, lines().filter_map(|line| line.split_whitespace().next()).map(|name| name.trim_start_matches('-')))
}

/// Returns the modifier of the instruction `opcode` that is most similar to the misspelled modifier `word`.
pub(super) fn closest_modifier(opcode: &str, word: &str) -> Option<&'static str> {
    closest(word, forms(opcode).flat_map(|form| form.groups().flat_map(Group::words)))
}

fn closest(text: &str, words: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if text.len() > input::MAX_COMPARED_BYTES {
        return None;
    }
    let likeness = words.map(|word| (strsim::damerau_levenshtein(word, text), word));
    let (distance, word) = likeness.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + text.len() / 4 && distance < text.len()).then_some(word)
}

/// Returns the lines of `forms.txt` that contain forms of instructions.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '=']))
}

/// Returns the forms of the instruction `opcode`.
fn forms(opcode: &str) -> impl Iterator<Item = Form> {
    lines().map(form_of).filter_map(move |(name, form)| (name == opcode).then_some(form))
}

/// Parses a line of `forms.txt`: returns the name of the instruction and the form.
fn form_of(line: &'static str) -> (&'static str, Form) {
    let (form, instead) = match line.split_once(" ; ") {
        Some((form, instead)) => (form, Some(instead)),
        None => (line, None),
    };
    let (form, since) = match form.split_once(" @") {
        Some((form, since)) => (form, since.parse().ok()),
        None => (form, None),
    };
    let (name, groups) = form.split_once(' ').unwrap_or((form, ""));
    let is_modelled = !name.starts_with('-');
    (name.trim_start_matches('-'), Form { is_modelled, groups, since, instead })
}

impl Form {
    fn groups(self) -> impl Iterator<Item = Group> {
        self.groups.split(' ').filter(|group| !group.is_empty()).map(Group)
    }

    /// True if the modifiers in `words` can be assigned to groups of the form, each modifier to a group of
    /// its own, and all remaining groups are optional.
    fn fits(self, words: &[&str]) -> bool {
        let groups: Vec<Group> = self.groups().collect();
        let anything = groups.iter().any(|group| group.0 == "*");
        let groups: Vec<Group> = groups.into_iter().filter(|group| group.0 != "*").collect();
        assign(words, &groups, 0, anything)
    }
}

/// True if the modifiers in `words` can be assigned to groups, each modifier to a group of its own, and all
/// remaining groups are optional. Groups in the bit set `used` are already assigned. If `anything` is true,
/// modifiers that match no group are skipped.
fn assign(words: &[&str], groups: &[Group], used: u64, anything: bool) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return groups.iter().enumerate().all(|(at, group)| used >> at & 1 != 0 || group.is_optional());
    };
    if !anything && words.len() > groups.len() {
        return false;
    }
    let mut fitting = (0..groups.len()).filter(|at| used >> at & 1 == 0 && groups[*at].has(word)).peekable();
    if fitting.peek().is_none() {
        return anything && assign(rest, groups, used, anything);
    }
    fitting.any(|at| assign(rest, groups, used | 1 << at, anything))
}

/// Group of alternative modifiers in a form. An instruction of this form has exactly one modifier of the
/// group, or at most one if the group is optional.
#[derive(Clone, Copy, Debug)]
struct Group(&'static str);

impl Group {
    fn is_optional(self) -> bool {
        self.0.ends_with('?')
    }

    /// Returns the alternatives of the group. A reference to a named group is replaced by the alternatives of
    /// that group.
    fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.trim_end_matches('?').split('|').flat_map(|word| {
            match word.strip_prefix('$') {
                Some(name) => find_group(name),
                None => word,
            }
            .split('|')
        })
    }

    fn has(self, word: &str) -> bool {
        self.words().any(|known| match known.contains('#') {
            true => strip_numbers(known) == strip_numbers(word) && word.contains(|c: char| c.is_ascii_digit()),
            false => known == word,
        })
    }
}

/// Returns a modifier with each number replaced by `#`.
fn strip_numbers(word: &str) -> String {
    let mut stripped = String::new();
    for c in word.chars() {
        match c {
            '0'..='9' | '#' if stripped.ends_with('#') => {}
            '0'..='9' => stripped.push('#'),
            c => stripped.push(c),
        }
    }
    stripped
}

/// Returns the alternatives of the named group `name`, separated by `|`.
fn find_group(name: &str) -> &'static str {
    let mut groups = TABLE.lines().filter_map(|line| line.strip_prefix('=')?.split_once(' '));
    groups.find(|(group, _)| *group == name).map_or("", |(_, words)| words)
}

#[cfg(test)]
#[path = "forms_tests.rs"]
mod tests;
