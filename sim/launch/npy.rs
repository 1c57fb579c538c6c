//! Reading and writing of `.npy` files (NumPy arrays). A file is read as an array of one type, and written
//! atomically.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, IntoInnerError, Read, Write};
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType};
use half::f16;
use npyz::{AutoSerialize, DType, Deserialize, NpyFile, Order, TypeChar, WriterBuilder};
use thiserror::Error;
use waves::atomic_file::AtomicFile;

use crate::content::Content;

/// Size of the magic number and the version at the start of a `.npy` file, in bytes.
const MAGIC: u64 = 8;
/// Maximum size of a `.npy` header in bytes. This is ten times the size of the header for a record with a
/// hundred fields.
const MAX_HEADER_BYTES: u64 = 64 << 10;
/// Maximum total size of the elements in a `.npy` file in bytes. Buffers have the same limit.
const MAX_BYTES: u64 = 2 << 30;
/// Maximum nesting depth of brackets in a `.npy` header, enough for a record that contains arrays inside a
/// record.
const MAX_NESTING: usize = 6;

/// Reason why a `.npy` file cannot be used.
#[derive(Debug, Error)]
pub enum NpyError {
    /// The file could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
    /// The file is not a `.npy` file, or is truncated.
    #[error("{} is not a readable .npy file: {source}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Error reported by the reader.
        source: io::Error,
    },
    /// The elements of the file do not have the type of the buffer.
    #[error("{} holds {found}, expected {expected}", path.display())]
    Type {
        /// Path of the file.
        path: PathBuf,
        /// Type stated in the file.
        found: String,
        /// Type of the buffer.
        expected: ElementType,
    },
    /// The elements are stored in Fortran order (column-major), which a flat buffer does not support.
    #[error("{} is in Fortran order, expected C order: a buffer has its last index fastest", path.display())]
    Order {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
}

/// Reads a `.npy` file with an array of any shape as a flat array of type `element`.
///
/// # Errors
/// Fails if the file cannot be read or has elements of another type.
pub fn read_npy(path: &Path, element: ElementType) -> Result<Array, NpyError> {
    let open = |source| NpyError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(open)?;
    Content::Npy.check(path).map_err(|source| NpyError::Format { path: path.to_owned(), source })?;
    read_npy_bytes(path, BufReader::new(file), element)
}

/// Reads `bytes` as the contents of the `.npy` file `path`.
///
/// # Errors
/// Fails if the bytes are not a `.npy` file, or if the elements have another type.
pub fn read_npy_bytes(path: &Path, bytes: impl Read, element: ElementType) -> Result<Array, NpyError> {
    let path = || path.to_owned();
    let format = |source| NpyError::Format { path: path(), source };
    let mut bytes = check_nesting(bytes).map_err(format)?;
    let npy = NpyFile::new(&mut bytes).map_err(format)?;
    let found = npy.dtype();
    if !holds(&found, element) {
        return Err(NpyError::Type { path: path(), found: found.descr(), expected: element });
    }
    let elements = npy.shape().iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent));
    if elements.is_none_or(|elements| elements > MAX_BYTES / element.bytes() as u64) {
        let shape = npy.shape().iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let reason = format!("its shape is ({shape}), expected at most 2 GiB, the limit of a buffer");
        return Err(format(io::Error::new(io::ErrorKind::InvalidData, reason)));
    }
    if npy.order() == Order::Fortran && npy.shape().len() > 1 {
        return Err(NpyError::Order { path: path() });
    }
    let data = match element {
        ElementType::U8 => read_as(npy, u8::to_le_bytes),
        ElementType::I8 => read_as(npy, i8::to_le_bytes),
        ElementType::U16 => read_as(npy, u16::to_le_bytes),
        ElementType::F16 => read_as(npy, |value: f16| value.to_bits().to_le_bytes()),
        ElementType::I16 => read_as(npy, i16::to_le_bytes),
        ElementType::U32 => read_as(npy, u32::to_le_bytes),
        ElementType::I32 => read_as(npy, i32::to_le_bytes),
        ElementType::U64 => read_as(npy, u64::to_le_bytes),
        ElementType::I64 => read_as(npy, i64::to_le_bytes),
        ElementType::F32 => read_as(npy, f32::to_le_bytes),
        ElementType::F64 => read_as(npy, f64::to_le_bytes),
    };
    let data = data.map_err(format)?;
    if bytes.read(&mut [0]).map_err(format)? > 0 {
        let reason = "there are bytes after its elements, expected one array";
        return Err(format(io::Error::new(io::ErrorKind::InvalidData, reason)));
    }
    Ok(Array::from_bytes(element, data))
}

