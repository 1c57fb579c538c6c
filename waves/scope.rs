//! # Scope: selection of signals and cycles
//!
//! [`Glob`]s select signals by dotted path. `*` and `?` match within one name, and `**` matches any number of
//! whole names. A glob that matches a scope selects everything inside it. The root's name may be omitted:
//! `sm*.l1` means `machine.sm*.l1`.
//!
//! Array entries (`tags[5]`) would flood a dump, so only a glob with a bracket selects them: `sm0.l1.tags[5]`
//! or `sm0.l1.tags[*]`, but neither `sm0.l1` nor `sm0.**`. Everything inside a selected entry is selected
//! too.
//!
//! A [`Window`] selects the cycles to write.

use std::fmt;
use std::str::FromStr;

use crate::signal::{ScopeId, SignalId, Tree, is_entry};

/// Maximum number of similar paths that are suggested for a glob that matches nothing.
const SUGGESTIONS: usize = 3;

/// Glob pattern for the dotted paths of signals and scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    text: String,
    parts: Vec<GlobComponent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobComponent {
    AnyDepth,
    Name(String),
}

/// Error for a text that is not a valid glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scope `{0}` has an empty name, expected names separated by single dots, such as `sm0.l1.*`")]
pub struct GlobError(String);

impl FromStr for Glob {
    type Err = GlobError;

    fn from_str(text: &str) -> Result<Glob, GlobError> {
        let part = |name: &str| match name {
            "" => Err(GlobError(text.to_owned())),
            "**" => Ok(GlobComponent::AnyDepth),
            name => Ok(GlobComponent::Name(name.to_owned())),
        };
        let mut parts = text.split('.').map(part).collect::<Result<Vec<_>, _>>()?;
        // Consecutive `**` are equivalent to a single one, so they are merged.
        parts.dedup_by(|later, part| *later == GlobComponent::AnyDepth && *part == GlobComponent::AnyDepth);
        Ok(Glob { text: text.to_owned(), parts })
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Glob {
    /// Returns the signals that the glob selects inside a scope, in order. The glob applies to paths relative
    /// to that scope.
    pub fn below(&self, tree: &Tree, scope: ScopeId) -> Vec<SignalId> {
        let mut found = Vec::new();
        self.start().collect(tree, scope, &mut found);
        found.sort_unstable();
        found
    }

    /// Returns the signals that the glob selects in the whole tree, in order. The glob applies to paths that
    /// start with the root's name.
    fn with_root(&self, tree: &Tree) -> Vec<SignalId> {
        let mut found = Vec::new();
        self.start().down(&tree.scope(ScopeId::ROOT).name).collect(tree, ScopeId::ROOT, &mut found);
        found.sort_unstable();
        found
    }

    /// Returns the signals whose whole path, not only a prefix of it, matches the glob. The root's name may
    /// be omitted.
    pub fn signals(&self, tree: &Tree) -> Vec<SignalId> {
        let is_named = |names: &[&str]| matches(&self.parts, &names[1..]) || matches(&self.parts, names);
        tree.ids().filter(|&id| is_named(&tree.names(id))).collect()
    }

    fn start(&self) -> MatchState<'_> {
        let mut start = MatchState::default();
        start.go_to(&self.parts);
        start
    }
}

/// State of matching a glob on the way from the root down to a scope or signal. A signal is selected if the
/// glob matches its whole path or a prefix of it. In the second case, the part after the prefix must not
/// contain an array entry, unless the prefix itself ends in one.
#[derive(Debug, Clone, Default)]
struct MatchState<'a> {
    /// Components of the glob that the remaining names must match. There is one slice for each way in which
    /// the glob can match the names so far.
    rest: Vec<&'a [GlobComponent]>,
    /// True if everything below the current scope is selected.
    all: bool,
    /// True if everything below the current scope, except array entries, is selected.
    plain: bool,
}

impl<'a> MatchState<'a> {
    /// Adds the components `rest` that remain to be matched. If they begin with `**`, also adds the
    /// components after it, since `**` can match zero names.
    fn go_to(&mut self, mut rest: &'a [GlobComponent]) {
        loop {
            if self.rest.iter().all(|known| known.len() != rest.len()) {
                self.rest.push(rest);
            }
            match rest {
                [GlobComponent::AnyDepth, later @ ..] => rest = later,
                _ => return,
            }
        }
    }

