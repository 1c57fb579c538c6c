//! # Reference model of the memory coalescer
//! Merges the lanes of one warp memory instruction into requests for the cache lines that they touch.
//!
//! Active lanes are grouped by their cache lines. Each line yields one request, in ascending line order. When
//! several lanes store to the same byte, the highest lane wins. CUDA leaves the winner undefined; a fixed
//! choice keeps runs repeatable.

use std::collections::BTreeMap;
use std::fmt;

/// Number of lanes in a warp.
pub const LANES: usize = 32;
/// Size in bytes of the widest access that one lane can make.
pub const MAX_WIDTH: usize = 16;

/// Memory access of one warp instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpAccess {
    /// Mask of the active lanes; bit `i` is set if lane `i` takes part in the access.
    pub active: u32,
    /// Byte address of every lane; ignored for inactive lanes.
    pub addresses: [u64; LANES],
    /// Access width per lane in bytes: 1, 2, 4, 8 or 16.
    pub width: usize,
}

/// Request of one warp instruction for one cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRequest {
    /// Line number: byte address divided by line size.
    pub line: u64,
    /// Mask of the lanes that touch the line; bit `i` stands for lane `i`.
    pub lanes: u32,
    /// Mask of the touched bytes; bit `i` stands for byte `i` of the line.
    pub byte_mask: u128,
}

/// Store request of one warp instruction for one cache line: a [`LineRequest`] with the bytes to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRequest {
    /// Line number, lanes and touched bytes of the request.
    pub request: LineRequest,
    /// Data to store, one value per byte of the line; 0 for bytes that are not in the byte mask.
    pub bytes: Vec<u8>,
}

/// Error: the address of a lane is not a multiple of the access width. Such an access could straddle two
/// lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misaligned {
    /// Number of the lane within the warp.
    pub lane: usize,
    /// Byte address that the lane accesses.
    pub address: u64,
    /// Access width per lane in bytes.
    pub width: usize,
}

impl fmt::Display for Misaligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misaligned { lane, address, width } = self;
        write!(f, "lane {lane}: address {address:#x} is not a multiple of the {width}-byte width")
    }
}

impl std::error::Error for Misaligned {}

/// Returns one request for each line that `access` touches, in ascending line order. `line_bytes` is a power
/// of two from 16 to 128.
///
/// # Errors
/// Returns the lowest active lane with a misaligned address as the error, if there is one.
///
/// # Panics
/// Panics if `line_bytes` or the access width is not one of the supported values.
pub fn coalesce(access: &WarpAccess, line_bytes: usize) -> Result<Vec<LineRequest>, Misaligned> {
    assert!(matches!(line_bytes, 16 | 32 | 64 | 128), "line of {line_bytes} bytes");
    let WarpAccess { active, ref addresses, width } = *access;
    assert!(matches!(width, 1 | 2 | 4 | 8 | 16), "access of {width} bytes");
    let mut requests: Vec<LineRequest> = Vec::new();
    for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
        let address = addresses[lane];
        if !address.is_multiple_of(width as u64) {
            return Err(Misaligned { lane, address, width });
        }
        let (line, offset) = (address / line_bytes as u64, address % line_bytes as u64);
        let (lanes, byte_mask) = (1 << lane, ((1 << width) - 1) << offset);
        // The search starts from the latest request, because adjacent lanes usually touch the same line.
        match requests.iter_mut().rfind(|request| request.line == line) {
            Some(request) => {
                request.lanes |= lanes;
                request.byte_mask |= byte_mask;
            }
            None => requests.push(LineRequest { line, lanes, byte_mask }),
        }
    }
    requests.sort_unstable_by_key(|request| request.line);
    Ok(requests)
}

