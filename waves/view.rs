//! # Views: curated lists of signals, stored as data files
//!
//! A view selects the signals for one debugging question. It is a text file in `waves/views`, built into the
//! program and applied to one scope (`machine.sm0.l1`):
//!
//! ```text
//! # What it shows, and how to read it.
//! [Title of a group]
//! status            red
//! mshr.free
//! mshr.entry[*].*
//! ```
//!
//! Each line is a glob (see [`crate::scope`]) relative to the scope that the view is applied to, optionally
//! followed by a color. The order in the file is the order on the screen. To add a view, write the file and
//! add an entry to [`BUILT_IN`]. If a view shows a component that only some designs have, the entry names
//! that component in `part`. The view is then omitted for dumps without the component.

use std::path::{Path, PathBuf};

use crate::gtkw::{Colour, Item, filters_path, save_path};
use crate::scope::{Glob, Selection};
use crate::signal::{ScopeId, Tree};

/// View that is built into the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Name of the view on the command line.
    pub name: &'static str,
    /// Name that a scope must have for the view to apply to it.
    pub block: &'static str,
    /// Glob for a component that only some designs have, relative to the scope of the view. The view is
    /// available only if the dump contains a signal that matches the glob.
    pub part: Option<&'static str>,
    /// Contents of the view file.
    pub text: &'static str,
}

/// All built-in views.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "l1d", block: "l1", part: None, text: include_str!("views/l1d.txt") },
    BuiltIn { name: "sm", block: "core", part: None, text: include_str!("views/sm.txt") },
    BuiltIn { name: "icache", block: "core", part: Some("icache"), text: include_str!("views/icache.txt") },
    BuiltIn { name: "l2", block: "l2", part: None, text: include_str!("views/l2.txt") },
    BuiltIn { name: "xbar", block: "machine", part: Some("xbar_*.*"), text: include_str!("views/xbar.txt") },
    BuiltIn { name: "noc", block: "machine", part: Some("noc_*.*"), text: include_str!("views/noc.txt") },
    BuiltIn { name: "dram", block: "dram", part: None, text: include_str!("views/dram.txt") },
    BuiltIn { name: "replacement", block: "l2", part: Some("evictions"), text: include_str!("views/replacement.txt") },
    BuiltIn { name: "frc", block: "l2", part: Some("frc"), text: include_str!("views/frc.txt") },
    BuiltIn {
        name: "sectors",
        block: "l2",
        part: Some("mshr.entry[*].awaited"),
        text: include_str!("views/sectors.txt"),
    },
    BuiltIn {
        name: "word-banks",
        block: "l1",
        part: Some("coalescer.left"),
        text: include_str!("views/word-banks.txt"),
    },
    BuiltIn { name: "decoupled", block: "l1", part: Some("tags.free[*]"), text: include_str!("views/decoupled.txt") },
    BuiltIn { name: "prefetch", block: "l1", part: Some("prefetch.armed"), text: include_str!("views/prefetch.txt") },
    BuiltIn {
        name: "tracker",
        block: "machine",
        part: Some("partition*.tracker"),
        text: include_str!("views/tracker.txt"),
    },
    BuiltIn { name: "dwt-cs", block: "machine", part: Some("coordinator"), text: include_str!("views/dwt-cs.txt") },
];

/// Returns all paths that may be written next to a dump: its save file, one save file per built-in view, and
/// the folder of translate filters.
pub fn companion_paths(dump: &Path) -> Vec<PathBuf> {
    let views = BUILT_IN.iter().map(|view| save_path(dump, Some(view.name)));
    views.chain([save_path(dump, None), filters_path(dump)]).collect()
}

impl BuiltIn {
    /// Returns the first scope of the waveform that the view can show. Such a scope belongs to the hardware
    /// block of the view, and it contains at least one signal in `selection`. If the view's field `part`
    /// names a component, at least one selected signal must belong to that component.
    pub fn scope(&self, tree: &Tree, selection: &Selection) -> Option<ScopeId> {
        let shows = |scope: ScopeId| {
            let Some(part) = self.part else { return selection.touches(tree, scope) };
            let glob: Option<Glob> = part.parse().ok();
            glob.is_some_and(|glob| glob.below(tree, scope).into_iter().any(|id| selection.contains(id)))
        };
        tree.scope_ids().find(|&scope| tree.scope(scope).name == self.block && shows(scope))
    }
}

/// Named list of signal groups. Each line selects signals by a glob and may give their color.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    name: String,
    groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    title: String,
    lines: Vec<(Glob, Option<Colour>)>,
}

