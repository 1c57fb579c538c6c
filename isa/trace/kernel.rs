//! Reader of one kernel's trace, one CTA at a time.
//!
//! ```text
//! #BEGIN_TB
//! thread block = x,y,z
//! warp = 0
//! insts = n
//! n instruction lines
//! ... more warps ...
//! #END_TB
//! ```
//! Blank lines may occur anywhere, and the last line need not end in a newline. Other lines that begin with
//! `#` are comments.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use input::noun;
use isa::MAX_ADDRESS_BITS;
use isa::recorded::code::Code;
use isa::recorded::header::Header;
use isa::recorded::opcode::{Class, OpcodeTable, Space};
use isa::recorded::record::{Cluster, Cta, LANES, Warp, lanes_of};

use super::error::{Fault, TraceError, Warning, quote};
use super::fields::{self, Word};
use super::header;
use super::instruction::{AddressForm, Format, ParsedLine};
use super::known::LineCache;
use super::lines::Lines;
use super::source::{self, DecodedText};

/// Limits on the sizes and addresses in a trace. They bound the memory that reading it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of a line in bytes.
    pub line_bytes: usize,
    /// Maximum memory footprint of a CTA in bytes.
    pub cta_bytes: usize,
    /// Width of a device memory address in bits.
    pub address_bits: u32,
    /// Size of the shared memory of an SM in bytes.
    pub shared_bytes: u64,
}

/// Size in bytes of the shared memory that CUDA reserves from sm_80 on. The shared memory of the kernel
/// begins after it.
const SHARED_RESERVED: u64 = 1 << 10;

impl Default for Limits {
    fn default() -> Self {
        // The line limit leaves space for the long mangled names of C++ templates. The memory limit of a CTA
        // is enough for about 20 million instructions.
        Limits { line_bytes: 256 << 10, cta_bytes: 512 << 20, address_bits: u64::BITS, shared_bytes: u64::MAX }
    }
}

/// Reader of one kernel's trace; an iterator over the CTAs of the kernel.
pub struct KernelTrace {
    lines: Lines,
    limits: Limits,
    header: Header,
    format: Format,
    code: Code,
    known: LineCache,
    ctas: u64,
    /// Highest device memory address accessed so far.
    highest: u64,
    is_done: bool,
    /// Number of bytes of the file read so far, and size of the file in bytes.
    progress: Option<(Arc<AtomicU64>, u64)>,
}

