//! # Textures and surfaces
//! Computes texel addresses, and decodes and filters texels. A texture is a buffer with a shape, fetched by
//! integer coordinates or by real ones. A point-sampled fetch returns the texel whose cell contains the point.
//! A linearly filtered fetch returns a weighted sum of the texels whose centers surround the point. The
//! functional interpreter and the SM both call [`Texture::corner`] for the address of a texel and its weight,
//! [`Texture::decode`] for its value, and [`blend`] to add it to the sum.
//!
//! Instructions can also access a texture as a surface, at a byte of a row: [`Texture::element`].

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
    /// Filter of fetches with real coordinates.
    pub filter: Filter,
}

/// Filter of fetches with real coordinates. Fetches with integer coordinates read one texel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Returns the texel whose cell contains the point.
    #[default]
    Point,
    /// Interpolates linearly between the two texels along each axis whose centers enclose the point (CUDA C++
    /// Programming Guide, section Texture Fetching). Weights along an axis are multiples of 1/256. Layers are
    /// not interpolated. The texture must have real channels, or `Texture::unit`.
    Linear,
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

/// Handling of surface accesses outside of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Ends the launch with a fault.
    Trap,
    /// Accesses the nearest element inside the surface.
    Clamp,
    /// Loads 0 and stores nothing.
    Zero,
}

/// Access to a surface. The x coordinate is an offset in bytes from the start of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceOp {
    /// Number of coordinates: 1, 2 or 3.
    pub dims: u8,
    /// True if the surface has layers. The first coordinate is then the index of a layer.
    pub layered: bool,
    /// Number of bytes that the instruction accesses.
    pub bytes: u32,
    /// Handling of accesses outside of the surface.
    pub bounds: Bounds,
}

/// Number of steps between the centers of two texels that linear filtering distinguishes.
const STEPS: u32 = 256;

impl Texture {
    /// Size of a texel in bytes.
    pub fn texel_bytes(&self) -> u32 {
        self.ty.bytes() * self.channels
    }

    /// True if a fetch interpolates between texels.
    pub fn is_filtered(&self, op: &TexOp) -> bool {
        self.filter == Filter::Linear && op.coordinates == Type::F32
    }

    /// Returns the number of texels that a fetch reads: 2 along each filtered axis.
    pub fn corners(&self, op: &TexOp) -> u8 {
        if self.is_filtered(op) { 1 << (op.dims - u8::from(op.layered)) } else { 1 }
    }

    /// Returns the device address and the weight of one of the texels that a fetch reads; bit `i` of `corner`
    /// selects the texel of lower (0) or higher (1) coordinate along axis `i`. `at` are the coordinates, the
    /// bits of the instruction's operands. A layer index, if there is one, is the first coordinate. The
    /// address is `None` if the texel reads as 0. The weights of all corners add up to 1.
    pub fn corner(&self, op: &TexOp, at: [u32; 3], corner: u8) -> (Option<u64>, f64) {
        let last = self.extent.map(|extent| extent - 1);
        // A missing axis has one position, and a layer index beyond the last layer selects the last layer.
        let mut place = match (op.layered, op.dims) {
            (true, 2) => [Some(0), Some(at[0].min(last[1])), Some(0)],
            (true, _) => [Some(0), Some(0), Some(at[0].min(last[2]))],
            _ => [Some(0); 3],
        };
        let first = usize::from(op.layered);
        let mut weight = 1.0;
        for (axis, &bits) in at[first..usize::from(op.dims)].iter().enumerate() {
            if op.coordinates != Type::F32 {
                place[axis] = Some(bits).filter(|&bits| bits <= last[axis]);
            } else if self.filter == Filter::Point {
                place[axis] = self.position(bits, self.extent[axis]);
            } else {
                let (position, share) = self.neighbor(bits, self.extent[axis], corner >> axis & 1 != 0);
                place[axis] = position;
                weight *= share;
            }
        }
        let address = match place {
            [Some(x), Some(y), Some(z)] => {
                let [nx, ny, _] = self.extent.map(u64::from);
                let index = (u64::from(z) * ny + u64::from(y)) * nx + u64::from(x);
                Some(self.base + index * u64::from(self.texel_bytes()))
            }
            _ => None,
        };
        (address, weight)
    }

    /// Returns the position along an axis of the texel whose center is nearest below a real coordinate, or
    /// nearest above it, and the weight of that texel along the axis. The position is `None` if the texel lies
    /// outside of the texture and reads as 0.
    fn neighbor(&self, bits: u32, extent: u32, is_above: bool) -> (Option<u32>, f64) {
        let size = f64::from(extent);
        let x = coordinate(bits);
        let scaled = if self.normalized { x * size } else { x } - 0.5;
        let below = scaled.floor();
        let share = ((scaled - below) * f64::from(STEPS)).round() / f64::from(STEPS);
        let cell = if is_above { below + 1.0 } else { below };
        let position = match (self.normalized, self.outside) {
            (_, AddressMode::Zero) => (0.0..size).contains(&cell).then_some(cell),
            (true, AddressMode::Wrap) => Some(cell.rem_euclid(size)),
            (true, AddressMode::Mirror) => {
                let within = cell.rem_euclid(2.0 * size);
                Some(if within < size { within } else { 2.0 * size - 1.0 - within })
            }
            _ => Some(cell),
        };
        let share = if share.is_finite() { share } else { 0.0 };
        let position = position.map(|cell| cell.clamp(0.0, size - 1.0) as u32);
        (position, if is_above { share } else { 1.0 - share })
    }

