//! # Matrices in the lanes of a warp
//! A product of matrices takes them in *fragments*: registers of all lanes of a warp, each of which has
//! some of the elements. Which ones says a [`Layout`], the same for all shapes: every bit of the number
//! of a lane, and of the number of an element within its lane, adds a power of two to the row or to the
//! column. The layouts of `mma` and `ldmatrix` are those of the PTX ISA. Those of `wmma`, which it leaves
//! open, are Volta's ([`Tiling`]).
//!
//! A product is carried out in *steps* ([`Form::steps`]). A step reads three operands of up to 64 bits a
//! lane, two registers each of A, B and C, and writes two of D: as much as any other instruction. Volta's
//! `HMMA` is cut in the same way: `m8n8k4` takes four steps with `.f32` accumulators and two with `.f16`.

use Bit::{Column, Product, Row, Same};

/// Lanes of a warp.
const LANES: u32 = 32;

/// What one bit of the number of a lane or an element adds to the place of the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// So much to the row.
    Row(u8),
    /// So much to the column.
    Column(u8),
    /// So much to the number of the product, of those that one instruction carries out side by side.
    Product(u8),
    /// Nothing: the lane has a copy.
    Same,
}

/// The place of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which product it is of.
    pub product: u8,
    /// Its row.
    pub row: u8,
    /// Its column.
    pub column: u8,
}

/// Where the elements of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// By the bits of the number of an element within its lane, lowest first.
    element: [Bit; 4],
    /// How many bits that number has.
    element_bits: u8,
    /// By the bits of the number of the lane, lowest first.
    lane: [Bit; 5],
}

/// In what order the elements of a matrix lie in memory, or in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// Those of a row side by side.
    Row,
    /// Those of a column side by side.
    Column,
}

/// Type of the elements of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// IEEE binary16.
    F16,
    /// The upper half of an IEEE binary32.
    Bf16,
}

/// Type of the elements of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sum {
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
}

impl Sum {
    /// Elements in a register.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            Sum::F16 => 2,
            Sum::F32 => 1,
        }
    }
}

/// A matrix of a product, and what its layout depends on beside the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// The left factor.
    A(Major),
    /// The right factor.
    B(Major),
    /// What is added and what comes out: C and D.
    Sum(Sum),
}

/// A form of `mma.sync`: its shape and the order of A and of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Shape as PTX writes it.
    pub shape: &'static str,
    /// Rows of A, columns of B, columns of A.
    pub extent: [u8; 3],
    /// Order of A and of B.
    pub majors: [Major; 2],
    /// Products that one instruction carries out.
    pub products: u8,
    /// Layout of A.
    pub a: Layout,
    /// Layout of B.
    pub b: Layout,
    /// Layout of C and D of `.f16`.
    sum16: Layout,
    /// Layout of C and D of `.f32`.
    sum32: Layout,
}

const fn layout<const N: usize>(bits: [Bit; N], lane: [Bit; 5]) -> Layout {
    let mut element = [Same; 4];
    let mut at = 0;
    while at < N {
        element[at] = bits[at];
        at += 1;
    }
    Layout { element, element_bits: N as u8, lane }
}

/// The rows of eight lines of two that eight groups of four lanes have: A, C and D of m16n8k8, and what
/// `ldmatrix` loads.
const GROUPS: [Bit; 5] = [Column(2), Column(4), Row(1), Row(2), Row(4)];
/// The same for the columns of B.
const GROUPS_B: [Bit; 5] = [Row(2), Row(4), Column(1), Column(2), Column(4)];

/// An 8 x 8 matrix of `.b16` in one register, row by row.
pub const EIGHT_BY_EIGHT: Layout = layout([Column(1)], GROUPS);

/// Layouts of m8n8k4. A product is that of four lanes of the lower and four of the upper half of the warp.
const A_ROW: Layout = layout([Column(1), Column(2)], [Row(1), Row(2), Product(1), Product(2), Row(4)]);
const A_COLUMN: Layout = layout([Row(1), Row(2)], [Column(1), Column(2), Product(1), Product(2), Row(4)]);
const B_ROW: Layout = layout([Column(1), Column(2)], [Row(1), Row(2), Product(1), Product(2), Column(4)]);
const B_COLUMN: Layout = layout([Row(1), Row(2)], [Column(1), Column(2), Product(1), Product(2), Column(4)]);
const SUM16: Layout = layout([Column(1), Column(2), Column(4)], [Row(1), Row(2), Product(1), Product(2), Row(4)]);
const SUM32: Layout = layout([Column(1), Row(2), Column(4)], [Row(1), Column(2), Product(1), Product(2), Row(4)]);

/// Layout of C and D of the shapes with 16 rows, whatever their type.
const SUM_OF_16: Layout = layout([Column(1), Row(8)], GROUPS);

