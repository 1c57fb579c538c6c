//! Memory accesses of a warp, for all state spaces. Every access is checked against the bounds of its space.
//!
//! Usually, all lanes access the same element, or adjacent elements, in one window of memory. Such an access
//! is checked once for all lanes. Any other access is performed lane by lane, in ascending order.

use std::ops::Range;

use isa::lanes::{AtomicFn, atomic, global_atomic};
use isa::map;
use isa::program::{MatrixLoad, MemOp, Op};
use isa::texture::{Bounds, SurfaceOp, TexOp, blend};
use isa::types::{Space, Type};

use super::code::DecodedInst;
use super::registers::{Longs, Row, Words};
use super::warp::{Warp, each};
use super::{Cta, FaultKind, LANES, Launch};
use crate::memory::FlatMemory;

/// Result of a memory access: success, or a fault with the number of the faulting thread.
type Outcome = Result<(), (usize, FaultKind)>;

/// Location of the bytes that a thread accesses: an address in device memory, or a byte range in another
/// space.
enum Bytes {
    Memory(u64),
    Shared(Range<usize>),
    Local(Range<usize>),
    Params(Range<usize>),
}

impl Warp {
    /// Returns the address that each lane accesses, or 0 for lanes that `mask` does not select. For
    /// `ldmatrix`, only the first lanes supply addresses, one per matrix row. These addresses are repeated
    /// for all other lanes.
    #[inline]
    pub(super) fn addresses(&self, inst: &DecodedInst, mem: &MemOp, mask: u32) -> Longs {
        let base = self.registers.longs(inst.base);
        let rows = match inst.op {
            Op::LoadMatrix(load, _) => 8 * usize::from(load.count),
            _ => LANES,
        };
        let mut addresses: Longs = base.map(|base| mem.address(base));
        for lane in rows..LANES {
            addresses[lane] = addresses[lane % rows];
        }
        if mask != u32::MAX {
            addresses = std::array::from_fn(|lane| if mask & 1 << lane != 0 { addresses[lane] } else { 0 });
        }
        addresses
    }
}

/// Arrangement in memory of the elements that the lanes of a full warp access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// All lanes of the warp access the same element.
    Same,
    /// Consecutive lanes access consecutive elements.
    Adjacent,
    /// Any other arrangement of elements, or a warp with inactive lanes.
    Scattered,
}

impl Pattern {
    #[inline]
    fn of(mask: u32, addresses: &Longs, bytes: u32) -> Self {
        let stride = addresses[1].wrapping_sub(addresses[0]);
        if mask != u32::MAX || stride != 0 && stride != u64::from(bytes) {
            return Pattern::Scattered;
        }
        let expected = |lane: usize| addresses[0].wrapping_add(stride.wrapping_mul(lane as u64));
        match (0..LANES).fold(0, |differs, lane| differs | addresses[lane] ^ expected(lane)) {
            0 if stride == 0 => Pattern::Same,
            0 => Pattern::Adjacent,
            _ => Pattern::Scattered,
        }
    }
}

/// State spaces that one memory access of a CTA can refer to.
struct Spaces<'s> {
    launch: &'s Launch<'s>,
    shared_bytes: usize,
    mem: &'s MemOp,
}

impl Spaces<'_> {
    /// Returns the location that thread `number` of the CTA accesses at `address`.
    #[inline(always)]
    fn place(&self, number: usize, address: u64) -> Result<Bytes, FaultKind> {
        let Self { launch: Launch { program, params, .. }, shared_bytes, mem } = self;
        let (space, address) = match mem.space {
            Space::Generic => map::resolve(address).ok_or(FaultKind::Generic(address))?,
            space => (space, address),
        };
        Ok(match space {
            Space::Global | Space::Generic => Bytes::Memory(address),
            Space::Shared => Bytes::Shared(window("shared memory", *shared_bytes, mem, address)?),
            Space::Const => {
                window("the constants", program.const_bytes as usize, mem, address)?;
                Bytes::Memory(program.const_base + address)
            }
            Space::Local => {
                let size = program.local_bytes as usize;
                let at = window("local memory", size, mem, address)?;
                Bytes::Local(number * size + at.start..number * size + at.end)
            }
            Space::Param => Bytes::Params(window("the parameters", params.len(), mem, address)?),
        })
    }

    /// Returns the range in shared memory that a full warp accesses if its lanes access adjacent elements
    /// from `address` on. `None` if the range is not entirely inside shared memory.
    fn shared_run(&self, address: u64) -> Option<Range<usize>> {
        let at = window("shared memory", self.shared_bytes, self.mem, address).ok()?;
        let end = at.start + LANES * at.len();
        (end <= self.shared_bytes).then_some(at.start..end)
    }
}

