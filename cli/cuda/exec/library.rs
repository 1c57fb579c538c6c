//! # Device library
//! Functions that kernels call but do not contain, because the CUDA driver provides them: `printf`, `malloc`
//! and `free`. They are PTX here, which is added to the modules that declare them, so their instructions and
//! accesses take simulated time like those of the kernel. `printf` only writes records to a buffer in device
//! memory. The host reads them after the launch ([`PrintBuffer::take`]).

use cuda::wire::{Limit, PrintPiece};
use warpsieve::run::Device;

/// Functions of each part of the library, and the PTX text of the part.
const PARTS: [(&[&str], &str); 2] =
    [(&["vprintf"], include_str!("device/vprintf.ptx")), (&["malloc", "free"], include_str!("device/malloc.ptx"))];
/// Largest heap: the heads of the lists of free blocks number the blocks of 16 bytes with 32 bits.
const MAX_HEAP_BYTES: u64 = 16 << 32;
/// Number of bytes that are read at once to find the end of a string.
const STRING_PIECE_BYTES: u64 = 256;

/// Sizes of the memory that the library provides to each module.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    print_bytes: u64,
    heap_bytes: u64,
}

impl Default for Sizes {
    /// Returns the sizes that CUDA has if a program sets no limits.
    fn default() -> Self {
        Self { print_bytes: 1 << 20, heap_bytes: 8 << 20 }
    }
}

impl Sizes {
    /// Sets one of the sizes, and returns false if it is larger than the library supports. A size of 0 becomes
    /// that of the smallest variable.
    pub fn set(&mut self, limit: Limit, bytes: u64) -> bool {
        let size = match limit {
            Limit::PrintBuffer => &mut self.print_bytes,
            Limit::Heap if bytes > MAX_HEAP_BYTES => return false,
            Limit::Heap => &mut self.heap_bytes,
        };
        *size = bytes.max(1);
        true
    }
}

/// Returns the name of the variable that the library adds to the modules that use the limited memory.
pub fn variable_of(limit: Limit) -> &'static str {
    match limit {
        Limit::PrintBuffer => "warpsieve_print_buffer",
        Limit::Heap => "warpsieve_heap",
    }
}

/// Returns the text of a module with the functions of the library that it declares.
pub fn link(text: &str, sizes: Sizes) -> String {
    let declarations = text.lines().filter(|line| line.starts_with(".extern .func"));
    let declared: Vec<&str> = declarations.flat_map(|line| line.split([' ', '('])).collect();
    let mut linked = text.to_owned();
    for (_, part) in PARTS.iter().filter(|(names, _)| names.iter().any(|name| declared.contains(name))) {
        let part = part.replace("HEAP_BYTES", &sizes.heap_bytes.to_string());
        linked.push('\n');
        linked.push_str(&part.replace("PRINT_BYTES", &sizes.print_bytes.to_string()));
    }
    linked
}

/// Buffer to which the kernels of a module write what they print.
#[derive(Clone, Copy, Debug)]
pub struct PrintBuffer {
    /// Device address of the number of reserved bytes.
    reserved: u64,
    /// Device address of the records.
    records: u64,
    /// Size of the memory for records in bytes.
    bytes: u64,
}

impl PrintBuffer {
    /// Returns the buffer of a module, or `None` if the module does not print.
    pub fn find(device: &Device<'_>, module: usize) -> Option<Self> {
        let variables = device.variables(module);
        let find = |name: &str| variables.iter().find(|variable| variable.name == name);
        let records = find(variable_of(Limit::PrintBuffer))?;
        Some(Self { reserved: find("warpsieve_printed")?.address, records: records.address, bytes: records.bytes })
    }

    /// Returns what a launch has printed, and empties the buffer. The second number counts the bytes of
    /// records that did not fit into the buffer.
    pub fn take(self, device: &mut Device<'_>) -> Result<(Vec<PrintPiece>, u64), String> {
        let reserved = device.read(self.reserved, 8)?;
        let reserved = reserved.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if reserved == 0 {
            return Ok((Vec::new(), 0));
        }
        let bytes = device.read(self.records, reserved.min(self.bytes) as usize)?;
        device.write(self.reserved, &[0; 8])?;
        device.write(self.records, &vec![0; bytes.len()])?;
        let (mut pieces, mut taken) = (Vec::new(), 0);
        for Record { format, arguments, bytes } in records(&bytes) {
            let string = |address| string_at(device, address);
            pieces.extend(Conversions { string: &string, arguments, at: 0 }.apply(&string(format)));
            taken += bytes as u64;
        }
        Ok((pieces, reserved.saturating_sub(taken)))
    }
}

/// Record of one call of `printf`.
#[derive(Debug, PartialEq)]
struct Record<'b> {
    /// Device address of the format.
    format: u64,
    arguments: &'b [u8],
    /// Size of the whole record in bytes.
    bytes: usize,
}

