//! Memory accesses of one thread: all state spaces with their bounds.

use std::ops::Range;

use isa::lanes::{AtomicFn, atomic, global_atomic};
use isa::map;
use isa::program::{MatrixLoad, MemOp};
use isa::texture::TexOp;
use isa::types::Space;

use super::code::DecodedInst;
use super::{Cta, FaultKind, LANES};

/// Location of an access.
enum Bytes {
    Memory(u64),
    Shared(Range<usize>),
    Local(Range<usize>),
    Params(Range<usize>),
}

impl Cta<'_> {
    /// Returns the location of an access of thread `number`.
    #[inline]
    fn place(&self, number: usize, mem: &MemOp, base: u64) -> Result<Bytes, FaultKind> {
        let address = mem.address(base);
        let (space, address) = match mem.space {
            Space::Generic => map::resolve(address).ok_or(FaultKind::Generic(address))?,
            space => (space, address),
        };
        let program = self.launch.program;
        Ok(match space {
            Space::Global | Space::Generic => Bytes::Memory(address),
            Space::Shared => Bytes::Shared(window("shared memory", self.shared.len(), mem, address)?),
            Space::Const => {
                window("the constants", program.const_bytes as usize, mem, address)?;
                Bytes::Memory(program.const_base + address)
            }
            Space::Local => {
                let size = program.local_bytes as usize;
                let at = window("local memory", size, mem, address)?;
                Bytes::Local(number * size + at.start..number * size + at.end)
            }
            Space::Param => Bytes::Params(window("the parameters", self.launch.params.len(), mem, address)?),
        })
    }

    #[inline]
    pub(super) fn load(&mut self, number: usize, inst: &DecodedInst, mem: &MemOp) -> Result<(), FaultKind> {
        let frame = self.code.frame.len();
        let base = inst.base.read(self.frame(number));
        let bytes = match self.place(number, mem, base)? {
            Bytes::Memory(address) => self.memory.read(address, mem.bytes()).map_err(FaultKind::Global)?,
            Bytes::Shared(at) => &self.shared[at],
            Bytes::Local(at) => &self.local[at],
            Bytes::Params(at) => &self.launch.params[at],
        };
        inst.load(mem, bytes, &mut self.values[number * frame..][..frame]);
        Ok(())
    }

    /// Loads 8 x 8 matrices of half-precision elements. All rows are read first, because a result may
    /// overwrite an address. Then each lane receives two adjacent elements of row `lane / 4` (of that column
    /// if transposed), from index `2 (lane mod 4)` on.
    pub(super) fn load_matrix(
        &mut self,
        first: usize,
        inst: &DecodedInst,
        load: MatrixLoad,
        mem: &MemOp,
    ) -> Result<(), (usize, FaultKind)> {
        let count = usize::from(load.count);
        let mut matrices = [[[0; 8]; 8]; 4];
        for (thread, row) in (first..first + 8 * count).zip(matrices.as_flattened_mut()) {
            let address = mem.address(inst.base.read(self.frame(thread)));
            let at = window("shared memory", self.shared.len(), mem, address).map_err(|kind| (thread, kind))?;
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
                let word = element(1) << 16 | element(0);
                dst.write(self.frame_mut(first + lane), word);
            }
        }
        Ok(())
    }

    /// Returns the bytes of an access for writing.
    fn writable(&mut self, number: usize, mem: &MemOp, base: u64) -> Result<&mut [u8], FaultKind> {
        match self.place(number, mem, base)? {
            Bytes::Memory(address) if self.memory.is_protected(address, mem.bytes()) => {
                Err(FaultKind::ReadOnly(address))
            }
            Bytes::Memory(address) => self.memory.write(address, mem.bytes()).map_err(FaultKind::Global),
            Bytes::Shared(at) => Ok(&mut self.shared[at]),
            Bytes::Local(at) => Ok(&mut self.local[at]),
            // Parameters are read-only: the fault names a window of 0 writable bytes.
            Bytes::Params(at) => {
                let (address, bytes) = (at.start as u64, mem.bytes());
                Err(FaultKind::Window { what: "writable parameters", address, bytes, size: 0 })
            }
        }
    }

    #[inline]
    pub(super) fn store(&mut self, number: usize, inst: &DecodedInst, mem: &MemOp) -> Result<(), FaultKind> {
        let values = self.frame(number);
        let base = inst.base.read(values);
        let mut data = [0; 16];
        let data = &mut data[..mem.bytes() as usize];
        inst.store(mem, data, values);
        let bytes = self.writable(number, mem, base)?;
        let is_new = bytes != data;
        bytes.copy_from_slice(data);
        self.has_changed |= is_new;
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        number: usize,
        inst: &DecodedInst,
        f: AtomicFn,
        mem: &MemOp,
    ) -> Result<(), FaultKind> {
        let values = self.frame(number);
        let [base, b, c] = [inst.base, inst.srcs[0], inst.srcs[1]].map(|slot| slot.read(values));
        let space = match mem.space {
            Space::Generic => map::resolve(mem.address(base)).map_or(Space::Global, |(space, _)| space),
            space => space,
        };
        let changed = match space {
            Space::Local | Space::Param => return Err(FaultKind::Atomic(space.name())),
            Space::Shared => atomic,
            _ => global_atomic,
        };
        let bytes = self.writable(number, mem, base)?;
        let old = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let new = changed(f, mem.ty, old, b, c).to_le_bytes();
        let new = &new[..bytes.len()];
        let is_new = bytes != new;
        bytes.copy_from_slice(new);
        self.has_changed |= is_new;
        inst.dsts[0].write(self.frame_mut(number), old);
        Ok(())
    }

    pub(super) fn texture(&mut self, number: usize, inst: &DecodedInst, op: &TexOp) -> Result<(), FaultKind> {
        let frame = self.code.frame.len();
        let values = &mut self.values[number * frame..][..frame];
        let [handle, x, y, z, ..] = inst.srcs.map(|slot| slot.read(values));
        let number = handle.checked_sub(1).and_then(|number| usize::try_from(number).ok());
        let texture = number.and_then(|number| self.launch.program.textures.get(number));
        let texture = texture.ok_or(FaultKind::Texture(handle))?;
        let components = match texture.texel(op, [x, y, z].map(|bits| bits as u32)) {
            Some(address) => {
                let texel = self.memory.read(address, texture.texel_bytes()).map_err(FaultKind::Global)?;
                texture.decode(op, texel)
            }
            None => [0; 4],
        };
        for (dst, component) in inst.dsts.iter().zip(components) {
            dst.write(values, component.into());
        }
        Ok(())
    }
}

/// Returns the byte range of an aligned access to a window that starts at address 0.
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
