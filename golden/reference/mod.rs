//! # CPU references: what each kernel in `kernels/` should compute
//! Plain loops over the initial buffers, written from what the kernel is for, not from its PTX. A
//! launch file names one of them for a result buffer (`expect.reference`); [`lookup`] finds it.
//!
//! | reference | judges            | how far the kernel may be off                             |
//! |-----------|-------------------|-----------------------------------------------------------|
//! | `vadd`    | `c = a + b`       | not at all: one rounded addition, as the kernel does      |
//! | `syrk`    | `C`               | error bound of each `f32` sum, whatever its order         |
//! | `gesummv` | `y`               | likewise                                                  |
//! | `mm2`     | `C`               | likewise                                                  |
//! | `sgemm`   | `C`               | likewise                                                  |
//! | `hmma`    | `C`               | not at all: sums rounded in the order of tensor cores here |
//! | `bfs`     | level of each node| not at all                                                |
//! | `kmeans`, `nw`, `pathfinder` | numbers, scores, costs | not at all |
//! | `conv`, `conv2d`, `scalarprod`, `spmv_csr` | sums of products | error bound of each `f32` sum, whatever its order |
//! | `backprop_*`, `blackscholes_*`, `fdtd2d`, `gaussian_*`, `gramschmidt_*`, `hotspot`, `lud`, `srad1`, `srad1_s*`, `srad2`, `stencil3d` | longer formulas | error bound carried from step to step (`rounded`) |
//! | `btree`, `invindex_*`, `likelihood`, `particlefilter`, `sssp` | indices, values, fits, lengths of paths | not at all |
//! | `fft`, `fwt`, `spmv_jds` | sums of products | error bound of each `f32` sum, whatever its order |
//! | `pest`, `pest_states`, `streamcluster_moves` | counts, decisions | where `f32` cannot tell, either is right |
//! | `barneshut`, `cfd`, `lbm_*`, `nn_*`, `streamcluster_gain` | longer formulas | error bound carried from step to step (`rounded`) |
//! | `cfd_undisturbed`, `histo`, `quasirandom`, `reduction`, `scan`, `sobel`, `transpose`, `urng` | integers, copies, one rounding | not at all |
//! | `dct`, `dwthaar` | sums of scaled samples | error bound of each `f32` sum, whatever its order |
//! | `binomial`, `cutcp`, `heartwall`, `leukocyte`, `mersenne`, `mrigridding`, `mriq_*`, `myocyte` | longer formulas | error bound carried from step to step (`rounded`) |
//!
//! The sums are made in `f64`. Their bound is proven (see `bounded_sum`), so it passes every correct
//! kernel whatever its inputs, and is tight enough to fail one that loses a term.

mod backprop;
mod barneshut;
mod bfs;
mod binomial;
mod blackscholes;
mod bounded_sum;
mod btree;
mod cfd;
mod compare;
mod conv;
mod conv2d;
mod cutcp;
mod dct;
mod dwthaar;
mod element;
mod fdtd2d;
mod fft;
mod fwt;
mod gaussian;
mod gesummv;
mod gramschmidt;
mod half;
mod heartwall;
mod histo;
mod hotspot;
mod invindex;
mod kmeans;
mod lbm;
mod leukocyte;
mod likelihood;
mod lud;
mod matmul;
mod mersenne;
mod mrigridding;
mod mriq;
mod myocyte;
mod nn;
mod nw;
mod particlefilter;
mod pathfinder;
mod pest;
mod pest_states;
mod quasirandom;
mod reduction;
mod rounded;
mod scalarprod;
mod scan;
mod sobel;
mod spmv_csr;
mod spmv_jds;
mod srad;
mod srad1_sums;
mod sssp;
mod stencil3d;
mod streamcluster;
mod syrk;
mod transpose;
mod urng;
mod vadd;

use std::collections::BTreeMap;
use std::fmt;

pub use compare::{Difference, Mismatch, Rule, compare, difference};
pub use element::{Array, ElementType};

/// A CPU reference: which buffers and parameters it needs, and the result that it computes.
#[derive(Debug)]
pub struct Reference {
    /// Name in launch files.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// Buffers that it reads as they are before the first launch.
    pub inputs: &'static [Input],
    /// Parameters that it needs.
    pub parameters: &'static [Parameter],
    /// Element type of the buffer that it judges.
    pub output: ElementType,
    compute: fn(&Arguments<'_>) -> Result<Expected, ReferenceError>,
}

/// A buffer that a reference reads.
#[derive(Debug)]
pub struct Input {
    /// Name by which launch files map a buffer to it.
    pub name: &'static str,
    /// Element type the buffer must have.
    pub element: ElementType,
}

/// A parameter that a reference needs.
#[derive(Debug)]
pub struct Parameter {
    /// Name in launch files.
    pub name: &'static str,
    /// What values it takes.
    pub kind: ParameterKind,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A count or size: 1 to 2^31 - 1.
    Count,
    /// An index: 0 to 2^31 - 1.
    Index,
    /// A real number, rounded to `f32` as the kernel receives it.
    Real,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// Of a [`ParameterKind::Count`] or [`ParameterKind::Index`].
    Count(usize),
    /// Of a [`ParameterKind::Real`].
    Real(f64),
}

/// The result a kernel should have, and how far it may be off.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The values.
    pub values: Array,
    /// How to compare with them.
    pub rule: Rule,
}

