//! Table of the last value of every selected signal, so that only changes are written.

use crate::scope::Selection;
use crate::signal::{SignalId, Tree, fits};
use crate::sink::words;

/// Last values of the selected signals, packed into one vector of words.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    cells: Vec<Cell>,
    words: Vec<u64>,
    selected: Vec<SignalId>,
    /// Paths of the selected signals, for error messages.
    paths: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Index in `Values::words` of the first (least significant) word of the signal's value.
    start: u32,
    /// Width of the signal in bits; 0 if it is not selected.
    width: u16,
    known: bool,
}

impl Values {
    /// Creates the table, in which every value is unknown.
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

    /// Stores the value of a signal of at most 64 bits. Returns true if the signal is selected and the value
    /// changed.
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

    /// Stores the value of a signal of any width. Returns true if the signal is selected and the value
    /// changed.
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

    /// Returns the last value of a selected signal, or `None` before its first value.
    pub(crate) fn get(&self, id: SignalId) -> Option<&[u64]> {
        let cell = self.cells[id.index()];
        cell.known.then(|| &self.words[cell.start as usize..][..words(cell.width.into())])
    }

    /// Iterates over the selected signals that have a value, with that value.
    pub(crate) fn known(&self) -> impl Iterator<Item = (SignalId, &[u64])> {
        self.selected.iter().filter_map(|&id| Some((id, self.get(id)?)))
    }

    /// Width of a selected signal in bits.
    pub(crate) fn width(&self, id: SignalId) -> u32 {
        self.cells[id.index()].width.into()
    }

    #[cold]
    fn misfit(&self, id: SignalId, value: &[u64]) -> ! {
        panic!("{}: value {value:#x?} given to a signal of {} bits", self.paths[id.index()], self.width(id))
    }
}
