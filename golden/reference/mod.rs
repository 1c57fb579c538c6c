//! # CPU references: expected results of the kernels in `kernels/`
//! A reference computes an expected result in plain loops over the initial buffers. It is written from the
//! purpose of the kernel, not from the kernel's PTX. A launch file selects the reference of a result buffer
//! by name (`expect.reference`); [`lookup`] finds it.
//!
//! Allowed deviation of a kernel from its reference:
//! - No deviation, since results are integers, copies, or rounded once as in the kernel: `bfs`, `btree`,
//!   `cfd_undisturbed`, `histo`, `invindex_*`, `kmeans`, `kv_gather`, `likelihood`, `moe_*` without
//!   `moe_weight`, `nw`, `particlefilter`, `pathfinder`, `quasirandom`, `reduction`, `scan`, `sobel`, `sssp`,
//!   `topk_*`, `transpose`, `urng`, `vadd`; and `hmma`, whose sums are rounded in the order of this machine's
//!   tensor cores.
//! - Both outcomes where `f32` rounding decides: `pest`, `pest_states`, `streamcluster_moves`.
//! - Error bound of each `f32` sum of products, in any order: `conv`, `conv2d`, `dct`, `dwthaar`, `fft`,
//!   `fwt`, `gesummv`, `mm2`, `scalarprod`, `sgemm`, `splitk`, `spmv_csr`, `spmv_jds`, `syrk`; and in any
//!   order in which each lane of a warp adds up its share of a row: `gemv`, `quantized_gemv`.
//! - Error bound propagated from step to step (`rounded`), for longer formulas: `attention_*`, `backprop_*`,
//!   `barneshut`, `binomial`, `blackscholes_*`, `cfd`, `cutcp`, `fdtd2d`, `gaussian_*`, `gramschmidt_*`,
//!   `heartwall`, `hotspot`, `lbm_*`, `leukocyte`, `lud`, `mersenne`, `moe_weight`, `mrigridding`, `mriq_*`,
//!   `myocyte`, `nn_*`, `rmsnorm`, `rope`, `softmax`, `srad1`, `srad1_s*`, `srad2`, `stencil3d`,
//!   `streamcluster_gain`.
//!
//! Sums are computed in `f64`. Their error bound is proven (see `bounded_sum`): it passes every correct
//! kernel for all inputs. The bound grows with the square of the number of terms if any order is allowed. In
//! sums of fewer than 4096 terms, as in the sizes `small`, it therefore fails a kernel that loses a term of
//! average magnitude. In longer sums, such a loss may remain within the bound.

mod attention;
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
mod gemv;
mod gesummv;
mod gramschmidt;
mod half;
mod heartwall;
mod histo;
mod hotspot;
mod invindex;
mod kmeans;
mod kv_gather;
mod lbm;
mod leukocyte;
mod likelihood;
mod lud;
mod matmul;
mod mersenne;
mod moe;
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
mod rmsnorm;
mod rope;
mod rounded;
mod scalarprod;
mod scan;
mod sobel;
mod softmax;
mod spmv_csr;
mod spmv_jds;
mod srad;
mod srad1_sums;
mod sssp;
mod stencil3d;
mod streamcluster;
mod syrk;
mod topk;
mod transpose;
mod urng;
mod vadd;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

pub use compare::{Difference, Mismatch, Rule, compare, difference};
pub use element::{Array, ElementType};

/// CPU reference: the buffers and parameters that it needs, and the function that computes the expected
/// result.
#[derive(Debug)]
pub struct Reference {
    /// Name of the reference in launch files.
    pub name: &'static str,
    /// Description of the result in one line.
    pub summary: &'static str,
    /// Buffers that the reference reads, with their contents before the first launch.
    pub inputs: &'static [Input],
    /// Parameters that the reference needs.
    pub parameters: &'static [Parameter],
    /// Element type of the buffer that the reference checks.
    pub output: ElementType,
    compute: fn(&Arguments<'_>) -> Result<ExpectedOutput, ReferenceError>,
}

/// Input buffer that a reference reads.
#[derive(Debug)]
pub struct Input {
    /// Name of the input. Launch files state which buffer provides it.
    pub name: &'static str,
    /// Element type that the buffer must have.
    pub element: ElementType,
}

/// Parameter that a reference takes.
#[derive(Debug)]
pub struct Parameter {
    /// Name of the parameter in launch files.
    pub name: &'static str,
    /// Kind of values that the parameter accepts.
    pub kind: ParameterKind,
}

/// Kind of values that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Count or size, from 1 to 2^31 - 1.
    Count,
    /// Index, from 0 to 2^31 - 1.
    Index,
    /// Real number, rounded to `f32` as the kernel receives it.
    Real,
}

/// Value of a parameter of a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// Value of a parameter of kind [`ParameterKind::Count`] or [`ParameterKind::Index`].
    Count(usize),
    /// Value of a parameter of kind [`ParameterKind::Real`].
    Real(f64),
}

/// Expected result of a kernel, with the allowed deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedOutput {
    /// Expected values, one per element of the checked buffer.
    pub values: Array,
    /// Rule by which a result is compared with the expected values.
    pub rule: Rule,
}

impl ExpectedOutput {
    fn exact(values: Array) -> Self {
        Self { values, rule: Rule::Exact }
    }

    /// Creates an expected output from pairs of an `f64` value and a bound on the error of its `f32`
    /// computation.
    fn with_bounds(sums: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (values, bounds): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        Self { values: Array::from_reals(ElementType::F64, values), rule: Rule::Bounds(bounds) }
    }
}

