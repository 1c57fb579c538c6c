//! # Matrices in the lanes of a warp
//! Defines how matrix instructions distribute matrices over a warp. A matrix product takes its matrices in
//! *fragments*: registers of all lanes of a warp, each of which holds some of the elements. A [`Layout`]
//! gives the elements of each lane. One rule holds for all shapes. If a bit of the lane number is set, a
//! power of two is added to the row or the column of the element. The same is true for the bits of the
//! element's number within the lane. The PTX ISA defines the layouts of `mma` and `ldmatrix`, but not those
//! of `wmma`. For `wmma`, this crate uses the layouts of Volta ([`Tiling`]).
//!
//! A product is computed in *steps* ([`Form::steps`]). Like other instructions, a step reads three operands
//! of up to 64 bits per lane: two registers each of A, B and C, or one register each if the elements are
//! `.f64`. It writes as many registers of D. Volta's `HMMA` is divided in the same way: `m8n8k4` takes four
//! steps with `.f32` accumulators and two with `.f16`.

use Bit::{Column, Product, Row, Same};

/// Number of lanes in a warp.
const LANES: u32 = 32;

/// Effect of one bit of the lane number, or of the element number within a lane, on the position of the
/// element in its matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// If the bit is set, this number is added to the row.
    Row(u8),
    /// If the bit is set, this number is added to the column.
    Column(u8),
    /// If the bit is set, this number is added to the index of the product. One instruction may compute
    /// several products in parallel.
    Product(u8),
    /// The bit has no effect: lanes that differ only in this bit hold copies of the same elements.
    Same,
}

/// Position of an element in the matrices of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementPosition {
    /// Index of the product to whose matrix the element belongs.
    pub product: u8,
    /// Row of the element.
    pub row: u8,
    /// Column of the element.
    pub column: u8,
}

/// Distribution of the elements of a matrix over lanes and registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Effect that each bit of the element's number within the lane has on the position of the element,
    /// lowest bit first.
    element: [Bit; 7],
    /// Number of bits of the element number within a lane.
    element_bits: u8,
    /// Effect of each bit of the lane number on the position, lowest bit first.
    lane: [Bit; 5],
}

/// Order of the elements of a matrix in memory or in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOrder {
    /// Row-major: the elements of a row are consecutive.
    Row,
    /// Column-major: the elements of a column are consecutive.
    Column,
}

/// Type of the elements of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// IEEE binary16: half precision.
    F16,
    /// The bfloat16 format, the upper half of an IEEE binary32.
    Bf16,
    /// The upper 19 bits of an IEEE binary32; the low 13 bits are ignored.
    Tf32,
    /// 8-bit float with 4 bits of exponent and 3 of fraction.
    E4m3,
    /// 8-bit float with 5 bits of exponent and 2 of fraction.
    E5m2,
    /// Signed 8-bit integer.
    S8,
    /// Unsigned 8-bit integer.
    U8,
    /// IEEE binary64: double precision.
    F64,
    /// Signed 4-bit integer.
    S4,
    /// Unsigned 4-bit integer.
    U4,
    /// Single bit. A logic operation on two bits replaces their product.
    B1(BitProduct),
}

/// Logic operation that replaces the product of two bits. The results that are 1 are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitProduct {
    /// 1 if both bits are 1.
    And,
    /// 1 if the bits differ.
    Xor,
}

impl Factor {
    /// Number of bits that an element takes in a register.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Factor::F64 => 64,
            Factor::Tf32 => 32,
            Factor::F16 | Factor::Bf16 => 16,
            Factor::E4m3 | Factor::E5m2 | Factor::S8 | Factor::U8 => 8,
            Factor::S4 | Factor::U4 => 4,
            Factor::B1(_) => 1,
        }
    }
}

/// Type of the elements of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sum {
    /// IEEE binary16: half precision.
    F16,
    /// IEEE binary32: single precision.
    F32,
    /// Signed 32-bit integer.
    S32 {
        /// True if a sum beyond the 32-bit range becomes the nearest number in the range; false if it wraps
        /// around.
        saturates: bool,
    },
    /// IEEE binary64: double precision.
    F64,
}