/// Coalesces a store into one request per line. Lane `i` stores the first `width` bytes of `data[i]`, where
/// `width` is the access width; byte 0 goes to the lowest address.
///
/// # Errors
/// Returns the lowest active lane with a misaligned address as the error, if there is one.
///
/// # Panics
/// Panics if `line_bytes` or the access width is not one of the supported values.
pub fn coalesce_store(
    access: &WarpAccess,
    line_bytes: usize,
    data: &[[u8; MAX_WIDTH]; LANES],
) -> Result<Vec<StoreRequest>, Misaligned> {
    let store = |request: LineRequest| {
        let mut bytes = vec![0; line_bytes];
        // The lanes store in ascending order, so a higher lane overwrites the bytes of a lower one.
        for lane in (0..LANES).filter(|lane| request.lanes >> lane & 1 == 1) {
            let offset = access.addresses[lane] as usize % line_bytes;
            bytes[offset..][..access.width].copy_from_slice(&data[lane][..access.width]);
        }
        StoreRequest { request, bytes }
    };
    Ok(coalesce(access, line_bytes)?.into_iter().map(store).collect())
}

/// Returns the requests of an atomic instruction, ordered by their lowest lanes. The lanes of one request lie
/// in the same aligned region of `reach` bytes and access different words.
/// The region is a line, or half a line for compare-and-swap, which processes half a line at a time. When
/// several lanes access the same word, they go into different requests: the lowest of these lanes into the
/// first request, the next lane into the second, and so on.
///
/// # Errors
/// Returns the lowest active lane with a misaligned address as the error, if there is one.
///
/// # Panics
/// Panics if `line_bytes` or the access width is not one of the supported values.
pub fn coalesce_atomic(access: &WarpAccess, line_bytes: usize, reach: usize) -> Result<Vec<LineRequest>, Misaligned> {
    let address = |lane: usize| access.addresses[lane];
    split(access, line_bytes, |lane, earlier| {
        let turn = earlier.iter().filter(|&&other| address(other) == address(lane)).count();
        (address(lane) / reach as u64, turn)
    })
}

/// Returns the requests of a load from constant memory, ordered by their lowest lanes. Each request
/// broadcasts one word of at least 4 bytes to all lanes that load it.
///
/// # Errors
/// Returns the lowest active lane with a misaligned address as the error, if there is one.
///
/// # Panics
/// Panics if `line_bytes` or the access width is not one of the supported values.
pub fn coalesce_constant(access: &WarpAccess, line_bytes: usize) -> Result<Vec<LineRequest>, Misaligned> {
    split(access, line_bytes, |lane, _| (access.addresses[lane] / access.width.max(4) as u64, 0))
}

