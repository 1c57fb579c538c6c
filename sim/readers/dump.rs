//! # Dump: the state of a machine at one moment, as text
//! Formats the state of a machine as indented scopes with one line per value, for deadlock reports and
//! `--print`:
//!
//! ```text
//! machine
//!   sm0
//!     l1
//!       status = RESERVATION_FAIL
//!       mshr
//!         used = 0b11111111
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;

use rtl::kernel::{ArrayView, Blocks, Describe, Field, Fields, Logic};

use super::look::{bytes_text, text};
use super::scopes::{ROOT, Scopes, block_ids, distinct};

/// Options that select what a dump shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// True to include values that are zero, and scopes in which all values are zero.
    pub zeros: bool,
    /// True to include the contents of memories.
    pub arrays: bool,
}

/// Error for a path at which there is no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scope `{scope}`; the nearest is `{nearest}`")]
pub struct NoScope {
    /// Path of the scope that was requested.
    pub scope: String,
    /// Existing path that is most similar to the requested path.
    pub nearest: String,
}

#[derive(Clone, Debug)]
struct Line {
    name: Cow<'static, str>,
    text: String,
    zero: bool,
}

/// State of a whole machine: the values in all of its scopes.
#[derive(Clone, Debug)]
pub struct Dump {
    scopes: Scopes<Vec<Line>>,
    show: Show,
}

impl Dump {
    /// Creates a dump of the state of every hardware block.
    #[must_use]
    pub fn of(blocks: &impl Blocks, show: Show) -> Self {
        let mut dump = Self { scopes: Scopes::new(), show };
        for block in block_ids(blocks) {
            blocks.describe(block, &mut dump);
            dump.scopes.end_block();
        }
        dump
    }

    /// Formats the state of the whole machine.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.print(0, 0, &mut text);
        text
    }

    /// Formats one scope with everything inside it. The path may omit the name of the outermost scope.
    ///
    /// # Errors
    /// Fails if there is no scope at this path.
    pub fn text_of(&self, path: &str) -> Result<String, NoScope> {
        let paths = self.paths(0, ROOT);
        let below_root = format!("{ROOT}.{path}");
        let Some((_, scope)) = paths.iter().find(|(full, _)| full == path || *full == below_root) else {
            // If the misspelled path is long, only its start is compared with the known paths. The time to
            // compute an edit distance is proportional to the product of the two lengths.
            let begins = &path[..path.floor_char_boundary(input::MAX_COMPARED_BYTES)];
            let distance = |full: &str| {
                let short = full.strip_prefix("machine.").unwrap_or(full);
                strsim::osa_distance(full, begins).min(strsim::osa_distance(short, begins))
            };
            let nearest = paths.iter().map(|(full, _)| full).min_by_key(|full| distance(full));
            return Err(NoScope { scope: path.to_owned(), nearest: nearest.cloned().unwrap_or_default() });
        };
        let mut text = String::new();
        self.print(*scope, 0, &mut text);
        Ok(text)
    }

    /// Lists the paths of `scope` and of every scope inside it.
    fn paths(&self, scope: usize, path: &str) -> Vec<(String, usize)> {
        let mut all = vec![(path.to_owned(), scope)];
        for &inner in &self.scopes.nodes[scope].inside {
            all.extend(self.paths(inner, &format!("{path}.{}", self.scopes.nodes[inner].name())));
        }
        all
    }

    /// Prints a scope. If there is nothing to show, prints nothing and returns false.
    fn print(&self, scope: usize, depth: usize, text: &mut String) -> bool {
        let node = &self.scopes.nodes[scope];
        let start = text.len();
        let mut line = |depth: usize, content: std::fmt::Arguments<'_>| {
            let written = writeln!(text, "{:indent$}{content}", "", indent = 2 * depth);
            debug_assert!(written.is_ok(), "a string takes everything");
        };
        line(depth, format_args!("{}", node.name()));
        let mut some = self.show.zeros;
        let names = distinct(node.own.iter().map(|line| &*line.name));
        for (name, value) in names.iter().zip(&node.own) {
            if self.show.zeros || !value.zero {
                line(depth + 1, format_args!("{name} = {}", value.text));
                some = true;
            }
        }
        for &inner in &node.inside {
            some |= self.print(inner, depth + 1, text);
        }
        if !some {
            text.truncate(start);
        }
        some
    }

    fn add(&mut self, name: impl Into<Cow<'static, str>>, text: String, zero: bool) {
        self.scopes.here().push(Line { name: name.into(), text, zero });
    }
}

impl Fields for Dump {
    fn field(&mut self, field: Field) {
        self.add(field.name, text(&field), field.value == 0);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.add(name, bytes_text(bytes), bytes.iter().all(|&byte| byte == 0));
    }
}

impl Describe for Dump {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.scopes.enter(name, index);
    }
    fn leave(&mut self) {
        self.scopes.leave();
    }
    fn mark_as_component(&mut self) {
        self.scopes.is_instance();
    }
    fn probe(&mut self, field: Field) {
        self.field(field);
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, count: u64) {
        let scopes = [Some("stat"), group];
        scopes.into_iter().flatten().for_each(|scope| self.scopes.enter(scope, None));
        self.add(name, count.to_string(), count == 0);
        scopes.into_iter().flatten().for_each(|_| self.scopes.leave());
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        self.scopes.here();
        if !self.show.arrays {
            return;
        }
        let spec = array.spec();
        for row in 0..spec.rows {
            for column in 0..spec.columns {
                let mut cell = Cell { zeros: self.show.zeros, text: String::new(), zero: true };
                array.cell(row, column, &mut cell);
                let place = if spec.columns > 1 { format!("[{column}]") } else { String::new() };
                self.add(format!("{name}[{row}]{place}"), cell.text, cell.zero);
            }
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {
        self.scopes.is_instance();
    }
    fn logic(&mut self, _: &'static str, _: Logic) {
        self.scopes.here();
    }
}

/// Formatter that shows the fields of one memory element on a single line.
struct Cell {
    zeros: bool,
    text: String,
    zero: bool,
}

impl Cell {
    fn add(&mut self, name: &str, value: &str, zero: bool) {
        self.zero &= zero;
        if self.zeros || !zero {
            let space = if self.text.is_empty() { "" } else { " " };
            self.text.extend([space, name, "=", value]);
        }
    }
}

impl Fields for Cell {
    fn field(&mut self, field: Field) {
        self.add(field.name, &text(&field), field.value == 0);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.add(name, &bytes_text(bytes), bytes.iter().all(|&byte| byte == 0));
    }
}
