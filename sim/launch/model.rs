//! Typed contents of a launch file, after all rules have been checked.

use std::iter;
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType, ParameterValue, Reference, Rule};
pub use isa::texture::{AddressMode, Filter};

use super::node::Place;
use super::structs::Field;
use super::view::View;

/// Contents of a launch file that breaks no rule.
#[derive(Debug)]
pub struct LaunchFile {
    /// Path by which the launch file was opened. It may select a problem size of the file.
    pub path: PathBuf,
    /// Path of the file on disk.
    pub file: PathBuf,
    /// Description of the launch file in one line.
    pub title: Option<String>,
    /// Buffers that the file declares; a [`BufferId`] is an index into this list.
    pub buffers: Vec<Buffer>,
    /// Steps to run, in order.
    pub steps: Vec<Step>,
    /// Results to be compared or written after the run: whole buffers or sections of buffers.
    pub outputs: Vec<Output>,
    pub(super) text: String,
    /// Paths of the data files that were read.
    pub(super) data: Vec<PathBuf>,
}

impl LaunchFile {
    /// Returns the launch file with `ptx` as the PTX file of every launch.
    #[must_use]
    pub fn with_ptx(mut self, ptx: &Path) -> Self {
        self.launches_mut().for_each(|launch| launch.ptx = ptx.to_owned());
        self
    }

    /// Returns the problem size or the values that the path selects, such as `small` or `small,n=100`; `None`
    /// for the main size.
    #[must_use]
    pub fn size(&self) -> Option<String> {
        super::sizes::locate(&self.path).1
    }

    /// Iterates over all input files, each with a description.
    pub fn reads(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let ptx = self.launches().map(|launch| ("the PTX file", launch.ptx.as_path()));
        let data = self.data.iter().map(|path| ("the data file", path.as_path()));
        iter::once(("the launch file", self.file.as_path())).chain(ptx).chain(data)
    }

    /// Iterates over all files written after the last launch, each with the name of its output.
    pub fn writes(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.outputs.iter().filter_map(|output| Some((output.name.as_str(), output.write.as_deref()?)))
    }
}

/// Index into [`LaunchFile::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub usize);

/// Buffer in device memory.
#[derive(Debug)]
pub struct Buffer {
    /// Name of the buffer, which is unique in the file.
    pub name: String,
    /// Type of the elements; `u8` if the elements are structs.
    pub element: ElementType,
    /// Number of elements, at least 1. For a buffer of structs, total size in bytes.
    pub elements: usize,
    /// Fields of the buffer's structs; empty if the elements are scalars.
    pub fields: Vec<Field>,
    /// Contents of the buffer before the first kernel launch.
    pub init: Init,
    /// Address of the buffer as stated in the file. `None` if the buffer is placed at the next free address.
    pub address: Option<u64>,
    /// Name of the PTX variable that the buffer represents, if it represents one.
    pub symbol: Option<String>,
    /// Texture through which kernels read the buffer, if there is one.
    pub texture: Option<TextureShape>,
    pub(super) place: Place,
}

/// Shape and addressing of a texture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureShape {
    /// Texture reference to which the texture is bound; `None` if kernels access it only through a handle.
    pub name: Option<String>,
    /// Number of texels along x, y and z.
    pub extent: [u32; 3],
    /// Number of elements per texel: 1, 2 or 4.
    pub channels: u32,
    /// Addressing mode for coordinates outside the texture.
    pub outside: AddressMode,
    /// True if coordinates are normalized to the range from 0 to 1.
    pub normalized: bool,
    /// True if kernels read integer texels as real numbers from 0 to 1.
    pub unit: bool,
    /// Filter of fetches with real coordinates.
    pub filter: Filter,
}

impl Buffer {
    /// Size of the buffer, in bytes.
    pub const fn bytes(&self) -> usize {
        self.elements * self.element.bytes()
    }
}

/// Number in a launch file: a real number for buffers of a real type, an integer for all other buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Integer of any type up to 64 bits.
    Integer(i128),
    /// Real number, before rounding to the element type.
    Real(f64),
}

impl Number {
    /// Converts the number to a real number.
    pub const fn real(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Real(real) => real,
        }
    }

    /// Returns the number as an integer, or `None` if it is a real number.
    pub const fn integer(self) -> Option<i128> {
        match self {
            Self::Integer(integer) => Some(integer),
            Self::Real(_) => None,
        }
    }

    /// Converts the number to an array with one element. The number must be in the range of the element type.
    pub fn array(self, element: ElementType) -> Array {
        match self {
            Self::Integer(integer) if !element.is_real() => Array::from_integers(element, [integer]),
            _ => Array::from_reals(element, [self.real()]),
        }
    }
}

