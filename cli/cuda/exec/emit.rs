//! Writes one launch file per kernel launch, so that `warpsieve run` repeats the launch without the program.
//! The file gives the contents of all device memory before the launch, and the contents of the buffers that
//! the launch changed. Buffers have the addresses that they had in the program, so pointers within buffers
//! and structs stay valid. Buffers with equal contents share one file.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType};
use isa::program::{Param, STACK_BYTES};
use isa::types::Type;
use rtl::sm::NamedRange;
use toml::Value;
use warpsieve::launch::write_npy;
use warpsieve::run::{Device, DeviceKernel, DeviceLaunch, DeviceVariable, RunError};

use crate::failure;

/// Folder for the files with the contents of buffers, inside the folder of the launch files.
const DATA: &str = "data";

/// Writer of the launch files that repeat the launches of a CUDA program.
pub(crate) struct Emitter {
    folder: PathBuf,
    program: String,
    /// Names of the files that have already been written to the folder `data`.
    data: BTreeSet<String>,
}

/// Launch file of a kernel launch that has not ended yet.
pub(crate) struct Emitted {
    path: PathBuf,
    text: String,
    /// Buffers that kernels can write. Each has its name, its device address, and its contents before the
    /// launch.
    buffers: Vec<(String, u64, Vec<u8>)>,
}

impl Emitter {
    /// Creates the folders for launch files and for the contents of buffers.
    pub fn new(folder: &Path, program: &Path) -> Result<Self, RunError> {
        let data = folder.join(DATA);
        fs::create_dir_all(&data).map_err(|e| failure(&data, &format!("the folder cannot be created: {e}")))?;
        let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { folder: folder.to_owned(), program, data: BTreeSet::new() })
    }

    /// Starts the launch file of a kernel launch: describes the launch and the contents of device memory
    /// before it.
    pub fn before(
        &mut self,
        number: u64,
        device: &Device<'_>,
        module: usize,
        kernel: &DeviceKernel,
        launch: &DeviceLaunch,
    ) -> Result<Emitted, RunError> {
        let name = &kernel.program().name;
        let (ptx, text) = device.source(module);
        let ptx_path = self.folder.join(ptx);
        if !ptx_path.exists() {
            fs::write(&ptx_path, text).map_err(|e| unwritten(&ptx_path, &e))?;
        }
        let title = format!("launch {number} of {}", self.program);
        let mut file = format!("title = {}\nptx = {}\n", quote(&title), quote(ptx));
        let variables = device.variables(module);
        let variables = variables.iter().filter(|variable| variable.bytes > 0);
        let mut buffers = Vec::new();
        let own: Vec<&DeviceVariable> = variables.clone().collect();
        for variable in &own {
            let symbol = format!("symbol = {}\n", quote(&variable.name));
            let bytes = device.read(variable.address, variable.bytes as usize);
            let bytes = bytes.map_err(|e| failure(&self.folder, &e))?;
            self.buffer(&mut file, &variable.name, variable.address, &symbol, &bytes)?;
            if !variable.is_constant {
                buffers.push((variable.name.clone(), variable.address, bytes));
            }
        }
        let is_own = |range: &NamedRange| {
            own.iter().any(|variable| range.start <= variable.address && variable.address < range.end())
        };
        for range in device.allocations().filter(|range| !is_own(range)) {
            let bytes = device.read(range.start, range.bytes as usize).map_err(|e| failure(&self.folder, &e))?;
            self.buffer(&mut file, &range.name, range.start, "", &bytes)?;
            buffers.push((range.name.clone(), range.start, bytes));
        }
        let DeviceLaunch { grid, block, shared_bytes, params } = launch;
        let arguments = kernel.parameters().iter().map(|param| {
            let bytes = &params[param.offset as usize..][..param.bytes as usize];
            argument(param, bytes, &buffers)
        });
        let arguments: Vec<String> = arguments.collect();
        let shared = if *shared_bytes == 0 { String::new() } else { format!("shared_bytes = {shared_bytes}\n") };
        let stack = match kernel.program().stack_bytes {
            0 | STACK_BYTES => String::new(),
            bytes => format!("stack_bytes = {bytes}\n"),
        };
        let launch = format!(
            "\n[[step]]\n[[step.launch]]\nkernel = {}\ngrid = {grid:?}\nblock = {block:?}\n{shared}{stack}args = [\n    {},\n]\n",
            quote(name),
            arguments.join(",\n    ")
        );
        file.push_str(&launch.replace("args = [\n    ,\n]", "args = []"));
        let stem: String = name.chars().take(60).collect();
        let path = self.folder.join(format!("{number:04}-{stem}.toml"));
        Ok(Emitted { path, text: file, buffers })
    }

    /// Writes the launch file. Its expected results are the contents of all buffers that the launch has
    /// changed.
    pub fn after(&mut self, emitted: Emitted, device: &Device<'_>) -> Result<(), RunError> {
        let Emitted { path, mut text, buffers } = emitted;
        for (name, address, before) in buffers {
            let after = device.read(address, before.len()).map_err(|e| failure(&self.folder, &e))?;
            if after != before {
                let file = self.content(&after)?;
                let name = quote(&name);
                let _ = write!(text, "\n[[output]]\nbuffer = {name}\nexpect = {{ file = {} }}\n", quote(&file));
            }
        }
        fs::write(&path, text).map_err(|e| unwritten(&path, &e))
    }

    /// Adds a buffer and its initial contents to a launch file.
    fn buffer(
        &mut self,
        to: &mut String,
        name: &str,
        address: u64,
        symbol: &str,
        bytes: &[u8],
    ) -> Result<(), RunError> {
        let init = match bytes.iter().all(|&byte| byte == 0) {
            true => quote("zeros"),
            false => format!("{{ file = {} }}", quote(&self.content(bytes)?)),
        };
        let (name, elements) = (quote(name), bytes.len());
        let _ = write!(
            to,
            "\n[[buffer]]\nname = {name}\ntype = \"u8\"\nelements = {elements}\naddress = {address:#x}\n{symbol}init = {init}\n"
        );
        Ok(())
    }

    /// Writes the contents of a buffer to a file, unless a file for equal contents (same hash and length)
    /// exists. Returns the path of the file, relative to the folder of the launch files.
    fn content(&mut self, bytes: &[u8]) -> Result<String, RunError> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let name = format!("{DATA}/{:016x}-{}.npy", hasher.finish(), bytes.len());
        if self.data.insert(name.clone()) {
            let path = self.folder.join(&name);
            let array = Array::from_bytes(ElementType::U8, bytes.to_vec());
            write_npy(&path, &array).map_err(|e| unwritten(&path, &e))?;
        }
        Ok(name)
    }
}

