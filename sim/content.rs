//! Detects the kind of a file from its first bytes, so that an error message can name the kind of a wrong
//! file.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Maximum number of bytes at the start of a file that are read to detect its kind.
const HEAD: usize = 4096;

/// Kind of an input file, as detected from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Launch file: buffers, kernels and expected results.
    Launch,
    /// Sweep file: workloads, and the machines and designs on which they run.
    Sweep,
    /// Machine file: every field of a machine, or the fields in which it differs from another machine.
    Machine,
    /// Design file: the fields in which a design differs from its machine.
    Design,
    /// PTX text of kernels.
    Ptx,
    /// Compiled kernels for one NVIDIA GPU.
    Cubin,
    /// Compiled kernels for several GPUs.
    FatBinary,
    /// ELF program, object or library.
    Elf,
    /// CUDA C++ source.
    Cuda,
    /// LLVM IR as text or bitcode.
    Llvm,
    /// NumPy file with one array.
    Npy,
    /// ZIP archive, such as a NumPy file with several arrays.
    Zip,
    /// Instruction trace of a kernel.
    Trace,
    /// List of the kernels in a trace.
    TraceList,
    /// Trace of DRAM requests.
    DramTrace,
    /// Checkpoint from which a run can resume.
    Checkpoint,
    /// Statistics of a run.
    Statistics,
    /// JSON file other than statistics.
    Json,
    /// Waveform file, VCD or FST.
    Waveform,
    /// HTML page or picture.
    Page,
    /// File compressed with gzip, bzip2, LZ4, LZMA, xz or Zstandard.
    Packed,
}

