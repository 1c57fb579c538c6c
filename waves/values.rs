//! The last value of every selected signal.

use crate::scope::Selection;
use crate::signal::{SignalId, Tree, fits};
use crate::sink::words;

/// Last values, in one run of words.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    cells: Vec<Cell>,
    words: Vec<u64>,
    selected: Vec<SignalId>,
    /// Paths of the selected signals, for messages.
    paths: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    /// First of its words.
    start: u32,
    /// Bits; 0 if it is not selected.
    width: u16,
    known: bool,
}

impl Values {
    /// All unknown.
    pub(crate) fn new(tree: &Tree, selection: &Selection) -> Values {
        let mut values = Values {
            cells: vec![Cell { start: 0, width: 0, known: false }; tree.len()],
            words: Vec::new(),
            selected: selection.ids().collect(),
            paths: vec![String::new(); tree.len()],
        };
        for id in selection.ids() {
            let width = tree.signal(id).width;
            values.cells[id.index()] = Cell { start: values.words.len() as u32, width: width as u16, known: false };
            values.words.resize(values.words.len() + words(width), 0);
            values.paths[id.index()] = tree.path(id);
        }
        values
    }

    /// Notes the value of a narrow signal. True if it is selected and the value new.
    #[inline]
    pub(crate) fn take(&mut self, id: SignalId, value: u64) -> bool {
        let cell = &mut self.cells[id.index()];
        if cell.width == 0 {
            return false;
        }
        let word = &mut self.words[cell.start as usize];
        if cell.known && *word == value && cell.width <= 64 {
            return false;
        }
        if cell.width > 64 || !fits(value, u32::from(cell.width)) {
            self.misfit(id, &[value]);
        }
        *word = value;
        cell.known = true;
        true
    }

    /// [`Values::take`] for any width.
    pub(crate) fn take_wide(&mut self, id: SignalId, value: &[u64]) -> bool {
        let cell = &mut self.cells[id.index()];
        if cell.width == 0 {
            return false;
        }
        let width = u32::from(cell.width);
        if value.len() != words(width) || !fits(value[value.len() - 1], (width - 1) % 64 + 1) {
            self.misfit(id, value);
        }
        let last = &mut self.words[cell.start as usize..][..value.len()];
        if cell.known && *last == *value {
            return false;
        }
        last.copy_from_slice(value);
        cell.known = true;
        true
    }

    /// The last value of a selected signal, once it has one.
    pub(crate) fn get(&self, id: SignalId) -> Option<&[u64]> {
        let cell = self.cells[id.index()];
        cell.known.then(|| &self.words[cell.start as usize..][..words(cell.width.into())])
    }

    /// The selected signals that have a value, with it.
    pub(crate) fn known(&self) -> impl Iterator<Item = (SignalId, &[u64])> {
        self.selected.iter().filter_map(|&id| Some((id, self.get(id)?)))
    }

    /// Bits of a selected signal.
    pub(crate) fn width(&self, id: SignalId) -> u32 {
        self.cells[id.index()].width.into()
    }

    #[cold]
    fn misfit(&self, id: SignalId, value: &[u64]) -> ! {
        panic!("{}: value {value:#x?} given to a signal of {} bits", self.paths[id.index()], self.width(id))
    }
}