    /// Returns the match state for the child `name` of the current scope.
    fn down(&self, name: &str) -> MatchState<'a> {
        let is_entry = is_entry(name);
        let mut next = MatchState { rest: Vec::new(), all: self.all, plain: self.plain && !is_entry };
        for parts in &self.rest {
            match parts {
                [GlobComponent::AnyDepth, ..] if !is_entry => next.go_to(parts),
                [GlobComponent::Name(pattern), later @ ..]
                    if (!is_entry || pattern.contains('[')) && name_matches(pattern.as_bytes(), name.as_bytes()) =>
                {
                    next.go_to(later);
                }
                _ => {}
            }
        }
        let is_match = next.rest.iter().any(|rest| rest.is_empty());
        next.all |= is_match && is_entry;
        next.plain |= is_match && !is_entry;
        next
    }

    fn takes(&self) -> bool {
        self.all || self.plain
    }

    /// Adds the selected signals inside a scope. Returns at once if nothing inside the scope can match.
    fn collect(&self, tree: &Tree, scope: ScopeId, found: &mut Vec<SignalId>) {
        if self.all {
            found.extend(tree.below(scope));
        } else if self.plain || !self.rest.is_empty() {
            let about = tree.scope(scope);
            found.extend(about.signals.iter().filter(|&&id| self.down(&tree.signal(id).name).takes()));
            for &inner in &about.scopes {
                self.down(&tree.scope(inner).name).collect(tree, inner, found);
            }
        }
    }
}

/// Match state of several globs at one scope of a tree that is still being described. It shows whether any
/// glob can select a signal inside that scope.
#[derive(Debug, Clone)]
pub struct GlobMatches<'a>(Vec<MatchState<'a>>);

impl<'a> GlobMatches<'a> {
    /// Creates the match state at the root of a tree. A glob may begin with the root's name or omit it.
    pub fn new(globs: &'a [Glob], root: &str) -> GlobMatches<'a> {
        GlobMatches(globs.iter().flat_map(|glob| [glob.start(), glob.start().down(root)]).collect())
    }

    /// Returns the state inside a child scope that has any of these names, or `None` if no glob can match
    /// anything in it.
    pub fn down(&self, names: &[&str]) -> Option<GlobMatches<'a>> {
        let inside = self.0.iter().flat_map(|reach| names.iter().map(|name| reach.down(name)));
        let leading: Vec<MatchState<'a>> = inside.filter(|reach| reach.takes() || !reach.rest.is_empty()).collect();
        (!leading.is_empty()).then_some(GlobMatches(leading))
    }
}

/// True if the glob components match exactly this sequence of names.
fn matches(parts: &[GlobComponent], names: &[&str]) -> bool {
    let mut reach = MatchState::default();
    reach.go_to(parts);
    names.iter().fold(reach, |reach, name| reach.down(name)).rest.iter().any(|rest| rest.is_empty())
}

/// True if the pattern of one glob component matches the name. After a mismatch, the last `*` is extended by
/// one letter of the name. It suffices to extend the last `*`, since it can match whatever an earlier `*`
/// could match.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Position in the pattern after the last `*`, and position in the name after the letters that this `*`
    // matches so far.
    let mut star = None;
    while seen < name.len() {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                at += 1;
                star = Some((at, seen));
            }
            (Some(&letter), _) if letter == b'?' || letter == name[seen] => {
                at += 1;
                seen += 1;
            }
            (_, Some((behind, taken))) => {
                (at, seen) = (behind, taken + 1);
                star = Some((at, seen));
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|&letter| letter == b'*')
}

/// Error for a glob that selects no signal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no signal matches scope `{glob}`{}", nearest(near))]
pub struct NoMatch {
    /// Text of the glob.
    pub glob: String,
    /// Paths of the scopes and signals that are most similar to the glob, the most similar first.
    pub near: Vec<String>,
}

fn nearest(near: &[String]) -> String {
    let quoted: Vec<String> = near.iter().map(|path| format!("`{path}`")).collect();
    if near.is_empty() { String::new() } else { format!("; nearest: {}", quoted.join(", ")) }
}

/// Set of signals of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    chosen: Vec<bool>,
}

impl Selection {
    /// Creates a selection of all signals except those in array entries.
    pub fn default_of(tree: &Tree) -> Selection {
        let mut chosen = vec![false; tree.len()];
        let everything = MatchState { plain: true, ..MatchState::default() };
        let mut found = Vec::new();
        everything.collect(tree, ScopeId::ROOT, &mut found);
        found.into_iter().for_each(|id| chosen[id.index()] = true);
        Selection { chosen }
    }