fn unwritten(path: &Path, error: &dyn Display) -> RunError {
    failure(path, &format!("cannot be written: {error}"))
}

/// Returns a string as a quoted TOML string.
fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// Returns the value of a kernel parameter as the launch file writes it: an address in a buffer, a scalar, or
/// bytes.
fn argument(param: &Param, bytes: &[u8], buffers: &[(String, u64, Vec<u8>)]) -> String {
    let value = bytes.iter().take(8).rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let scalar = match (param.ty, bytes.len()) {
        (Type::U64 | Type::S64 | Type::B64, 8) => {
            let holds =
                |(_, start, content): &&(String, u64, Vec<u8>)| (*start..start + content.len() as u64).contains(&value);
            Some(match buffers.iter().find(holds) {
                Some((name, start, _)) if *start == value => quote(name),
                Some((name, start, _)) => format!("{{ buffer = {}, offset = {} }}", quote(name), value - start),
                None if value == 0 => quote("null"),
                None => format!("{{ i64 = {} }}", value as i64),
            })
        }
        (Type::U32 | Type::S32 | Type::B32, 4) => Some(format!("{{ i32 = {} }}", value as u32 as i32)),
        (Type::F32, 4) => Some(f32::from_bits(value as u32))
            .filter(|real| real.is_finite())
            .map(|real| format!("{{ f32 = {real:?} }}")),
        (Type::F64, 8) => {
            Some(f64::from_bits(value)).filter(|real| real.is_finite()).map(|real| format!("{{ f64 = {real:?} }}"))
        }
        _ => None,
    };
    scalar.unwrap_or_else(|| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{{ bytes = \"{digits}\" }}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_written_as_what_its_parameter_takes() {
        let param = |ty, bytes| Param { name: "p".to_owned(), ty, offset: 0, bytes, align: 4 };
        let buffers = [("a b".to_owned(), 0x10_0000, vec![0; 16])];
        let of = |ty, bytes: &[u8]| argument(&param(ty, bytes.len() as u32), bytes, &buffers);
        assert_eq!(of(Type::U64, &0x10_0000u64.to_le_bytes()), "\"a b\"");
        assert_eq!(of(Type::U64, &0x10_0004u64.to_le_bytes()), "{ buffer = \"a b\", offset = 4 }");
        assert_eq!(of(Type::U64, &[0; 8]), "\"null\"");
        assert_eq!(of(Type::B64, &u64::MAX.to_le_bytes()), "{ i64 = -1 }");
        assert_eq!(of(Type::U32, &7u32.to_le_bytes()), "{ i32 = 7 }");
        assert_eq!(of(Type::F32, &0.1f32.to_le_bytes()), "{ f32 = 0.1 }");
        assert_eq!(of(Type::F32, &f32::NAN.to_le_bytes()), "{ bytes = \"0000c07f\" }");
        assert_eq!(of(Type::B8, &[1, 2, 3]), "{ bytes = \"010203\" }");
    }
}