impl Expected {
    fn exact(values: Array) -> Self {
        Self { values, rule: Rule::Exact }
    }

    /// Sums in `f64`, and the distance from each that `f32` arithmetic explains.
    fn bounded(sums: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (values, bounds): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        Self { values: Array::from_reals(ElementType::F64, values), rule: Rule::Bounds(bounds) }
    }
}

/// Why a reference could not be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceError {
    /// The reference.
    pub reference: &'static str,
    /// The reason, with values.
    pub reason: String,
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reference `{}`: {}", self.reference, self.reason)
    }
}

impl std::error::Error for ReferenceError {}

/// Every reference, by name.
pub const ALL: &[&Reference] = &[
    &backprop::CHANGE,
    &backprop::SUMS,
    &backprop::WEIGHT,
    &barneshut::BARNESHUT,
    &bfs::BFS,
    &binomial::BINOMIAL,
    &blackscholes::CALL,
    &blackscholes::DRAWN_CALL,
    &blackscholes::DRAWN_PUT,
    &blackscholes::PUT,
    &btree::BTREE,
    &cfd::CFD,
    &cfd::CFD_UNDISTURBED,
    &conv::CONV,
    &conv2d::CONV2D,
    &cutcp::CUTCP,
    &dct::DCT,
    &dwthaar::DWTHAAR,
    &fdtd2d::FDTD2D,
    &fft::FFT,
    &fwt::FWT,
    &gaussian::MATRIX,
    &gaussian::RIGHT_SIDE,
    &gesummv::GESUMMV,
    &gramschmidt::Q,
    &gramschmidt::R,
    &heartwall::HEARTWALL,
    &heartwall::HEARTWALL_FOUND,
    &histo::HISTO,
    &matmul::HMMA,
    &hotspot::HOTSPOT,
    &invindex::INVINDEX_FIRST,
    &invindex::INVINDEX_POSTINGS,
    &kmeans::KMEANS,
    &lbm::LBM_AOS,
    &lbm::LBM_SOA,
    &leukocyte::LEUKOCYTE,
    &likelihood::LIKELIHOOD,
    &lud::LUD,
    &mersenne::MERSENNE,
    &matmul::MM2,
    &mrigridding::MRIGRIDDING,
    &mriq::MRIQ_IM,
    &mriq::MRIQ_RE,
    &myocyte::MYOCYTE,
    &nn::NN_FIRST,
    &nn::NN_SECOND,
    &nw::NW,
    &particlefilter::PARTICLEFILTER,
    &pathfinder::PATHFINDER,
    &pest::PEST,
    &pest_states::PEST_STATES,
    &quasirandom::QUASIRANDOM,
    &reduction::REDUCTION,
    &scalarprod::SCALARPROD,
    &scan::SCAN,
    &matmul::SGEMM,
    &sobel::SOBEL,
    &spmv_csr::SPMV_CSR,
    &spmv_jds::SPMV_JDS,
    &srad::SRAD1,
    &srad1_sums::SRAD1_SQUARES,
    &srad1_sums::SRAD1_SUMS,
    &srad::SRAD2,
    &sssp::SSSP,
    &stencil3d::STENCIL3D,
    &streamcluster::STREAMCLUSTER_GAIN,
    &streamcluster::STREAMCLUSTER_MOVES,
    &syrk::SYRK,
    &transpose::TRANSPOSE,
    &urng::URNG,
    &vadd::VADD,
];

/// The reference of that name.
pub fn lookup(name: &str) -> Option<&'static Reference> {
    ALL.iter().find(|r| r.name == name).copied()
}

impl Reference {
    /// The result expected from these initial buffers and parameters.
    ///
    /// # Errors
    /// If an input or parameter is missing, unknown, of the wrong type, or too small.
    pub fn expected(
        &self,
        inputs: &BTreeMap<&str, &Array>,
        parameters: &BTreeMap<&str, ParameterValue>,
    ) -> Result<Expected, ReferenceError> {
        let arguments = Arguments { reference: self, inputs, parameters };
        arguments.check()?;
        (self.compute)(&arguments)
    }
}

