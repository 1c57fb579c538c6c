//! # Outline: list of the signals of a machine
//! Before a run, every hardware block is described once, and its values are merged into one tree of signals.
//! From then on, a value is identified by its position in the description of its hardware block. Each
//! [`Plan`] lists the signals in that order, so that sampling compares no names. A hardware block must
//! therefore always describe the same values in the same order, whatever its state.
//!
//! Statistics are in a separate scope `stat`. The elements of a memory become signals only if a glob names
//! the memory with a bracket (`tags.entries[5]`). Scope `entries[5]` contains the fields of a row. If a row
//! has several elements, `entries[5].column[2]` contains the fields of one of them.
//!
//! A machine has some hundred thousand signals. Scopes that no glob can match may therefore be skipped: a
//! dump of one SM creates no signals for the other SMs.

use rtl::kernel::{ArrayView, Blocks, Describe, Field, Fields, Logic};
use waves::scope::{Glob, GlobMatches, Selection};
use waves::signal::{Display, Kind, SignalId, Tree, TreeBuilder};

use super::look::look;
use super::scopes::{ROOT, Scopes, block_ids, distinct, name_of};

/// Value in a scope, for which a signal will be created.
#[derive(Clone, Debug)]
struct Value {
    name: &'static str,
    width: u32,
    kind: Kind,
    display: Display,
    /// Index among all signals of the tree, set when the tree is built.
    place: usize,
}

/// Memory in a scope, for whose elements signals will be created.
#[derive(Clone, Debug)]
struct Memory {
    name: &'static str,
    rows: u32,
    columns: u32,
    cell: Vec<Value>,
    place: usize,
}

/// Values and memories directly in a scope.
#[derive(Clone, Debug, Default)]
struct Signals {
    values: Vec<Value>,
    memories: Vec<Memory>,
}

/// Signals of one hardware block, in the order of its description.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Signal of each value outside memories; `None` if this signal is not selected.
    pub(super) values: Vec<Option<SignalId>>,
    /// For each value, the number of consecutive values from this one on that are not selected; 0 for a
    /// selected value.
    pub(super) unselected: Vec<u32>,
    /// Scopes of the hardware block, which may be nested, in the order in which `describe` declares them.
    pub(super) spans: Vec<Span>,
    /// For each memory, its elements in which at least one field is selected.
    pub(super) memories: Vec<Vec<CellPlan>>,
}

impl Plan {
    /// True if a signal of the hardware block is selected.
    pub(super) fn is_selected(&self) -> bool {
        self.values.iter().any(Option::is_some) || self.memories.iter().any(|cells| !cells.is_empty())
    }
}

/// Memory element in which at least one field is selected.
#[derive(Clone, Debug)]
pub(super) struct CellPlan {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) fields: Vec<Option<SignalId>>,
}

/// Scope inside a hardware block, with the position at which its description ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) end: Position,
    pub(super) selected: bool,
    /// Number of consecutive scopes with the same name (such as entries of a table), from this scope on, in
    /// which nothing is selected. `run_end` is the position in the description at which the last of them
    /// ends.
    pub(super) run: usize,
    pub(super) run_end: Position,
}

/// Position in the description of a hardware block, given by the number of values, of scopes and of memories
/// before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) value: usize,
    pub(super) span: usize,
    pub(super) memory: usize,
}

/// Record of where the values and memories of one hardware block are in the signal tree, while the tree is
/// under construction.
#[derive(Clone, Debug, Default)]
struct Draft {
    /// For each value, its scope and its index among the values of that scope.
    values: Vec<(usize, usize)>,
    /// For each memory, its scope and its index among the memories of that scope. `None` if no glob requests
    /// elements of the memory.
    memories: Vec<Option<(usize, usize)>>,
    /// Scopes of the hardware block, which may be nested, in the order in which `describe` declares them.
    spans: Vec<Stretch>,
}

/// Scope of a hardware block, with the section of the description that belongs to it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    name: &'static str,
    start: Position,
    end: Position,
}

