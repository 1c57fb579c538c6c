//! Tests of buffers that represent PTX variables, and of buffers that are textures.

use super::super::Buffer;
use super::super::model::{AddressMode, Filter, Init, TextureShape};
use super::{Folder, with_launch};

/// Returns the only buffer of a launch file, whose table contains the text `rest`.
fn buffer(rest: &str) -> Buffer {
    let text = with_launch(&format!("[[buffer]]\nname = \"a\"\n{rest}\n"));
    Folder::new().read(&text).unwrap().buffers.remove(0)
}

fn problems(rest: &str) -> Vec<String> {
    Folder::new().problems(&with_launch(&format!("[[buffer]]\nname = \"a\"\n{rest}\n")))
}

fn texture(shape: &str) -> TextureShape {
    buffer(&format!("type = \"f32\"\nelements = 24\ntexture = {shape}")).texture.unwrap()
}

#[test]
fn a_buffer_that_stands_for_a_variable_holds_what_the_module_says_unless_told_otherwise() {
    let plain = buffer("type = \"u32\"\nelements = 4\nsymbol = \"table\"");
    assert_eq!(plain.symbol.as_deref(), Some("table"));
    assert!(matches!(plain.init, Init::Module), "{:?}", plain.init);
    let given = buffer("type = \"u32\"\nelements = 4\nsymbol = \"table\"\ninit = \"zeros\"");
    assert!(matches!(given.init, Init::Zeros), "{:?}", given.init);
}

#[test]
fn a_texture_given_by_name_is_a_row_of_single_texels_that_clamps() {
    let shape = texture("\"source\"");
    let TextureShape { name, extent, channels, outside, normalized, unit, filter } = shape;
    assert_eq!((name.as_deref(), extent, channels), (Some("source"), [24, 1, 1], 1));
    assert_eq!((outside, normalized, unit, filter), (AddressMode::Clamp, false, false, Filter::Point));
}

#[test]
fn the_width_of_a_texture_follows_from_the_other_extents() {
    let shape = texture("{ name = \"t\", height = 3, channels = 2, outside = \"mirror\", normalized = true }");
    assert_eq!((shape.extent, shape.channels), ([4, 3, 1], 2));
    assert_eq!((shape.outside, shape.normalized), (AddressMode::Mirror, true));
}

#[test]
fn a_texture_without_a_name_is_reached_by_its_handle_alone() {
    assert_eq!(texture("{ depth = 2 }").name, None);
}

#[test]
fn texels_must_fill_the_buffer() {
    for shape in ["{ width = 5 }", "{ height = 7 }", "{ channels = 3 }", "{ width = 24, height = 2 }"] {
        let found = problems(&format!("type = \"f32\"\nelements = 24\ntexture = {shape}"));
        let expected = "expected 1, 2 or 4 channels, and width x height x depth x channels = 24, the elements";
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("5:11: ") && found[0].contains(expected), "{found:?}");
    }
}

#[test]
fn elements_of_eight_bytes_make_no_texture() {
    let found = problems("type = \"f64\"\nelements = 24\ntexture = \"t\"");
    assert!(found[0].contains("no texture: the elements of a texture have at most 32 bits"), "{found:?}");
}

#[test]
fn a_linear_filter_needs_real_numbers() {
    assert_eq!(texture("{ filter = \"linear\" }").filter, Filter::Linear);
    let of = |rest: &str| format!("type = \"u8\"\nelements = 24\ntexture = {{ filter = \"linear\"{rest} }}");
    assert_eq!(buffer(&of(", unit = true")).texture.unwrap().filter, Filter::Linear);
    let found = problems(&of(""));
    assert!(found[0].contains("expected real elements, or `unit = true`, for `filter = \"linear\"`"), "{found:?}");
    let found = problems(&of("").replace("linear", "lineal"));
    assert!(found[0].contains("did you mean `linear`?"), "{found:?}");
}

#[test]
fn an_unknown_way_to_read_outside_is_answered_with_the_nearest() {
    let found = problems("type = \"f32\"\nelements = 24\ntexture = { outside = \"wrapp\" }");
    assert!(found[0].contains("wrapp") && found[0].contains("did you mean `wrap`?"), "{found:?}");
}
