//! Inserts all mutants of a file into its text, each with a switch that activates it.

use std::fmt::Write;
use std::ops::Range;

use crate::operators::{Change, Mutant};

/// File into which all its mutants are inserted, each with a switch.
#[derive(Debug, Default)]
pub struct WovenFile {
    pub text: String,
    /// Number of each mutant, and the byte range that the mutant occupies in the text.
    pub regions: Vec<(u32, Range<usize>)>,
}

impl WovenFile {
    /// Returns the innermost mutant that encloses a byte range of the text. If there is none, returns all
    /// mutants inside the range.
    pub fn at(&self, bytes: &Range<usize>) -> Vec<u32> {
        let around = self.regions.iter().filter(|(_, region)| region.start <= bytes.start && bytes.end <= region.end);
        if let Some((number, _)) = around.min_by_key(|(_, region)| region.len()) {
            return vec![*number];
        }
        let inside = self.regions.iter().filter(|(_, region)| bytes.start <= region.start && region.end <= bytes.end);
        inside.map(|(number, _)| *number).collect()
    }
}

/// Returns the file with these mutants inserted. They must be in the order in which they were found.
pub fn weave(text: &str, mutants: &[(u32, &Mutant)]) -> WovenFile {
    let mut woven = WovenFile::default();
    piece(text, 0..text.len(), mutants, &mut woven);
    woven
}

/// Writes a range of the file, and inserts the mutants inside it.
fn piece(text: &str, range: Range<usize>, mutants: &[(u32, &Mutant)], to: &mut WovenFile) {
    let (mut at, mut left) = (range.start, mutants);
    while let [(number, mutant), rest @ ..] = left {
        let inside = rest.iter().take_while(|(_, inner)| inner.place.start < mutant.place.end).count();
        let (inner, after) = rest.split_at(inside);
        to.text.push_str(&text[at..mutant.place.start]);
        let start = to.text.len();
        switch(text, *number, mutant, inner, to);
        to.regions.push((*number, start..to.text.len()));
        (at, left) = (mutant.place.end, after);
    }
    to.text.push_str(&text[at..range.end]);
}

/// Writes one mutant with its switch. Mutants inside it are inserted only into the code that runs while this
/// mutant is off, since two mutants are never active together.
fn switch(text: &str, number: u32, mutant: &Mutant, inner: &[(u32, &Mutant)], to: &mut WovenFile) {
    let place = &mutant.place;
    let on = format!("crate::__mutant::on({number})");
    match &mutant.change {
        Change::Delete => {
            let _ = write!(to.text, "if !{on} {{ ");
            piece(text, place.clone(), inner, to);
            to.text.push_str(" }");
        }
        Change::Negate => {
            to.text.push_str("((");
            piece(text, place.clone(), inner, to);
            let _ = write!(to.text, ") != {on})");
        }
        Change::Swap { operator, with } => {
            let (left, right) = (&text[place.start..operator.start], &text[operator.end..place.end]);
            let _ = write!(to.text, "(if {on} {{ {left}{with}{right} }} else {{ ");
            piece(text, place.clone(), inner, to);
            to.text.push_str(" })");
        }
        Change::Return(value) => {
            let _ = write!(to.text, " if {on} {{ return {value}; }}");
        }
    }
}

#[cfg(test)]
mod tests;