impl Sum {
    /// Number of elements of C or D that one register holds. A register of `.f64` elements has 64 bits, any
    /// other register 32.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            Sum::F16 => 2,
            Sum::F32 | Sum::S32 { .. } | Sum::F64 => 1,
        }
    }
}

/// Matrix of a product, with the properties that determine its layout in addition to the shape: the storage
/// order of A or B, or the element type of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// Left factor A.
    A(MatrixOrder),
    /// Right factor B.
    B(MatrixOrder),
    /// Addend C or result D, with the type of its elements.
    Sum(Sum),
}

/// Form of `mma.sync`: its shape, its element width, and the storage orders of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Shape in PTX notation.
    pub shape: &'static str,
    /// Extents of the product: number of rows of A, of columns of B, and of columns of A.
    pub extent: [u16; 3],
    /// Number of bits of an element of A and B.
    pub factor_bits: u8,
    /// Storage orders of A and of B: row-major or column-major.
    pub majors: [MatrixOrder; 2],
    /// Number of independent products that one instruction computes.
    pub products: u8,
    /// Layout of A: the elements that each lane holds.
    pub a: Layout,
    /// Layout of B: the elements that each lane holds.
    pub b: Layout,
    /// Layout of C and D if their elements are `.f16`.
    sum16: Layout,
    /// Layout of C and D if their elements are `.f32`, `.s32` or `.f64`.
    sum32: Layout,
}

const fn layout<const N: usize>(bits: [Bit; N], lane: [Bit; 5]) -> Layout {
    let mut element = [Same; 7];
    let mut at = 0;
    while at < N {
        element[at] = bits[at];
        at += 1;
    }
    Layout { element, element_bits: N as u8, lane }
}

/// Effect of the lane number on the position. Each of eight groups of four lanes has the elements of one row,
/// and each lane of a group has two adjacent columns. Used by A, C and D of m16n8k8 and by the matrices of
/// `ldmatrix`.
const GROUPS: [Bit; 5] = [Column(2), Column(4), Row(1), Row(2), Row(4)];
/// Effect of the lane number on the position. Each of eight groups of four lanes has the elements of one
/// column of B, and each lane of a group has two adjacent rows.
const GROUPS_B: [Bit; 5] = [Row(2), Row(4), Column(1), Column(2), Column(4)];

/// Layout of an 8 x 8 matrix of `.b16` elements. A register of each lane holds two adjacent elements of a
/// row.
pub const EIGHT_BY_EIGHT: Layout = layout([Column(1)], GROUPS);

/// Layouts of the matrices of m8n8k4. One product is computed by eight lanes: four of the lower half-warp and
/// four of the upper half-warp.
const A_ROW: Layout = layout([Column(1), Column(2)], [Row(1), Row(2), Product(1), Product(2), Row(4)]);
const A_COLUMN: Layout = layout([Row(1), Row(2)], [Column(1), Column(2), Product(1), Product(2), Row(4)]);
const B_ROW: Layout = layout([Column(1), Column(2)], [Row(1), Row(2), Product(1), Product(2), Column(4)]);
const B_COLUMN: Layout = layout([Row(1), Row(2)], [Column(1), Column(2), Product(1), Product(2), Column(4)]);
const SUM16: Layout = layout([Column(1), Column(2), Column(4)], [Row(1), Row(2), Product(1), Product(2), Row(4)]);
const SUM32: Layout = layout([Column(1), Row(2), Column(4)], [Row(1), Column(2), Product(1), Product(2), Row(4)]);

/// Layout of C and D of the shapes in which D has 16 rows, for all element types.
const SUM_OF_16: Layout = layout([Column(1), Row(8)], GROUPS);

