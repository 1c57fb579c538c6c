//! Lists of what is wrong, cut where nobody reads on: a file of another kind breaks a rule in each of its lines.

use std::error::Error;
use std::fmt;

use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};

/// Entries of a list that are printed.
const SHOWN: usize = 20;

/// The lines of a list, and how many of `what` are left out.
#[must_use]
pub fn lines<T: fmt::Display>(list: &[T], what: &str) -> Vec<String> {
    let shown = list.iter().take(SHOWN).map(T::to_string);
    shown.chain(more(list.len(), what)).collect()
}

/// What stands in place of the entries that are left out of so many, if some are.
fn more(entries: usize, what: &str) -> Option<String> {
    let left_out = entries.checked_sub(SHOWN).filter(|&left_out| left_out > 0)?;
    Some(format!("and {left_out} more {what}{}", if left_out == 1 { "" } else { "s" }))
}

/// A report of which only the first problems are shown.
pub struct Limited<'a>(pub &'a dyn Diagnostic);

impl Limited<'_> {
    /// What is said of the others.
    #[must_use]
    pub fn more(&self) -> Option<String> {
        more(self.0.related().map_or(0, Iterator::count), "problem")
    }
}

impl fmt::Debug for Limited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl fmt::Display for Limited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }
}

impl Error for Limited<'_> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl Diagnostic for Limited<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.code()
    }

    fn severity(&self) -> Option<Severity> {
        self.0.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.url()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.0.related()?.take(SHOWN)))
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        self.0.diagnostic_source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_after_20_entries_and_says_of_how_many_others() {
        let cut = |entries| lines(&vec!["x"; entries], "warning");
        assert_eq!(cut(20), vec!["x"; 20]);
        assert_eq!(cut(21)[20..], ["and 1 more warning"]);
        assert_eq!(cut(2_020)[20..], ["and 2000 more warnings"]);
        assert!(cut(0).is_empty());
    }
}
