//! # Device library
//! Functions that kernels call but do not contain, because the CUDA driver provides them: `printf`, `malloc`
//! and `free`. They are PTX here, which is added to the modules that declare them, so their instructions and
//! accesses take simulated time like those of the kernel. `printf` only writes records to a buffer in device
//! memory. The host reads them after the launch ([`take_printed`]).

use cuda::wire::Printed;
use warpsieve::run::Device;

/// Size in bytes of the heap of a module unless the program sets another one, as in CUDA.
pub const DEFAULT_HEAP_BYTES: u64 = 8 << 20;
/// Functions of each part of the library, and the PTX text of the part.
const PARTS: [(&[&str], &str); 2] =
    [(&["vprintf"], include_str!("device/vprintf.ptx")), (&["malloc", "free"], include_str!("device/malloc.ptx"))];
/// Size in bytes of a record of `printf`, without its arguments.
const RECORD_BYTES: u64 = 16;

/// Returns the text of a module with the functions of the library that it declares.
pub fn link(text: &str, heap_bytes: u64) -> String {
    let declares = |name: &&str| {
        text.lines()
            .filter(|line| line.starts_with(".extern .func"))
            .any(|line| line.split([' ', '(']).any(|word| word == *name))
    };
    let mut linked = text.to_owned();
    for (names, part) in PARTS {
        if names.iter().any(declares) {
            linked.push('\n');
            linked.push_str(&part.replace("HEAP_BYTES", &heap_bytes.to_string()));
        }
    }
    linked
}

/// Returns what a launch of a module has printed, and empties the buffer. The second number counts the bytes
/// of records that did not fit into the buffer.
pub fn take_printed(device: &mut Device<'_>, module: usize) -> Result<(Vec<Printed>, u64), String> {
    let variables = device.variables(module);
    let find = |name: &str| variables.iter().find(|variable| variable.name == name);
    let (Some(used), Some(buffer)) = (find("warpsieve_printed"), find("warpsieve_print_buffer")) else {
        return Ok((Vec::new(), 0));
    };
    let reserved = u64_at(&device.read(used.address, 8)?, 0);
    if reserved == 0 {
        return Ok((Vec::new(), 0));
    }
    let bytes = device.read(buffer.address, reserved.min(buffer.bytes) as usize)?;
    device.write(used.address, &[0; 8])?;
    device.write(buffer.address, &vec![0; bytes.len()])?;
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at + RECORD_BYTES as usize <= bytes.len() {
        let (format, size) = (u64_at(&bytes, at), u64_at(&bytes, at + 8) as usize);
        if format == 0 {
            break;
        }
        at += RECORD_BYTES as usize;
        let format = string_at(device, format);
        let string = |address| string_at(device, address);
        pieces.extend(Conversions { string: &string, arguments: &bytes[at..at + size], at: 0 }.apply(&format));
        at += size.next_multiple_of(8);
    }
    Ok((pieces, reserved - at as u64))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Returns the string at a device address. Strings in other memory than that of the device are named by their
/// address.
fn string_at(device: &Device<'_>, address: u64) -> String {
    let Some(range) = device.allocation(address) else { return format!("(string at {address:#x})") };
    let bytes = device.read(address, (range.end() - address) as usize).unwrap_or_default();
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
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

    /// Divides a format into texts and conversions, each with its argument.
    fn apply(mut self, format: &str) -> Vec<Printed> {
        let mut pieces = Vec::new();
        let mut rest = format;
        while let Some((text, after)) = rest.split_once('%') {
            pieces.push(Printed::Text(text.to_owned()));
            let end = after.find(|c: char| !" -+#0123456789.*hlLjztq".contains(c));
            let Some(end) = end else {
                rest = "";
                break;
            };
            let mut kind = after[end..].chars();
            let conversion = kind.next().unwrap_or('%');
            pieces.push(self.convert(&after[..end], conversion));
            rest = kind.as_str();
        }
        pieces.push(Printed::Text(rest.to_owned()));
        pieces.retain(|piece| *piece != Printed::Text(String::new()));
        pieces
    }

    /// Returns the output of one conversion: `options` has its flags, width, precision and length.
    fn convert(&mut self, options: &str, conversion: char) -> Printed {
        let mut format = "%".to_owned();
        for option in options.chars() {
            match option {
                '*' => format.push_str(&(self.next(4) as i32).to_string()),
                'h' | 'l' | 'L' | 'j' | 'z' | 't' | 'q' => {}
                other => format.push(other),
            }
        }
        let is_long = options.contains(['l', 'L', 'j', 'z', 't', 'q']);
        match conversion {
            '%' => Printed::Text("%".to_owned()),
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
                Printed::Integer { format, value }
            }
            'p' => {
                format.push(conversion);
                Printed::Integer { format, value: self.next(8) }
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => {
                format.push(conversion);
                Printed::Real { format, value: f64::from_bits(self.next(8)) }
            }
            's' => {
                format.push(conversion);
                let address = self.next(8);
                let value = (self.string)(address);
                Printed::String { format, value }
            }
            other => Printed::Text(format!("%{options}{other}")),
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
        let linked = [head, &printing, &allocating].map(|text| link(text, 4096));
        assert_eq!(linked[0], head);
        assert!(linked[1].contains("warpsieve_print_buffer") && !linked[1].contains("warpsieve_heap"));
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
        let text = |text: &str| Printed::Text(text.to_owned());
        let expected = [
            text("a"),
            Printed::Integer { format: "%-3lld".to_owned(), value: 7 },
            text("|"),
            Printed::Real { format: "%-8.2f".to_owned(), value: 2.5 },
            Printed::Integer { format: "%llu".to_owned(), value: 255 },
            text("%"),
            text(" "),
            Printed::String { format: "%s".to_owned(), value: "<0x1234>".to_owned() },
            Printed::Integer { format: "%llx".to_owned(), value: 1 << 40 },
        ];
        assert_eq!(pieces, expected);
    }
}