    /// Creates a selection that contains no signal.
    pub fn none(tree: &Tree) -> Selection {
        Selection { chosen: vec![false; tree.len()] }
    }

    /// Adds one signal to the selection.
    pub fn add(&mut self, id: SignalId) {
        self.chosen[id.index()] = true;
    }

    /// Selects all signals that at least one of the globs matches. Each glob must match at least one signal,
    /// so a misspelled name is an error and does not merely make the dump smaller.
    pub fn new(tree: &Tree, globs: &[Glob]) -> Result<Selection, NoMatch> {
        let mut chosen = vec![false; tree.len()];
        for glob in globs {
            let mut found = glob.below(tree, ScopeId::ROOT);
            if found.is_empty() {
                found = glob.with_root(tree);
            }
            if found.is_empty() {
                return Err(NoMatch { glob: glob.text.clone(), near: near(tree, glob) });
            }
            found.into_iter().for_each(|id| chosen[id.index()] = true);
        }
        Ok(Selection { chosen })
    }

    /// True if the signal is selected.
    #[inline]
    pub fn contains(&self, id: SignalId) -> bool {
        self.chosen[id.index()]
    }

    /// True if a signal inside the scope, at any depth, is selected. If not, the values in the scope need not
    /// be sampled.
    pub fn touches(&self, tree: &Tree, scope: ScopeId) -> bool {
        tree.below(scope).any(|id| self.contains(id))
    }

    /// Iterates over the selected signals in order.
    pub fn ids(&self) -> impl Iterator<Item = SignalId> + '_ {
        SignalId::first(self.chosen.len()).filter(|&id| self.contains(id))
    }
}

/// Suggests paths for a glob that matches nothing. Finds the deepest scopes that the leading components of
/// the glob match. Sorts the names inside them by similarity to the next component. Returns one path for each
/// name.
fn near(tree: &Tree, glob: &Glob) -> Vec<String> {
    // The number of leading components to try is limited: each name matches one component, and at most one
    // `**` stands between two names. With more components, no scope can match.
    let deepest = tree.scope_ids().map(|scope| tree.scope_names(scope).len()).max().unwrap_or(0);
    for depth in (0..=glob.parts.len().min(2 * deepest + 1)).rev() {
        let (leading, later) = glob.parts.split_at(depth);
        let wanted = match later.first() {
            Some(GlobComponent::Name(name)) => name.as_str(),
            Some(GlobComponent::AnyDepth) | None => "",
        };
        let mut found: Vec<(&str, String)> = Vec::new();
        for scope in tree.scope_ids() {
            let names = tree.scope_names(scope);
            let here = matches(leading, &names[1..]) || depth > 0 && matches(leading, &names);
            if !here {
                continue;
            }
            let about = tree.scope(scope);
            let scopes = about.scopes.iter().map(|&id| (tree.scope(id).name.as_str(), tree.scope_path(id)));
            let signals = about.signals.iter().map(|&id| (tree.signal(id).name.as_str(), tree.path(id)));
            for (name, path) in scopes.chain(signals) {
                if found.iter().all(|&(seen, _)| seen != name) {
                    found.push((name, path));
                }
            }
        }
        if !found.is_empty() && wanted.len() <= input::MAX_COMPARED_BYTES {
            found.sort_by_key(|(name, _)| strsim::osa_distance(name, wanted));
            return found.into_iter().take(SUGGESTIONS).map(|(_, path)| path).collect();
        }
    }
    Vec::new()
}

/// Range of cycles in which a dump is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    from: u64,
    to: Option<u64>,
}

/// Error for a window that ends before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the wave window ends in cycle {to}, before it starts in cycle {from}: nothing would be written")]
pub struct WindowError {
    from: u64,
    to: u64,
}

impl Window {
    /// Window of all cycles.
    pub const ALL: Window = Window { from: 0, to: None };

    /// Creates a window from the first to the last cycle, both included. `None` stands for the start or the
    /// end of the run.
    pub fn new(from: Option<u64>, to: Option<u64>) -> Result<Window, WindowError> {
        let from = from.unwrap_or(0);
        match to {
            Some(to) if to < from => Err(WindowError { from, to }),
            _ => Ok(Window { from, to }),
        }
    }

    /// First cycle of the window.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Shortens the window so that it ends no later than `cycle`.
    pub fn until(self, cycle: u64) -> Window {
        Window { to: Some(self.to.map_or(cycle, |to| to.min(cycle))), ..self }
    }