/// Reason why a view cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// No built-in view has the requested name.
    #[error("no view is called `{name}`; did you mean `{nearest}`?")]
    Unknown {
        /// Requested view name, which no built-in view has.
        name: String,
        /// Name of the built-in view that is most similar to the requested name.
        nearest: &'static str,
    },
    /// A line of the view file cannot be parsed.
    #[error("view {view}, line {line}: {problem}")]
    Line {
        /// Name of the view.
        view: String,
        /// Number of the line in the view file, counted from 1.
        line: usize,
        /// Description of the mistake and of the expected text.
        problem: String,
    },
}

/// View applied to one scope: the signals that it displays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedView {
    /// Groups and signals that the save file lists.
    pub items: Vec<Item>,
    /// Globs that match no signal in the scope, because the design lacks the component or a signal was
    /// renamed.
    pub missing: Vec<String>,
}

impl View {
    /// Parses the built-in view of this name.
    pub fn parse_built_in(name: &str) -> Result<View, ViewError> {
        if let Some(BuiltIn { name, text, .. }) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
            return View::parse(name, text);
        }
        // Only the start of a long name is compared with the known names, because the cost of a comparison is
        // proportional to the product of the two lengths.
        let begins = &name[..name.floor_char_boundary(input::MAX_COMPARED_BYTES)];
        let names = BUILT_IN.iter().map(|built_in| built_in.name);
        let nearest = names.min_by_key(|built_in| strsim::osa_distance(built_in, begins)).unwrap_or_default();
        Err(ViewError::Unknown { name: name.to_owned(), nearest })
    }

    /// Parses the text of a view. `name` is used in messages and in file names.
    pub fn parse(name: &str, text: &str) -> Result<View, ViewError> {
        let mut groups: Vec<Group> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let refuse = |problem: String| ViewError::Line { view: name.to_owned(), line: at + 1, problem };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                groups.push(Group { title: title.trim().to_owned(), lines: Vec::new() });
                continue;
            }
            let mut words = line.split_whitespace();
            let glob = words.next().unwrap_or_default();
            let glob: Glob = glob.parse().map_err(|error| refuse(format!("{error}")))?;
            let colour = words.next().map(|word| colour(word).map_err(&refuse)).transpose()?;
            if let Some(extra) = words.next() {
                return Err(refuse(format!("`{extra}` after the color, expected a glob and at most one color")));
            }
            let group = groups.last_mut();
            let group = group.ok_or_else(|| refuse("a signal before the first `[Title of a group]`".to_owned()))?;
            group.lines.push((glob, colour));
        }
        Ok(View { name: name.to_owned(), groups })
    }

    /// Name of the view.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the signals that the view selects in this scope and that the dump contains. Empty groups are
    /// omitted. A signal that several lines match appears only at its first match. Labels are paths relative
    /// to the scope, with `_` in place of `.`: `mshr.used` becomes `mshr_used`.
    pub fn apply(&self, tree: &Tree, selection: &Selection, scope: ScopeId) -> AppliedView {
        let mut seen = vec![false; tree.len()];
        let mut applied = AppliedView { items: Vec::new(), missing: Vec::new() };
        for group in &self.groups {
            let mut items = Vec::new();
            for (glob, colour) in &group.lines {
                let found = glob.below(tree, scope);
                if found.is_empty() {
                    applied.missing.push(glob.to_string());
                }
                for id in found.into_iter().filter(|&id| selection.contains(id)) {
                    if !std::mem::replace(&mut seen[id.index()], true) {
                        let label = tree.names(id)[tree.scope_names(scope).len()..].join("_");
                        items.push(Item::Signal { id, colour: *colour, label: Some(label) });
                    }
                }
            }
            if !items.is_empty() {
                applied.items.push(Item::Group { title: group.title.clone(), open: true, items });
            }
        }
        applied
    }
}