impl Content {
    /// Detects the kind of a file from its first bytes; `None` if the bytes identify no kind.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const BINARY: [(&[u8], Content); 14] = [
            (b"\x50\xed\x55\xba", Content::FatBinary),
            (b"\x93NUMPY", Content::Npy),
            (b"PK\x03\x04", Content::Zip),
            (b"BC\xc0\xde", Content::Llvm),
            (b"\x1f\x8b", Content::Packed),
            (b"\xfd7zXZ\0", Content::Packed),
            (b"\x28\xb5\x2f\xfd", Content::Packed),
            // Start of an FST file: a header block (type 0) with a length of 329 bytes.
            (b"\0\0\0\0\0\0\0\x01\x49", Content::Waveform),
            (b"warpsieve checkpoint ", Content::Checkpoint),
            (b"\x89PNG", Content::Page),
            (b"%PDF", Content::Page),
            (b"BZh", Content::Packed),
            (b"\x04\x22\x4d\x18", Content::Packed),
            // LZMA with its usual properties byte, followed by the dictionary size.
            (b"\x5d\0\0", Content::Packed),
        ];
        /// Machine number in the ELF header that identifies code for NVIDIA GPUs.
        const ELF_OF_CUDA: [u8; 2] = 190_u16.to_le_bytes();
        let head = &bytes[..bytes.len().min(HEAD)];
        if head.starts_with(b"\x7fELF") {
            return Some(if head.get(18..20) == Some(&ELF_OF_CUDA) { Self::Cubin } else { Self::Elf });
        }
        if let Some((_, content)) = BINARY.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Some(*content);
        }
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
            Err(_) => return None,
        };
        Self::of_text(text.trim_start_matches('\u{feff}'))
    }

    fn of_text(text: &str) -> Option<Self> {
        const WORDS: [(&str, Content); 17] = [
            (".version", Content::Ptx),
            ("-kernel name", Content::Trace),
            ("#BEGIN_TB", Content::Trace),
            ("Memcpy", Content::TraceList),
            ("$date", Content::Waveform),
            ("$version", Content::Waveform),
            ("$timescale", Content::Waveform),
            ("$comment", Content::Waveform),
            ("<!DOCTYPE", Content::Page),
            ("<html", Content::Page),
            ("<svg", Content::Page),
            ("<?xml", Content::Page),
            ("; ModuleID", Content::Llvm),
            ("source_filename", Content::Llvm),
            ("target datalayout", Content::Llvm),
            ("cycle,op,addr", Content::DramTrace),
            ("#include", Content::Cuda),
        ];
        let start = without_comments(text);
        if let Some((_, content)) = WORDS.iter().find(|(word, _)| start.starts_with(word)) {
            return Some(*content);
        }
        let first = start.lines().next().unwrap_or_default();
        if first.starts_with("kernel-") && first.contains(".traceg") {
            return Some(Self::TraceList);
        }
        if start.starts_with('{') {
            return Some(if start.contains("\"schema\"") { Self::Statistics } else { Self::Json });
        }
        if start.contains("__global__") {
            return Some(Self::Cuda);
        }
        Self::of_toml(text)
    }

    /// Detects the kind of a TOML file from the keys and tables of its root.
    fn of_toml(text: &str) -> Option<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (mut content, mut is_root) = (None, true);
        for line in lines {
            let table = line.strip_prefix('[').map(|table| table.trim_start_matches('['));
            is_root &= table.is_none();
            let key = match table {
                Some(table) => table.split([']', '.']).next(),
                None if is_root => line.split_once('=').map(|(key, _)| key.split('.').next().unwrap_or(key)),
                None => None,
            };
            content = content.or(match key.map(str::trim) {
                Some("buffer" | "step" | "output") => Some(Self::Launch),
                Some("launch" | "trace" | "together") => Some(Self::Sweep),
                Some("based-on" | "num_sms" | "clock") => Some(Self::Machine),
                Some("slot" | "sm" | "l1" | "l2" | "dram" | "throttle" | "tracker") => Some(Self::Design),
                _ => None,
            });
        }
        content
    }

    /// True if there is no doubt about the detected kind of a file. Machine files and design files can look
    /// alike: each of these two kinds is certain only if the file has a key that the other kind does not
    /// allow.
    fn is_certain(self, bytes: &[u8]) -> bool {
        let keys: &[&str] = match self {
            Self::Machine => &["based-on", "assumed"],
            Self::Design => &["slot"],
            _ => return true,
        };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
        let mut root = text.lines().map(str::trim).take_while(|line| !line.starts_with('['));
        root.any(|line| line.split_once('=').is_some_and(|(key, _)| keys.contains(&key.trim())))
    }

    /// Name of the kind, for use in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "a launch file",
            Self::Sweep => "a sweep file",
            Self::Machine => "a machine file",
            Self::Design => "a design file",
            Self::Ptx => "PTX",
            Self::Cubin => "a cubin",
            Self::FatBinary => "a fat binary",
            Self::Elf => "a program or library (ELF)",
            Self::Cuda => "CUDA C++",
            Self::Llvm => "LLVM IR",
            Self::Npy => "a NumPy array (.npy)",
            Self::Zip => "a ZIP archive or .npz",
            Self::Trace => "a kernel trace",
            Self::TraceList => "a trace list",
            Self::DramTrace => "a trace of DRAM requests",
            Self::Checkpoint => "a checkpoint",
            Self::Statistics => "a statistics file",
            Self::Json => "a JSON file",
            Self::Waveform => "a waveform",
            Self::Page => "a page or picture",
            Self::Packed => "a compressed file",
        }
    }

    /// Hint for messages: the command or option that accepts a file of this kind.
    fn use_of(self) -> &'static str {
        match self {
            Self::Launch => "`run` takes it",
            Self::Sweep => "`sweep` takes it",
            Self::Machine => "`--machine` takes it",
            Self::Design => "`--design` takes it",
            Self::Ptx => "a launch file names it, see docs/launch-files.md",
            Self::Cubin | Self::FatBinary | Self::Elf => {
                "warpsieve reads PTX: compile with -ptx, or extract it with `cuobjdump -xptx`"
            }
            Self::Cuda => "warpsieve reads PTX: compile with `nvcc -ptx`, see docs/own-kernel.md",
            Self::Llvm => "warpsieve reads PTX: compile with `llc -march=nvptx64`",
            Self::Npy => "a buffer or output of a launch file names it",
            Self::Trace | Self::TraceList => "`replay` takes it",
            Self::DramTrace => "`dram` takes it",
            Self::Checkpoint => "`run --resume` takes it",
            Self::Statistics => "`explain` takes it",
            Self::Waveform => "`waves follow` takes it",
            Self::Zip | Self::Packed => "unpack it first",
            Self::Json | Self::Page => "no command of warpsieve takes it",
        }
    }

    /// Returns an error message if the first bytes of a file identify a different kind than `self`, which is
    /// the expected kind.
    #[must_use]
    pub fn mismatch_message(self, bytes: &[u8]) -> Option<String> {
        let is_config = |content| matches!(content, Self::Machine | Self::Design);
        let is_other = |found: Self| match is_config(self) && is_config(found) {
            true => self != found && found.is_certain(bytes),
            false => !self.takes(found),
        };
        let found = Self::of(bytes).filter(|&found| is_other(found))?;
        Some(format!("this is {}, expected {}: {}", found.name(), self.name(), found.use_of()))
    }

    /// True if a file of kind `found`, according to its first bytes, may be used where kind `self` is
    /// expected.
    fn takes(self, found: Self) -> bool {
        let is_trace = |content| matches!(content, Self::Trace | Self::TraceList | Self::Packed);
        let is_json = |content| matches!(content, Self::Statistics | Self::Json);
        self == found
            || [is_trace as fn(Self) -> bool, is_json].iter().any(|is_alike| is_alike(self) && is_alike(found))
    }

    /// Reads a text file that is expected to be of this kind.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not text, or begins like a file of another kind.
    pub fn read(self, path: &Path) -> io::Result<String> {
        let bytes = input::read_bytes(path)?;
        if let Some(mistaken) = self.mismatch_message(&bytes) {
            return Err(io::Error::new(ErrorKind::InvalidData, mistaken));
        }
        input::as_text(bytes)
    }

    /// Checks by its first bytes that a file is of this kind. A pipe is not checked, because reading from it
    /// would consume its contents.
    ///
    /// # Errors
    /// Fails if the file begins like a file of another kind.
    pub fn check(self, path: &Path) -> io::Result<()> {
        let mut head = Vec::new();
        if path.is_file() {
            fs::File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
        }
        match self.mismatch_message(&head) {
            Some(mistaken) => Err(io::Error::new(ErrorKind::InvalidData, mistaken)),
            None => Ok(()),
        }
    }
}

