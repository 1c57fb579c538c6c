//! Lookup of names in nested blocks of code.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::super::ast::{Name, Variable};
use super::super::{PtxError, Source};

/// Result of a name lookup: the declared variable, and for a register of a family its index in the family.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameLookup<'a> {
    pub(super) variable: &'a Variable<'a>,
    pub(super) number: u64,
    /// True if the name is declared at file level.
    pub(super) is_outer: bool,
}

/// Names that are declared in one block of code.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    parent: Option<usize>,
    names: FxHashMap<&'a str, &'a Variable<'a>>,
    /// Families of registers, such as `%r<10>`, indexed by the part of the name before the number.
    families: FxHashMap<&'a str, &'a Variable<'a>>,
    labels: FxHashMap<&'a str, u32>,
}

/// All blocks of code seen so far. A block is open if it is `current` or encloses `current`; all other blocks
/// have ended.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    /// Names at file level. `all[0]` also stands for the file level, but it contains no names: they are in
    /// this field.
    file: Rc<Scope<'a>>,
    all: Vec<Scope<'a>>,
    current: usize,
}

impl<'a> Scopes<'a> {
    /// Creates a name lookup whose current block is the file level. `file` holds the names that are declared
    /// there.
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

    /// Declares a name in the current block of code.
    pub(super) fn declare(&mut self, source: &Source, variable: &'a Variable<'a>) -> Result<(), PtxError> {
        self.all[self.current].declare(source, variable)
    }

    /// Adds a label to the current block of code. Returns false if this block already defines the same label.
    pub(super) fn label(&mut self, name: &Name<'a>, pc: u32) -> bool {
        let labels = &mut self.all[self.current].labels;
        labels.insert(name.text, pc).is_none()
    }

    /// Makes the file level current, so that a block opened next sees only its own names and those of the
    /// file.
    pub(super) fn enter_file(&mut self) {
        self.current = 0;
    }

    /// Returns to the block of code `scope`, which was current earlier.
    pub(super) fn leave(&mut self, scope: usize) {
        self.current = scope;
    }

    /// Returns the block of code `scope` and all blocks that enclose it, innermost first.
    fn outward(&self, scope: usize) -> impl Iterator<Item = &Scope<'a>> {
        let blocks = std::iter::successors(Some(scope), |&s| self.all[s].parent);
        blocks.map(|s| if s == 0 { &*self.file } else { &self.all[s] })
    }

    /// Looks up a label that is visible from the block of code `scope`.
    pub(super) fn find_label(&self, name: &str, scope: usize) -> Option<u32> {
        self.outward(scope).find_map(|s| s.labels.get(name).copied())
    }

    /// Looks up a name that is visible from the current block of code.
    pub(super) fn find(&self, name: &str) -> Option<NameLookup<'a>> {
        self.outward(self.current).find_map(|scope| {
            let single = scope.names.get(name).map(|&variable| NameLookup { variable, number: 0, is_outer: false });
            let found = single.or_else(|| member(scope, name))?;
            Some(NameLookup { is_outer: scope.parent.is_none(), ..found })
        })
    }

    /// Returns all names that are visible from the current block of code. A family of registers such as
    /// `%r<10>` appears as `%r`.
    pub(super) fn visible(&self) -> impl Iterator<Item = &'a str> {
        let scopes = self.outward(self.current);
        scopes.flat_map(|s| s.names.keys().chain(s.families.keys()).copied())
    }
}

impl<'a> Scope<'a> {
    /// Declares a name in this block of code.
    pub(super) fn declare(&mut self, source: &Source, variable: &'a Variable<'a>) -> Result<(), PtxError> {
        let table = match variable.family {
            Some(_) => &mut self.families,
            None => &mut self.names,
        };
        let name = variable.name;
        match table.insert(name.text, variable) {
            // An `.extern` declaration may be repeated, and may precede the definition.
            Some(old) if !old.is_extern && !variable.is_extern => {
                let line = source.numbered.place(old.name.span.start as usize).0;
                let message = format!("`{}` is declared twice in this block, first on line {line}", name.text);
                Err(PtxError::new(source, name.span, "second declaration", message))
            }
            _ => Ok(()),
        }
    }
}

/// Looks up `%r12` as register 12 of the family `%r`. If the name of a family may itself end in digits, tries
/// all ways to split the name. An index has at most 19 digits.
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