const fn volta(majors: [Major; 2], a: Layout, b: Layout) -> Form {
    Form { shape: "m8n8k4", extent: [8, 8, 4], majors, products: 4, a, b, sum16: SUM16, sum32: SUM32 }
}

const fn later(shape: &'static str, extent: [u8; 3], a: Layout, b: Layout) -> Form {
    let majors = [Major::Row, Major::Column];
    Form { shape, extent, majors, products: 1, a, b, sum16: SUM_OF_16, sum32: SUM_OF_16 }
}

/// Every form (PTX ISA, matrix fragments for `mma`).
pub static FORMS: [Form; 6] = [
    volta([Major::Row, Major::Row], A_ROW, B_ROW),
    volta([Major::Row, Major::Column], A_ROW, B_COLUMN),
    volta([Major::Column, Major::Row], A_COLUMN, B_ROW),
    volta([Major::Column, Major::Column], A_COLUMN, B_COLUMN),
    later("m16n8k8", [16, 8, 8], layout([Column(1), Row(8)], GROUPS), layout([Row(1)], GROUPS_B)),
    later("m16n8k16", [16, 8, 16], layout([Column(1), Row(8), Column(8)], GROUPS), layout([Row(1), Row(8)], GROUPS_B)),
];

/// A shape of `wmma`. It is put together of m8n8k4: of four lanes of each half of the warp that carry out
/// a product there, each four have a tile of 8 x 8 of D here, and take the columns of A four by four.
/// Where two tiles want the same part of A or B, the lanes of both have it. These are Volta's layouts
/// (Raihan et al., *Modeling Deep Learning Accelerator Enabled GPUs*, ISPASS 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    /// Shape as PTX writes it.
    pub shape: &'static str,
    /// Rows of A, columns of B, columns of A.
    pub extent: [u8; 3],
    /// Where the tile of lane `i` of a half begins in D, by bits 2 and 3 of `i`.
    tiles: [Bit; 2],
}

/// Columns of A that a form of m8n8k4 takes.
const SLICE: u8 = 4;

/// Every shape of `wmma` for factors of `.f16`.
pub static TILINGS: [Tiling; 3] = [
    Tiling { shape: "m16n16k16", extent: [16, 16, 16], tiles: [Row(8), Column(8)] },
    Tiling { shape: "m32n8k16", extent: [32, 8, 16], tiles: [Row(8), Row(16)] },
    Tiling { shape: "m8n32k16", extent: [8, 32, 16], tiles: [Column(8), Column(16)] },
];

impl Layout {
    /// Elements in a lane.
    #[must_use]
    pub const fn elements(&self) -> u32 {
        1 << self.element_bits
    }

    /// The place of an element of a lane.
    #[must_use]
    pub fn place(&self, lane: u32, element: u32) -> Place {
        let mut place = Place::default();
        let bits = (0..).zip(&self.element).map(|(at, bit)| (element >> at & 1, bit));
        for (is_set, bit) in bits.chain((0..).zip(&self.lane).map(|(at, bit)| (lane >> at & 1, bit))) {
            match *bit {
                _ if is_set == 0 => {}
                Row(rows) => place.row += rows,
                Column(columns) => place.column += columns,
                Product(products) => place.product += products,
                Same => {}
            }
        }
        place
    }

    /// What the bits of the number of the lane add.
    #[must_use]
    pub fn lane_bits(&self) -> [Bit; 5] {
        self.lane
    }

    /// The rows, or what else `of` takes of a place, that any lane has in a register of `per` elements.
    fn found(&self, register: u32, per: u32, of: fn(Place) -> u8) -> u64 {
        let elements = register * per..(register + 1) * per;
        let places = elements.flat_map(|element| (0..LANES).map(move |lane| self.place(lane, element)));
        places.fold(0, |found, place| found | 1 << of(place))
    }

    /// The registers, of two elements each, in which `of` takes one of `wanted` of a place.
    fn registers(&self, of: fn(Place) -> u8, wanted: u64) -> Vec<u8> {
        let all = 0..self.elements() / 2;
        all.filter(|&register| self.found(register, 2, of) & wanted != 0).map(|register| register as u8).collect()
    }
}

/// One step of a product: D = A B + C in one or two registers of D, which are those of C.
///
/// `srcs` are two registers each of A, B and C, `dsts` two of D; where one is not used, it is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorOp {
    /// The product that it is a step of.
    pub form: &'static Form,
    /// Type of A and B.
    pub factor: Factor,
    /// Type of C and D.
    pub sum: Sum,
    /// Numbers of the registers of A within its fragment.
    pub a: [Option<u8>; 2],
    /// The same for B.
    pub b: [Option<u8>; 2],
    /// The same for C and D.
    pub c: [Option<u8>; 2],
    /// Multiplications, for its time.
    pub multiplications: u16,
}