/// All signals of a machine.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) tree: Tree,
    scopes: Scopes<Signals>,
    /// Drafts of all hardware blocks, indexed by the clock domain and by the number of the block in its
    /// domain.
    drafts: Vec<Vec<Draft>>,
}

impl Outline {
    /// Describes every hardware block once and creates the tree of all signals.
    ///
    /// # Panics
    /// Panics if two items in a scope have the same name, or if a name contains a character at which waveform
    /// viewers would split it.
    pub(super) fn of(blocks: &impl Blocks, globs: &[Glob]) -> Self {
        Self::along(blocks, globs, &[], None)
    }

    /// Describes every hardware block once. Adds the signals `extra` (name and width), which belong to no
    /// hardware block, at the root of the tree, before all other signals.
    pub(super) fn with(blocks: &impl Blocks, globs: &[Glob], extra: &[(String, u32)]) -> Self {
        Self::along(blocks, globs, extra, None)
    }

    /// Builds the tree like [`with`](Self::with), but skips scopes that no glob can match.
    pub(super) fn of_reached(blocks: &impl Blocks, globs: &[Glob], extra: &[(String, u32)]) -> Self {
        Self::along(blocks, globs, extra, Some(&GlobMatches::new(globs, ROOT)))
    }

    fn along(blocks: &impl Blocks, globs: &[Glob], extra: &[(String, u32)], trail: Option<&GlobMatches<'_>>) -> Self {
        let globs: Vec<String> = globs.iter().map(ToString::to_string).collect();
        let mut drafts: Vec<Vec<Draft>> = vec![Vec::new(); blocks.population().len()];
        let mut scopes = Scopes::new();
        for id in block_ids(blocks) {
            let mut reader = Elaborator {
                scopes: &mut scopes,
                globs: &globs,
                trails: trail.into_iter().cloned().collect(),
                draft: Draft::default(),
                open: Vec::new(),
                skipping: 0,
            };
            blocks.describe(id, &mut reader);
            drafts[usize::from(id.domain)].push(reader.draft);
            scopes.end_block();
        }
        let mut build = TreeBuilder::new(ROOT);
        for (name, width) in extra {
            let display = if *width == 1 { Display::Bit } else { Display::Unsigned };
            build.signal(name, *width, Kind::Wire, display);
        }
        let mut places = extra.len();
        emit(&mut build, &mut scopes, 0, &mut places);
        Self { tree: build.finish(), scopes, drafts }
    }

    /// Creates the plans of all hardware blocks, indexed by the clock domain and by the number of the block
    /// in its domain.
    pub(super) fn plans(&self, selection: &Selection) -> Vec<Vec<Plan>> {
        let selected: Vec<Option<SignalId>> = self.tree.ids().map(|id| selection.contains(id).then_some(id)).collect();
        let plan = |draft: &Draft| self.plan(draft, &selected);
        self.drafts.iter().map(|domain| domain.iter().map(plan).collect()).collect()
    }

    fn plan(&self, draft: &Draft, selected: &[Option<SignalId>]) -> Plan {
        let own = |scope: usize| &self.scopes.nodes[scope].own;
        let value = |&(scope, at): &(usize, usize)| selected[own(scope).values[at].place];
        let memory = |at: &Option<(usize, usize)>| match *at {
            Some((scope, at)) => cells(&own(scope).memories[at], selected),
            None => Vec::new(),
        };
        let values: Vec<_> = draft.values.iter().map(value).collect();
        let memories: Vec<_> = draft.memories.iter().map(memory).collect();
        let span = |&Stretch { name: _, start, end }: &Stretch| {
            let some_value = values[start.value..end.value].iter().any(Option::is_some);
            let some_cell = memories[start.memory..end.memory].iter().any(|cells| !cells.is_empty());
            Span { end, selected: some_value || some_cell, run: 0, run_end: end }
        };
        let mut spans: Vec<Span> = draft.spans.iter().map(span).collect();
        let selects: Vec<bool> = spans.iter().map(|span| span.selected).collect();
        for at in (0..spans.len()).rev().filter(|&at| !selects[at]) {
            let Stretch { name, end, .. } = draft.spans[at];
            let next = draft.spans.get(end.span).filter(|next| next.name == name && next.start == end);
            let next = next.map(|_| spans[end.span]).filter(|next| next.run > 0);
            spans[at].run = 1 + next.map_or(0, |next| next.run);
            spans[at].run_end = next.map_or(end, |next| next.run_end);
        }
        let mut unselected = vec![0; values.len()];
        let mut run = 0;
        for (at, value) in values.iter().enumerate().rev() {
            run = if value.is_some() { 0 } else { run + 1 };
            unselected[at] = run;
        }
        Plan { values, unselected, spans, memories }
    }
}