/// Checks how deeply brackets are nested in the header. The library must not parse a header with deep
/// nesting, since its parsing time grows exponentially with the depth.
fn check_nesting(mut bytes: impl Read) -> io::Result<impl Read> {
    let mut read = Vec::new();
    bytes.by_ref().take(MAGIC).read_to_end(&mut read)?;
    let of_length = if read.get(6) == Some(&1) { 2 } else { 4 };
    let start = read.len() + of_length;
    bytes.by_ref().take(of_length as u64).read_to_end(&mut read)?;
    let length = read.iter().skip(MAGIC as usize).rev().fold(0, |length, byte| length << 8 | u64::from(*byte));
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    if length > MAX_HEADER_BYTES {
        return refuse(format!("its header has {length} bytes, expected at most {MAX_HEADER_BYTES}"));
    }
    bytes.by_ref().take(length).read_to_end(&mut read)?;
    let (mut depth, mut most) = (0_usize, 0);
    for byte in read.iter().skip(start) {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = depth.max(most);
    }
    if most > MAX_NESTING {
        return refuse(format!("the brackets of its header are nested {most} deep, expected at most {MAX_NESTING}"));
    }
    // The product of the extents is checked here, because the library multiplies them without an overflow
    // check.
    let header = String::from_utf8_lossy(&read[start.min(read.len())..]);
    let shape = header.split_once("shape").and_then(|(_, rest)| rest.split_once('(')?.1.split_once(')'));
    if let Some((shape, _)) = shape {
        let mut extents = shape.split(',').filter_map(|extent| extent.trim().trim_end_matches('L').parse::<u64>().ok());
        if extents.try_fold(1_u64, u64::checked_mul).is_none_or(|elements| elements > MAX_BYTES) {
            return refuse(format!("its shape is ({}), expected at most 2 GiB, the limit of a buffer", shape.trim()));
        }
    }
    Ok(Cursor::new(read).chain(bytes))
}

/// True if a file with elements of type `found`, in either byte order, can be read as elements of type
/// `element`.
fn holds(found: &DType, element: ElementType) -> bool {
    let kind = match element {
        _ if element.is_real() => TypeChar::Float,
        _ if element.integer_range().is_some_and(|(low, _)| low < 0) => TypeChar::Int,
        _ => TypeChar::Uint,
    };
    match found {
        DType::Plain(found) => found.type_char() == kind && found.num_bytes() == Some(element.bytes()),
        _ => false,
    }
}

fn read_as<T: Deserialize, const N: usize>(
    npy: NpyFile<impl Read>,
    to_bytes: impl Fn(T) -> [u8; N],
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for value in npy.data::<T>().map_err(io::Error::other)? {
        bytes.extend_from_slice(&to_bytes(value?));
    }
    Ok(bytes)
}

/// Writes a one-dimensional `.npy` file. An existing file is replaced only when the new one is complete.
///
/// # Errors
/// Fails if the file cannot be written; no partial file remains.
pub fn write_npy(path: &Path, array: &Array) -> Result<(), NpyError> {
    let write = || -> io::Result<()> {
        let mut out = BufWriter::new(AtomicFile::create(path)?);
        match array.element() {
            ElementType::U8 => write_as(&mut out, array, u8::from_le_bytes),
            ElementType::I8 => write_as(&mut out, array, i8::from_le_bytes),
            ElementType::U16 => write_as(&mut out, array, u16::from_le_bytes),
            ElementType::F16 => write_as(&mut out, array, |bytes| f16::from_bits(u16::from_le_bytes(bytes))),
            ElementType::I16 => write_as(&mut out, array, i16::from_le_bytes),
            ElementType::U32 => write_as(&mut out, array, u32::from_le_bytes),
            ElementType::I32 => write_as(&mut out, array, i32::from_le_bytes),
            ElementType::U64 => write_as(&mut out, array, u64::from_le_bytes),
            ElementType::I64 => write_as(&mut out, array, i64::from_le_bytes),
            ElementType::F32 => write_as(&mut out, array, f32::from_le_bytes),
            ElementType::F64 => write_as(&mut out, array, f64::from_le_bytes),
        }?;
        out.into_inner().map_err(IntoInnerError::into_error)?.commit().map(drop)
    };
    write().map_err(|source| NpyError::Write { path: path.to_owned(), source })
}

fn write_as<T: AutoSerialize, const N: usize>(
    out: &mut impl Write,
    array: &Array,
    from_bytes: impl Fn([u8; N]) -> T,
) -> io::Result<()> {
    let options = npyz::WriteOptions::new().default_dtype();
    let mut writer = options.shape(&[array.len() as u64]).writer(out).begin_nd()?;
    let (elements, _) = array.bytes().as_chunks::<N>();
    for &element in elements {
        writer.push(&from_bytes(element))?;
    }
    writer.finish()
}
