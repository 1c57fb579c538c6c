//! The typed contents of a launch file, after every rule has been checked.

use std::iter;
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType, ParameterValue, Reference, Rule};
pub use isa::texture::Outside;

use super::node::Place;
use super::structs::Field;
use super::view::View;

/// A launch file that breaks no rule.
#[derive(Debug)]
pub struct LaunchFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// What it is for, in one line.
    pub title: Option<String>,
    /// The buffers; a [`BufferId`] indexes them.
    pub buffers: Vec<Buffer>,
    /// What to run, in order.
    pub steps: Vec<Step>,
    /// Which buffers are results, and what they should hold.
    pub outputs: Vec<Output>,
    pub(super) text: String,
    /// The data files that were read.
    pub(super) data: Vec<PathBuf>,
}

impl LaunchFile {
    /// Has every launch take its kernel from this PTX file.
    #[must_use]
    pub fn with_ptx(mut self, ptx: &Path) -> Self {
        self.launches_mut().for_each(|launch| launch.ptx = ptx.to_owned());
        self
    }

    /// Every file that is read, each with what it is.
    pub fn reads(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let ptx = self.launches().map(|launch| ("the PTX file", launch.ptx.as_path()));
        let data = self.data.iter().map(|path| ("the data file", path.as_path()));
        iter::once(("the launch file", self.path.as_path())).chain(ptx).chain(data)
    }

    /// Every file that is written when the launches are done, each with its output.
    pub fn writes(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.outputs.iter().filter_map(|output| Some((output.name.as_str(), output.write.as_deref()?)))
    }
}

/// Index into [`LaunchFile::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub usize);

/// A piece of device memory.
#[derive(Debug)]
pub struct Buffer {
    /// Name, unique in the file.
    pub name: String,
    /// Type of its elements; `u8` if they are structs.
    pub element: ElementType,
    /// Number of elements, at least 1; of structs, of their bytes.
    pub elements: usize,
    /// The fields of its structs; none if its elements are plain.
    pub fields: Vec<Field>,
    /// What it holds before the first launch.
    pub init: Init,
    /// The variable of the PTX file that it is.
    pub symbol: Option<String>,
    /// How it is read as a texture.
    pub texture: Option<TextureShape>,
    pub(super) place: Place,
}

/// The shape of a texture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureShape {
    /// The texture reference that it is bound to; `None` if kernels get its handle only.
    pub name: Option<String>,
    /// Texels along x, y, z.
    pub extent: [u32; 3],
    /// Elements of a texel: 1, 2 or 4.
    pub channels: u32,
    /// What is read outside.
    pub outside: Outside,
    /// Whether coordinates run from 0 to 1.
    pub normalized: bool,
    /// Whether integers are read as reals from 0 to 1.
    pub unit: bool,
}

impl Buffer {
    /// Size in bytes.
    pub const fn bytes(&self) -> usize {
        self.elements * self.element.bytes()
    }
}

/// A number of the file: real for buffers of reals, integer for the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// A real number.
    Real(f64),
}

impl Number {
    /// As a real number.
    pub const fn real(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Real(real) => real,
        }
    }

    /// As an integer, if it is one.
    pub const fn integer(self) -> Option<i128> {
        match self {
            Self::Integer(integer) => Some(integer),
            Self::Real(_) => None,
        }
    }

    /// As an array of one element, whose type it must fit.
    pub fn array(self, element: ElementType) -> Array {
        match self {
            Self::Integer(integer) if !element.is_real() => Array::from_integers(element, [integer]),
            _ => Array::from_reals(element, [self.real()]),
        }
    }
}

/// Numbers at a fixed distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequence {
    /// The first.
    pub start: Number,
    /// From one to the next.
    pub step: Number,
}

impl Sequence {
    /// The same integer again and again.
    pub const fn constant(integer: i128) -> Self {
        Self { start: Number::Integer(integer), step: Number::Integer(0) }
    }

    /// The number at an index.
    pub fn at(&self, idx: u64) -> Number {
        match (self.start, self.step) {
            (Number::Integer(start), Number::Integer(step)) => Number::Integer(start + i128::from(idx) * step),
            (start, step) => Number::Real(start.real() + idx as f64 * step.real()),
        }
    }

    /// Whether all numbers are the same.
    pub fn is_constant(&self) -> bool {
        self.step.real() == 0.0
    }
}

/// What a buffer holds before the first launch.
#[derive(Debug)]
pub enum Init {
    /// Zeros.
    Zeros,
    /// What the PTX file says of the variable that the buffer is.
    Module,
    /// Each element the next number.
    Iota(Sequence),
    /// Even distribution over `low` to `high`, `high` excluded; the same for the same seed.
    Random {
        /// Chooses the sequence.
        seed: u64,
        /// Smallest value.
        low: Number,
        /// First value beyond.
        high: Number,
    },
    /// The contents of a `.npy` file.
    File(Array),
    /// Of structs: each field that does not begin with zeros.
    Fields(Vec<(Field, Init)>),
}

/// One or more actions, run once or repeatedly.
#[derive(Debug)]
pub struct Step {
    /// How often.
    pub repeat: Repeat,
    /// What happens in an iteration, in order.
    pub actions: Vec<Action>,
}

/// What a step does.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all actions of a launch file are launches")]
pub enum Action {
    /// A kernel runs.
    Launch(KernelLaunch),
    /// The host fills elements of a buffer.
    Fill {
        /// Which.
        to: View,
        /// The bytes of each.
        value: Vec<u8>,
    },
    /// The host copies elements to as many others, none of which are the same.
    Copy {
        /// What is copied.
        from: View,
        /// What is overwritten.
        to: View,
    },
}