    /// Returns the device address of the bytes that a surface access touches. `at` are the coordinates, as
    /// signed 32-bit numbers; a layer index, if there is one, is the first of them. Returns `None` if the
    /// access lies outside of the surface and is not clamped to it.
    pub fn element(&self, op: &SurfaceOp, at: [u32; 3]) -> Option<u64> {
        let [nx, ny, nz] = self.extent.map(u64::from);
        let row = nx * u64::from(self.texel_bytes());
        let [x, y, z] = match (op.layered, op.dims) {
            (true, 2) => [at[1], at[0], 0],
            (true, _) => [at[1], at[2], at[0]],
            (false, dims) => std::array::from_fn(|axis| if axis < usize::from(dims) { at[axis] } else { 0 }),
        };
        let place = |coordinate: u32, last: u64| {
            let inside = i64::from(coordinate as i32).clamp(0, last as i64);
            (op.bounds == Bounds::Clamp || inside == i64::from(coordinate as i32)).then_some(inside as u64)
        };
        let x = place(x, row.checked_sub(op.bytes.into())?)?;
        Some(self.base + (place(z, nz - 1)? * ny + place(y, ny - 1)?) * row + x)
    }

    /// Returns the position along an axis of the texel whose cell contains a real coordinate; `None` if the
    /// texel reads as 0.
    fn position(&self, bits: u32, extent: u32) -> Option<u32> {
        let x = coordinate(bits);
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

/// Returns the value of a real coordinate. A NaN is treated as 0, as in conversions to integers.
fn coordinate(bits: u32) -> f64 {
    let x = f64::from(f32::from_bits(bits));
    if x.is_nan() { 0.0 } else { x }
}

/// Adds the component `texel` of a texel, an `.f32` number, to the sum of a filtered fetch. `weight` is the
/// weight of the texel. The result is rounded to `.f32`. A texel of weight 0 has no effect, whatever its value.
pub fn blend(sum: u32, texel: u32, weight: f64) -> u32 {
    if weight == 0.0 {
        return sum;
    }
    let [sum, texel] = [sum, texel].map(|bits| f64::from(f32::from_bits(bits)));
    ((sum + texel * weight) as f32).to_bits()
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
            filter: Filter::Point,
        }
    }

    const REAL: TexOp = TexOp { dims: 2, layered: false, coordinates: Type::F32, result: Type::F32 };

    fn at(texture: &Texture, op: &TexOp, coordinates: [f32; 3]) -> Option<u64> {
        texel(texture, op, coordinates.map(f32::to_bits)).map(|address| (address - 0x1000) / 4)
    }

    fn texel(texture: &Texture, op: &TexOp, coordinates: [u32; 3]) -> Option<u64> {
        assert_eq!(texture.corners(op), 1);
        let (address, weight) = texture.corner(op, coordinates, 0);
        assert_eq!(weight, 1.0);
        address
    }

    /// Returns the texels, by index, that a fetch reads with a weight other than 0, and their weights in 1/256.
    fn weights(texture: &Texture, op: &TexOp, coordinates: [f32; 3]) -> Vec<(Option<u64>, f64)> {
        let corners = (0..texture.corners(op)).map(|corner| texture.corner(op, coordinates.map(f32::to_bits), corner));
        let all: Vec<_> = corners.collect();
        assert_eq!(all.iter().map(|(_, weight)| weight).sum::<f64>(), 1.0);
        let read = all.into_iter().filter(|(_, weight)| *weight != 0.0);
        read.map(|(address, weight)| (address.map(|address| (address - 0x1000) / 4), weight * 256.0)).collect()
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
        assert_eq!(texel(&texture(), &fetch, [3, 0, 0]), Some(0x100c));
        assert_eq!(texel(&texture(), &fetch, [4, 0, 0]), None);
        assert_eq!(texel(&texture(), &fetch, [u32::MAX, 0, 0]), None);
        let linear = Texture { filter: Filter::Linear, ..texture() };
        assert_eq!(texel(&linear, &fetch, [3, 0, 0]), Some(0x100c));
    }