/// Effect of the lane number on the position in A. A register holds one element of 32 or 64 bits, or adjacent
/// elements of a row: four of 8 bits, eight of 4 or 32 single bits.
const GROUPS_OF_32: [Bit; 5] = [Column(1), Column(2), Row(1), Row(2), Row(4)];
const GROUPS_OF_8: [Bit; 5] = [Column(4), Column(8), Row(1), Row(2), Row(4)];
const GROUPS_OF_4: [Bit; 5] = [Column(8), Column(16), Row(1), Row(2), Row(4)];
const GROUPS_OF_1: [Bit; 5] = [Column(32), Column(64), Row(1), Row(2), Row(4)];
/// Effect of the lane number on the position in B. A register holds one element of 32 or 64 bits, or adjacent
/// elements of a column: four of 8 bits, eight of 4 or 32 single bits.
const GROUPS_B_OF_32: [Bit; 5] = [Row(1), Row(2), Column(1), Column(2), Column(4)];
const GROUPS_B_OF_8: [Bit; 5] = [Row(4), Row(8), Column(1), Column(2), Column(4)];
const GROUPS_B_OF_4: [Bit; 5] = [Row(8), Row(16), Column(1), Column(2), Column(4)];
const GROUPS_B_OF_1: [Bit; 5] = [Row(32), Row(64), Column(1), Column(2), Column(4)];

const fn volta(majors: [MatrixOrder; 2], a: Layout, b: Layout) -> Form {
    let (shape, extent) = ("m8n8k4", [8, 8, 4]);
    Form { shape, extent, factor_bits: 16, majors, products: 4, a, b, sum16: SUM16, sum32: SUM32 }
}

const fn later(shape: &'static str, extent: [u16; 3], factor_bits: u8, a: Layout, b: Layout) -> Form {
    let majors = [MatrixOrder::Row, MatrixOrder::Column];
    let sum = if extent[0] == 8 { EIGHT_BY_EIGHT } else { SUM_OF_16 };
    Form { shape, extent, factor_bits, majors, products: 1, a, b, sum16: sum, sum32: sum }
}

/// All supported forms of `mma.sync` (PTX ISA, matrix fragments for `mma`).
pub static FORMS: [Form; 21] = [
    volta([MatrixOrder::Row, MatrixOrder::Row], A_ROW, B_ROW),
    volta([MatrixOrder::Row, MatrixOrder::Column], A_ROW, B_COLUMN),
    volta([MatrixOrder::Column, MatrixOrder::Row], A_COLUMN, B_ROW),
    volta([MatrixOrder::Column, MatrixOrder::Column], A_COLUMN, B_COLUMN),
    later("m16n8k8", [16, 8, 8], 16, layout([Column(1), Row(8)], GROUPS), layout([Row(1)], GROUPS_B)),
    later(
        "m16n8k16",
        [16, 8, 16],
        16,
        layout([Column(1), Row(8), Column(8)], GROUPS),
        layout([Row(1), Row(8)], GROUPS_B),
    ),
    later("m16n8k4", [16, 8, 4], 32, layout([Row(8)], GROUPS_OF_32), layout([], GROUPS_B_OF_32)),
    later("m16n8k8", [16, 8, 8], 32, layout([Row(8), Column(4)], GROUPS_OF_32), layout([Row(4)], GROUPS_B_OF_32)),
    later(
        "m8n8k16",
        [8, 8, 16],
        8,
        layout([Column(1), Column(2)], GROUPS_OF_8),
        layout([Row(1), Row(2)], GROUPS_B_OF_8),
    ),
    later(
        "m16n8k16",
        [16, 8, 16],
        8,
        layout([Column(1), Column(2), Row(8)], GROUPS_OF_8),
        layout([Row(1), Row(2)], GROUPS_B_OF_8),
    ),
    later(
        "m16n8k32",
        [16, 8, 32],
        8,
        layout([Column(1), Column(2), Row(8), Column(16)], GROUPS_OF_8),
        layout([Row(1), Row(2), Row(16)], GROUPS_B_OF_8),
    ),
    later("m8n8k4", [8, 8, 4], 64, layout([], GROUPS_OF_32), layout([], GROUPS_B_OF_32)),
    later("m16n8k4", [16, 8, 4], 64, layout([Row(8)], GROUPS_OF_32), layout([], GROUPS_B_OF_32)),
    later("m16n8k8", [16, 8, 8], 64, layout([Row(8), Column(4)], GROUPS_OF_32), layout([Row(4)], GROUPS_B_OF_32)),
    later(
        "m16n8k16",
        [16, 8, 16],
        64,
        layout([Row(8), Column(4), Column(8)], GROUPS_OF_32),
        layout([Row(4), Row(8)], GROUPS_B_OF_32),
    ),
    later(
        "m8n8k32",
        [8, 8, 32],
        4,
        layout([Column(1), Column(2), Column(4)], GROUPS_OF_4),
        layout([Row(1), Row(2), Row(4)], GROUPS_B_OF_4),
    ),
    later(
        "m16n8k32",
        [16, 8, 32],
        4,
        layout([Column(1), Column(2), Column(4), Row(8)], GROUPS_OF_4),
        layout([Row(1), Row(2), Row(4)], GROUPS_B_OF_4),
    ),
    later(
        "m16n8k64",
        [16, 8, 64],
        4,
        layout([Column(1), Column(2), Column(4), Row(8), Column(32)], GROUPS_OF_4),
        layout([Row(1), Row(2), Row(4), Row(32)], GROUPS_B_OF_4),
    ),
    later(
        "m8n8k128",
        [8, 8, 128],
        1,
        layout([Column(1), Column(2), Column(4), Column(8), Column(16)], GROUPS_OF_1),
        layout([Row(1), Row(2), Row(4), Row(8), Row(16)], GROUPS_B_OF_1),
    ),
    later(
        "m16n8k128",
        [16, 8, 128],
        1,
        layout([Column(1), Column(2), Column(4), Column(8), Column(16), Row(8)], GROUPS_OF_1),
        layout([Row(1), Row(2), Row(4), Row(8), Row(16)], GROUPS_B_OF_1),
    ),
    later(
        "m16n8k256",
        [16, 8, 256],
        1,
        layout([Column(1), Column(2), Column(4), Column(8), Column(16), Row(8), Column(128)], GROUPS_OF_1),
        layout([Row(1), Row(2), Row(4), Row(8), Row(16), Row(128)], GROUPS_B_OF_1),
    ),
];

