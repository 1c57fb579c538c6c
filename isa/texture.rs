//! # Textures
//! Computes texel addresses and decodes texels. A texture is a buffer with a shape, fetched by integer
//! coordinates or by real ones. Sampling is point sampling, without interpolation: the result is the texel
//! whose square contains the point. The functional interpreter and the SM both call [`Texture::texel`] for
//! the device address of a texel and [`Texture::decode`] for its value.

use crate::types::Type;

/// Texture bound to a buffer. The buffer holds rows of texels, and planes of rows, without gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Name of the texture in the launch file.
    pub name: String,
    /// Device address of the first texel.
    pub base: u64,
    /// Number of texels along x, y and z; 1 along a dimension that the texture does not have.
    pub extent: [u32; 3],
    /// Type of a channel: an integer of at most 32 bits, `.f16` or `.f32`.
    pub ty: Type,
    /// Number of channels of a texel: 1, 2 or 4.
    pub channels: u32,
    /// Handling of real coordinates outside the texture.
    pub outside: AddressMode,
    /// True if coordinates are normalized: real coordinates from 0 to 1 span the whole texture.
    pub normalized: bool,
    /// True if integer channels are converted to real numbers from 0 to 1 (from -1 to 1 if signed).
    pub unit: bool,
}

/// Address mode: handling of real coordinates outside a texture. A fetch with integer coordinates outside
/// always reads 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// Reads the nearest texel at the border of the texture.
    #[default]
    Clamp,
    /// Repeats the texture. Applies to normalized coordinates; all other coordinates are clamped.
    Wrap,
    /// Repeats the texture, mirrored every second time. Applies to normalized coordinates; all other
    /// coordinates are clamped.
    Mirror,
    /// Reads 0 outside the texture.
    Zero,
}

/// Texture instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexOp {
    /// Number of coordinates: 1, 2 or 3.
    pub dims: u8,
    /// True if the texture has layers. The first coordinate is then the integer index of a layer, and
    /// `Texture::extent[dims - 1]` is the number of layers.
    pub layered: bool,
    /// Type of the coordinates: `.s32` or `.f32`.
    pub coordinates: Type,
    /// Type of the result: `.f32`, `.u32` or `.s32`.
    pub result: Type,
}

impl Texture {
    /// Size of a texel in bytes.
    pub fn texel_bytes(&self) -> u32 {
        self.ty.bytes() * self.channels
    }

    /// Returns the device address of the texel at the coordinates `at`, which are the bits of the
    /// instruction's operands. A layer index, if there is one, is the first coordinate. Returns `None` if the
    /// fetch reads 0.
    pub fn texel(&self, op: &TexOp, at: [u32; 3]) -> Option<u64> {
        let [nx, ny, nz] = self.extent;
        let axis = |bits: u32, extent: u32| self.position(op, bits, extent);
        let [x, y, z] = match (op.layered, op.dims) {
            (false, 1) => [axis(at[0], nx)?, 0, 0],
            (false, 2) => [axis(at[0], nx)?, axis(at[1], ny)?, 0],
            (false, _) => [axis(at[0], nx)?, axis(at[1], ny)?, axis(at[2], nz)?],
            (true, 2) => [axis(at[1], nx)?, at[0].min(ny - 1), 0],
            (true, _) => [axis(at[1], nx)?, axis(at[2], ny)?, at[0].min(nz - 1)],
        };
        let index = (u64::from(z) * u64::from(ny) + u64::from(y)) * u64::from(nx) + u64::from(x);
        Some(self.base + index * u64::from(self.texel_bytes()))
    }

    fn position(&self, op: &TexOp, bits: u32, extent: u32) -> Option<u32> {
        if op.coordinates != Type::F32 {
            return (bits < extent).then_some(bits);
        }
        let x = f64::from(f32::from_bits(bits));
        // A NaN coordinate is treated as 0, as in conversions to integers.
        let x = if x.is_nan() { 0.0 } else { x };
        let size = f64::from(extent);
        let scaled = match (self.normalized, self.outside) {
            (false, _) => x,
            (true, AddressMode::Wrap) => (x - x.floor()) * size,
            (true, AddressMode::Mirror) => {
                let (whole, part) = (x.floor(), x - x.floor());
                (if whole.rem_euclid(2.0) == 0.0 { part } else { 1.0 - part }) * size
            }
            (true, _) => x * size,
        };
        let cell = scaled.floor();
        if self.outside == AddressMode::Zero && !(0.0..size).contains(&cell) {
            return None;
        }
        Some(cell.clamp(0.0, size - 1.0) as u32)
    }