/// Skips white space and C comments at the start of a text.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        rest = match (rest.strip_prefix("//"), rest.strip_prefix("/*")) {
            (Some(line), _) => line.split_once('\n').map_or("", |(_, rest)| rest),
            (None, Some(comment)) => comment.split_once("*/").map_or("", |(_, rest)| rest),
            (None, None) => return rest,
        }
        .trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_each_kind_is_told_by_how_it_begins() {
        let elf = |machine: u8| [&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[machine, 0]].concat();
        let cases: [(&[u8], Option<Content>); 32] = [
            (&elf(190), Some(Content::Cubin)),
            (&elf(62), Some(Content::Elf)),
            (b"\x50\xed\x55\xba\x01\0", Some(Content::FatBinary)),
            (b"\x93NUMPY\x01\0v\0{'descr'", Some(Content::Npy)),
            (b"PK\x03\x04rest", Some(Content::Zip)),
            (b"BC\xc0\xde5", Some(Content::Llvm)),
            (b"; ModuleID = 'a'\n", Some(Content::Llvm)),
            (b"//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version 8.0\n", Some(Content::Ptx)),
            (b"/* mine\n.version */ .version 7.0", Some(Content::Ptx)),
            (b"#include <cstdio>\n__global__ void f();", Some(Content::Cuda)),
            (b"// mine\nextern \"C\" __global__ void f();", Some(Content::Cuda)),
            (b"-kernel name = _Z4vadd\n", Some(Content::Trace)),
            (b"MemcpyHtoD,0x7f,20000\nkernel-1.traceg\n", Some(Content::TraceList)),
            (b"kernel-1.traceg.xz\n", Some(Content::TraceList)),
            (b"\xfd7zXZ\0rest", Some(Content::Packed)),
            (b"\x1f\x8b\x08rest", Some(Content::Packed)),
            (b"BZh91AY", Some(Content::Packed)),
            (b"\x04\x22\x4d\x18rest", Some(Content::Packed)),
            (b"\x5d\0\0\x80\0rest", Some(Content::Packed)),
            (b"cycle,op,addr\n0,R,0x40\n", Some(Content::DramTrace)),
            (b"warpsieve checkpoint 1\n{", Some(Content::Checkpoint)),
            (b"{\n  \"schema\": 1,\n", Some(Content::Statistics)),
            (b"{}", Some(Content::Json)),
            (b"$date today $end", Some(Content::Waveform)),
            (b"\0\0\0\0\0\0\0\x01\x49\0", Some(Content::Waveform)),
            (b"title = \"x\"\nptx = \"k.ptx\"\n[[buffer]]\nname = \"a\"\n", Some(Content::Launch)),
            (b"launch = [\"a.toml\"]\n[set]\nl1.sets = 4\n", Some(Content::Sweep)),
            (b"based-on = \"fermi\"\n[l1]\nsets = 4\n", Some(Content::Machine)),
            (b"name = \"d\"\n[l1]\nsets = 4\n", Some(Content::Design)),
            (b"[[step]]\n[[step.launch]]\nlaunch = 3\n", Some(Content::Launch)),
            (b"", None),
            (b"\xff\xfe\x00", None),
        ];
        for (bytes, content) in cases {
            assert_eq!(Content::of(bytes), content, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_is_given_in_the_place_of_another_is_named_with_what_it_is_good_for() {
        let ptx = b".version 8.0\n";
        assert_eq!(
            Content::Launch.mismatch_message(ptx).unwrap(),
            "this is PTX, expected a launch file: a launch file names it, see docs/launch-files.md"
        );
        assert_eq!(Content::Ptx.mismatch_message(ptx), None);
        assert_eq!(Content::Machine.mismatch_message(b"[l1]\nsets = 4\n"), None);
        let design = b"name = \"d\"\nslot = \"index\"\n[l1]\nsets = 4\n";
        assert_eq!(
            Content::Machine.mismatch_message(design).unwrap(),
            "this is a design file, expected a machine file: `--design` takes it"
        );
        assert_eq!(Content::Design.mismatch_message(design), None);
        let machine = b"based-on = \"fermi\"\n[l1]\nsets = 4\n";
        assert_eq!(
            Content::Design.mismatch_message(machine).unwrap(),
            "this is a machine file, expected a design file: `--machine` takes it"
        );
        assert_eq!(Content::Design.mismatch_message(b"num_sms = 16\n"), None);
        assert_eq!(Content::Trace.mismatch_message(b"\x28\xb5\x2f\xfd"), None);
    }
}