/// Shape of `wmma`, computed as several m8n8k4 products. The eight lanes that compute one m8n8k4 product,
/// four of each half-warp, compute one 8 x 8 tile of D. Each product uses four columns of A. If two tiles
/// need the same elements of A or B, the lanes of both tiles hold copies. These are Volta's layouts (Raihan
/// et al., *Modeling Deep Learning Accelerator Enabled GPUs*, ISPASS 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    /// Shape in PTX notation.
    pub shape: &'static str,
    /// Extents of the product: number of rows of A, of columns of B, and of columns of A.
    pub extent: [u8; 3],
    /// Position of the tile of D that a lane computes, as the effect of bits 2 and 3 of the lane number.
    tiles: [Bit; 2],
}

/// Number of columns of A that one m8n8k4 product uses.
const SLICE: u8 = 4;

/// All shapes of `wmma` in which A and B have `.f16` elements.
pub static TILINGS: [Tiling; 3] = [
    Tiling { shape: "m16n16k16", extent: [16, 16, 16], tiles: [Row(8), Column(8)] },
    Tiling { shape: "m32n8k16", extent: [32, 8, 16], tiles: [Row(8), Row(16)] },
    Tiling { shape: "m8n32k16", extent: [8, 32, 16], tiles: [Column(8), Column(16)] },
];

impl Layout {
    /// Number of elements of the matrix that each lane holds.
    #[must_use]
    pub const fn elements(&self) -> u32 {
        1 << self.element_bits
    }