/// Arithmetic sequence: numbers with a constant difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequence {
    /// First number of the sequence.
    pub start: Number,
    /// Difference between consecutive numbers.
    pub step: Number,
}

impl Sequence {
    /// Creates a sequence in which all numbers are equal.
    pub const fn constant(integer: i128) -> Self {
        Self { start: Number::Integer(integer), step: Number::Integer(0) }
    }

    /// Returns the number at an index, counted from 0.
    pub fn at(&self, idx: u64) -> Number {
        match (self.start, self.step) {
            (Number::Integer(start), Number::Integer(step)) => Number::Integer(start + i128::from(idx) * step),
            (start, step) => Number::Real(start.real() + idx as f64 * step.real()),
        }
    }

    /// True if all numbers of the sequence are equal.
    pub fn is_constant(&self) -> bool {
        self.step.real() == 0.0
    }
}

/// Initial contents of a buffer, before the first kernel launch.
#[derive(Debug)]
pub enum Init {
    /// Every element is zero.
    Zeros,
    /// Initial value of the PTX variable that the buffer represents.
    Module,
    /// Consecutive numbers of an arithmetic sequence.
    Iota(Sequence),
    /// Random numbers distributed uniformly from `low` to `high`, excluding `high`. Equal seeds give equal
    /// numbers.
    Random {
        /// Seed of the random generator.
        seed: u64,
        /// Smallest value of the range.
        low: Number,
        /// Upper bound of the range; the bound itself is excluded.
        high: Number,
    },
    /// Contents of a `.npy` file (NumPy array).
    File(Array),
    /// Initial contents of the struct fields, except for fields that start as zeros.
    Fields(Vec<(Field, Init)>),
}

/// Step of a run: one or more actions, executed once or repeatedly.
#[derive(Debug)]
pub struct Step {
    /// Number of iterations of the step, or the condition that ends the iterations.
    pub repeat: Repeat,
    /// Actions that each iteration executes, in order.
    pub actions: Vec<Action>,
}

/// Action of a step: a kernel launch, a fill or a copy.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all actions of a launch file are launches")]
pub enum Action {
    /// Launch of a kernel.
    Launch(KernelLaunch),
    /// The host fills elements of a buffer with a value.
    Fill {
        /// Elements of the buffer to fill.
        to: View,
        /// Bytes written to each element.
        value: Vec<u8>,
    },
    /// The host copies elements from one section of a buffer to another. Both sections have the same number
    /// of elements and do not overlap.
    Copy {
        /// Elements from which the host copies.
        from: View,
        /// Elements to which the host copies.
        to: View,
    },
}

impl LaunchFile {
    /// Iterates over all kernel launches in the order of the file.
    pub fn launches(&self) -> impl Iterator<Item = &KernelLaunch> {
        self.steps.iter().flat_map(|step| &step.actions).filter_map(|action| match action {
            Action::Launch(launch) => Some(launch),
            Action::Fill { .. } | Action::Copy { .. } => None,
        })
    }

    /// Iterates mutably over all kernel launches in the order of the file.
    pub fn launches_mut(&mut self) -> impl Iterator<Item = &mut KernelLaunch> {
        self.steps.iter_mut().flat_map(|step| &mut step.actions).filter_map(|action| match action {
            Action::Launch(launch) => Some(launch),
            Action::Fill { .. } | Action::Copy { .. } => None,
        })
    }
}

/// Number of times a step is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The step has a fixed number of iterations.
    Times(u32),
    /// The step is repeated until the flag buffer is all zeros after an iteration. The host clears the flag
    /// before each iteration.
    UntilZero {
        /// Buffer that serves as the flag.
        flag: BufferId,
        /// Maximum number of iterations. It is an error if the flag is still set after the last one.
        at_most: u32,
    },
}

/// Launch of a kernel, with its grid and arguments.
#[derive(Debug)]
pub struct KernelLaunch {
    /// Path of the PTX file that contains the kernel.
    pub ptx: PathBuf,
    /// Name of the kernel as written in the file. [`LaunchFile::resolve_kernels`] replaces it by the name in
    /// the PTX file.
    pub kernel: String,
    /// Shape of the grid: number of CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Shape of a CTA: number of threads in x, y and z, in total 1 to 1024.
    pub block: [u32; 3],
    /// Dynamic shared memory per CTA, in bytes. The kernel's static shared memory is not included.
    pub shared_bytes: u32,
    /// Size of the stack of a thread in bytes, for functions that call themselves.
    pub stack_bytes: u32,
    /// Arguments of the launch, one per kernel parameter.
    pub args: Vec<Argument>,
    pub(super) kernel_place: Place,
    pub(super) block_place: Place,
    pub(super) grid_place: Place,
    pub(super) shared_place: Option<Place>,
    pub(super) args_place: Place,
    pub(super) arg_places: Vec<Place>,
}