fn colour(word: &str) -> Result<Colour, String> {
    let found = Colour::NAMES.iter().find(|(name, _)| *name == word);
    found.map(|&(_, colour)| colour).ok_or_else(|| {
        let names: Vec<&str> = Colour::NAMES.iter().map(|(name, _)| *name).collect();
        format!("color is `{word}`, expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{Display, Kind, TreeBuilder};

    fn tree() -> Tree {
        let mut build = TreeBuilder::new("machine");
        for sm in ["sm0", "sm1"] {
            build.enter(sm);
            build.enter("l1");
            for name in ["status", "tags[0]", "tags[1]", "hit"] {
                build.signal(name, 2, Kind::Reg, Display::Hex);
            }
            build.leave();
            build.leave();
        }
        build.finish()
    }

    /// Formats groups and signals as `title: path/color path/color title: ...`. Color 0 stands for the
    /// default color.
    fn show_items(tree: &Tree, items: &[Item]) -> String {
        let groups: Vec<String> = items
            .iter()
            .map(|item| match item {
                Item::Group { title, items, .. } => format!("{title}: {}", show_items(tree, items)),
                Item::Signal { id, colour, label: _ } => {
                    format!("{}/{}", tree.path(*id), colour.map_or(0, |c| c as u8 + 1))
                }
            })
            .collect();
        groups.join(" ")
    }

    #[test]
    fn a_view_shows_its_lines_in_order_with_their_colours() {
        let tree = tree();
        let view = View::parse("v", "# how\n[Probe]\n hit\nstatus  red\n\n[Tags]\ntags[*] blue\n").expect("a view");
        let globs = ["**".parse().expect("a glob"), "sm1.l1.tags[1]".parse().expect("a glob")];
        let selection = Selection::new(&tree, &globs).expect("they exist");
        let scope = tree.find_scope("sm1.l1").expect("it exists");
        let applied = view.apply(&tree, &selection, scope);
        assert_eq!(
            show_items(&tree, &applied.items),
            "Probe: machine.sm1.l1.hit/0 machine.sm1.l1.status/1 Tags: machine.sm1.l1.tags[1]/5"
        );
        assert_eq!(applied.missing, Vec::<String>::new());
    }

    #[test]
    fn a_line_without_any_signal_is_reported_as_missing() {
        let tree = tree();
        let view = View::parse("v", "[A]\nstatsu\ntags[0]\n").expect("a view");
        let applied = view.apply(&tree, &Selection::default_of(&tree), ScopeId::ROOT);
        assert_eq!(applied.missing, ["statsu", "tags[0]"]);
        let scope = tree.find_scope("sm0.l1").expect("it exists");
        let applied = view.apply(&tree, &Selection::default_of(&tree), scope);
        assert_eq!(applied.missing, ["statsu"], "an entry that is only left out of the dump is not missing");
        assert_eq!(applied.items, []);
    }

    #[test]
    fn a_signal_chosen_twice_is_shown_once() {
        let tree = tree();
        let view = View::parse("v", "[A]\nhit red\n*\n").expect("a view");
        let scope = tree.find_scope("sm0.l1").expect("it exists");
        let applied = view.apply(&tree, &Selection::default_of(&tree), scope);
        assert_eq!(show_items(&tree, &applied.items), "A: machine.sm0.l1.hit/1 machine.sm0.l1.status/0");
    }

    #[test]
    fn lines_that_cannot_be_read_are_named() {
        let problem = |text| View::parse("v", text).expect_err("not a view").to_string();
        assert_eq!(
            problem("[A]\nhit rde"),
            "view v, line 2: color is `rde`, expected one of red, orange, yellow, green, blue, indigo, violet"
        );
        assert_eq!(problem("\nhit"), "view v, line 2: a signal before the first `[Title of a group]`");
        assert_eq!(
            problem("[A]\nhit red blue"),
            "view v, line 2: `blue` after the color, expected a glob and at most one color"
        );
        assert!(problem("[A]\na..b").starts_with("view v, line 2: scope `a..b` has an empty name"));
    }

    #[test]
    fn a_view_of_a_part_is_for_the_first_block_that_has_it() {
        let mut build = TreeBuilder::new("machine");
        for (bank, part) in [("l2", "mshr"), ("l2", "frc")] {
            build.enter(if part == "frc" { "partition1" } else { "partition0" });
            build.enter(bank);
            build.enter(part);
            build.signal("used", 2, Kind::Reg, Display::Hex);
            build.leave();
            build.leave();
            build.leave();
        }
        let tree = build.finish();
        let found = |part, selection: &Selection| {
            BuiltIn { name: "v", block: "l2", part, text: "" }.scope(&tree, selection).map(|id| tree.scope_path(id))
        };
        let all = Selection::default_of(&tree);
        assert_eq!(found(None, &all).as_deref(), Some("machine.partition0.l2"));
        assert_eq!(found(Some("frc"), &all).as_deref(), Some("machine.partition1.l2"));
        assert_eq!(found(Some("tracker"), &all), None);
        let first = Selection::new(&tree, &["partition0".parse().expect("a glob")]).expect("it exists");
        assert_eq!(found(Some("frc"), &first), None, "the part is not in the dump");
    }

    #[test]
    fn an_unknown_view_is_answered_with_the_nearest_name() {
        let error = View::parse_built_in("l1").expect_err("there is none");
        assert_eq!(error.to_string(), "no view is called `l1`; did you mean `l1d`?");
    }

    #[test]
    fn every_built_in_view_can_be_read() {
        for BuiltIn { name, .. } in BUILT_IN {
            assert_eq!(View::parse_built_in(name).expect("it is well formed").name(), *name);
        }
    }
}