impl LaunchFile {
    /// Every launch, in order.
    pub fn launches(&self) -> impl Iterator<Item = &KernelLaunch> {
        self.steps.iter().flat_map(|step| &step.actions).filter_map(|action| match action {
            Action::Launch(launch) => Some(launch),
            Action::Fill { .. } | Action::Copy { .. } => None,
        })
    }

    /// Every launch, in order.
    pub fn launches_mut(&mut self) -> impl Iterator<Item = &mut KernelLaunch> {
        self.steps.iter_mut().flat_map(|step| &mut step.actions).filter_map(|action| match action {
            Action::Launch(launch) => Some(launch),
            Action::Fill { .. } | Action::Copy { .. } => None,
        })
    }
}

/// How often a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// So many times.
    Times(u32),
    /// Until the flag buffer is all zeros after an iteration. It is cleared before each.
    UntilZero {
        /// The flag.
        flag: BufferId,
        /// Iterations after which a flag still set is an error.
        at_most: u32,
    },
}

/// One kernel launch.
#[derive(Debug)]
pub struct KernelLaunch {
    /// File that holds the kernel.
    pub ptx: PathBuf,
    /// Its name; in the PTX file after [`LaunchFile::resolve_kernels`].
    pub kernel: String,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z: 1 to 1024 in all.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA, on top of what the kernel declares.
    pub shared_bytes: u32,
    /// One argument per parameter of the kernel.
    pub args: Vec<Argument>,
    pub(super) kernel_place: Place,
    pub(super) block_place: Place,
    pub(super) grid_place: Place,
    pub(super) shared_place: Option<Place>,
    pub(super) args_place: Place,
    pub(super) arg_places: Vec<Place>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// An address in a buffer.
    Buffer {
        /// The buffer.
        buffer: BufferId,
        /// Bytes from its beginning, in each iteration.
        offset: Sequence,
    },
    /// A value, or the elements of an array: at least one element.
    Scalar(Array),
    /// A value that follows the iteration.
    Iteration {
        /// Its type.
        element: ElementType,
        /// The value in each iteration.
        values: Sequence,
    },
    /// The handle of a buffer's texture.
    Texture(BufferId),
    /// A struct or an array by value.
    Struct {
        /// The members in order, each at the next multiple of its alignment.
        members: Vec<Argument>,
        /// Least alignment of the whole, in bytes.
        align: usize,
    },
}

impl Argument {
    /// The null pointer.
    pub fn null() -> Self {
        Self::Scalar(Array::zeros(ElementType::U64, 1))
    }

    /// Size in bytes, of a struct without the padding behind its last member.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Buffer { .. } | Self::Texture(_) => 8,
            Self::Scalar(values) => values.bytes().len(),
            Self::Iteration { element, .. } => element.bytes(),
            Self::Struct { members, .. } => Self::offsets(members).1,
        }
    }

    /// Size in bytes, of a struct with the padding that C adds behind its last member.
    pub fn padded_bytes(&self) -> usize {
        self.bytes().next_multiple_of(self.align())
    }

    /// Alignment in bytes: that of the strictest member of a struct.
    pub fn align(&self) -> usize {
        match self {
            Self::Buffer { .. } | Self::Texture(_) => 8,
            Self::Scalar(values) => values.element().bytes(),
            Self::Iteration { element, .. } => element.bytes(),
            Self::Struct { members, align } => members.iter().map(Self::align).fold(*align, usize::max),
        }
    }

    /// True if it differs from iteration to iteration.
    pub fn varies(&self) -> bool {
        match self {
            Self::Buffer { offset: values, .. } | Self::Iteration { values, .. } => !values.is_constant(),
            Self::Scalar(_) | Self::Texture(_) => false,
            Self::Struct { members, .. } => members.iter().any(Self::varies),
        }
    }

    /// Offsets of the members of a struct, and the end of the last one.
    pub fn offsets(members: &[Self]) -> (Vec<usize>, usize) {
        let mut end = 0usize;
        let place = |member: &Self| {
            let start = end.next_multiple_of(member.align());
            end = start + member.padded_bytes();
            start
        };
        let offsets = members.iter().map(place).collect();
        (offsets, end)
    }
}

/// Elements of a buffer whose contents after the last launch matter.
#[derive(Debug)]
pub struct Output {
    /// What messages call it: the buffer, its field, the elements if not all.
    pub name: String,
    /// Which elements.
    pub view: View,
    /// Where to write it as `.npy`.
    pub write: Option<PathBuf>,
    /// What it should hold.
    pub expect: Option<Expect>,
    /// How it is compared with what the functional interpreter leaves in memory.
    pub compare: Comparison,
    pub(super) place: Place,
}

/// How a result of the clocked machine is compared with the functional interpreter's.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// By this rule. Anything but [`Rule::Exact`] comes with a reason in the file.
    Rule(Rule),
    /// Not at all: only [`Output::expect`] judges it.
    Reference,
}

/// What an output should hold.
#[derive(Debug)]
pub enum Expect {
    /// The contents of a `.npy` file.
    File {
        /// The values.
        values: Array,
        /// How far the output may be off.
        rule: Rule,
    },
    /// What a built-in reference computes from the initial buffers.
    Reference {
        /// The reference.
        reference: &'static Reference,
        /// Its inputs, by its names.
        inputs: Vec<(&'static str, View)>,
        /// Its parameters, by name.
        parameters: Vec<(&'static str, ParameterValue)>,
        /// How far the output may be off, if not as far as the reference says.
        rule: Option<Rule>,
    },
}
