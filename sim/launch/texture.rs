//! Reads the key `texture` of a buffer. Kernels read such a buffer by coordinates.

use golden::reference::ElementType;

use super::model::{AddressMode, TextureShape};
use super::node::Node;
use super::problem::Problems;
use crate::config::suggestion;

/// Maximum extent of a texture along an axis in texels.
const MAX_EXTENT: i128 = 1 << 27;

/// Reads `texture = "NAME"`, or a table that also states the shape of the texture. The buffer has `elements`
/// elements.
pub(super) fn read_texture(
    node: &Node<'_>,
    element: ElementType,
    elements: usize,
    problems: &mut Problems<'_>,
) -> Option<TextureShape> {
    if matches!(element.bytes(), 8) {
        problems.refuse(&node.place, "no texture: the elements of a texture have at most 32 bits");
        return None;
    }
    let plain = |name: &str| TextureShape {
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        extent: [elements as u32, 1, 1],
        channels: 1,
        outside: AddressMode::Clamp,
        normalized: false,
        unit: false,
    };
    if !node.is_table() {
        return node.text("the name of a texture reference, or a table", problems).map(plain);
    }
    let keys = &["name", "width", "height", "depth", "channels", "outside", "normalized", "unit"];
    let table = node.table(keys, problems)?;
    let mut number = |key: &str, most: i128| match table.get(key) {
        None => Some(None),
        Some(node) => {
            let why = "texels along an axis, or channels of a texel";
            Some(Some(node.integer(1..=most, why, problems)? as u32))
        }
    };
    let (width, height) = (number("width", MAX_EXTENT)?, number("height", MAX_EXTENT)?);
    let (depth, channels) = (number("depth", MAX_EXTENT)?, number("channels", 4)?);
    let (height, depth, channels) = (height.unwrap_or(1), depth.unwrap_or(1), channels.unwrap_or(1));
    let rest = u64::from(height) * u64::from(depth) * u64::from(channels);
    let width = u64::from(width.unwrap_or((elements as u64 / rest) as u32));
    if channels == 3 || width.checked_mul(rest) != Some(elements as u64) {
        let expected = format!("1, 2 or 4 channels, and width x height x depth x channels = {elements}, the elements");
        problems.refuse(&node.place, expected);
        return None;
    }
    let name = match table.get("name") {
        Some(node) => Some(node.text("the name of a texture reference", problems)?),
        None => None,
    };
    let outside = match table.get("outside") {
        None => AddressMode::Clamp,
        Some(node) => {
            let all = [
                ("clamp", AddressMode::Clamp),
                ("wrap", AddressMode::Wrap),
                ("mirror", AddressMode::Mirror),
                ("zero", AddressMode::Zero),
            ];
            let word = node.text("the mode of reads outside the texture", problems)?;
            match all.iter().find(|(name, _)| *name == word) {
                Some((_, outside)) => *outside,
                None => {
                    let names = all.map(|(name, _)| name);
                    let help = suggestion(word, "modes", &names);
                    problems.refuse_with_help(&node.place, "the mode of reads outside the texture", Some(help));
                    return None;
                }
            }
        }
    };
    let mut flag = |key: &str| match table.get(key) {
        None => Some(false),
        Some(node) => node.flag(problems),
    };
    let (normalized, unit) = (flag("normalized")?, flag("unit")?);
    let extent = [width as u32, height, depth];
    Some(TextureShape { extent, channels, outside, normalized, unit, ..plain(name.unwrap_or_default()) })
}
