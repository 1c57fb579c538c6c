//! Reads files as text, up to a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a text file in bytes: a hundred times the size of the largest launch, sweep or statistics
/// file in this repository.
pub const MAX_BYTES: u64 = 64 << 20;

/// Reads a whole file as text.
///
/// # Errors
/// Returns an error if the file cannot be read, has more than [`MAX_BYTES`], or is not text.
pub fn read_text(path: &Path) -> io::Result<String> {
    as_text(read_bytes(path)?)
}

/// Reads a file up to one byte more than [`MAX_BYTES`], so that [`as_text`] can detect a file that is too
/// long.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Converts bytes to text.
///
/// # Errors
/// Returns an error if there are more than [`MAX_BYTES`], or the bytes are not text. Text is valid UTF-8
/// without NUL characters.
pub fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return refuse(format!("it is not text: byte {at} is NUL"));
    }
    if bytes.len() as u64 > MAX_BYTES {
        return refuse(format!("it has more than {} MiB, which is the limit", MAX_BYTES >> 20));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => refuse(format!("it is not text: byte {} is not UTF-8", error.utf8_error().valid_up_to())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused_with_the_first_byte_that_shows_it() {
        let wrong = |bytes: &[u8]| as_text(bytes.to_vec()).unwrap_err().to_string();
        assert_eq!(wrong(b"a = 1\0"), "it is not text: byte 5 is NUL");
        assert_eq!(wrong(b"ab\xff"), "it is not text: byte 2 is not UTF-8");
        assert_eq!(as_text("a = \"ü\"\n".into()).unwrap(), "a = \"ü\"\n");
        assert_eq!(wrong(&vec![b' '; MAX_BYTES as usize + 1]), "it has more than 64 MiB, which is the limit");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_end_is_refused() {
        assert_eq!(read_text(Path::new("/dev/zero")).unwrap_err().to_string(), "it is not text: byte 0 is NUL");
    }
}
