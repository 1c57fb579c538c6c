//! Reads `.tracez` files, the traces of Accel-Sim 2.0. Converts a file to the text of a `.traceg` file while
//! reading it, so that one reader checks both.
//!
//! | part       | content                                                                              |
//! |------------|--------------------------------------------------------------------------------------|
//! | header     | lines as in a `.traceg` file, and a zero byte                                        |
//! | sizes      | `u32` size of the dictionary in bytes, `u32` instructions per chunk                  |
//! | dictionary | zstd dictionary that all chunks share                                                |
//! | warps      | `u32` instructions, `u32` chunks; for each chunk its `u32` size and a zstd frame     |
//! | index      | `u32` CTAs; for each CTA its position, the cluster that it belongs to, and its       |
//! |            | position there (each three `u32`), its `u32` rank there, and its `u32` warps; for    |
//! |            | each warp `u32` instructions, `u32` chunks, the `u64` offset of its part, and the    |
//! |            | `u32` instructions of each chunk                                                     |
//! | end        | `u64` offset of the index                                                            |
//!
//! Numbers are little endian. A frame holds lines of instructions. Instructions per chunk are not needed for
//! reading. Source: `tracez_format.h` and `warp_trace_stream.h` of Accel-Sim.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};

use memchr::memchr_iter;
use ruzstd::decoding::Dictionary;

use super::source::{BUFFER, DecodedText, Frames, fail_damaged};

/// Maximum size of the header in bytes.
const HEADER_BYTES: u64 = 1 << 20;
/// Maximum size of the dictionary in bytes. By default, zstd makes dictionaries of at most 110 KiB.
const DICTIONARY_BYTES: u32 = 16 << 20;

/// Reader of the text of a `.tracez` file.
struct Tracez<R> {
    /// The file, at the next unread part of the index.
    index: BufReader<R>,
    /// The file, at the start of the next chunk or within the current chunk.
    chunks: Frames<Take<BufReader<R>>>,
    /// Offset of the index in the file.
    start: u64,
    /// Text between the instructions of two chunks, and the number of its bytes that have been read.
    text: Vec<u8>,
    taken: usize,
    /// Number of CTAs that have not begun.
    ctas_left: u32,
    /// Number of warps of the current CTA that have not begun.
    warps_left: u32,
    /// Number of chunks of the current warp that have not begun.
    chunks_left: u32,
    /// Number of the next warp of the current CTA; `None` between two CTAs.
    warp: Option<u32>,
    /// Number of instructions of the current warp in the chunks that have not begun.
    instructions_left: u32,
    chunk: Option<Chunk>,
}

/// Chunk that is being read.
struct Chunk {
    /// Number of instructions that the index states.
    instructions: u32,
    /// Number of lines read so far.
    lines: u32,
    /// True if the last line read so far is incomplete.
    is_open: bool,
}

/// Opens a `.tracez` file, which both readers access.
pub(super) fn decode<R: Read + Seek + Send + 'static>(index: R, chunks: R) -> io::Result<DecodedText> {
    let [mut index, mut chunks] = [index, chunks].map(|file| BufReader::with_capacity(BUFFER, file));
    let mut text = Vec::new();
    chunks.by_ref().take(HEADER_BYTES).read_until(0, &mut text)?;
    if text.pop() != Some(0) {
        return Err(fail_damaged("no zero byte ends the header, as in a file with the ending .tracez"));
    }
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let size = number(&mut chunks)?;
    let _instructions_per_chunk = number(&mut chunks)?;
    if size > DICTIONARY_BYTES {
        return Err(fail_damaged(format!("its dictionary has {size} bytes, expected at most {DICTIONARY_BYTES}")));
    }
    let mut dictionary = vec![0; size as usize];
    fill(&mut chunks, &mut dictionary)?;
    let mut chunks = Frames::new(chunks.take(0));
    if !dictionary.is_empty() {
        chunks.set_dictionary(Dictionary::decode_dict(&dictionary).map_err(fail_damaged)?)?;
    }
    let end = index.seek(SeekFrom::End(-8))?;
    let start = long_number(&mut index)?;
    if start >= end {
        return Err(fail_damaged("the file does not end in the offset of its index: it is truncated or damaged"));
    }
    index.seek(SeekFrom::Start(start))?;
    let ctas_left = number(&mut index)?;
    let tracez = Tracez {
        index,
        chunks,
        start,
        text,
        taken: 0,
        ctas_left,
        warps_left: 0,
        chunks_left: 0,
        warp: None,
        instructions_left: 0,
        chunk: None,
    };
    Ok(DecodedText { text: Box::new(BufReader::with_capacity(BUFFER, tracez)), is_checked: false })
}