/// Returns the memory elements in which at least one field is selected.
fn cells(memory: &Memory, selected: &[Option<SignalId>]) -> Vec<CellPlan> {
    let mut cells = Vec::new();
    let mut place = memory.place;
    for row in 0..memory.rows {
        for column in 0..memory.columns {
            let fields = &selected[place..place + memory.cell.len()];
            place += memory.cell.len();
            if fields.iter().any(Option::is_some) {
                cells.push(CellPlan { row, column, fields: fields.to_vec() });
            }
        }
    }
    cells
}

/// Adds the contents of a scope to the tree and records the index of each signal.
fn emit(build: &mut TreeBuilder, scopes: &mut Scopes<Signals>, scope: usize, places: &mut usize) {
    let Signals { values, memories } = &mut scopes.nodes[scope].own;
    let first = *places;
    emit_values(build, values, places);
    for (at, value) in values.iter_mut().enumerate() {
        value.place = first + at;
    }
    for memory in memories {
        memory.place = *places;
        for row in 0..memory.rows {
            build.enter(&format!("{}[{row}]", memory.name));
            for column in 0..memory.columns {
                if memory.columns > 1 {
                    build.enter(&format!("column[{column}]"));
                }
                emit_values(build, &memory.cell, places);
                if memory.columns > 1 {
                    build.leave();
                }
            }
            build.leave();
        }
    }
    for inner in scopes.nodes[scope].inside.clone() {
        build.enter(&scopes.nodes[inner].name());
        emit(build, scopes, inner, places);
        build.leave();
    }
}

fn emit_values(build: &mut TreeBuilder, values: &[Value], places: &mut usize) {
    let names = distinct(values.iter().map(|value| value.name));
    for (name, value) in names.iter().zip(values) {
        build.signal(name, value.width, value.kind, value.display);
    }
    *places += values.len();
}

fn value_of(field: &Field, kind: Kind) -> Value {
    Value { name: field.name, width: field.width, kind, display: look(field), place: 0 }
}

fn value_of_bytes(name: &'static str, bytes: &[u8]) -> Value {
    Value { name, width: bytes.len() as u32 * 8, kind: Kind::Reg, display: Display::Hex, place: 0 }
}

/// Reader that collects the signals of one hardware block.
struct Elaborator<'a> {
    scopes: &'a mut Scopes<Signals>,
    globs: &'a [String],
    /// State of matching the globs against scope names: at the root, and after each scope on the current
    /// path. Empty if all scopes must be visited.
    trails: Vec<GlobMatches<'a>>,
    draft: Draft,
    /// Indices of the scopes that are open at the moment. Scopes inside a skipped scope are not included.
    open: Vec<usize>,
    /// Number of open scopes from the outermost skipped scope inward; 0 if no scope is being skipped.
    skipping: u32,
}