/// Returns the records at the start of a print buffer. The iterator ends at memory without a record, and at a
/// record whose size exceeds the buffer, because a kernel has overwritten it.
fn records(mut buffer: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (format, rest) = buffer.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let (format, size) = (u64::from_le_bytes(*format), u32::from_le_bytes(*size) as usize);
        // 4 unused bytes lie between the size and the arguments.
        let arguments = rest.get(4..)?.get(..size)?;
        let bytes = 16 + size.next_multiple_of(8);
        buffer = buffer.get(bytes..)?;
        (format != 0).then_some(Record { format, arguments, bytes })
    })
}

/// Returns the string at a device address. Strings in other memory than that of the device are named by their
/// address.
fn string_at(device: &Device<'_>, address: u64) -> String {
    let Some(range) = device.allocation(address) else { return format!("(string at {address:#x})") };
    let (mut string, mut at) = (Vec::new(), address);
    while at < range.end() {
        let bytes = (range.end() - at).min(STRING_PIECE_BYTES);
        let piece = device.read(at, bytes as usize).unwrap_or_default();
        if let Some(end) = piece.iter().position(|&byte| byte == 0) {
            string.extend_from_slice(&piece[..end]);
            break;
        }
        string.extend_from_slice(&piece);
        at += bytes;
    }
    String::from_utf8_lossy(&string).into_owned()
}

/// Arguments of a call of `printf`, which its conversions take one after the other.
struct Conversions<'c> {
    /// Returns the string at a device address.
    string: &'c dyn Fn(u64) -> String,
    arguments: &'c [u8],
    /// Offset in `arguments` of the first byte that no conversion has taken.
    at: usize,
}