fn number(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    fill(input, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn long_number(input: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    fill(input, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads as many bytes as the buffer has. Unlike `read_exact`, reports the end of the file by this name.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    input.read_exact(buffer).map_err(|error| match error.kind() {
        kind @ io::ErrorKind::UnexpectedEof => kind.into(),
        _ => error,
    })
}

impl<R: Read + Seek> Tracez<R> {
    /// Advances to the next chunk, or to text between chunks. Returns false at the end of the trace.
    fn advance(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.taken = 0;
        if self.chunks_left > 0 {
            self.begin_chunk()?;
        } else if self.instructions_left > 0 {
            return Err(fail_damaged(format!(
                "the chunks of a warp lack {} of its instructions",
                self.instructions_left
            )));
        } else if self.warps_left > 0 {
            self.begin_warp()?;
        } else if self.warp.take().is_some() {
            self.text.extend_from_slice(b"#END_TB\n");
        } else if self.ctas_left > 0 {
            self.begin_cta()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn begin_cta(&mut self) -> io::Result<()> {
        let mut numbers = [0; 11];
        for value in &mut numbers {
            *value = number(&mut self.index)?;
        }
        let [x, y, z, cluster_x, cluster_y, cluster_z, cta_x, cta_y, cta_z, rank, warps] = numbers;
        self.text = format!(
            "#BEGIN_TB\nthread block = {x},{y},{z}\ncluster id = {cluster_x},{cluster_y},{cluster_z}\n\
             cluster cta = {cta_x},{cta_y},{cta_z}\ncluster rank = {rank}\n"
        )
        .into_bytes();
        (self.warps_left, self.warp) = (warps, Some(0));
        self.ctas_left -= 1;
        Ok(())
    }

    fn begin_warp(&mut self) -> io::Result<()> {
        let told = [number(&mut self.index)?, number(&mut self.index)?];
        let offset = long_number(&mut self.index)?;
        if offset >= self.start {
            let message = format!("the index states offset {offset} for a warp, expected one before the index itself");
            return Err(fail_damaged(message));
        }
        let file = self.chunks.input().get_mut();
        file.seek(SeekFrom::Start(offset))?;
        let found = [number(file)?, number(file)?];
        if told != found {
            let message = format!("the index states {told:?} instructions and chunks of a warp, its part {found:?}");
            return Err(fail_damaged(message));
        }
        let warp = self.warp.get_or_insert_default();
        [self.instructions_left, self.chunks_left] = told;
        self.text = format!("warp = {warp}\ninsts = {}\n", self.instructions_left).into_bytes();
        *warp += 1;
        self.warps_left -= 1;
        Ok(())
    }

    fn begin_chunk(&mut self) -> io::Result<()> {
        let instructions = number(&mut self.index)?;
        let Some(rest) = self.instructions_left.checked_sub(instructions) else {
            let message =
                format!("a chunk has {instructions} instructions, its warp only {} more", self.instructions_left);
            return Err(fail_damaged(message));
        };
        let size = number(self.chunks.input().get_mut())?;
        self.chunks.input().set_limit(size.into());
        self.chunk = Some(Chunk { instructions, lines: 0, is_open: false });
        self.instructions_left = rest;
        self.chunks_left -= 1;
        Ok(())
    }
}

impl<R: Read + Seek> Read for Tracez<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let text = &self.text[self.taken..];
            if !text.is_empty() {
                let bytes = text.len().min(buffer.len());
                buffer[..bytes].copy_from_slice(&text[..bytes]);
                self.taken += bytes;
                return Ok(bytes);
            }
            if let Some(chunk) = &mut self.chunk {
                let bytes = self.chunks.read(buffer)?;
                if let Some(last) = buffer[..bytes].last() {
                    chunk.lines += memchr_iter(b'\n', &buffer[..bytes]).count() as u32;
                    chunk.is_open = *last != b'\n';
                    return Ok(bytes);
                }
                let &mut Chunk { instructions, lines, is_open } = chunk;
                let lines = lines + u32::from(is_open);
                if lines != instructions {
                    let message = format!("a chunk has {lines} lines, the index states {instructions} instructions");
                    return Err(fail_damaged(message));
                }
                self.chunk = None;
                if is_open {
                    (self.text, self.taken) = (b"\n".to_vec(), 0);
                }
            } else if !self.advance()? {
                return Ok(0);
            }
        }
    }
}