impl KernelTrace {
    /// Opens a file, plain or compressed with xz or zstd, and reads its header.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or its header is unusable.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::open_with(path, Limits::default())
    }

    /// Opens a file with the given limits, and reads its header.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or its header is unusable.
    pub fn open_with(path: &Path, limits: Limits) -> Result<Self, TraceError> {
        let opened = source::open(path).map_err(|reason| TraceError::unreadable(path, reason))?;
        let mut kernel = Self::of_text(opened.decoded, &path.display().to_string(), limits)?;
        kernel.progress = Some((opened.read, opened.size));
        Ok(kernel)
    }

    /// Creates a reader of a text from any source, plain or compressed, and reads its header. Error messages
    /// refer to the text as `name`.
    ///
    /// # Errors
    /// Returns an error if the text cannot be read, or its header is unusable.
    pub fn new(input: impl BufRead + Send + 'static, name: &str, limits: Limits) -> Result<Self, TraceError> {
        let decoded = source::decode(input).map_err(|reason| TraceError::unreadable(Path::new(name), reason))?;
        Self::of_text(decoded, name, limits)
    }

    fn of_text(DecodedText { text, is_checked }: DecodedText, name: &str, limits: Limits) -> Result<Self, TraceError> {
        let mut lines = Lines::new(text, name, limits.line_bytes);
        let header = header::read(&mut lines)?;
        if !is_checked {
            lines.warn("the file is compressed without a checksum: damage to it may remain unnoticed");
        }
        let format = Format::of(&header);
        let code = Code::new(OpcodeTable::new(header.architecture()));
        let known = LineCache::new();
        Ok(KernelTrace {
            lines,
            limits,
            header,
            format,
            code,
            known,
            ctas: 0,
            highest: 0,
            is_done: false,
            progress: None,
        })
    }

    /// Header of the kernel.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Distinct instructions of the CTAs read so far.
    #[must_use]
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Warnings about the lines read so far.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        self.lines.warnings.all()
    }

    /// Number of bytes read and size of the file in bytes; `None` if the text is not from a file.
    #[must_use]
    pub fn progress(&self) -> Option<(u64, u64)> {
        self.progress.as_ref().map(|(read, size)| (read.load(Ordering::Relaxed), *size))
    }

    /// Number of CTAs read so far.
    #[must_use]
    pub fn num_ctas_read(&self) -> u64 {
        self.ctas
    }

    /// Highest device memory address that any CTA read so far accesses.
    #[must_use]
    pub fn highest_address(&self) -> u64 {
        self.highest
    }

    /// Reads the next CTA. Returns `None` after the last CTA or after an error.
    ///
    /// # Errors
    /// Returns an error if the text is malformed or exceeds a limit.
    pub fn next_cta(&mut self) -> Result<Option<Cta>, TraceError> {
        if self.is_done {
            return Ok(None);
        }
        let read = self.read_cta();
        match &read {
            Ok(Some(_)) => self.ctas += 1,
            _ => self.is_done = true,
        }
        read
    }

    fn read_cta(&mut self) -> Result<Option<Cta>, TraceError> {
        // The header ends before the first line with `#`. The reader is already at this line, which may be
        // the first line of a CTA.
        let mut is_current = self.ctas == 0;
        loop {
            if !std::mem::take(&mut is_current) && !self.lines.advance()? {
                let expected = self.header.num_ctas();
                if self.ctas != expected {
                    let found = self.ctas;
                    self.lines.warn(format!("the file has {found} CTAs, the grid {expected}"));
                }
                return Ok(None);
            }
            match self.lines.line().trim_ascii() {
                b"#BEGIN_TB" => return self.read_warps().map(Some),
                line if line.starts_with(b"#") && line != b"#END_TB" => {}
                line => {
                    let message = format!("found {}, expected `#BEGIN_TB`", quote(line));
                    return Err(self.lines.refuse(message));
                }
            }
        }
    }

    fn read_warps(&mut self) -> Result<Cta, TraceError> {
        self.advance_in("`thread block = x,y,z`")?;
        let index = self.value("thread block", "x,y,z", fields::triple)?;
        if index.iter().zip(self.header.grid).any(|(&at, size)| at >= size) {
            let [x, y, z] = self.header.grid;
            self.lines.warn(format!("CTAs are outside the grid ({x},{y},{z})"));
        }
        let mut cta = Cta { index, ..Cta::default() };
        let (mut bytes, mut is_sorted) = (0, true);
        loop {
            self.advance_in("`warp = w` or `#END_TB`")?;
            match self.lines.line().trim_ascii() {
                b"#END_TB" => break,
                line if line.starts_with(b"cluster") => self.read_cluster(cta.cluster.get_or_insert_default())?,
                _ => {
                    let warp = self.read_warp(&cta, bytes)?;
                    bytes += warp.bytes();
                    is_sorted &= cta.warps.last().is_none_or(|last| last.id < warp.id);
                    cta.warps.push(warp);
                }
            }
        }
        if !is_sorted {
            cta.warps.sort_by_key(|warp| warp.id);
            self.lines.warn("the warps of a CTA are not in ascending order");
        }
        Ok(cta)
    }

    fn read_cluster(&mut self, cluster: &mut Cluster) -> Result<(), TraceError> {
        if self.lines.line().trim_ascii_start().starts_with(b"cluster rank") {
            cluster.rank = self.value("cluster rank", "a number", number)?;
        } else if self.lines.line().trim_ascii_start().starts_with(b"cluster cta") {
            cluster.cta = self.value("cluster cta", "x,y,z", fields::triple)?;
        } else {
            cluster.id = self.value("cluster id", "x,y,z", fields::triple)?;
        }
        Ok(())
    }

    /// Reads a warp whose first line is the current line. `bytes` is the memory footprint of the earlier
    /// warps of the CTA.
    fn read_warp(&mut self, cta: &Cta, bytes: usize) -> Result<Warp, TraceError> {
        let id = self.value("warp", "a number", number)?;
        let warps = self.header.num_warps();
        if id >= warps {
            let unit = noun(warps, "warp", "warps");
            let message = format!("warp {id} is in a CTA of {warps} {unit}, numbered from 0");
            return Err(self.lines.refuse(message));
        }
        if cta.warps.iter().any(|other| other.id == id) {
            return Err(self.lines.refuse(format!("warp {id} appears twice in this CTA")));
        }
        self.advance_in("`insts = n`")?;
        let steps = self.value("insts", "a number", number)?;
        let mut warp = Warp::new(id);
        let threads = self.header.num_threads() - LANES as u64 * u64::from(id);
        let present = u32::MAX >> (LANES as u64 - threads.min(LANES as u64));
        let mut addresses = [0; LANES];
        for step in 0..steps {
            self.advance_in("an instruction")?;
            let line = self.lines.line();
            let first = line.trim_ascii_start().first();
            if matches!(first, Some(b'#' | b'w')) {
                let unit = noun(steps, "instruction", "instructions");
                let message = format!("warp {id} ends after {step} of its {steps} {unit}");
                return Err(self.lines.refuse(message));
            }
            let parsed = match self.known.read(self.format, line, &mut addresses) {
                Some(parsed) => parsed,
                None => self.read_words(&mut addresses)?,
            };
            match parsed.addresses {
                AddressForm::None => warp.push(parsed.operation, parsed.mask),
                AddressForm::Stride { base, stride } => {
                    let last = parsed.mask.ilog2() - parsed.mask.trailing_zeros();
                    let at = |lane: u32| base.wrapping_add_signed(stride * i64::from(lane));
                    let some = [base, at(last.min(1)), at(last)];
                    let operation = self.resolve(&parsed, base, || some.into_iter())?;
                    warp.push_stride(operation, parsed.mask, base, stride);
                }
                AddressForm::Each => {
                    let lowest = addresses[parsed.mask.trailing_zeros() as usize % LANES];
                    let active = || lanes_of(parsed.mask).map(|lane| addresses[lane]);
                    let operation = self.resolve(&parsed, lowest, active)?;
                    warp.push_access(operation, parsed.mask, &addresses);
                }
            }
            if let Some(odd) = parsed.odd {
                self.lines.warn(odd);
            }
            if parsed.mask & !present != 0 {
                self.lines.warn("instructions are active in lanes for which the block has no threads");
            }
            if parsed.origin.is_some_and(|origin| origin != (cta.index, id)) {
                self.lines.warn("instructions name a CTA or warp other than their own");
            }
            if bytes + warp.bytes() > self.limits.cta_bytes {
                let most = self.limits.cta_bytes >> 20;
                let [x, y, z] = cta.index;
                let message = format!("CTA ({x},{y},{z}) takes more than {most} MiB of memory");
                return Err(self.lines.refuse(message));
            }
        }
        warp.shrink();
        Ok(warp)
    }

    /// Parses the current line, an instruction, word by word, and stores the result in the cache of
    /// instruction lines.
    fn read_words(&mut self, addresses: &mut [u64; LANES]) -> Result<ParsedLine, TraceError> {
        let line = self.lines.line();
        let parsed = self.format.parse(line, &mut self.code, addresses);
        let (parsed, marks) = parsed.map_err(|fault| self.lines.fault(fault))?;
        if let Some(marks) = marks {
            self.known.keep(line, &marks, parsed);
        }
        Ok(parsed)
    }

    /// If the parsed instruction uses generic addresses, replaces the generic space by the space of `lowest`,
    /// the address of the lowest active lane. Returns the number of the resulting instruction. Rejects
    /// addresses beyond the limits and updates the highest device memory address. `addresses` yields the
    /// addresses of all active lanes. If the stride is constant, it yields only the addresses of the first
    /// two lanes and the last lane.
    fn resolve<A: Iterator<Item = u64>>(
        &mut self,
        parsed: &ParsedLine,
        lowest: u64,
        addresses: impl Fn() -> A,
    ) -> Result<u32, TraceError> {
        let ParsedLine { operation, mask, .. } = *parsed;
        if mask == 0 {
            return Ok(operation);
        }
        let space = self.header.space_of(lowest);
        let Some(resolved) = self.code.in_space(operation, space) else {
            return Err(self.lines.refuse("a kernel may have at most 2^20 different instructions".to_owned()));
        };
        let is_generic = resolved != operation;
        let mut is_mixed = false;
        if is_generic {
            if !self.header.has_windows() {
                self.lines
                    .warn("the header has no windows of generic addresses: all of these are treated as shared memory");
            } else if addresses().any(|address| self.header.space_of(address) != space) {
                is_mixed = true;
                self.lines
                    .warn("lanes of a generic access lie in several spaces: the lowest active lane decides for all");
            }
        }
        let opcode = self.code.opcode(&self.code.operations()[resolved as usize]);
        let (class, width) = (opcode.class, u64::from(opcode.width.max(1)));
        let every_lane_counts = mask & !opcode.addressing_lanes() == 0;
        let both = |(highest, bits): (u64, u64), address: u64| (highest.max(address), bits | address);
        let (highest, bits) = addresses().fold((0, 0), both);
        let last = highest.saturating_add(width - 1);
        let is_shared =
            matches!(class, Class::Load(Space::Shared) | Class::Store(Space::Shared) | Class::Atomic(Space::Shared));
        if class.is_device_memory() || class == Class::Load(Space::Constant) {
            let most = self.limits.address_bits;
            if address_bits(highest) > most {
                return Err(self.lines.refuse(too_wide(highest, most)));
            }
            if address_bits(last) > most {
                let message =
                    format!("the {width} bytes at {highest:#x} reach beyond the {most} address bits of the machine");
                return Err(self.lines.refuse(format!("{message}: {}", wider(address_bits(last)))));
            }
            self.highest = self.highest.max(last);
        } else if is_shared && every_lane_counts && !is_mixed && (!is_generic || self.header.has_windows()) {
            // A shared memory address in a trace is either an offset from the start of shared memory, or a
            // generic address in the shared memory window.
            let is_in_window = self.header.has_windows() && self.header.space_of(highest) == Space::Shared;
            let start = if is_in_window { self.header.shared_base } else { 0 };
            let most = self.limits.shared_bytes;
            let is_beyond = last.saturating_sub(start) >= most.saturating_add(SHARED_RESERVED);
            if is_beyond && is_in_window {
                self.lines.warn(format!("shared memory is accessed beyond the {most} bytes of an SM"));
            } else if is_beyond {
                return Err(self.lines.refuse(format!(
                    "the {width} bytes at {highest:#x} lie beyond the {most} bytes of shared memory of an SM"
                )));
            }
        } else {
            return Ok(resolved);
        }
        if bits & (width - 1) != 0 && every_lane_counts {
            self.lines.warn("an address is not a multiple of the access size: it is rounded down");
        }
        Ok(resolved)
    }

    /// Advances to the next line inside a CTA, where the file must not end.
    fn advance_in(&mut self, expected: &str) -> Result<(), TraceError> {
        if self.lines.advance()? {
            return Ok(());
        }
        let message = format!("the file ends within a CTA, expected {expected}");
        Err(self.lines.refuse(message))
    }

    /// Parses the value in the current line, which must have the form `key = value`.
    fn value<T>(&self, key: &str, what: &str, read: impl Fn(&[u8]) -> Option<T>) -> Result<T, TraceError> {
        let line = self.lines.line();
        let Some((_, value)) = fields::key_value(line).filter(|(found, _)| *found == key.as_bytes()) else {
            let found = Word { text: line.trim_ascii(), start: line.len() - line.trim_ascii_start().len() };
            return Err(self.lines.fault(found.refuse(&format!("`{key} = ` and {what}"))));
        };
        read(value.text).ok_or_else(|| {
            let fault = if value.text.is_empty() {
                Fault::new(value.span(), "here", format!("`{key} =` should be followed by {what}"))
            } else {
                value.refuse(&format!("{what} for `{key}`"))
            };
            self.lines.fault(fault)
        })
    }
}

/// Returns the number of bits that an address needs.
pub(super) fn address_bits(address: u64) -> u32 {
    u64::BITS - address.leading_zeros()
}

/// Returns the error message for an address that needs more than `bits` bits.
pub(super) fn too_wide(address: u64, bits: u32) -> String {
    let needed = address_bits(address);
    format!("{address:#x} takes {needed} address bits, but the machine has {bits}: {}", wider(needed))
}

/// Returns advice on how to configure a machine whose addresses have `needed` bits.
fn wider(needed: u32) -> String {
    if needed <= MAX_ADDRESS_BITS {
        format!("use `--set addr_bits={needed}`")
    } else {
        format!("none can have more than {MAX_ADDRESS_BITS}")
    }
}

fn number(text: &[u8]) -> Option<u32> {
    u32::try_from(fields::decimal(text)?).ok()
}

impl Iterator for KernelTrace {
    type Item = Result<Cta, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_cta().transpose()
    }
}

impl std::fmt::Debug for KernelTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelTrace").field("header", &self.header).field("ctas", &self.ctas).finish_non_exhaustive()
    }
}
