//! # Signals: the contents of a dump
//!
//! A [`Tree`] of scopes and signals is described in one pass (`enter`, `signal`, `leave`). Ids are
//! consecutive numbers, assigned in the order of description. The signals inside a scope therefore form one
//! range of ids, and a table with one element per signal is a plain vector.
//!
//! A name is a letter or `_`, then letters, digits and `_`, then any number of `[n]`. A name that ends in `]`
//! is an **array entry**: a dump contains array entries only if they are requested (see [`crate::scope`]). A
//! program that describes signals with other names has a bug, so such a name causes a panic, whose message
//! contains the path.

use std::ops::Range;

/// Maximum width of a signal in bits. A data row of a cache has up to 512 bytes, which is 4096 bits.
pub const MAX_WIDTH: u32 = 4096;

/// Names of the codes 0, 1, 2, ... of an enumerated signal; an empty name marks an unused code.
pub type EnumNames = &'static [&'static str];

/// Identifier of a signal within its tree, numbered from 0 in the order of description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignalId(u32);

impl SignalId {
    /// Returns the id as an index into a vector with one element per signal of the tree.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Iterates over the first `count` signal ids.
    pub(crate) fn first(count: usize) -> impl ExactSizeIterator<Item = SignalId> {
        (0..count as u32).map(SignalId)
    }
}

/// Identifier of a scope within its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(u32);

impl ScopeId {
    /// The outermost scope of every tree.
    pub const ROOT: ScopeId = ScopeId(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of a signal: combinational value or register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Combinational value, valid in this cycle only: a port, a handshake or a computed value.
    Wire,
    /// Value held in flip-flops.
    Reg,
}

/// Format in which a viewer displays the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Display {
    /// Single bit, drawn as a waveform of two levels.
    Bit,
    /// Hexadecimal number: for addresses, tags and data.
    Hex,
    /// Unsigned decimal number: for counts and indices.
    Unsigned,
    /// Counter that never decreases, drawn as a curve of steps.
    Count,
    /// Binary number: for masks and one-hot vectors.
    Binary,
    /// Mask too wide to read bit by bit, displayed as its number of ones.
    MemberCount,
    /// State or status, displayed by the name of its code.
    Enum(EnumNames),
}

/// Description of one signal.
#[derive(Debug, Clone)]
pub struct Signal {
    /// Name of the signal within its scope.
    pub name: String,
    /// Width of the signal in bits, from 1 to [`MAX_WIDTH`].
    pub width: u32,
    /// Kind of the signal: wire or register.
    pub kind: Kind,
    /// Format in which a viewer displays the signal.
    pub display: Display,
    /// Scope that contains the signal.
    pub scope: ScopeId,
}

/// Description of one scope.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Name of the scope within its parent scope.
    pub name: String,
    /// Enclosing scope; `None` for the root.
    pub parent: Option<ScopeId>,
    /// Child scopes in order of description.
    pub scopes: Vec<ScopeId>,
    /// Signals directly in this scope, in order of description.
    pub signals: Vec<SignalId>,
    below: Range<u32>,
}

/// Complete description of the scopes and signals of a machine, as a tree that cannot change anymore.
#[derive(Debug, Clone)]
pub struct Tree {
    scopes: Vec<Scope>,
    signals: Vec<Signal>,
}

impl Tree {
    /// Number of signals.
    pub fn len(&self) -> usize {
        self.signals.len()
    }

