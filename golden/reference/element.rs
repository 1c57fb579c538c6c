//! Typed arrays stored as plain bytes: contents of buffers and `.npy` files, and results of references.

use std::fmt;

use super::half;

/// Element type of a buffer. Elements are stored in little-endian order, as on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Unsigned integer of 8 bits.
    U8,
    /// Signed integer of 8 bits (two's complement).
    I8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Signed integer of 16 bits (two's complement).
    I16,
    /// Unsigned integer of 32 bits.
    U32,
    /// Signed integer of 32 bits (two's complement).
    I32,
    /// Unsigned integer of 64 bits.
    U64,
    /// Signed integer of 64 bits (two's complement).
    I64,
    /// IEEE 754 binary16 (half precision).
    F16,
    /// IEEE 754 binary32 (single precision).
    F32,
    /// IEEE 754 binary64 (double precision).
    F64,
}

impl ElementType {
    /// All element types, in the order in which messages list them.
    pub const ALL: [Self; 11] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// Returns the name of the element type in launch files, from `i8` to `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Returns the element type that has the given name, or `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Returns the size of one element in bytes: 1, 2, 4 or 8.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// True for the floating-point types `f16`, `f32` and `f64`.
    pub const fn is_real(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Returns the smallest and largest value of an integer type, or `None` for a floating-point type.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.bytes() as u32;
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Some((0, (1 << bits) - 1)),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Self::F16 | Self::F32 | Self::F64 => None,
        }
    }
}

impl ElementType {
    /// Rounds a real number to this element type. Returns it unchanged for integer types and `f64`.
    #[must_use]
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::F16 => half::value(half::bits(value)),
            Self::F32 => f64::from(value as f32),
            _ => value,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Array of one element type, stored as little-endian bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    element: ElementType,
    bytes: Vec<u8>,
}

impl Array {
    /// Creates an array from bytes.
    ///
    /// # Panics
    /// Panics if the bytes are not a whole number of elements.
    pub fn from_bytes(element: ElementType, bytes: Vec<u8>) -> Self {
        assert!(
            bytes.len().is_multiple_of(element.bytes()),
            "{} bytes are not a whole number of {element} elements",
            bytes.len()
        );
        Self { element, bytes }
    }

    /// Creates an array of zeros.
    pub fn zeros(element: ElementType, len: usize) -> Self {
        Self { element, bytes: vec![0; len * element.bytes()] }
    }

    /// Creates an array of real numbers, each rounded to the element type.
    ///
    /// # Panics
    /// Panics if the element type is an integer type.
    pub fn from_reals(element: ElementType, values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter();
        let bytes = match element {
            ElementType::F16 => values.flat_map(|v| half::bits(v).to_le_bytes()).collect(),
            ElementType::F32 => values.flat_map(|v| (v as f32).to_le_bytes()).collect(),
            ElementType::F64 => values.flat_map(f64::to_le_bytes).collect(),
            _ => panic!("real values do not fit into {element} elements"),
        };
        Self { element, bytes }
    }

    /// Creates an array of integers.
    ///
    /// # Panics
    /// Panics if a value is outside the range of the element type, or if the element type is a floating-point
    /// type.
    pub fn from_integers(element: ElementType, values: impl IntoIterator<Item = i128>) -> Self {
        let Some((low, high)) = element.integer_range() else {
            panic!("integer values do not fit into {element} elements");
        };
        let mut bytes = Vec::new();
        for value in values {
            assert!((low..=high).contains(&value), "{value} is not within {element}");
            bytes.extend_from_slice(&value.to_le_bytes()[..element.bytes()]);
        }
        Self { element, bytes }
    }

    /// Returns the element type of the array.
    pub const fn element(&self) -> ElementType {
        self.element
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element.bytes()
    }

    /// True if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns all bytes of the array.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of element `idx`.
    ///
    /// # Panics
    /// Panics if `idx` is not below [`len`](Self::len). The other accessors of an element do the same.
    pub fn raw(&self, idx: usize) -> &[u8] {
        let size = self.element.bytes();
        &self.bytes[idx * size..][..size]
    }

    /// Returns element `idx` as a real number. The value is exact except for integers beyond 2^53.
    pub fn real(&self, idx: usize) -> f64 {
        match self.element {
            ElementType::F16 => half::value(self.unsigned(idx) as u16),
            ElementType::F32 => f64::from(f32::from_bits(self.unsigned(idx) as u32)),
            ElementType::F64 => f64::from_bits(self.unsigned(idx)),
            _ => self.integer(idx) as f64,
        }
    }

    /// Returns element `idx` as an integer. For a floating-point type, returns its bits.
    pub fn integer(&self, idx: usize) -> i128 {
        let value = i128::from(self.unsigned(idx));
        match self.element.integer_range() {
            Some((low, high)) if value > high => value + 2 * low,
            _ => value,
        }
    }

    /// Formats element `idx` for reports, as the shortest decimal number that reads back as the same value.
    /// An `f16` is first converted to `f32`.
    pub fn show(&self, idx: usize) -> String {
        match self.element {
            ElementType::F16 | ElementType::F32 => format!("{:?}", self.real(idx) as f32),
            ElementType::F64 => format!("{:?}", self.real(idx)),
            _ => self.integer(idx).to_string(),
        }
    }

    fn unsigned(&self, idx: usize) -> u64 {
        let mut wide = [0; 8];
        wide[..self.element.bytes()].copy_from_slice(self.raw(idx));
        u64::from_le_bytes(wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_name() {
        for element in ElementType::ALL {
            assert_eq!(ElementType::from_name(element.name()), Some(element));
        }
        assert_eq!(ElementType::from_name("float"), None);
    }

    #[test]
    fn integers_keep_their_sign_at_both_ends_of_the_range() {
        for element in ElementType::ALL {
            if let Some((low, high)) = element.integer_range() {
                let array = Array::from_integers(element, [low, 0, high]);
                assert_eq!(array.len(), 3);
                let back: Vec<_> = (0..3).map(|idx| array.integer(idx)).collect();
                assert_eq!(back, [low, 0, high], "{element}");
            }
        }
    }

    #[test]
    fn bytes_are_little_endian() {
        let array = Array::from_integers(ElementType::U32, [0x0102_0304]);
        assert_eq!(array.bytes(), [4, 3, 2, 1]);
    }

    #[test]
    fn reals_are_rounded_to_the_element_type() {
        let array = Array::from_reals(ElementType::F32, [0.1]);
        assert_eq!(array.real(0), f64::from(0.1_f32));
        assert_eq!(array.show(0), "0.1");
    }

    #[test]
    #[should_panic(expected = "256 is not within u8")]
    fn a_value_beyond_the_type_is_refused() {
        Array::from_integers(ElementType::U8, [256]);
    }
}