/// What a reference is computed from. After `check`, every declared input and parameter is there.
struct Arguments<'a> {
    reference: &'a Reference,
    inputs: &'a BTreeMap<&'a str, &'a Array>,
    parameters: &'a BTreeMap<&'a str, ParameterValue>,
}

impl Arguments<'_> {
    fn check(&self) -> Result<(), ReferenceError> {
        for Input { name, element } in self.reference.inputs {
            match self.inputs.get(name) {
                None => return Err(self.error(format!("needs input `{name}`"))),
                Some(array) if array.element() != *element => {
                    let is = array.element();
                    return Err(self.error(format!("input `{name}` is {is}, expected {element}")));
                }
                Some(_) => {}
            }
        }
        for Parameter { name, kind } in self.reference.parameters {
            match (kind, self.parameters.get(name)) {
                (_, None) => return Err(self.error(format!("needs parameter `{name}`"))),
                (ParameterKind::Count, Some(ParameterValue::Count(0))) => {
                    return Err(self.error(format!("parameter `{name}` is 0, expected 1 or more")));
                }
                (ParameterKind::Count | ParameterKind::Index, Some(ParameterValue::Real(value))) => {
                    let reason = format!("parameter `{name}` is {value:?}, expected a count");
                    return Err(self.error(reason));
                }
                (ParameterKind::Real, Some(ParameterValue::Count(value))) => {
                    let reason = format!("parameter `{name}` is {value}, expected a real number");
                    return Err(self.error(reason));
                }
                _ => {}
            }
        }
        let known = |name: &str| {
            let mut inputs = self.reference.inputs.iter().map(|i| i.name);
            let mut parameters = self.reference.parameters.iter().map(|p| p.name);
            inputs.any(|n| n == name) || parameters.any(|n| n == name)
        };
        let mut given = self.inputs.keys().chain(self.parameters.keys());
        match given.find(|name| !known(name)) {
            Some(name) => Err(self.error(format!("takes no `{name}`"))),
            None => Ok(()),
        }
    }

    fn error(&self, reason: String) -> ReferenceError {
        ReferenceError { reference: self.reference.name, reason }
    }

    /// The input of that name, which must have `needed` elements: `why` says how that follows.
    fn input(&self, name: &str, needed: usize, why: &str) -> Result<&Array, ReferenceError> {
        let array = self.inputs[name];
        if array.len() < needed {
            let has = array.len();
            return Err(self.error(format!("input `{name}` has {has} elements, expected at least {needed}: {why}")));
        }
        Ok(array)
    }

    /// The input of that name, a matrix of `rows` x `columns` whose rows are parameter `ld` apart.
    fn matrix(&self, name: &str, rows: usize, columns: usize, ld: &str) -> Result<&Array, ReferenceError> {
        let apart = self.count(ld);
        if apart < columns {
            return Err(self.error(format!(
                "parameter `{ld}` is {apart}, expected at least {columns}: rows of `{name}` have so many elements"
            )));
        }
        let why = format!("{rows} rows of {columns}, {apart} apart");
        self.input(name, (rows - 1) * apart + columns, &why)
    }

    /// An index that comes from the data, which must be one of `len`; `what` names it.
    fn checked_index(&self, what: fmt::Arguments<'_>, idx: i128, len: usize) -> Result<usize, ReferenceError> {
        usize::try_from(idx).ok().filter(|&idx| idx < len).ok_or_else(|| {
            let last = len.saturating_sub(1);
            self.error(format!("{what} is {idx}, expected 0 to {last}"))
        })
    }

    fn count(&self, name: &str) -> usize {
        match self.parameters[name] {
            ParameterValue::Count(count) => count,
            ParameterValue::Real(_) => unreachable!("checked: `{name}` is a count"),
        }
    }

    fn real(&self, name: &str) -> f64 {
        match self.parameters[name] {
            ParameterValue::Real(real) => f64::from(real as f32),
            ParameterValue::Count(_) => unreachable!("checked: `{name}` is a real number"),
        }
    }
}

/// Declares a count parameter.
const fn count(name: &'static str) -> Parameter {
    let kind = ParameterKind::Count;
    Parameter { name, kind }
}

/// Declares a real parameter.
const fn real(name: &'static str) -> Parameter {
    let kind = ParameterKind::Real;
    Parameter { name, kind }
}

/// Declares an input.
const fn input(name: &'static str, element: ElementType) -> Input {
    Input { name, element }
}

/// Declares an index parameter.
const fn index(name: &'static str) -> Parameter {
    let kind = ParameterKind::Index;
    Parameter { name, kind }
}

#[cfg(test)]
mod tests;
