//! Writes mutants into a file as switches, all of them at once.

use std::fmt::Write;
use std::ops::Range;

use crate::operators::{Change, Mutant};

/// A file with switches.
#[derive(Debug, Default)]
pub struct Woven {
    pub text: String,
    /// Where in the text each mutant stands, by its number.
    pub regions: Vec<(u32, Range<usize>)>,
}

impl Woven {
    /// The innermost mutant around some bytes of the text; failing that, all that stand in them.
    pub fn at(&self, bytes: &Range<usize>) -> Vec<u32> {
        let around = self.regions.iter().filter(|(_, region)| region.start <= bytes.start && bytes.end <= region.end);
        if let Some((number, _)) = around.min_by_key(|(_, region)| region.len()) {
            return vec![*number];
        }
        let inside = self.regions.iter().filter(|(_, region)| bytes.start <= region.start && region.end <= bytes.end);
        inside.map(|(number, _)| *number).collect()
    }
}

/// The file with its mutants, which have numbers and stand in the order in which they are found.
pub fn weave(text: &str, mutants: &[(u32, &Mutant)]) -> Woven {
    let mut woven = Woven::default();
    piece(text, 0..text.len(), mutants, &mut woven);
    woven
}

/// A piece of the file with the mutants inside it.
fn piece(text: &str, range: Range<usize>, mutants: &[(u32, &Mutant)], to: &mut Woven) {
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

/// One mutant, behind its switch. Those inside it are woven only where it is off: no two are ever on.
fn switch(text: &str, number: u32, mutant: &Mutant, inner: &[(u32, &Mutant)], to: &mut Woven) {
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