    /// True if no signal was described.
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty()
    }

    /// Iterates over all signal ids in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = SignalId> + use<> {
        SignalId::first(self.signals.len())
    }

    /// Iterates over all scope ids; a scope comes before the scopes that it contains.
    pub fn scope_ids(&self) -> impl ExactSizeIterator<Item = ScopeId> + use<> {
        (0..self.scopes.len() as u32).map(ScopeId)
    }

    /// Returns the description of a signal.
    pub fn signal(&self, id: SignalId) -> &Signal {
        &self.signals[id.index()]
    }

    /// Returns the description of a scope.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.index()]
    }

    /// Iterates over all signals inside the scope, at any depth.
    pub fn below(&self, scope: ScopeId) -> impl ExactSizeIterator<Item = SignalId> + use<> {
        self.scope(scope).below.clone().map(SignalId)
    }

    /// Dotted path of a signal from the root, such as `machine.sm0.l1.status`.
    pub fn path(&self, id: SignalId) -> String {
        self.names(id).join(".")
    }

    /// Dotted path of a scope from the root.
    pub fn scope_path(&self, id: ScopeId) -> String {
        self.scope_names(id).join(".")
    }

    /// Names on the path from the root to a signal, including both.
    pub fn names(&self, id: SignalId) -> Vec<&str> {
        let signal = self.signal(id);
        let mut names = self.scope_names(signal.scope);
        names.push(&signal.name);
        names
    }

    /// Names on the path from the root to a scope, including both.
    pub fn scope_names(&self, id: ScopeId) -> Vec<&str> {
        let up = |&at: &ScopeId| self.scope(at).parent;
        let mut names: Vec<&str> = std::iter::successors(Some(id), up).map(|at| self.scope(at).name.as_str()).collect();
        names.reverse();
        names
    }

    /// Finds the scope with this dotted path; the root's name may be omitted.
    pub fn find_scope(&self, path: &str) -> Option<ScopeId> {
        let step = |from: ScopeId, name: &str| {
            let inside = &self.scope(from).scopes;
            inside.iter().copied().find(|&scope| self.scope(scope).name == name)
        };
        let walk = |path: &str| path.split('.').try_fold(ScopeId::ROOT, step);
        let root = &self.scope(ScopeId::ROOT).name;
        if path == root {
            return Some(ScopeId::ROOT);
        }
        let below_root = path.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('.'));
        walk(path).or_else(|| walk(below_root?))
    }
}

/// Builds a tree of scopes and signals in one pass.
#[derive(Debug)]
pub struct TreeBuilder {
    tree: Tree,
    open: Vec<ScopeId>,
}

impl TreeBuilder {
    /// Starts the description of a tree. The root scope stays open until [`TreeBuilder::finish`].
    pub fn new(root: &str) -> TreeBuilder {
        assert!(is_name(root), "{root}: {NAME_RULE}");
        let root = Scope { name: root.to_owned(), parent: None, scopes: vec![], signals: vec![], below: 0..0 };
        let tree = Tree { scopes: vec![root], signals: vec![] };
        TreeBuilder { tree, open: vec![ScopeId::ROOT] }
    }

    /// Opens a scope inside the current one.
    pub fn enter(&mut self, name: &str) -> ScopeId {
        let parent = self.claim(name);
        let id = ScopeId(u32::try_from(self.tree.scopes.len()).expect("fewer than 2^32 scopes"));
        let start = self.tree.signals.len() as u32;
        let scope =
            Scope { name: name.to_owned(), parent: Some(parent), scopes: vec![], signals: vec![], below: start..start };
        self.tree.scopes.push(scope);
        self.tree.scopes[parent.index()].scopes.push(id);
        self.open.push(id);
        id
    }

    /// Adds a signal to the current scope.
    pub fn signal(&mut self, name: &str, width: u32, kind: Kind, display: Display) -> SignalId {
        let scope = self.claim(name);
        let path = || format!("{}.{name}", self.tree.scope_path(scope));
        assert!((1..=MAX_WIDTH).contains(&width), "{}: width is {width}, expected 1 to {MAX_WIDTH}", path());
        match display {
            Display::Bit => assert!(width == 1, "{}: shown as a bit, but {width} bits wide", path()),
            Display::Enum(names) => {
                assert!(width <= 64, "{}: an enumeration of {width} bits, expected 1 to 64", path());
                let last = names.len().saturating_sub(1) as u64;
                assert!(fits(last, width), "{}: code {last} needs more than {width} bits", path());
                let plain = names.iter().all(|name| !name.contains(char::is_control));
                assert!(plain, "{}: a name among {names:?} has control characters", path());
            }
            Display::Hex | Display::Unsigned | Display::Count | Display::Binary | Display::MemberCount => {}
        }
        let id = SignalId(u32::try_from(self.tree.signals.len()).expect("fewer than 2^32 signals"));
        self.tree.signals.push(Signal { name: name.to_owned(), width, kind, display, scope });
        self.tree.scopes[scope.index()].signals.push(id);
        id
    }

    /// Closes the current scope.
    pub fn leave(&mut self) {
        assert!(self.open.len() > 1, "leave without a matching enter: only the root scope is open");
        self.close();
    }

    /// Closes the root scope and returns the tree.
    pub fn finish(mut self) -> Tree {
        let innermost = *self.open.last().expect("the root is open until here");
        assert!(self.open.len() == 1, "{}: entered but never left", self.tree.scope_path(innermost));
        self.close();
        self.tree
    }

    fn close(&mut self) {
        let scope = self.open.pop().expect("checked by the callers");
        self.check_names(scope);
        self.tree.scopes[scope.index()].below.end = self.tree.signals.len() as u32;
    }