    #[test]
    fn a_layer_is_the_last_extent() {
        let layered = TexOp { dims: 3, layered: true, coordinates: Type::S32, ..REAL };
        assert_eq!(texel(&texture(), &layered, [1, 2, 1]), Some(0x1000 + 4 * (12 + 4 + 2)));
        assert_eq!(texel(&texture(), &layered, [9, 2, 1]), Some(0x1000 + 4 * (12 + 4 + 2)));
    }

    #[test]
    fn a_filtered_fetch_weighs_the_texels_around_the_point() {
        let linear = Texture { filter: Filter::Linear, ..texture() };
        let flat = TexOp { dims: 1, ..REAL };
        // The center of texel i lies at i + 0.5, where only this texel counts.
        assert_eq!(weights(&linear, &flat, [2.5, 0.0, 0.0]), [(Some(2), 256.0)]);
        assert_eq!(weights(&linear, &flat, [2.75, 0.0, 0.0]), [(Some(2), 192.0), (Some(3), 64.0)]);
        // 1/1024 before the center rounds to weight 1, 1/256 does not.
        assert_eq!(weights(&linear, &flat, [2.5 - 1.0 / 1024.0, 0.0, 0.0]), [(Some(2), 256.0)]);
        assert_eq!(weights(&linear, &flat, [2.5 - 1.0 / 256.0, 0.0, 0.0]), [(Some(1), 1.0), (Some(2), 255.0)]);
        let square = weights(&linear, &REAL, [1.0, 1.25, 0.0]);
        assert_eq!(square, [(Some(0), 32.0), (Some(1), 32.0), (Some(4), 96.0), (Some(5), 96.0)]);
        let cube = TexOp { dims: 3, ..REAL };
        assert_eq!(weights(&linear, &cube, [1.0, 1.0, 1.0]).len(), 8);
        let layered = TexOp { dims: 2, layered: true, ..REAL };
        assert_eq!(linear.corners(&layered), 2);
        let (address, _) = linear.corner(&layered, [1, 0.5f32.to_bits(), 0], 0);
        assert_eq!(address, Some(0x1010));
    }

    #[test]
    fn a_filtered_fetch_outside_reads_what_the_address_mode_says() {
        let flat = TexOp { dims: 1, ..REAL };
        let of = |outside, normalized| Texture { filter: Filter::Linear, outside, normalized, ..texture() };
        let read = |texture: Texture, x: f32| weights(&texture, &flat, [x, 0.0, 0.0]);
        assert_eq!(read(of(AddressMode::Clamp, false), 4.0), [(Some(3), 128.0); 2]);
        assert_eq!(read(of(AddressMode::Clamp, false), f32::INFINITY), [(Some(3), 256.0)]);
        assert_eq!(read(of(AddressMode::Zero, false), 4.0), [(Some(3), 128.0), (None, 128.0)]);
        assert_eq!(read(of(AddressMode::Wrap, true), 1.0), [(Some(3), 128.0), (Some(0), 128.0)]);
        assert_eq!(read(of(AddressMode::Wrap, true), -0.25), [(Some(2), 128.0), (Some(3), 128.0)]);
        assert_eq!(read(of(AddressMode::Mirror, true), 1.25), [(Some(3), 128.0), (Some(2), 128.0)]);
        assert_eq!(read(of(AddressMode::Mirror, true), 0.0), [(Some(0), 128.0); 2]);
    }

    #[test]
    fn a_sum_takes_no_notice_of_texels_without_weight() {
        let [one, three, nan] = [1.0, 3.0, f32::NAN].map(f32::to_bits);
        assert_eq!(blend(one, three, 0.5), 2.5f32.to_bits());
        assert_eq!(blend(one, nan, 0.0), one);
    }

    #[test]
    fn a_surface_is_accessed_by_bytes_of_rows() {
        let op = SurfaceOp { dims: 2, layered: false, bytes: 4, bounds: Bounds::Zero };
        assert_eq!(texture().element(&op, [12, 2, 0]), Some(0x1000 + 32 + 12));
        // Rows have 16 bytes, and the last three offsets leave no room for four bytes.
        assert_eq!(texture().element(&op, [13, 2, 0]), None);
        assert_eq!(texture().element(&op, [0, 3, 0]), None);
        assert_eq!(texture().element(&op, [-4i32 as u32, 0, 0]), None);
        let clamp = SurfaceOp { bounds: Bounds::Clamp, ..op };
        assert_eq!(texture().element(&clamp, [-4i32 as u32, 99, 0]), Some(0x1000 + 32));
        assert_eq!(texture().element(&clamp, [99, 0, 0]), Some(0x1000 + 12));
        let layered = SurfaceOp { dims: 3, layered: true, ..op };
        assert_eq!(texture().element(&layered, [1, 8, 2]), Some(0x1000 + 48 + 32 + 8));
        assert_eq!(texture().element(&layered, [2, 8, 2]), None);
        let flat = SurfaceOp { dims: 1, bytes: 32, ..clamp };
        assert_eq!(texture().element(&flat, [0, 7, 7]), None, "a row has less than 32 bytes");
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