/// Reason why a reference could not be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceError {
    /// Name of the reference.
    pub reference: &'static str,
    /// Reason as a text for the user; it contains the offending values.
    pub reason: String,
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reference `{}`: {}", self.reference, self.reason)
    }
}

impl std::error::Error for ReferenceError {}

/// All references, sorted by name.
pub const ALL: &[&Reference] = &[
    &attention::ATTENTION_DECODE,
    &attention::ATTENTION_HALF,
    &attention::ATTENTION_PREFILL,
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
    &gemv::GEMV,
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
    &kv_gather::KV_GATHER,
    &lbm::LBM_AOS,
    &lbm::LBM_SOA,
    &leukocyte::LEUKOCYTE,
    &likelihood::LIKELIHOOD,
    &lud::LUD,
    &mersenne::MERSENNE,
    &matmul::MM2,
    &moe::MOE_EXPERT,
    &moe::MOE_FIRST,
    &moe::MOE_GATHER,
    &moe::MOE_PAIR,
    &moe::MOE_WEIGHT,
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
    &gemv::QUANTIZED_GEMV,
    &quasirandom::QUASIRANDOM,
    &reduction::REDUCTION,
    &rmsnorm::RMSNORM,
    &rope::ROPE,
    &scalarprod::SCALARPROD,
    &scan::SCAN,
    &matmul::SGEMM,
    &sobel::SOBEL,
    &softmax::SOFTMAX,
    &gemv::SPLITK,
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
    &topk::TOPK_INDEX,
    &topk::TOPK_LOGIT,
    &transpose::TRANSPOSE,
    &urng::URNG,
    &vadd::VADD,
];

/// Returns the reference called `name`, or `None` if there is no such reference.
pub fn lookup(name: &str) -> Option<&'static Reference> {
    ALL.iter().find(|r| r.name == name).copied()
}

impl Reference {
    /// Computes the expected result from the initial contents of the input buffers and from the parameters.
    ///
    /// # Errors
    /// Returns an error if an input or parameter is missing, unknown, of the wrong type, or too small.
    pub fn compute_expected(
        &self,
        inputs: &BTreeMap<&str, &Array>,
        parameters: &BTreeMap<&str, ParameterValue>,
    ) -> Result<ExpectedOutput, ReferenceError> {
        let arguments = Arguments { reference: self, inputs, parameters };
        arguments.check()?;
        (self.compute)(&arguments)
    }
}

/// Inputs and parameters that a reference is given. After `check`, every declared input and parameter is
/// present.
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

    /// Returns the input called `name`, or an error if it has fewer than `needed` elements. The error message
    /// explains this number by the text `why`.
    fn input(&self, name: &str, needed: usize, why: &str) -> Result<&Array, ReferenceError> {
        let array = self.inputs[name];
        if array.len() < needed {
            let has = array.len();
            return Err(self.error(format!("input `{name}` has {has} elements, expected at least {needed}: {why}")));
        }
        Ok(array)
    }

    /// Returns the input called `name`, a matrix of `rows` rows and `columns` columns. `ld` is the name of
    /// the parameter for its row stride in elements.
    fn matrix(&self, name: &str, rows: usize, columns: usize, ld: &str) -> Result<&Array, ReferenceError> {
        let apart = self.count(ld);
        if apart < columns {
            return Err(self.error(format!(
                "parameter `{ld}` is {apart}, expected at least {columns}, the row length of `{name}`"
            )));
        }
        let why = format!("{rows} rows of {columns}, {apart} apart");
        self.input(name, (rows - 1) * apart + columns, &why)
    }

    /// Checks that an index taken from the input data is below `len`. `what` describes the index in the error
    /// message.
    fn check_index(&self, what: fmt::Arguments<'_>, idx: i128, len: usize) -> Result<usize, ReferenceError> {
        usize::try_from(idx).ok().filter(|&idx| idx < len).ok_or_else(|| {
            let last = len.saturating_sub(1);
            self.error(format!("{what} is {idx}, expected 0 to {last}"))
        })
    }

    /// Sorts the numbers of row `row` of input `name`, the highest first, and returns each with its index in
    /// the row. Of equal numbers, the one with the lower index is first; zeros of both signs are equal. A row
    /// with NaN has no order, so it is an error.
    fn sort_descending(
        &self,
        name: &str,
        row: usize,
        numbers: impl Iterator<Item = f64>,
    ) -> Result<Vec<(usize, f64)>, ReferenceError> {
        let mut sorted: Vec<_> = numbers.enumerate().collect();
        if let Some((at, _)) = sorted.iter().find(|(_, number)| number.is_nan()) {
            return Err(self.error(format!("row {row} of `{name}` has NaN at {at}, expected numbers")));
        }
        // The sort is stable, and numbers without NaN always compare.
        sorted.sort_by(|(_, one), (_, other)| other.partial_cmp(one).unwrap_or(Ordering::Equal));
        Ok(sorted)
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

/// Declares a parameter of kind [`ParameterKind::Count`].
const fn count(name: &'static str) -> Parameter {
    let kind = ParameterKind::Count;
    Parameter { name, kind }
}

/// Declares a parameter of kind [`ParameterKind::Real`].
const fn real(name: &'static str) -> Parameter {
    let kind = ParameterKind::Real;
    Parameter { name, kind }
}

/// Declares an input buffer of a reference.
const fn input(name: &'static str, element: ElementType) -> Input {
    Input { name, element }
}

/// Declares a parameter of kind [`ParameterKind::Index`].
const fn index(name: &'static str) -> Parameter {
    let kind = ParameterKind::Index;
    Parameter { name, kind }
}

#[cfg(test)]
mod tests;