    /// Panics if two signals or scopes directly in a scope have the same name. Called when the scope is
    /// complete.
    fn check_names(&self, scope: ScopeId) {
        let Scope { scopes, signals, .. } = self.tree.scope(scope);
        let scopes = scopes.iter().map(|&id| self.tree.scope(id).name.as_str());
        let mut names: Vec<&str> = scopes.chain(signals.iter().map(|&id| self.tree.signal(id).name.as_str())).collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        if let Some(&[name, ..]) = twice {
            panic!("{}.{name}: described twice", self.tree.scope_path(scope));
        }
    }

    /// Returns the current scope, to which the caller will add a signal or scope with this name. Panics if
    /// the name breaks the rules for names.
    fn claim(&mut self, name: &str) -> ScopeId {
        let scope = *self.open.last().expect("the root is open until finish");
        assert!(is_name(name), "{}.{name}: {NAME_RULE}", self.tree.scope_path(scope));
        scope
    }
}

const NAME_RULE: &str = "a name is a letter or `_`, then letters, digits and `_`, then any number of `[n]`: viewers split paths at the rest";

fn is_name(name: &str) -> bool {
    let (base, indices) = name.split_at(name.find('[').unwrap_or(name.len()));
    let first = base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let index = |text: &str| {
        let digits = text.strip_suffix(']').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
    };
    first && base.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') && indices.split('[').skip(1).all(index)
}

/// True if the name denotes one entry of an array, such as `tags[5]`.
pub fn is_entry(name: &str) -> bool {
    name.ends_with(']')
}

/// True if `value` has no bit set at or above bit `width`.
pub(crate) fn fits(value: u64, width: u32) -> bool {
    width >= 64 || value >> width == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Tree {
        let mut build = TreeBuilder::new("machine");
        build.enter("sm0");
        build.signal("cycle", 64, Kind::Reg, Display::Unsigned);
        build.enter("l1");
        build.signal("hit", 1, Kind::Wire, Display::Bit);
        build.signal("tags[0]", 20, Kind::Reg, Display::Hex);
        build.leave();
        build.signal("done", 1, Kind::Wire, Display::Bit);
        build.leave();
        build.signal("halt", 1, Kind::Wire, Display::Bit);
        build.finish()
    }

    #[test]
    fn ids_are_dense_and_a_scope_holds_one_range_of_them() {
        let tree = small();
        let below = |path| {
            let scope = tree.find_scope(path).expect("scope exists");
            tree.below(scope).map(SignalId::index).collect::<Vec<_>>()
        };
        assert_eq!(below("machine"), [0, 1, 2, 3, 4]);
        assert_eq!(below("machine.sm0"), [0, 1, 2, 3]);
        assert_eq!(below("sm0.l1"), [1, 2]);
    }

    #[test]
    fn a_path_names_every_scope_from_the_root() {
        let tree = small();
        let paths: Vec<String> = tree.ids().map(|id| tree.path(id)).collect();
        assert_eq!(
            paths,
            ["machine.sm0.cycle", "machine.sm0.l1.hit", "machine.sm0.l1.tags[0]", "machine.sm0.done", "machine.halt"]
        );
        assert_eq!(tree.find_scope("sm0.l2"), None);
    }

    #[test]
    #[should_panic(expected = "machine.a.b: described twice")]
    fn a_second_signal_of_the_same_name_is_refused() {
        let mut build = TreeBuilder::new("machine");
        build.enter("a");
        build.signal("b", 1, Kind::Reg, Display::Bit);
        build.enter("b");
        build.leave();
        build.leave();
    }

    #[test]
    #[should_panic(expected = "machine.a: width is 4097, expected 1 to 4096")]
    fn a_signal_wider_than_the_limit_is_refused() {
        TreeBuilder::new("machine").signal("a", 4097, Kind::Reg, Display::Hex);
    }

    #[test]
    #[should_panic(expected = "machine.a: code 2 needs more than 1 bits")]
    fn an_enumeration_wider_than_its_signal_is_refused() {
        TreeBuilder::new("machine").signal("a", 1, Kind::Reg, Display::Enum(&["PENDING", "FILLED", "READY"]));
    }

    #[test]
    #[should_panic(expected = "machine.a: entered but never left")]
    fn a_scope_left_open_is_refused() {
        let mut build = TreeBuilder::new("machine");
        build.enter("a");
        build.finish();
    }

    #[test]
    fn names_that_viewers_would_split_are_refused() {
        for good in ["a", "_a9", "tags[5]", "slot[3][12]"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "9a", "a.b", "a b", "a[", "a[]", "a[x]", "[5]", "a[5]b", "a*", "é"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
