//! # Syntax tree of a PTX file
//! Represents a parsed PTX file; all names are borrowed from its text. Blocks of code are not nested in the
//! tree: a function body is one list of statements that includes the opening and closing braces. Therefore,
//! no code that visits the tree has to recurse.

use isa::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// Range of bytes in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span from the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end) }
    }
}

/// Name or modifier, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// Text of the name or modifier in the source; for modifiers, without the dot.
    pub text: &'a str,
    /// Position in the source.
    pub span: Span,
}

/// PTX file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module<'a> {
    /// PTX version from `.version`: major, then minor.
    pub version: (u32, u32),
    /// Targets from `.target`, such as `sm_35`.
    pub target: Vec<Name<'a>>,
    /// Address size in bits, from `.address_size`: 32 or 64. If the directive is absent, the size is 32 bits;
    /// before PTX version 2.3, which introduced the directive, it is 64 bits.
    pub address_size: u32,
    /// Variables at file level.
    pub variables: Vec<Variable<'a>>,
    /// Kernels and functions, both declarations and definitions.
    pub functions: Vec<Function<'a>>,
    /// Aliases of functions, as pairs of the new and the existing name, from `.alias new, old`.
    pub aliases: Vec<(Name<'a>, Name<'a>)>,
    /// Index in `functions` of each function that can be called, by its name.
    pub(crate) callable: FxHashMap<&'a str, usize>,
}

impl<'a> Module<'a> {
    /// Returns the kernels that have a body.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions.iter().filter(|f| f.is_entry && f.has_body)
    }

    /// Returns the definition of the function `name`, or its declaration if it has no definition.
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.callable.get(name).map(|&number| &self.functions[number])
    }

    /// Returns the address of the function `name`, which is 1 plus its index in `functions`.
    pub fn function_address(&self, name: &str) -> Option<u64> {
        self.callable.get(name).map(|&number| number as u64 + 1)
    }

    /// Builds the map of functions by name after all of them are parsed. For each name, the first definition
    /// is used, or the first declaration if there is no definition.
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

    /// Returns the functions with a body whose addresses a kernel can obtain. These are the functions that
    /// are named in initializers, or in instructions other than calls.
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

/// Kernel (`.entry`) or function (`.func`).
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'a> {
    /// True if the function is a kernel.
    pub is_entry: bool,
    /// Name of the function.
    pub name: Name<'a>,
    /// Return values of a `.func`.
    pub returns: Vec<Variable<'a>>,
    /// Parameters in the order of their declaration.
    pub params: Vec<Variable<'a>>,
    /// Performance directives, such as `.maxntid` and `.minnctapersm`.
    pub directives: Vec<Directive<'a>>,
    /// True if the function has a body; false for a mere declaration.
    pub has_body: bool,
    /// Statements of the body.
    pub body: Vec<Statement<'a>>,
}

/// Performance directive with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive<'a> {
    /// Name of the directive, without the dot.
    pub name: Name<'a>,
    /// Integer arguments of the directive.
    pub values: Vec<u64>,
}

/// State space of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Registers: `.reg`.
    Reg,
    /// Parameters: `.param`.
    Param,
    /// Device memory: `.global`.
    Global,
    /// Shared memory of the CTA: `.shared`.
    Shared,
    /// Constant memory: `.const`.
    Const,
    /// Local memory of the thread: `.local`.
    Local,
    /// Textures: `.tex`.
    Tex,
}

/// Declared variable, parameter or register family.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'a> {
    /// State space of the variable.
    pub storage: Storage,
    /// True if the variable is declared with `.extern`.
    pub is_extern: bool,
    /// Element type; `None` for opaque types.
    pub ty: Option<Type>,
    /// Opaque type: `texref`, `samplerref` or `surfref`.
    pub opaque: Option<&'a str>,
    /// Number of elements of a vector type: 1, 2 or 4.
    pub vector: u32,
    /// Alignment from `.align` in bytes, if given.
    pub align: Option<u32>,
    /// Name of the variable; for a family `%r<10>`, the part before the bracket.
    pub name: Name<'a>,
    /// Number of elements of an array: the product of its extents. `Some(0)` for an open array `x[]`, and
    /// `None` for a scalar.
    pub family: Option<u64>,
    /// Number of elements of an array: the product of its extents, or 0 for an open array `x[]`. `None` for a
    /// scalar.
    pub elements: Option<u64>,
    /// Extents of an array, outermost first; 0 stands for an open extent, as in `x[]`. Empty for a scalar.
    pub extents: Vec<u64>,
    /// Elements of the initializer, including braces; empty if there is none.
    pub initial: Vec<Initial<'a>>,
}