/// Argument of a kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Address of an element in a buffer.
    Buffer {
        /// Buffer to which the address points.
        buffer: BufferId,
        /// Offset in bytes of the address from the start of the buffer, in each iteration.
        offset: Sequence,
    },
    /// Scalar value, or the elements of an array.
    Scalar(Array),
    /// Number that depends on the iteration.
    Iteration {
        /// Type of the number.
        element: ElementType,
        /// Value of the number in each iteration.
        values: Sequence,
    },
    /// Handle of a buffer's texture.
    Texture(BufferId),
    /// Struct or array passed by value.
    Struct {
        /// Members in order. Each is placed at the next multiple of its alignment.
        members: Vec<Argument>,
        /// Minimum alignment of the struct or array, in bytes.
        align: usize,
    },
}

impl Argument {
    /// Returns the argument for a null pointer.
    pub fn null() -> Self {
        Self::Scalar(Array::zeros(ElementType::U64, 1))
    }

    /// Size of the argument in bytes, without the padding that C adds after the last member of a struct.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Buffer { .. } | Self::Texture(_) => 8,
            Self::Scalar(values) => values.bytes().len(),
            Self::Iteration { element, .. } => element.bytes(),
            Self::Struct { members, .. } => Self::offsets(members).1,
        }
    }

    /// Size of the argument, in bytes, including the padding that C adds after the last member of a struct.
    pub fn padded_bytes(&self) -> usize {
        self.bytes().next_multiple_of(self.align())
    }

    /// Alignment of the argument, in bytes. For a struct, this is the largest alignment of any member.
    pub fn align(&self) -> usize {
        match self {
            Self::Buffer { .. } | Self::Texture(_) => 8,
            Self::Scalar(values) => values.element().bytes(),
            Self::Iteration { element, .. } => element.bytes(),
            Self::Struct { members, align } => members.iter().map(Self::align).fold(*align, usize::max),
        }
    }

    /// True if the argument differs between iterations.
    pub fn varies(&self) -> bool {
        match self {
            Self::Buffer { offset: values, .. } | Self::Iteration { values, .. } => !values.is_constant(),
            Self::Scalar(_) | Self::Texture(_) => false,
            Self::Struct { members, .. } => members.iter().any(Self::varies),
        }
    }

    /// Returns the offset of each member of a struct, and the offset of the end of the last member, in bytes.
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

/// Elements of a buffer that are a result of the run and are compared or written to a file.
#[derive(Debug)]
pub struct Output {
    /// Name of the output in messages. It consists of the buffer, the field if there is one, and the range of
    /// elements unless all elements are selected.
    pub name: String,
    /// Elements of the output.
    pub view: View,
    /// Path of the `.npy` file to which the output is written, if requested.
    pub write: Option<PathBuf>,
    /// Expected contents, if the file states any.
    pub expect: Option<Expect>,
    /// Rule for comparing the output with the memory contents of the functional interpreter.
    pub compare: Comparison,
    pub(super) place: Place,
}

/// Rule for comparing a result of the clocked machine with that of the functional interpreter.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// The results are compared by this rule. The launch file must give a reason for any rule other than
    /// [`Rule::Exact`].
    Rule(Rule),
    /// The results are not compared with the interpreter, only with the contents in [`Output::expect`].
    Reference,
}

/// Expected contents of an output.
#[derive(Debug)]
pub enum Expect {
    /// Contents of a `.npy` file.
    File {
        /// Expected values of the elements.
        values: Array,
        /// Permitted deviation of the output from the expected values.
        rule: Rule,
    },
    /// Result of a built-in reference function, computed from the initial buffers.
    Reference {
        /// Reference function that computes the expected values.
        reference: &'static Reference,
        /// Inputs of the reference function, each with the name that the function uses for it.
        inputs: Vec<(&'static str, View)>,
        /// Parameters of the reference function, by name.
        parameters: Vec<(&'static str, ParameterValue)>,
        /// Permitted deviation of the output. `None` applies the deviation that the reference function
        /// states.
        rule: Option<Rule>,
    },
}