    /// Returns the position in the matrix of the element with number `element` in lane `lane`.
    #[must_use]
    pub fn place(&self, lane: u32, element: u32) -> ElementPosition {
        let mut place = ElementPosition::default();
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

    /// Effect of each bit of the lane number on the position, lowest bit first.
    #[must_use]
    pub fn lane_bits(&self) -> [Bit; 5] {
        self.lane
    }

    /// Returns a bit set of the rows (or columns) whose elements are in register `register` of any lane. Each
    /// register has `per` elements. `of` selects the row or the column of an element's position.
    fn found(&self, register: u32, per: u32, of: fn(ElementPosition) -> u8) -> u64 {
        let elements = register * per..(register + 1) * per;
        let places = elements.flat_map(|element| (0..LANES).map(move |lane| self.place(lane, element)));
        places.fold(0, |found, place| found | 1 << of(place))
    }

    /// Returns the registers with at least one element whose row (or column) is in the bit set `wanted`. Each
    /// register has `per` elements. `of` selects the row or the column of an element's position.
    fn registers(&self, per: u32, of: fn(ElementPosition) -> u8, wanted: u64) -> Vec<u8> {
        let all = 0..self.elements() / per;
        all.filter(|&register| self.found(register, per, of) & wanted != 0).map(|register| register as u8).collect()
    }
}

/// Step of a matrix product: computes D = A B + C for one or two registers of D. Registers of C have the same
/// numbers as those of D.
///
/// The operands `srcs` are two registers each of A, B and C, and `dsts` are two registers of D; an unused
/// register is `None`. If the elements are `.f64`, a register has 64 bits, and the step uses only the first
/// of the two registers of each matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorOp {
    /// Form of the product to which the step belongs.
    pub form: &'static Form,
    /// Element types of A and B.
    pub factors: [Factor; 2],
    /// Element type of C and D.
    pub sum: Sum,
    /// Numbers of the registers of A that the step reads; the first register of A has number 0.
    pub a: [Option<u8>; 2],
    /// Numbers of the registers of B that the step reads; the first register of B has number 0.
    pub b: [Option<u8>; 2],
    /// Numbers of the registers of C that the step reads. The step writes the registers of D with the same
    /// numbers.
    pub c: [Option<u8>; 2],
    /// Duration of the step, as the number of multiplications of `.f16` factors that take equally long. It
    /// determines the latency. Unless the factors have 64 bits or less than 8, it is the number of
    /// multiplications in the step.
    pub multiplications: u32,
}

impl Form {
    /// Returns the layout of C and D for their element type `sum`.
    #[must_use]
    pub fn sums(&self, sum: Sum) -> &Layout {
        match sum {
            Sum::F16 => &self.sum16,
            Sum::F32 | Sum::S32 { .. } | Sum::F64 => &self.sum32,
        }
    }

    /// True if all elements are `.f64`, so that each register has 64 bits.
    #[must_use]
    pub fn is_double(&self) -> bool {
        self.factor_bits == 64
    }

    /// Number of elements of A or B in a register. A register of `.f64` elements has 64 bits, any other
    /// register 32.
    #[must_use]
    pub fn per_register(&self) -> u32 {
        (32 / u32::from(self.factor_bits)).max(1)
    }

    /// Returns the number of multiplications of `.f16` factors that take as long as `count` multiplications
    /// of this form. An A100 multiplies `.f16` factors 16 times as fast as `.f64` factors: 312 and 19.5
    /// TFLOPS (NVIDIA A100 whitepaper, 2020, table 1). Compared with 8-bit integers (624 TOPS), it multiplies
    /// 4-bit integers twice as fast (1,248 TOPS), and single bits eight times as fast (4,992 TOPS). Here,
    /// 8-bit integers take as long as `.f16` factors.
    fn duration(&self, count: u32) -> u32 {
        duration(count, self.factor_bits.into())
    }