    /// Last cycle of the window; `None` stands for the end of the run.
    pub fn to(&self) -> Option<u64> {
        self.to
    }

    /// True if the window includes this cycle.
    #[inline]
    pub fn contains(&self, cycle: u64) -> bool {
        cycle >= self.from && !self.is_over(cycle)
    }

    /// True if the window ends before this cycle, so that the dump can be finished.
    #[inline]
    pub fn is_over(&self, cycle: u64) -> bool {
        self.to.is_some_and(|to| cycle > to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{Display, Kind, TreeBuilder};

    /// Describes two SMs. Each has an L1 with two signals, an array of tags, and an MSHR file whose entries
    /// have several signals.
    fn tree() -> Tree {
        let mut build = TreeBuilder::new("machine");
        let word = |build: &mut TreeBuilder, name: &str| {
            build.signal(name, 8, Kind::Reg, Display::Hex);
        };
        for sm in ["sm0", "sm1"] {
            build.enter(sm);
            word(&mut build, "pc");
            build.enter("l1");
            word(&mut build, "status");
            word(&mut build, "tags[0]");
            word(&mut build, "tags[5]");
            build.enter("mshr");
            word(&mut build, "free");
            build.enter("entry[2]");
            word(&mut build, "line");
            word(&mut build, "slot[0]");
            build.leave();
            build.leave();
            build.leave();
            build.leave();
        }
        build.finish()
    }

    fn select(globs: &[&str]) -> Result<String, NoMatch> {
        let tree = tree();
        let globs: Vec<Glob> = globs.iter().map(|text| text.parse().expect("a glob")).collect();
        let selection = Selection::new(&tree, &globs)?;
        let paths: Vec<String> = selection.ids().map(|id| tree.path(id).replace("machine.", "")).collect();
        Ok(paths.join(" "))
    }

    fn chosen(glob: &str) -> String {
        select(&[glob]).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_pattern_of_many_wildcards_is_decided_without_trying_all_ways() {
        assert_eq!(chosen(&format!("{}status", "**.".repeat(5000))), "sm0.l1.status sm1.l1.status");
        assert!(select(&[&format!("{}x", "**.*.".repeat(5000))]).is_err());
        assert!(select(&[&format!("{}x", "**.**.*.".repeat(5000))]).is_err());
        let stars = "*a".repeat(5000);
        assert!(name_matches(stars.as_bytes(), "a".repeat(10_000).as_bytes()));
        assert!(!name_matches(format!("{stars}b").as_bytes(), "a".repeat(10_000).as_bytes()));
    }

    #[test]
    fn a_pattern_matches_as_if_every_way_were_tried() {
        fn matches(pattern: &[u8], name: &[u8]) -> bool {
            match (pattern, name) {
                ([], []) => true,
                ([b'*', later @ ..], _) if matches(later, name) => true,
                ([b'*', ..], [_, rest @ ..]) => matches(pattern, rest),
                ([letter, later @ ..], [first, rest @ ..]) => {
                    (letter == first || *letter == b'?') && matches(later, rest)
                }
                _ => false,
            }
        }
        let words = |letters: &[u8], most: u32| -> Vec<Vec<u8>> {
            let count = letters.len();
            let word = |length: u32, number: usize| {
                (0..length).map(|at| letters[number / count.pow(at) % count]).collect::<Vec<_>>()
            };
            (0..=most)
                .flat_map(|length| (0..count.pow(length)).map(move |number| (length, number)))
                .map(|(length, number)| word(length, number))
                .collect()
        };
        for pattern in words(b"ab*?", 5) {
            for name in words(b"ab", 5) {
                assert_eq!(name_matches(&pattern, &name), matches(&pattern, &name), "{pattern:?} {name:?}");
            }
        }
    }

    #[test]
    fn a_path_takes_its_whole_subtree_without_array_entries() {
        assert_eq!(chosen("machine.sm0"), "sm0.pc sm0.l1.status sm0.l1.mshr.free");
        assert_eq!(chosen("machine.sm0.l1.status"), "sm0.l1.status");
    }

    #[test]
    fn the_name_of_the_root_may_be_left_out() {
        assert_eq!(chosen("sm0.l1"), chosen("machine.sm0.l1"));
        assert_eq!(chosen("machine"), chosen("**"));
    }

    #[test]
    fn a_star_stays_within_one_name_and_two_cross_names() {
        assert_eq!(chosen("sm*.pc"), "sm0.pc sm1.pc");
        assert_eq!(chosen("sm?.*.mshr"), "sm0.l1.mshr.free sm1.l1.mshr.free");
        assert_eq!(chosen("**.free"), "sm0.l1.mshr.free sm1.l1.mshr.free");
        assert_eq!(chosen("sm1.l1.**"), "sm1.l1.status sm1.l1.mshr.free");
        assert_eq!(chosen("sm0.**.l1.status"), "sm0.l1.status");
    }

    #[test]
    fn array_entries_are_taken_by_a_bracket_only() {
        assert_eq!(chosen("sm0.l1.tags[5]"), "sm0.l1.tags[5]");
        assert_eq!(chosen("sm0.l1.tags[*]"), "sm0.l1.tags[0] sm0.l1.tags[5]");
        assert_eq!(chosen("**.tags[5]"), "sm0.l1.tags[5] sm1.l1.tags[5]");
        assert_eq!(chosen("sm0.**.entry[2]"), "sm0.l1.mshr.entry[2].line sm0.l1.mshr.entry[2].slot[0]");
    }

    #[test]
    fn a_trail_goes_on_where_a_glob_can_still_choose_something() {
        let globs: Vec<Glob> = ["sm1.l1", "machine.l2.**.tag"].map(|text| text.parse().expect("a glob")).into();
        let root = GlobMatches::new(&globs, "machine");
        let leads = |path: &[&str]| path.iter().try_fold(root.clone(), |trail, name| trail.down(&[name])).is_some();
        assert!(leads(&["sm1"]) && leads(&["sm1", "l1", "mshr"]) && leads(&["l2", "bank0", "way"]));
        assert!(!leads(&["sm0"]) && !leads(&["sm1", "core"]) && !leads(&["l2", "entry[3]"]));
        assert!(root.down(&["sm0", "sm1"]).is_some(), "one of two names is enough");
    }

    #[test]
    fn several_globs_add_up() {
        assert_eq!(select(&["sm1.pc", "sm0.pc"]), Ok("sm0.pc sm1.pc".to_owned()));
    }

    #[test]
    fn a_glob_that_chooses_nothing_names_the_nearest_paths() {
        assert_eq!(
            chosen("sm0.l1.statsu"),
            "no signal matches scope `sm0.l1.statsu`; nearest: `machine.sm0.l1.status`, `machine.sm0.l1.tags[0]`, \
             `machine.sm0.l1.tags[5]`"
        );
        assert_eq!(chosen("sn0.l1"), "no signal matches scope `sn0.l1`; nearest: `machine.sm0`, `machine.sm1`");
        assert_eq!(
            select(&["sm0.pc", "machine.sm0.p"]).map_err(|error| error.near[0].clone()),
            Err("machine.sm0.pc".into())
        );
    }

    #[test]
    fn an_array_without_a_bracket_is_pointed_to_its_entries() {
        let near = select(&["sm0.l1.tags"]).expect_err("entries need a bracket").near;
        assert!(near.contains(&"machine.sm0.l1.tags[0]".to_owned()), "{near:?}");
    }

    #[test]
    fn an_empty_name_in_a_glob_is_refused() {
        let error = "sm0..l1".parse::<Glob>().expect_err("two dots");
        assert_eq!(
            error.to_string(),
            "scope `sm0..l1` has an empty name, expected names separated by single dots, such as `sm0.l1.*`"
        );
    }

    #[test]
    fn a_scope_is_touched_when_a_signal_inside_is_chosen() {
        let tree = tree();
        let globs = ["sm1.l1.mshr".parse().expect("a glob")];
        let selection = Selection::new(&tree, &globs).expect("it exists");
        let touched = |path| selection.touches(&tree, tree.find_scope(path).expect("it exists"));
        assert!(touched("sm1"));
        assert!(!touched("sm0"));
    }

    #[test]
    fn a_window_includes_both_ends() {
        let window = Window::new(Some(10), Some(12)).expect("a window");
        let inside: Vec<u64> = (0..20).filter(|&cycle| window.contains(cycle)).collect();
        assert_eq!(inside, [10, 11, 12]);
        assert!(!window.is_over(12) && window.is_over(13));
        assert_eq!(Window::new(None, None), Ok(Window::ALL));
        assert!(!Window::ALL.is_over(u64::MAX));
    }

    #[test]
    fn a_window_that_ends_before_it_starts_is_refused() {
        let error = Window::new(Some(10), Some(9)).expect_err("it is empty");
        assert_eq!(
            error.to_string(),
            "the wave window ends in cycle 9, before it starts in cycle 10: nothing would be written"
        );
    }
}