/// Groups the active lanes by the value of `key`, and returns the requests of each group. The arguments of
/// `key` are a lane and all active lanes with lower numbers.
fn split(
    access: &WarpAccess,
    line_bytes: usize,
    key: impl Fn(usize, &[usize]) -> (u64, usize),
) -> Result<Vec<LineRequest>, Misaligned> {
    let lanes: Vec<usize> = (0..LANES).filter(|lane| access.active >> lane & 1 == 1).collect();
    let mut parts: BTreeMap<(u64, usize), u32> = BTreeMap::new();
    for (place, &lane) in lanes.iter().enumerate() {
        *parts.entry(key(lane, &lanes[..place])).or_default() |= 1 << lane;
    }
    let mut parts: Vec<u32> = parts.into_values().collect();
    parts.sort_by_key(|lanes| lanes.trailing_zeros());
    let mut requests = Vec::new();
    for active in parts {
        requests.extend(coalesce(&WarpAccess { active, ..*access }, line_bytes)?);
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn access(active: u32, width: usize, address: impl Fn(u64) -> u64) -> WarpAccess {
        WarpAccess { active, addresses: std::array::from_fn(|lane| address(lane as u64)), width }
    }

    #[test]
    fn consecutive_words_make_one_request_of_the_whole_line() {
        let requests = coalesce(&access(u32::MAX, 4, |lane| 0x1000 + 4 * lane), 128).unwrap();
        assert_eq!(requests, [LineRequest { line: 32, lanes: u32::MAX, byte_mask: u128::MAX }]);
    }

    #[test]
    fn a_row_stride_makes_one_request_per_lane_in_ascending_line_order() {
        let requests = coalesce(&access(u32::MAX, 4, |lane| (31 - lane) * 4096), 128).unwrap();
        let lines: Vec<u64> = requests.iter().map(|request| request.line).collect();
        assert_eq!(lines, (0..32).map(|n| n * 32).collect::<Vec<u64>>());
        assert_eq!(requests[0].lanes, 1 << 31);
        assert_eq!(requests[0].byte_mask, 0xf);
    }

    #[test]
    fn inactive_lanes_ask_for_nothing() {
        assert_eq!(coalesce(&access(0, 4, |lane| lane * 4), 128).unwrap(), []);
        let requests = coalesce(&access(0b100, 4, |lane| lane * 4 + u64::from(lane != 2)), 128);
        assert_eq!(requests.unwrap()[0].byte_mask, 0xf00);
    }

    #[test]
    fn sixteen_byte_lanes_fill_four_lines() {
        let requests = coalesce(&access(u32::MAX, 16, |lane| lane * 16), 128).unwrap();
        let lanes: Vec<u32> = requests.iter().map(|request| request.lanes).collect();
        assert_eq!(lanes, [0xff, 0xff00, 0xff_0000, 0xff00_0000]);
    }

    #[test]
    fn the_highest_lane_wins_where_several_store_the_same_byte() {
        let data = std::array::from_fn(|lane| [lane as u8; MAX_WIDTH]);
        let stores = coalesce_store(&access(0b1011, 2, |_| 64), 128, &data).unwrap();
        assert_eq!(stores.len(), 1);
        assert_eq!(stores[0].request.lanes, 0b1011);
        assert_eq!(stores[0].bytes[63..67], [0, 3, 3, 0]);
    }

    #[test]
    fn lanes_of_one_word_take_turns_in_an_atomic() {
        let words = |lane: u64| [8, 4, 8, 8][lane as usize % 4];
        let requests = coalesce_atomic(&access(0b1111, 4, words), 128, 128).unwrap();
        let seen: Vec<_> = requests.iter().map(|request| (request.lanes, request.byte_mask)).collect();
        assert_eq!(seen, [(0b0011, 0xff0), (0b0100, 0xf00), (0b1000, 0xf00)]);
    }

    #[test]
    fn a_word_of_constants_goes_to_all_lanes_that_name_it() {
        let requests = coalesce_constant(&access(0b1111, 2, |lane| [0, 2, 4, 0][lane as usize % 4]), 128).unwrap();
        let seen: Vec<_> = requests.iter().map(|request| (request.lanes, request.byte_mask)).collect();
        assert_eq!(seen, [(0b1011, 0xf), (0b0100, 0x30)]);
    }

    #[test]
    fn a_misaligned_lane_is_named() {
        let error = coalesce(&access(u32::MAX, 8, |lane| lane * 4), 128).unwrap_err();
        assert_eq!(error.to_string(), "lane 1: address 0x4 is not a multiple of the 8-byte width");
    }

    proptest! {
        #[test]
        fn every_active_lane_finds_its_bytes_in_exactly_one_request(
            active: u32,
            log_width in 0u32..=4,
            words in prop::collection::vec(0u64..64, LANES),
        ) {
            let width = 1usize << log_width;
            let warp = access(active, width, |lane| words[lane as usize] * width as u64);
            let requests = coalesce(&warp, 128).unwrap();
            for (lane, address) in warp.addresses.iter().enumerate() {
                let holders: Vec<_> = requests.iter().filter(|r| r.lanes >> lane & 1 == 1).collect();
                prop_assert_eq!(holders.len(), (active >> lane & 1) as usize);
                for holder in holders {
                    prop_assert_eq!(holder.line, address / 128);
                    let wanted = ((1u128 << width) - 1) << (address % 128);
                    prop_assert_eq!(holder.byte_mask & wanted, wanted);
                }
            }
            prop_assert!(requests.is_sorted_by(|a, b| a.line < b.line));
            for request in &requests {
                let of = |lane: &usize| request.lanes >> lane & 1 == 1;
                let bytes = |lane: usize| ((1u128 << width) - 1) << (warp.addresses[lane] % 128);
                let wanted = (0..LANES).filter(of).fold(0, |mask, lane| mask | bytes(lane));
                prop_assert_eq!(request.byte_mask, wanted);
            }
            let stores = coalesce_store(&warp, 128, &[[0; MAX_WIDTH]; LANES]).unwrap();
            prop_assert_eq!(requests, stores.into_iter().map(|store| store.request).collect::<Vec<_>>());
        }
    }
}
