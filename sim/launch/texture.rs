//! Reads the key `texture` of a buffer. Kernels read such a buffer by coordinates.

use golden::reference::ElementType;

use super::model::{AddressMode, Filter, TextureShape};
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
        filter: Filter::Point,
    };
    if !node.is_table() {
        return node.text("the name of a texture reference, or a table", problems).map(plain);
    }
    let keys = &["name", "width", "height", "depth", "channels", "outside", "normalized", "unit", "filter"];
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
    let modes = [
        ("clamp", AddressMode::Clamp),
        ("wrap", AddressMode::Wrap),
        ("mirror", AddressMode::Mirror),
        ("zero", AddressMode::Zero),
    ];
    let filters = [("point", Filter::Point), ("linear", Filter::Linear)];
    let outside = choice(table.get("outside"), ("the mode of reads outside the texture", "modes"), &modes, problems)?;
    let filter = choice(table.get("filter"), ("the filter of fetches", "filters"), &filters, problems)?;
    let mut flag = |key: &str| match table.get(key) {
        None => Some(false),
        Some(node) => node.flag(problems),
    };
    let (normalized, unit) = (flag("normalized")?, flag("unit")?);
    if filter == Filter::Linear && !element.is_real() && !unit {
        let expected = "real elements, or `unit = true`, for `filter = \"linear\"`";
        problems.refuse(&node.place, expected);
        return None;
    }
    let extent = [width as u32, height, depth];
    Some(TextureShape { extent, channels, outside, normalized, unit, filter, ..plain(name.unwrap_or_default()) })
}

/// Reads a key whose value is one of the words in `all`; without the key, the default. `what` is the meaning of
/// the key and the plural of its values, for error messages.
fn choice<T: Copy + Default>(
    node: Option<Node<'_>>,
    (what, values): (&str, &str),
    all: &[(&str, T)],
    problems: &mut Problems<'_>,
) -> Option<T> {
    let Some(node) = node else { return Some(T::default()) };
    let word = node.text(what, problems)?;
    let found = all.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        problems.refuse_with_help(&node.place, what, Some(suggestion(word, values, &names)));
    }
    found
}