    /// Returns the steps of the product. A step computes two registers of D, or only one if two would need
    /// more than two registers of A or B.
    ///
    /// A step of a `.f64` product reads one register of each matrix, so it adds the products of four columns
    /// of A. Steps that compute the same register of D follow one another in the order of the columns: the
    /// first adds to C, each later one to the result of the step before it.
    #[must_use]
    pub fn steps(&'static self, factors: [Factor; 2], sum: Sum) -> Vec<TensorOp> {
        if self.is_double() {
            return self.steps_of_doubles(factors, sum);
        }
        let (sums, per, of_factor) = (self.sums(sum), sum.per_register(), self.per_register());
        let registers = sums.elements() / per;
        let mut steps = Vec::new();
        let mut first = 0;
        while first < registers {
            let step = |count: u32| {
                let found = |of| (first..first + count).fold(0, |found, at| found | sums.found(at, per, of));
                let a = self.a.registers(of_factor, |place| place.row, found(|place| place.row));
                (a, self.b.registers(of_factor, |place| place.column, found(|place| place.column)), count)
            };
            let two = Some(step(2)).filter(|(a, b, _)| first + 1 < registers && a.len() <= 2 && b.len() <= 2);
            let (a, b, count) = two.unwrap_or_else(|| step(1));
            let pair = |all: &[u8]| [all.first().copied(), all.get(1).copied()];
            let c: Vec<u8> = (first..first + count).map(|at| at as u8).collect();
            let multiplications = self.duration(count * per * LANES * u32::from(self.extent[2]));
            steps.push(TensorOp { form: self, factors, sum, a: pair(&a), b: pair(&b), c: pair(&c), multiplications });
            first += count;
        }
        steps
    }

    fn steps_of_doubles(&'static self, factors: [Factor; 2], sum: Sum) -> Vec<TensorOp> {
        let sums = self.sums(sum);
        let multiplications = self.duration(LANES * u32::from(self.extent[2]) / self.b.elements());
        let step = |slice: u32, register: u32| {
            let columns = self.b.found(slice, 1, |place| place.row);
            let rows = sums.found(register, 1, |place| place.row);
            let is_operand = |at: &u32| {
                self.a.found(*at, 1, |place| place.row) == rows && self.a.found(*at, 1, |place| place.column) == columns
            };
            let a = (0..self.a.elements()).find(is_operand);
            let one = |at: u32| [Some(at as u8), None];
            TensorOp {
                form: self,
                factors,
                sum,
                a: [a.map(|at| at as u8), None],
                b: one(slice),
                c: one(register),
                multiplications,
            }
        };
        let slices = 0..self.b.elements();
        slices.flat_map(|slice| (0..sums.elements()).map(move |register| step(slice, register))).collect()
    }
}

impl Tiling {
    /// Returns the layout of the operand `matrix`.
    #[must_use]
    pub fn layout(&self, matrix: Matrix) -> Layout {
        let only = |keeps: fn(Bit) -> bool| self.tiles.map(|bit| if keeps(bit) { bit } else { Same });
        let (core, tiles, slices) = match matrix {
            Matrix::A(MatrixOrder::Row) => (A_ROW, only(|bit| matches!(bit, Row(_))), Some(Column as fn(u8) -> Bit)),
            Matrix::A(MatrixOrder::Column) => {
                (A_COLUMN, only(|bit| matches!(bit, Row(_))), Some(Column as fn(u8) -> Bit))
            }
            Matrix::B(MatrixOrder::Row) => (B_ROW, only(|bit| matches!(bit, Column(_))), Some(Row as fn(u8) -> Bit)),
            Matrix::B(MatrixOrder::Column) => {
                (B_COLUMN, only(|bit| matches!(bit, Column(_))), Some(Row as fn(u8) -> Bit))
            }
            Matrix::Sum(Sum::F16) => (SUM16, self.tiles, None),
            Matrix::Sum(Sum::F32 | Sum::S32 { .. } | Sum::F64) => (SUM32, self.tiles, None),
        };
        let Layout { mut element, mut element_bits, mut lane } = core;
        lane[2..4].copy_from_slice(&tiles);
        for (far, bit) in slices.into_iter().flat_map(|bit| [bit(SLICE), bit(2 * SLICE)]).zip(2..) {
            element[bit] = far;
            element_bits = bit as u8 + 1;
        }
        Layout { element, element_bits, lane }
    }

    /// Number of m8n8k4 products that together use all columns of A. They are computed one after another.
    #[must_use]
    pub fn slices(&self) -> usize {
        usize::from(self.extent[2] / SLICE)
    }
}

/// Returns the form of m8n8k4 whose A and B have the given storage orders.
#[must_use]
pub fn volta_form(majors: [MatrixOrder; 2]) -> &'static Form {
    let at = majors.map(|major| usize::from(major == MatrixOrder::Column));
    &FORMS[2 * at[0] + at[1]]
}

