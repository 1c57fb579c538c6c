//! # Syntax tree of a PTX file
//! Borrows its names from the text. Flat on purpose: nested blocks are a stream of statements
//! with opening and closing marks, so that nothing has to recurse.

use isa::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// A range of bytes of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end) }
    }
}

/// A name or a modifier and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// As written; modifiers without their dot.
    pub text: &'a str,
    /// Where.
    pub span: Span,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module<'a> {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target`, for example `sm_35`.
    pub target: Vec<Name<'a>>,
    /// `.address_size`: 32 or 64. Without the directive 32, but 64 before version 2.3, which
    /// did not have it.
    pub address_size: u32,
    /// Variables at file level.
    pub variables: Vec<Variable<'a>>,
    /// Kernels and functions, declared or defined.
    pub functions: Vec<Function<'a>>,
    /// `.alias new, old`: functions with a second name.
    pub aliases: Vec<(Name<'a>, Name<'a>)>,
    /// Numbers in `functions` of those that can be called, by name.
    pub(crate) callable: FxHashMap<&'a str, usize>,
}

impl<'a> Module<'a> {
    /// The kernels that have a body.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions.iter().filter(|f| f.is_entry && f.has_body)
    }

    /// The function called `name`: its definition, else a declaration of it.
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.callable.get(name).map(|&number| &self.functions[number])
    }

    /// What stands for the address of the function called `name`: 1 and its number in the file.
    pub fn function_address(&self, name: &str) -> Option<u64> {
        self.callable.get(name).map(|&number| number as u64 + 1)
    }

    /// Lists the functions by name, once all are read. Of several with a name the first definition
    /// counts, else the first declaration.
    pub(crate) fn list_functions(&mut self) {
        for (number, function) in self.functions.iter().enumerate().filter(|(_, f)| !f.is_entry) {
            let listed = self.callable.entry(function.name.text).or_insert(number);
            if function.has_body && !self.functions[*listed].has_body {
                *listed = number;
            }
        }
        for (new, old) in &self.aliases {
            match self.callable.get(old.text) {
                Some(&number) => self.callable.insert(new.text, number),
                None => self.callable.remove(new.text),
            };
        }
    }

    /// The functions with a body whose address a kernel can come by: those that an instruction
    /// other than a call names, or an initialiser.
    pub fn addressed_functions(&self) -> Vec<&Function<'a>> {
        let named = self.functions.iter().flat_map(|f| &f.body).flat_map(|statement| match statement {
            Statement::Instruction(inst) if inst.opcode.text != "call" => inst.operands.as_slice(),
            _ => &[],
        });
        let named = named.filter_map(|operand| match operand.kind {
            OperandKind::Name(name, None) => Some(name.text),
            _ => None,
        });
        let stored = self.variables.iter().flat_map(|v| &v.initial).filter_map(|part| match part {
            Initial::Address { name, .. } => Some(name.text),
            _ => None,
        });
        let mut seen = FxHashSet::default();
        let numbers = named.chain(stored).filter_map(|name| self.callable.get(name).copied());
        let found = numbers.filter(|&number| seen.insert(number)).map(|number| &self.functions[number]);
        found.filter(|function| function.has_body).collect()
    }
}

/// `.entry` or `.func`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'a> {
    /// Whether it is a kernel.
    pub is_entry: bool,
    /// Its name.
    pub name: Name<'a>,
    /// Return values of a `.func`.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
    /// `.maxntid`, `.minnctapersm` and the like.
    pub directives: Vec<Directive<'a>>,
    /// Whether this is a definition.
    pub has_body: bool,
    /// The body.
    pub body: Vec<Statement<'a>>,
}

/// A performance directive with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive<'a> {
    /// Name without the dot.
    pub name: Name<'a>,
    /// Its integer arguments.
    pub values: Vec<u64>,
}

/// State space of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// `.reg`
    Reg,
    /// `.param`
    Param,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.const`
    Const,
    /// `.local`
    Local,
    /// `.tex`
    Tex,
}

/// A declared variable, parameter or family of registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'a> {
    /// State space.
    pub storage: Storage,
    /// Whether it is `.extern`.
    pub is_extern: bool,
    /// Element type; `None` for opaque types.
    pub ty: Option<Type>,
    /// `texref`, `samplerref` or `surfref`.
    pub opaque: Option<&'a str>,
    /// Elements of a vector type: 1, 2 or 4.
    pub vector: u32,
    /// `.align`, if written.
    pub align: Option<u32>,
    /// Its name; for `%r<10>` the part before the bracket.
    pub name: Name<'a>,
    /// For `%r<10>`: 10.
    pub family: Option<u64>,
    /// Elements of an array: product of the dimensions, 0 for `x[]`, `None` for a scalar.
    pub elements: Option<u64>,
    /// Extents of an array, outermost first, 0 for one left open; empty for a scalar.
    pub extents: Vec<u64>,
    /// The initialiser, braces included; empty if there is none.
    pub initial: Vec<Initial<'a>>,
}

/// A part of an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// A number.
    Value(Operand<'a>),
    /// The address of a variable or function.
    Address {
        /// Its name.
        name: Name<'a>,
        /// Bytes added to it.
        offset: i64,
        /// Whether the generic address is meant.
        generic: bool,
        /// The bits that are taken, for `0xFF00(name)`.
        mask: Option<u64>,
    },
    /// A field of an opaque type: `addr_mode_0 = clamp_to_edge`.
    Field,
}

/// One statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement<'a> {
    /// `{`: names declared from here on are local to the block.
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(Name<'a>),
    /// A declaration.
    Declare(Variable<'a>),
    /// `.branchtargets`: belongs to the label before it.
    Targets(Vec<Name<'a>>),
    /// An instruction.
    Instruction(Instruction<'a>),
}

/// An instruction as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// `@%p1` or `@!%p1`: name and whether it is negated.
    pub guard: Option<(Name<'a>, bool)>,
    /// `add`
    pub opcode: Name<'a>,
    /// `rn`, `ftz`, `f32`
    pub modifiers: Vec<Name<'a>>,
    /// Operands.
    pub operands: Vec<Operand<'a>>,
    /// From the opcode to the last operand.
    pub span: Span,
}

/// An operand and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand<'a> {
    /// What it is.
    pub kind: OperandKind<'a>,
    /// Where.
    pub span: Span,
}

/// The forms of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind<'a> {
    /// Register, variable, label or special register; `%tid.x` has the component `x`.
    Name(Name<'a>, Option<Name<'a>>),
    /// `!%p1`
    Not(Name<'a>),
    /// `-%r1`
    Minus(Name<'a>),
    /// `%p1|%p2`; the second or the first may be `_`.
    Pair(Option<Name<'a>>, Option<Name<'a>>),
    /// `symbol+4`, outside brackets.
    Sum(Name<'a>, i64),
    /// An integer: the low 64 bits of its value.
    Integer(u64),
    /// A single by its bits.
    Single(u32),
    /// A double by its bits, or a decimal.
    Double(u64),
    /// `_`
    Sink,
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `{a, b}|%p1`: results, and whether they could be had.
    Resident(Vec<Operand<'a>>, Name<'a>),
    /// `(a, b)`, of a call.
    List(Vec<Operand<'a>>),
    /// `[name+offset]`, or `[offset]` alone.
    Address(Option<Name<'a>>, i64),
    /// `[tex, sampler, {a, b}]`: names and coordinates of a texture or surface access.
    Texture(Vec<Operand<'a>>, Vec<Operand<'a>>),
}