impl Form {
    /// The layout of C and D.
    #[must_use]
    pub fn sums(&self, sum: Sum) -> &Layout {
        match sum {
            Sum::F16 => &self.sum16,
            Sum::F32 => &self.sum32,
        }
    }

    /// The steps of the product: two registers of D each, or one if these take more than two registers of
    /// A or B.
    #[must_use]
    pub fn steps(&'static self, factor: Factor, sum: Sum) -> Vec<TensorOp> {
        let (sums, per) = (self.sums(sum), sum.per_register());
        let registers = sums.elements() / per;
        let mut steps = Vec::new();
        let mut first = 0;
        while first < registers {
            let step = |count: u32| {
                let found = |of| (first..first + count).fold(0, |found, at| found | sums.found(at, per, of));
                let a = self.a.registers(|place| place.row, found(|place| place.row));
                (a, self.b.registers(|place| place.column, found(|place| place.column)), count)
            };
            let two = Some(step(2)).filter(|(a, b, _)| first + 1 < registers && a.len() <= 2 && b.len() <= 2);
            let (a, b, count) = two.unwrap_or_else(|| step(1));
            let pair = |all: &[u8]| [all.first().copied(), all.get(1).copied()];
            let c: Vec<u8> = (first..first + count).map(|at| at as u8).collect();
            let multiplications = (count * per * LANES) as u16 * u16::from(self.extent[2]);
            steps.push(TensorOp { form: self, factor, sum, a: pair(&a), b: pair(&b), c: pair(&c), multiplications });
            first += count;
        }
        steps
    }
}

impl Tiling {
    /// The layout of a matrix.
    #[must_use]
    pub fn layout(&self, matrix: Matrix) -> Layout {
        let only = |keeps: fn(Bit) -> bool| self.tiles.map(|bit| if keeps(bit) { bit } else { Same });
        let (core, tiles, slices) = match matrix {
            Matrix::A(Major::Row) => (A_ROW, only(|bit| matches!(bit, Row(_))), Some(Column as fn(u8) -> Bit)),
            Matrix::A(Major::Column) => (A_COLUMN, only(|bit| matches!(bit, Row(_))), Some(Column as fn(u8) -> Bit)),
            Matrix::B(Major::Row) => (B_ROW, only(|bit| matches!(bit, Column(_))), Some(Row as fn(u8) -> Bit)),
            Matrix::B(Major::Column) => (B_COLUMN, only(|bit| matches!(bit, Column(_))), Some(Row as fn(u8) -> Bit)),
            Matrix::Sum(Sum::F16) => (SUM16, self.tiles, None),
            Matrix::Sum(Sum::F32) => (SUM32, self.tiles, None),
        };
        let Layout { mut element, mut element_bits, mut lane } = core;
        lane[2..4].copy_from_slice(&tiles);
        for (far, bit) in slices.into_iter().flat_map(|bit| [bit(SLICE), bit(2 * SLICE)]).zip(2..) {
            element[bit] = far;
            element_bits = bit as u8 + 1;
        }
        Layout { element, element_bits, lane }
    }

    /// How often the columns of A are taken.
    #[must_use]
    pub fn slices(&self) -> usize {
        usize::from(self.extent[2] / SLICE)
    }
}

/// The form of m8n8k4 with these orders of A and B.
#[must_use]
pub fn volta_form(majors: [Major; 2]) -> &'static Form {
    let at = majors.map(|major| usize::from(major == Major::Column));
    &FORMS[2 * at[0] + at[1]]
}

/// A step of so many multiplications, of which nothing else matters: what a trace recorded.
#[must_use]
pub fn recorded(multiplications: u16) -> TensorOp {
    let none = [None; 2];
    let (factor, sum) = (Factor::F16, Sum::F32);
    TensorOp { form: &FORMS[0], factor, sum, a: none, b: none, c: none, multiplications }
}

/// Instructions of hardware that multiply matrices, each with its multiplications: the first is a step of
/// m8n8k4, and so is the second with accumulators of `.f16`.
const INSTRUCTIONS: [(&str, u16); 4] =
    [("HMMA.884.F32", 256), ("HMMA.884.F16", 512), ("HMMA.1688", 1024), ("HMMA.16816", 2048)];

/// Multiplications of an instruction of hardware; those of other types take as long as `HMMA.1688`: assumed.
#[must_use]
pub fn multiplications_of(opcode: &str) -> u16 {
    INSTRUCTIONS.iter().find(|(name, _)| opcode.starts_with(name)).map_or(1024, |(_, count)| *count)
}

/// The instruction of hardware with so many multiplications.
#[must_use]
pub fn instruction_of(multiplications: u16) -> &'static str {
    let at = INSTRUCTIONS.iter().position(|(_, count)| *count >= multiplications);
    INSTRUCTIONS[at.unwrap_or(INSTRUCTIONS.len() - 1)].0
}

#[cfg(test)]
#[path = "tensor_tests.rs"]
mod tests;