/// Returns a step that stands for a matrix instruction of a trace. Only its number of multiplications has a
/// meaning: it determines the timing.
#[must_use]
pub fn recorded_step(multiplications: u32) -> TensorOp {
    let none = [None; 2];
    let (factors, sum) = ([Factor::F16; 2], Sum::F32);
    TensorOp { form: &FORMS[0], factors, sum, a: none, b: none, c: none, multiplications }
}

/// SASS instructions for products of `.f16` matrices, with their numbers of multiplications. The first two are
/// steps of m8n8k4: one with `.f32` accumulators, one with `.f16` accumulators.
const INSTRUCTIONS: [(&str, u32); 4] =
    [("HMMA.884.F32", 256), ("HMMA.884.F16", 512), ("HMMA.1688", 1024), ("HMMA.16816", 2048)];

/// Number of multiplications of a SASS matrix instruction whose opcode states no shape: that of `HMMA.1688`. The
/// reader of traces warns of it.
pub const OF_UNKNOWN_SHAPE: u32 = 1024;

/// Number of warps that together execute one SASS instruction for a product of a warp group (`HGMMA`, ...).
const GROUP_WARPS: u32 = 4;

/// Returns the number of multiplications of `.f16` factors that take as long as one warp's part of a SASS matrix
/// instruction. A multiplication of doubles counts 16 times, one of 4 bits half, and one of single bits an eighth,
/// as in products of PTX. A product with `SP` (sparse) multiplies half of the elements of A. Returns `None` if no
/// token of the opcode states the shape of the matrices.
#[must_use]
pub fn multiplications_of(opcode: &str) -> Option<u32> {
    if let Some((_, count)) = INSTRUCTIONS[..2].iter().find(|(name, _)| opcode.starts_with(name)) {
        return Some(*count);
    }
    let mut tokens = opcode.split('.');
    let name = tokens.next()?;
    let [m, n, k] = tokens.clone().find_map(shape_of)?;
    let has = |wanted: &[&str]| tokens.clone().any(|token| wanted.contains(&token));
    let bits = match name {
        "DMMA" => 64,
        "BMMA" | "BGMMA" => 1,
        "OMMA" => 4,
        "IMMA" if has(&["U4", "S4"]) => 4,
        _ => 16,
    };
    let warps = if name.ends_with("GMMA") { GROUP_WARPS } else { 1 };
    let sparsity = if has(&["SP"]) { 2 } else { 1 };
    Some(duration(m.checked_mul(n)?.checked_mul(k)? / (warps * sparsity), bits))
}

/// Returns the rows of A, the columns of B, and the columns of A that a token of an opcode states: `16816` is
/// 16, 8 and 16, and `64x128x16` is 64, 128 and 16.
fn shape_of(token: &str) -> Option<[u32; 3]> {
    let extents = |m: &str, n: &str, k: &str| Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?]);
    if let Some((m, rest)) = token.split_once('x') {
        let (n, k) = rest.split_once('x')?;
        return extents(m, n, k);
    }
    let prefix = ["168", "88"].into_iter().find(|prefix| token.starts_with(prefix))?;
    let (m, n) = prefix.split_at(prefix.len() - 1);
    extents(m, n, &token[prefix.len()..])
}

/// Returns the number of multiplications of `.f16` factors that take as long as `count` multiplications of
/// factors of `bits` bits; see [`Form::duration`].
fn duration(count: u32, bits: u32) -> u32 {
    match bits {
        64 => 16 * count,
        bits if bits < 8 => count * bits / 8,
        _ => count,
    }
}

/// Returns the name of the smallest SASS matrix instruction with at least `multiplications` multiplications.
/// Returns the largest instruction if all have fewer.
#[must_use]
pub fn instruction_of(multiplications: u32) -> &'static str {
    let at = INSTRUCTIONS.iter().position(|(_, count)| *count >= multiplications);
    INSTRUCTIONS[at.unwrap_or(INSTRUCTIONS.len() - 1)].0
}

#[cfg(test)]
#[path = "tensor_tests.rs"]
mod tests;
