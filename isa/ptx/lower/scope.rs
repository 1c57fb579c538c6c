//! Name lookup in nested blocks.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::super::ast::{Name, Variable};
use super::super::{PtxError, Source};

/// Result of a name lookup: the variable, and the index of a register within its family.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameLookup<'a> {
    pub(super) variable: &'a Variable<'a>,
    pub(super) number: u64,
    /// True if the name is declared at file level.
    pub(super) is_outer: bool,
}

/// Names that are declared in a block.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    parent: Option<usize>,
    names: FxHashMap<&'a str, &'a Variable<'a>>,
    /// Families of registers, by the part of the name before the index.
    families: FxHashMap<&'a str, &'a Variable<'a>>,
    labels: FxHashMap<&'a str, u32>,
}

/// All blocks seen so far; open blocks are reached from `current` through `parent`.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    /// Names at file level; `all[0]` is an empty placeholder for them.
    file: Rc<Scope<'a>>,
    all: Vec<Scope<'a>>,
    current: usize,
}

impl<'a> Scopes<'a> {
    /// Creates the file level, with its names.
    pub(super) fn new(file: Rc<Scope<'a>>) -> Self {
        Scopes { file, all: vec![Scope::default()], current: 0 }
    }

    pub(super) fn current(&self) -> usize {
        self.current
    }

    pub(super) fn open(&mut self) {
        self.all.push(Scope { parent: Some(self.current), ..Scope::default() });
        self.current = self.all.len() - 1;
    }

    pub(super) fn close(&mut self) {
        self.current = self.all[self.current].parent.unwrap_or(0);
    }

    /// Declares a name in the current block.
    pub(super) fn declare(&mut self, source: &Source, variable: &'a Variable<'a>) -> Result<(), PtxError> {
        self.all[self.current].declare(source, variable)
    }

    /// Adds a label to the current block. Returns false if the block already has it.
    pub(super) fn label(&mut self, name: &Name<'a>, pc: u32) -> bool {
        let labels = &mut self.all[self.current].labels;
        labels.insert(name.text, pc).is_none()
    }

    /// Makes the file level current, so that the next block sees only its names.
    pub(super) fn enter_file(&mut self) {
        self.current = 0;
    }

    /// Makes the block `scope`, which was current before, current again.
    pub(super) fn leave(&mut self, scope: usize) {
        self.current = scope;
    }

    /// Returns the blocks that enclose `scope`, innermost first.
    fn outward(&self, scope: usize) -> impl Iterator<Item = &Scope<'a>> {
        let blocks = std::iter::successors(Some(scope), |&s| self.all[s].parent);
        blocks.map(|s| if s == 0 { &*self.file } else { &self.all[s] })
    }

    /// Looks up a label that is visible from `scope`.
    pub(super) fn find_label(&self, name: &str, scope: usize) -> Option<u32> {
        self.outward(scope).find_map(|s| s.labels.get(name).copied())
    }

    /// Looks up a name that is visible from the current block.
    pub(super) fn find(&self, name: &str) -> Option<NameLookup<'a>> {
        self.outward(self.current).find_map(|scope| {
            let single = scope.names.get(name).map(|&variable| NameLookup { variable, number: 0, is_outer: false });
            let found = single.or_else(|| member(scope, name))?;
            Some(NameLookup { is_outer: scope.parent.is_none(), ..found })
        })
    }

    /// Returns all names that are visible from the current block. A family of registers appears as its stem,
    /// such as `%r`.
    pub(super) fn visible(&self) -> impl Iterator<Item = &'a str> {
        let scopes = self.outward(self.current);
        scopes.flat_map(|s| s.names.keys().chain(s.families.keys()).copied())
    }
}

impl<'a> Scope<'a> {
    /// Declares a name in the block.
    pub(super) fn declare(&mut self, source: &Source, variable: &'a Variable<'a>) -> Result<(), PtxError> {
        let table = match variable.family {
            Some(_) => &mut self.families,
            None => &mut self.names,
        };
        let name = variable.name;
        match table.insert(name.text, variable) {
            // An extern declaration may be repeated, and may precede the definition.
            Some(old) if !old.is_extern && !variable.is_extern => {
                let line = source.numbered.place(old.name.span.start as usize).0;
                let message = format!("`{}` is declared twice in this block, first on line {line}", name.text);
                Err(PtxError::new(source, name.span, "second declaration", message))
            }
            _ => Ok(()),
        }
    }
}

/// Looks up `%r12` as register 12 of the family `%r`. If the stem itself ends in digits, all splits of the
/// name are tried, up to the length of the longest index.
fn member<'a>(scope: &Scope<'a>, name: &str) -> Option<NameLookup<'a>> {
    const MAX_DIGITS: usize = 19;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let stem = stem.max(name.len().saturating_sub(MAX_DIGITS));
    (stem..name.len()).find_map(|at| {
        let digits = &name[at..];
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        let variable = *scope.families.get(&name[..at])?;
        let number = digits.parse().ok()?;
        let count = variable.family?;
        (number < count).then_some(NameLookup { variable, number, is_outer: false })
    })
}