    /// Decodes a texel into four components, given as the bits of the result type. Missing channels are 0,
    /// except the fourth, which is 1.
    pub fn decode(&self, op: &TexOp, texel: &[u8]) -> [u32; 4] {
        let one = if op.result == Type::F32 { 1f32.to_bits() } else { 1 };
        let mut components = [0, 0, 0, one];
        let channels = texel.chunks_exact(self.ty.bytes().max(1) as usize).take(self.channels as usize);
        for (component, bytes) in components.iter_mut().zip(channels) {
            *component = self.channel(op, bytes);
        }
        components
    }

    fn channel(&self, op: &TexOp, bytes: &[u8]) -> u32 {
        let raw = bytes.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
        let up = 32 - self.ty.bits().clamp(8, 32);
        let value = if self.ty.is_signed() { ((raw << up) as i32 >> up) as u32 } else { raw };
        match self.ty {
            Type::F16 => crate::lanes::widen_half(raw as u16).to_bits(),
            Type::F32 => raw,
            _ if self.unit && op.result == Type::F32 && self.ty.is_signed() => {
                let top = f64::from(u32::MAX >> (up + 1));
                ((f64::from(value as i32) / top).max(-1.0) as f32).to_bits()
            }
            _ if self.unit && op.result == Type::F32 => {
                ((f64::from(value) / f64::from(u32::MAX >> up)) as f32).to_bits()
            }
            _ => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture() -> Texture {
        Texture {
            name: "t".into(),
            base: 0x1000,
            extent: [4, 3, 2],
            ty: Type::F32,
            channels: 1,
            outside: AddressMode::Clamp,
            normalized: false,
            unit: false,
        }
    }

    const REAL: TexOp = TexOp { dims: 2, layered: false, coordinates: Type::F32, result: Type::F32 };

    fn at(texture: &Texture, op: &TexOp, coordinates: [f32; 3]) -> Option<u64> {
        texture.texel(op, coordinates.map(f32::to_bits)).map(|address| (address - 0x1000) / 4)
    }

    #[test]
    fn a_point_reads_the_texel_of_its_cell_and_the_border_outside() {
        assert_eq!(at(&texture(), &REAL, [1.5, 2.0, 0.0]), Some(9));
        assert_eq!(at(&texture(), &REAL, [-7.0, 99.0, 0.0]), Some(8));
        let zero = Texture { outside: AddressMode::Zero, ..texture() };
        assert_eq!(at(&zero, &REAL, [4.0, 0.0, 0.0]), None);
        assert_eq!(at(&texture(), &REAL, [f32::NAN, 0.0, 0.0]), Some(0));
    }

    #[test]
    fn normalized_coordinates_span_the_extent_and_may_repeat() {
        let unit = Texture { normalized: true, ..texture() };
        assert_eq!(at(&unit, &REAL, [0.49, 0.99, 0.0]), Some(9));
        let wrap = Texture { outside: AddressMode::Wrap, ..unit.clone() };
        assert_eq!(at(&wrap, &REAL, [1.25, -0.01, 0.0]), Some(9));
        let mirror = Texture { outside: AddressMode::Mirror, ..unit };
        assert_eq!(at(&mirror, &REAL, [1.25, 0.0, 0.0]), Some(3));
    }

    #[test]
    fn an_integer_fetch_outside_reads_zero() {
        let fetch = TexOp { dims: 1, coordinates: Type::S32, ..REAL };
        assert_eq!(texture().texel(&fetch, [3, 0, 0]), Some(0x100c));
        assert_eq!(texture().texel(&fetch, [4, 0, 0]), None);
        assert_eq!(texture().texel(&fetch, [u32::MAX, 0, 0]), None);
    }

    #[test]
    fn a_layer_is_the_last_extent() {
        let layered = TexOp { dims: 3, layered: true, coordinates: Type::S32, ..REAL };
        assert_eq!(texture().texel(&layered, [1, 2, 1]), Some(0x1000 + 4 * (12 + 4 + 2)));
        assert_eq!(texture().texel(&layered, [9, 2, 1]), Some(0x1000 + 4 * (12 + 4 + 2)));
    }

    #[test]
    fn channels_are_extended_and_missing_ones_filled() {
        let bytes = Texture { ty: Type::S8, channels: 2, ..texture() };
        let integer = TexOp { result: Type::S32, ..REAL };
        assert_eq!(bytes.decode(&integer, &[0xff, 2]), [u32::MAX, 2, 0, 1]);
        let unit = Texture { ty: Type::U8, channels: 1, unit: true, ..texture() };
        assert_eq!(unit.decode(&REAL, &[255])[0], 1f32.to_bits());
        let half = Texture { ty: Type::F16, ..texture() };
        assert_eq!(half.decode(&REAL, &[0, 0x3e])[0], 1.5f32.to_bits());
    }
}
