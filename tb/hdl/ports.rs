//! Ports of one cycle. The first cycle also defines their names and widths.

/// Port or register, with its width in bits. The name of a port omits the module's ending `_i` or `_o`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub name: String,
    pub width: u32,
}

/// Inputs that a bench drives in a cycle, and outputs that it expects.
#[derive(Debug, Default)]
pub struct Ports {
    /// True after the first cycle, when names and widths are known.
    pub(super) is_known: bool,
    pub(super) inputs: Vec<Signal>,
    pub(super) outputs: Vec<Signal>,
    pub(super) driven: Vec<u32>,
    /// Expected values in the order of a row: registers, then outputs.
    pub(super) expected: Vec<u32>,
    /// Mask of the bits to compare, all ones or all zeros per word.
    pub(super) looked_at: Vec<u32>,
    /// Number of outputs to compare.
    pub(super) looked: u64,
}

impl Ports {
    /// Creates the ports of a later cycle, which do not record names.
    pub(super) fn later() -> Self {
        Self { is_known: true, ..Self::default() }
    }

    /// Drives an input of up to 64 bits.
    pub fn input(&mut self, name: &'static str, width: u32, value: impl Into<u64>) {
        self.wide_input(name, width, &value.into().to_le_bytes());
    }

    /// Drives an input of any width, with the least significant byte first.
    pub fn wide_input(&mut self, name: &'static str, width: u32, bytes: &[u8]) {
        if !self.is_known {
            self.inputs.push(Signal { name: name.to_owned(), width });
        }
        push(&mut self.driven, width, bytes);
    }

    /// Expects a value at an output of up to 64 bits.
    pub fn output(&mut self, name: &'static str, width: u32, value: impl Into<u64>) {
        self.output_if(name, width, Some(value));
    }

    /// Expects a value at an output of up to 64 bits. The output is not compared if `value` is `None`.
    pub fn output_if(&mut self, name: &'static str, width: u32, value: Option<impl Into<u64>>) {
        let bytes = value.map(|value| value.into().to_le_bytes());
        self.wide_output(name, width, bytes.as_ref().map(|bytes| &bytes[..]));
    }

    /// Expects a value at an output of any width, with the least significant byte first. The output is not
    /// compared if `bytes` is `None`.
    pub fn wide_output(&mut self, name: &'static str, width: u32, bytes: Option<&[u8]>) {
        if !self.is_known {
            self.outputs.push(Signal { name: name.to_owned(), width });
        }
        push(&mut self.expected, width, bytes.unwrap_or_default());
        self.looked_at.resize(self.expected.len(), if bytes.is_some() { u32::MAX } else { 0 });
        self.looked += u64::from(bytes.is_some());
    }
}

/// Returns the name of an input in the module.
pub(super) fn input_pin(name: &str) -> String {
    format!("{name}_i")
}

/// Returns the name of an output in the module.
pub(super) fn output_pin(name: &str) -> String {
    format!("{name}_o")
}

/// Connections of clock and reset, in modules with registers.
pub(super) const CLOCK: [&str; 2] = [".clk_i(clk)", ".rst_ni(rst_n)"];

/// Returns the number of row words of a signal. Each signal begins with a new word.
pub(super) fn words(width: u32) -> usize {
    width.div_ceil(u32::BITS) as usize
}

/// Appends the value of a signal to a row.
pub(super) fn push(row: &mut Vec<u32>, width: u32, bytes: &[u8]) {
    for word in 0..words(width) {
        let byte = |k: usize| u32::from(bytes.get(word * 4 + k).copied().unwrap_or(0)) << (8 * k);
        row.push(byte(0) | byte(1) | byte(2) | byte(3));
    }
    let over = width % u32::BITS;
    if let Some(top) = row.last_mut().filter(|_| over != 0) {
        *top &= (1 << over) - 1;
    }
}