impl Conversions<'_> {
    /// Returns the next argument of 4 or 8 bytes, extended with zeros; 0 if there is none.
    fn next(&mut self, size: usize) -> u64 {
        let start = self.at.next_multiple_of(size);
        self.at = start + size;
        let mut word = [0; 8];
        if let Some(argument) = self.arguments.get(start..start + size) {
            word[..size].copy_from_slice(argument);
        }
        u64::from_le_bytes(word)
    }

    /// Divides a format into texts and conversions, each with its argument. As in `vprintf.ptx`, a conversion
    /// ends at the first `%`, or at the first letter or other character from `A` on that is no length.
    fn apply(mut self, format: &str) -> Vec<PrintPiece> {
        let mut pieces = Vec::new();
        let mut rest = format;
        while let Some((text, after)) = rest.split_once('%') {
            pieces.push(PrintPiece::Text(text.to_owned()));
            let end = after.find(|c: char| c == '%' || (c >= 'A' && !"hlLjztq".contains(c)));
            let Some(end) = end else {
                rest = "";
                break;
            };
            let mut kind = after[end..].chars();
            let conversion = kind.next().unwrap_or('%');
            pieces.push(self.convert(&after[..end], conversion));
            rest = kind.as_str();
        }
        pieces.push(PrintPiece::Text(rest.to_owned()));
        pieces.retain(|piece| *piece != PrintPiece::Text(String::new()));
        pieces
    }

    /// Returns the output of one conversion: `options` has its flags, width, precision and length.
    fn convert(&mut self, options: &str, conversion: char) -> PrintPiece {
        let mut format = "%".to_owned();
        for option in options.chars() {
            match option {
                '*' => {
                    let number = self.next(4) as i32;
                    match format.strip_suffix('.') {
                        // A negative precision counts as none.
                        Some(before) if number < 0 => format.truncate(before.len()),
                        _ => format.push_str(&number.to_string()),
                    }
                }
                ' ' | '-' | '+' | '#' | '.' | '0'..='9' => format.push(option),
                _ => {}
            }
        }
        let is_long = options.contains(['l', 'L', 'j', 'z', 't', 'q']);
        match conversion {
            '%' => PrintPiece::Text("%".to_owned()),
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'c' => {
                let value = self.next(if is_long { 8 } else { 4 });
                let small = options.matches('h').count();
                let signed = matches!(conversion, 'd' | 'i' | 'c');
                let value = match (is_long, small, signed) {
                    (true, ..) => value,
                    (_, 0, true) => i64::from(value as i32) as u64,
                    (_, 0, false) => value,
                    (_, 1, true) => i64::from(value as i16) as u64,
                    (_, 1, false) => u64::from(value as u16),
                    (_, _, true) => i64::from(value as i8) as u64,
                    (_, _, false) => u64::from(value as u8),
                };
                format.push_str(if conversion == 'c' { "" } else { "ll" });
                format.push(conversion);
                PrintPiece::Integer { format, value }
            }
            'p' => {
                format.push(conversion);
                PrintPiece::Integer { format, value: self.next(8) }
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => {
                format.push(conversion);
                PrintPiece::Real { format, value: f64::from_bits(self.next(8)) }
            }
            's' => {
                format.push(conversion);
                let address = self.next(8);
                let value = (self.string)(address);
                PrintPiece::String { format, value }
            }
            other => {
                self.next(if is_long { 8 } else { 4 });
                PrintPiece::Text(format!("%{options}{other}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_declared_functions_are_added_and_the_heap_has_the_requested_size() {
        let head = ".version 7.0\n.target sm_75\n.address_size 64\n";
        let printing = format!("{head}.extern .func  (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n");
        let allocating = format!("{head}.extern .func free\n(.param .b64 a);\n");
        let linked =
            [head, &printing, &allocating].map(|text| link(text, Sizes { print_bytes: 512, heap_bytes: 4096 }));
        assert_eq!(linked[0], head);
        assert!(linked[1].contains("warpsieve_print_buffer[512]") && !linked[1].contains("warpsieve_heap"));
        assert!(linked[2].contains("warpsieve_heap[4096]") && !linked[2].contains("warpsieve_print_buffer"));
        for text in linked {
            ptx::Source::new("linked.ptx", &text).parse().unwrap();
        }
    }

    #[test]
    fn conversions_take_their_arguments_by_size_and_alignment() {
        let mut arguments = Vec::new();
        arguments.extend((-3i32).to_le_bytes());
        arguments.extend(7i32.to_le_bytes());
        arguments.extend(2.5f64.to_le_bytes());
        arguments.extend((-1i32).to_le_bytes());
        arguments.extend([0; 4]);
        arguments.extend(0x1234u64.to_le_bytes());
        arguments.extend((1u64 << 40).to_le_bytes());
        let string = |address| format!("<{address:#x}>");
        let pieces = Conversions { string: &string, arguments: &arguments, at: 0 }.apply("a%*d|%-8.2f%hhu%% %s%lx%");
        let text = |text: &str| PrintPiece::Text(text.to_owned());
        let expected = [
            text("a"),
            PrintPiece::Integer { format: "%-3lld".to_owned(), value: 7 },
            text("|"),
            PrintPiece::Real { format: "%-8.2f".to_owned(), value: 2.5 },
            PrintPiece::Integer { format: "%llu".to_owned(), value: 255 },
            text("%"),
            text(" "),
            PrintPiece::String { format: "%s".to_owned(), value: "<0x1234>".to_owned() },
            PrintPiece::Integer { format: "%llx".to_owned(), value: 1 << 40 },
        ];
        assert_eq!(pieces, expected);
    }

    /// Returns the pieces of a format whose arguments are words of 4 bytes.
    fn pieces(format: &str, arguments: &[i32]) -> Vec<PrintPiece> {
        let arguments: Vec<u8> = arguments.iter().flat_map(|word| word.to_le_bytes()).collect();
        Conversions { string: &|_| String::new(), arguments: &arguments, at: 0 }.apply(format)
    }

    #[test]
    fn formats_that_are_not_in_c_end_where_the_kernel_ends_them() {
        let integer = |format: &str, value| PrintPiece::Integer { format: format.to_owned(), value };
        let text = |text: &str| PrintPiece::Text(text.to_owned());
        // A negative precision counts as none, a negative width aligns to the left.
        assert_eq!(pieces("%.*d%*d", &[-1, 5, -6, 7]), [integer("%lld", 5), integer("%-6lld", 7)]);
        // An unknown conversion takes an argument, so the next one gets the second.
        assert_eq!(pieces("%y%d", &[1, 2]), [text("%y"), integer("%lld", 2)]);
        // Characters below `A` belong to the conversion, but are no flags of C.
        assert_eq!(pieces("%!&5d", &[3]), [integer("%5lld", 3)]);
        assert_eq!(pieces("%5%%d", &[3]), [text("%"), integer("%lld", 3)]);
    }

    #[test]
    fn records_end_at_the_end_of_the_buffer_and_at_a_wrong_size() {
        let record = |size: u32, arguments: &[u8]| {
            let mut bytes = 0x100u64.to_le_bytes().to_vec();
            bytes.extend(size.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(arguments);
            bytes
        };
        let two = [record(4, &[1, 2, 3, 4, 0, 0, 0, 0]), record(0, &[])].concat();
        let expected = [
            Record { format: 0x100, arguments: &[1, 2, 3, 4], bytes: 24 },
            Record { format: 0x100, arguments: &[], bytes: 16 },
        ];
        assert_eq!(records(&two).collect::<Vec<_>>(), expected);
        // Memory after the records is empty; the rest of a record that was cut off has no meaning.
        assert_eq!(records(&[two.clone(), vec![0; 32]].concat()).collect::<Vec<_>>(), expected);
        assert_eq!(records(&two[..39]).collect::<Vec<_>>(), expected[..1]);
        for size in [9, u32::MAX] {
            assert_eq!(records(&record(size, &[0; 8])).next(), None, "a size of {size} bytes");
        }
        assert_eq!(records(&two[..7]).next(), None);
    }

    #[test]
    fn a_heap_beyond_the_numbers_of_its_blocks_is_refused() {
        let mut sizes = Sizes::default();
        assert!(sizes.set(Limit::Heap, 64 << 30) && sizes.set(Limit::PrintBuffer, 0));
        assert_eq!((sizes.heap_bytes, sizes.print_bytes), (64 << 30, 1));
        assert!(!sizes.set(Limit::Heap, (64 << 30) + 1));
    }
}