impl Cta<'_> {
    pub(super) fn load(
        &mut self,
        warp: usize,
        inst: &DecodedInst,
        mem: &MemOp,
        mask: u32,
        addresses: &Longs,
        memory: &FlatMemory,
    ) -> Outcome {
        let Cta { launch, shared, local, warps, .. } = self;
        let Warp { first, ref mut registers, .. } = warps[warp];
        let spaces = Spaces { launch, shared_bytes: shared.len(), mem };
        let mut near = 0;
        let mut read = |lane: usize| match spaces.place(first + lane, addresses[lane])? {
            Bytes::Memory(address) => memory.read_near(&mut near, address, mem.bytes()).map_err(FaultKind::Global),
            Bytes::Shared(at) => Ok(&shared[at]),
            Bytes::Local(at) => Ok(&local[at]),
            Bytes::Params(at) => Ok(&launch.params[at]),
        };
        let pattern = Pattern::of(mask, addresses, mem.bytes());
        let is_private = matches!(mem.space, Space::Local | Space::Generic);
        if pattern == Pattern::Same && !is_private {
            let bytes = read(0).map_err(|kind| (first, kind))?;
            for (element, dst) in elements(mem, bytes).zip(inst.dsts) {
                registers.write_longs(dst, &[element & dst.width(); LANES], mask);
            }
            return Ok(());
        }
        let [dst, ..] = inst.dsts;
        let (Row::Word(at), 4, 1) = (dst.row, mem.ty.bytes(), mem.lanes) else {
            return each(first, mask, |lane| {
                for (element, dst) in elements(mem, read(lane)?).zip(inst.dsts) {
                    registers.write(dst, lane, element & dst.width());
                }
                Ok(())
            });
        };
        let row = &mut registers.words[at as usize];
        // Buffer that each lane tries first: its start address and its contents. For global memory, it is the
        // buffer that the lowest active lane accesses, since usually all lanes access the same buffer.
        let (base, window): (u64, &[u8]) = match mem.space {
            Space::Global => memory.around(addresses[mask.trailing_zeros() as usize]).unwrap_or_default(),
            Space::Shared => (0, shared),
            _ => Default::default(),
        };
        let from = |lane: usize| {
            let inside = window.get(addresses[lane].wrapping_sub(base) as usize..);
            inside.filter(|_| addresses[lane].is_multiple_of(4))
        };
        if pattern == Pattern::Adjacent
            && let Some(run) = from(0).and_then(|inside| inside.get(..4 * LANES))
        {
            row.iter_mut().zip(run.as_chunks().0).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
            return Ok(());
        }
        each(first, mask, |lane| {
            let bytes = match from(lane).and_then(|inside| inside.first_chunk()) {
                Some(bytes) => bytes,
                None => read(lane)?.first_chunk().unwrap_or(&[0; 4]),
            };
            row[lane] = u32::from_le_bytes(*bytes);
            Ok(())
        })
    }

    /// Executes `ldmatrix`: loads 8 x 8 matrices of 16-bit elements. All rows are read before any result is
    /// written, because a result may overwrite the address register. Each lane receives the two adjacent
    /// elements `2 (lane mod 4)` and `2 (lane mod 4) + 1` of row `lane / 4`. If the load is transposed, it
    /// receives them from column `lane / 4`.
    pub(super) fn load_matrix(
        &mut self,
        warp: usize,
        inst: &DecodedInst,
        load: MatrixLoad,
        mem: &MemOp,
        addresses: &Longs,
    ) -> Outcome {
        let Warp { first, ref mut registers, .. } = self.warps[warp];
        let count = usize::from(load.count);
        let mut matrices = [[[0; 8]; 8]; 4];
        for ((lane, address), row) in addresses.iter().enumerate().take(8 * count).zip(matrices.as_flattened_mut()) {
            let at = window("shared memory", self.shared.len(), mem, *address).map_err(|kind| (first + lane, kind))?;
            for (element, bytes) in row.iter_mut().zip(self.shared[at].as_chunks().0) {
                *element = u16::from_le_bytes(*bytes);
            }
        }
        for (matrix, dst) in matrices.iter().take(count).zip(inst.dsts) {
            for lane in 0..LANES {
                let element = |next: usize| {
                    let (line, at) = (lane / 4, 2 * (lane % 4) + next);
                    u64::from(if load.transposed { matrix[at][line] } else { matrix[line][at] })
                };
                registers.write(dst, lane, element(1) << 16 | element(0));
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        warp: usize,
        inst: &DecodedInst,
        mem: &MemOp,
        mask: u32,
        addresses: &Longs,
        memory: &mut FlatMemory,
    ) -> Outcome {
        let Warp { first, ref registers, .. } = self.warps[warp];
        let spaces = Spaces { launch: self.launch, shared_bytes: self.shared.len(), mem };
        if (mem.ty.bytes(), mem.lanes) == (4, 1) && Pattern::of(mask, addresses, 4) == Pattern::Adjacent {
            let run = match mem.space {
                Space::Global => memory.write_run(addresses[0], 4, LANES),
                Space::Shared => spaces.shared_run(addresses[0]).map(|run| &mut self.shared[run]),
                _ => None,
            };
            if let Some(run) = run {
                let words: Words = *registers.words(inst.srcs[0]);
                for (bytes, word) in run.as_chunks_mut().0.iter_mut().zip(words) {
                    self.has_changed |= *bytes != word.to_le_bytes();
                    *bytes = word.to_le_bytes();
                }
                return Ok(());
            }
        }
        let mut near = 0;
        each(first, mask, |lane| {
            let mut data = [0; 16];
            let data = &mut data[..mem.bytes() as usize];
            for (element, src) in data.chunks_exact_mut(mem.ty.bytes() as usize).zip(inst.srcs) {
                element.copy_from_slice(&registers.read(src, lane).to_le_bytes()[..element.len()]);
            }
            let place = spaces.place(first + lane, addresses[lane])?;
            let bytes = writable(place, mem, [&mut self.shared, &mut self.local], memory, &mut near)?;
            self.has_changed |= bytes != data;
            bytes.copy_from_slice(data);
            Ok(())
        })
    }

    pub(super) fn atomic(
        &mut self,
        warp: usize,
        lane: usize,
        inst: &DecodedInst,
        (f, mem): (AtomicFn, &MemOp),
        address: u64,
        memory: &mut FlatMemory,
    ) -> Result<(), FaultKind> {
        let Warp { first, ref mut registers, .. } = self.warps[warp];
        let [b, c] = [inst.srcs[0], inst.srcs[1]].map(|slot| registers.read(slot, lane));
        let space = match mem.space {
            Space::Generic => map::resolve(address).map_or(Space::Global, |(space, _)| space),
            space => space,
        };
        let changed = match space {
            Space::Local | Space::Param => return Err(FaultKind::Atomic(space.name())),
            Space::Shared => atomic,
            _ => global_atomic,
        };
        let spaces = Spaces { launch: self.launch, shared_bytes: self.shared.len(), mem };
        let place = spaces.place(first + lane, address)?;
        let bytes = writable(place, mem, [&mut self.shared, &mut self.local], memory, &mut 0)?;
        let old = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let new = changed(f, mem.ty, old, b, c).to_le_bytes();
        let new = &new[..bytes.len()];
        self.has_changed |= bytes != new;
        bytes.copy_from_slice(new);
        registers.write(inst.dsts[0], lane, old);
        Ok(())
    }

    pub(super) fn texture(
        &mut self,
        warp: usize,
        lane: usize,
        inst: &DecodedInst,
        op: &TexOp,
        memory: &FlatMemory,
    ) -> Result<(), FaultKind> {
        let registers = &mut self.warps[warp].registers;
        let [handle, x, y, z, ..] = inst.srcs.map(|slot| registers.read(slot, lane));
        let (_, texture) = self.launch.program.texture(handle).ok_or(FaultKind::Texture(handle))?;
        if texture.is_filtered(op) && op.result != Type::F32 {
            return Err(FaultKind::Filter(texture.name.clone()));
        }
        let at = [x, y, z].map(|bits| bits as u32);
        let mut sum = [0; 4];
        for corner in 0..texture.corners(op) {
            let (address, weight) = texture.corner(op, at, corner);
            let components = match address {
                Some(address) => {
                    let texel = memory.read(address, texture.texel_bytes()).map_err(FaultKind::Global)?;
                    texture.decode(op, texel)
                }
                None => [0; 4],
            };
            sum = if texture.is_filtered(op) {
                std::array::from_fn(|i| blend(sum[i], components[i], weight))
            } else {
                components
            };
        }
        for (dst, component) in inst.dsts.iter().zip(sum) {
            registers.write(*dst, lane, component.into());
        }
        Ok(())
    }

    /// Computes the address of a surface access.
    pub(super) fn surface_address(
        &mut self,
        warp: usize,
        lane: usize,
        inst: &DecodedInst,
        op: &SurfaceOp,
    ) -> Result<(), FaultKind> {
        let registers = &mut self.warps[warp].registers;
        let [handle, x, y, z, ..] = inst.srcs.map(|slot| registers.read(slot, lane));
        let (_, surface) = self.launch.program.texture(handle).ok_or(FaultKind::Texture(handle))?;
        let at = [x, y, z].map(|bits| bits as u32);
        let address = surface.element(op, at);
        if address.is_none() && op.bounds != Bounds::Zero {
            return Err(FaultKind::Surface { name: surface.name.clone(), at: at.map(|bits| bits as i32) });
        }
        registers.write(inst.dsts[0], lane, address.unwrap_or(0));
        registers.write(inst.dsts[1], lane, address.is_some().into());
        Ok(())
    }
}

/// Returns the bytes of an access for writing, or a fault if they are read-only. `near` is the index of the
/// memory buffer that is searched first.
#[inline(always)]
fn writable<'b>(
    place: Bytes,
    mem: &MemOp,
    [shared, local]: [&'b mut [u8]; 2],
    memory: &'b mut FlatMemory,
    near: &mut usize,
) -> Result<&'b mut [u8], FaultKind> {
    match place {
        Bytes::Memory(address) if memory.is_protected(address, mem.bytes()) => Err(FaultKind::ReadOnly(address)),
        Bytes::Memory(address) => memory.write_near(near, address, mem.bytes()).map_err(FaultKind::Global),
        Bytes::Shared(at) => Ok(&mut shared[at]),
        Bytes::Local(at) => Ok(&mut local[at]),
        // Parameters are read-only: the fault states that 0 bytes of them are writable.
        Bytes::Params(at) => {
            let (address, bytes) = (at.start as u64, mem.bytes());
            Err(FaultKind::Window { what: "writable parameters", address, bytes, size: 0 })
        }
    }
}

/// Yields the elements in `bytes`, each sign-extended or zero-extended to 64 bits according to its type.
#[inline]
fn elements<'b>(mem: &MemOp, bytes: &'b [u8]) -> impl Iterator<Item = u64> + use<'b> {
    let (unused, is_signed) = (64 - mem.ty.bits(), mem.ty.is_signed());
    bytes.chunks_exact(mem.ty.bytes() as usize).map(move |element| {
        let raw = match *element {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        };
        if is_signed { ((raw << unused) as i64 >> unused) as u64 } else { raw }
    })
}

/// Returns the byte range of an access within a window of `size` bytes, or a fault if the access is
/// misaligned or out of range. Addresses are relative to the start of the window.
#[inline]
fn window(what: &'static str, size: usize, mem: &MemOp, address: u64) -> Result<Range<usize>, FaultKind> {
    let bytes = mem.bytes();
    let end = address.checked_add(u64::from(bytes));
    if end.is_some_and(|end| end <= size as u64) && address.is_multiple_of(u64::from(bytes)) {
        return Ok(address as usize..address as usize + bytes as usize);
    }
    Err(FaultKind::Window { what, address, bytes, size })
}

#[cfg(test)]
#[path = "spaces_tests.rs"]
pub(super) mod tests;