impl Elaborator<'_> {
    fn position(&self) -> Position {
        let Draft { values, memories, spans } = &self.draft;
        Position { value: values.len(), span: spans.len(), memory: memories.len() }
    }

    fn add(&mut self, value: Value) {
        if self.skipping > 0 {
            return;
        }
        let values = &mut self.scopes.here().values;
        values.push(value);
        let place = values.len() - 1;
        self.draft.values.push((self.scopes.current(), place));
    }

    /// Advances the match state of the globs into a scope. Returns false if no glob can match inside the
    /// scope.
    fn follow(&mut self, name: &'static str, index: Option<u32>) -> bool {
        let Some(trail) = self.trails.last() else { return true };
        // It is not known yet whether the scope is a table entry or an instance, so the globs are matched
        // with the name that it has in either case.
        let [entry, instance] = [false, true].map(|instance| name_of(name, index, instance));
        let Some(inside) = trail.down(&[&entry, &instance]) else { return false };
        self.trails.push(inside);
        true
    }

    /// True if a glob names elements of this memory. Also true if a glob names the memory without a bracket.
    /// Such a glob selects nothing, but with the elements in the tree, the error message can suggest their
    /// names.
    fn is_requested(&self, name: &str) -> bool {
        let parts = self.globs.iter().flat_map(|glob| glob.split('.'));
        parts.into_iter().any(|part| match part.split_once('[') {
            Some((base, _)) => base == name || base.contains(['*', '?']),
            None => part == name,
        })
    }
}

impl Fields for Elaborator<'_> {
    fn field(&mut self, field: Field) {
        self.add(value_of(&field, Kind::Reg));
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.add(value_of_bytes(name, bytes));
    }
}

impl Describe for Elaborator<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        if self.skipping > 0 {
            self.skipping += 1;
            return;
        }
        self.open.push(self.draft.spans.len());
        let start = self.position();
        self.draft.spans.push(Stretch { name, start, end: start });
        if self.follow(name, index) {
            self.scopes.enter(name, index);
        } else {
            self.skipping = 1;
            // Items inside a skipped scope are not recorded. One call of `here` for the current scope
            // replaces the calls for these items (see `Scopes::here`).
            self.scopes.here();
        }
    }
    fn leave(&mut self) {
        if self.skipping > 0 {
            self.skipping -= 1;
            if self.skipping > 0 {
                return;
            }
        } else {
            self.scopes.leave();
            self.trails.pop();
        }
        let end = self.position();
        if let Some(span) = self.open.pop() {
            self.draft.spans[span].end = end;
        }
    }
    fn is_scope_read(&self) -> bool {
        self.skipping == 0
    }
    fn mark_as_component(&mut self) {
        if self.skipping == 0 {
            self.scopes.is_instance();
        }
    }
    fn probe(&mut self, field: Field) {
        self.add(value_of(&field, Kind::Wire));
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, count: u64) {
        if self.skipping > 0 {
            return;
        }
        let scopes = [Some("stat"), group];
        scopes.into_iter().flatten().for_each(|scope| self.scopes.enter(scope, None));
        let field = Field { name, width: u64::BITS, value: count, names: &[] };
        self.add(Value { display: Display::Count, ..value_of(&field, Kind::Wire) });
        scopes.into_iter().flatten().for_each(|_| self.scopes.leave());
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if self.skipping > 0 {
            return;
        }
        let (rows, columns) = (array.spec().rows, array.spec().columns);
        let asked = self.is_requested(name);
        let memories = &mut self.scopes.here().memories;
        if !asked {
            self.draft.memories.push(None);
            return;
        }
        let mut cell = Cell(Vec::new());
        array.cell(0, 0, &mut cell);
        memories.push(Memory { name, rows, columns, cell: cell.0, place: 0 });
        let place = memories.len() - 1;
        self.draft.memories.push(Some((self.scopes.current(), place)));
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {
        if self.skipping == 0 {
            self.scopes.is_instance();
        }
    }
    fn logic(&mut self, _: &'static str, _: Logic) {
        if self.skipping == 0 {
            self.scopes.here();
        }
    }
}

/// Collector of the fields of a memory element.
struct Cell(Vec<Value>);

impl Fields for Cell {
    fn field(&mut self, field: Field) {
        self.0.push(value_of(&field, Kind::Reg));
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.0.push(value_of_bytes(name, bytes));
    }
}