/// Element of an initializer.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial<'a> {
    /// `{`: begins a nested list of elements in an initializer.
    Open,
    /// `}`: ends a nested list of elements in an initializer.
    Close,
    /// Number.
    Value(Operand<'a>),
    /// Address of a variable or function.
    Address {
        /// Name of the variable or function.
        name: Name<'a>,
        /// Number of bytes added to the address.
        offset: i64,
        /// True for the generic address of the variable; false for its address in its own state space.
        generic: bool,
        /// Mask that selects the bits of the address to be stored: `0xFF00` in `0xFF00(name)`.
        mask: Option<u64>,
    },
    /// Initialized field of a texture, sampler or surface: `addr_mode_0 = clamp_to_edge`.
    Field,
}

/// Statement of a function body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement<'a> {
    /// `{`: begins a block of code; names declared in it are local to the block.
    Open,
    /// `}`: ends a block of code.
    Close,
    /// Label: `name:`.
    Label(Name<'a>),
    /// Declaration of a variable or of registers.
    Declare(Variable<'a>),
    /// `.branchtargets`: a list of labels. The label in front of the directive is the name of the list.
    Targets(Vec<Name<'a>>),
    /// Instruction.
    Instruction(Instruction<'a>),
}

/// Instruction as written in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// Guard `@%p1` or `@!%p1`: the name of the predicate, and true if the predicate is negated.
    pub guard: Option<(Name<'a>, bool)>,
    /// Opcode, for example `add`.
    pub opcode: Name<'a>,
    /// Modifiers, for example `rn`, `ftz` and `f32`.
    pub modifiers: Vec<Name<'a>>,
    /// Operands in the order of the source.
    pub operands: Vec<Operand<'a>>,
    /// Position of the instruction in the source, from the opcode to the last operand.
    pub span: Span,
}

/// Operand, with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand<'a> {
    /// Form of the operand.
    pub kind: OperandKind<'a>,
    /// Position in the source.
    pub span: Span,
}

/// Form of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind<'a> {
    /// Register, variable, label or special register; the component of `%tid.x` is `x`.
    Name(Name<'a>, Option<Name<'a>>),
    /// Negated predicate: `!%p1`.
    Not(Name<'a>),
    /// Register with a minus sign: `-%r1`.
    Minus(Name<'a>),
    /// Two predicates: `%p1|%p2`, of which either may be `_`.
    Pair(Option<Name<'a>>, Option<Name<'a>>),
    /// Address of a symbol plus an offset, without brackets: `symbol+4`.
    Sum(Name<'a>, i64),
    /// Integer constant: the low 64 bits of its value.
    Integer(u64),
    /// Single-precision constant, given as its 32 bits.
    Single(u32),
    /// Double-precision or decimal constant, given as the 64 bits of a double.
    Double(u64),
    /// Unused destination: `_`.
    Sink,
    /// Vector: `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// Vector of results, with a predicate that tells whether the data were resident: `{a, b}|%p1`.
    Resident(Vec<Operand<'a>>, Name<'a>),
    /// Argument list of a call: `(a, b)`.
    List(Vec<Operand<'a>>),
    /// Address: `[name+offset]`, or `[offset]` alone.
    Address(Option<Name<'a>>, i64),
    /// Texture or surface access `[tex, sampler, {a, b}]`: first the names, then the coordinates.
    Texture(Vec<Operand<'a>>, Vec<Operand<'a>>),
}
