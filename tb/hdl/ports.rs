//! Values at the ports of a module in one cycle. In the first cycle, the names and widths of the ports are
//! recorded too.

/// Port or register of a module, with its width in bits. The name of a port omits the suffix `_i` or `_o`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub name: String,
    pub width: u32,
}

/// Values that a testbench drives at the inputs in one cycle, and values that it expects at the outputs.
#[derive(Debug, Default)]
pub struct Ports {
    /// True from the second cycle on, when the names and widths of the ports are already known.
    pub(super) is_known: bool,
    pub(super) inputs: Vec<Signal>,
    pub(super) outputs: Vec<Signal>,
    pub(super) driven: Vec<u32>,
    /// Expected values in row order: first the registers, then the outputs.
    pub(super) expected: Vec<u32>,
    /// Mask of the bits to compare.
    pub(super) looked_at: Vec<u32>,
    /// Number of outputs to compare in this cycle.
    pub(super) looked: u64,
}

impl Ports {
    /// Creates the record of port values for a cycle after the first. It does not record names and widths
    /// again.
    pub(super) fn later() -> Self {
        Self { is_known: true, ..Self::default() }
    }

    /// Drives an input that is up to 64 bits wide.
    pub fn input(&mut self, name: &str, width: u32, value: impl Into<u64>) {
        self.wide_input(name, width, &value.into().to_le_bytes());
    }

    /// Drives an input of any width. The least significant byte of the value comes first.
    pub fn wide_input(&mut self, name: &str, width: u32, bytes: &[u8]) {
        if !self.is_known {
            self.inputs.push(Signal { name: name.to_owned(), width });
        }
        push(&mut self.driven, width, bytes);
    }

    /// Sets the value expected at an output that is up to 64 bits wide.
    pub fn output(&mut self, name: &str, width: u32, value: impl Into<u64>) {
        self.output_if(name, width, Some(value));
    }

    /// Sets the value expected at an output that is up to 64 bits wide. If `value` is `None`, the output is
    /// not compared in this cycle.
    pub fn output_if(&mut self, name: &str, width: u32, value: Option<impl Into<u64>>) {
        let bytes = value.map(|value| value.into().to_le_bytes());
        self.wide_output(name, width, bytes.as_ref().map(|bytes| &bytes[..]));
    }

    /// Sets the value expected at an output of any width, with the least significant byte first. If `bytes`
    /// is `None`, the output is not compared in this cycle.
    pub fn wide_output(&mut self, name: &str, width: u32, bytes: Option<&[u8]>) {
        if !self.is_known {
            self.outputs.push(Signal { name: name.to_owned(), width });
        }
        push(&mut self.expected, width, bytes.unwrap_or_default());
        self.looked_at.resize(self.expected.len(), if bytes.is_some() { u32::MAX } else { 0 });
        self.looked += u64::from(bytes.is_some());
    }

    /// Sets the value expected at an output of any width, and a mask of the bits to compare in this cycle. Both
    /// have the least significant byte first.
    pub fn masked_output(&mut self, name: &str, width: u32, bytes: &[u8], mask: &[u8]) {
        if !self.is_known {
            self.outputs.push(Signal { name: name.to_owned(), width });
        }
        push(&mut self.expected, width, bytes);
        push(&mut self.looked_at, width, mask);
        self.looked += u64::from(mask.iter().any(|byte| *byte != 0));
    }

    /// Sets the values expected at an output of 32-bit words, the lowest word first. A word that is `None` is
    /// not compared in this cycle.
    pub fn word_outputs(&mut self, name: &str, values: &[Option<u32>]) {
        if !self.is_known {
            self.outputs.push(Signal { name: name.to_owned(), width: u32::BITS * values.len() as u32 });
        }
        self.expected.extend(values.iter().map(|value| value.unwrap_or(0)));
        self.looked_at.extend(values.iter().map(|value| if value.is_some() { u32::MAX } else { 0 }));
        self.looked += u64::from(values.iter().any(Option::is_some));
    }
}

/// Returns the SystemVerilog name of an input port.
pub(super) fn input_pin(name: &str) -> String {
    format!("{name}_i")
}

/// Returns the SystemVerilog name of an output port.
pub(super) fn output_pin(name: &str) -> String {
    format!("{name}_o")
}

/// Port connections of the clock and the reset, for modules with registers.
pub(super) const CLOCK: [&str; 2] = [".clk_i(clk)", ".rst_ni(rst_n)"];

/// Returns the number of 32-bit words that a signal of `width` bits occupies in a row. Each signal begins in
/// a new word.
pub(super) fn words(width: u32) -> usize {
    width.div_ceil(u32::BITS) as usize
}

/// Writes the low `width` bits of a value into a byte string, from bit number `at` on. The byte string grows
/// as needed.
pub(super) fn append_bits(bytes: &mut Vec<u8>, at: u32, value: u64, width: u32) {
    bytes.resize(bytes.len().max((at + width).div_ceil(8) as usize), 0);
    for bit in 0..width {
        let to = (at + bit) as usize;
        bytes[to / 8] |= ((value >> bit & 1) as u8) << (to % 8);
    }
}

/// Appends the value of a signal to a row of 32-bit words.
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
