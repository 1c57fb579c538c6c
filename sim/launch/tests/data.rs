//! Tests of the initial contents of buffers, and of reading and writing `.npy` files.

use std::fs;
use std::path::Path;

use golden::reference::{Array, ElementType};

use super::super::{read_npy, read_npy_bytes, write_npy};
use super::{Folder, with_launch};

fn initial(folder: &Folder, element: &str, elements: usize, init: &str) -> Array {
    let text =
        with_launch(&format!("[[buffer]]\nname = \"a\"\ntype = \"{element}\"\nelements = {elements}\ninit = {init}\n"));
    folder.read(&text).unwrap().initial().remove(0)
}

fn reals(array: &Array) -> Vec<f64> {
    (0..array.len()).map(|idx| array.real(idx)).collect()
}

#[test]
fn iota_counts_from_zero_or_as_it_is_told() {
    let folder = Folder::new();
    assert_eq!(reals(&initial(&folder, "u16", 3, "\"iota\"")), [0.0, 1.0, 2.0]);
    let down = "{ iota = { start = 5, step = -5 } }";
    assert_eq!(reals(&initial(&folder, "i8", 3, down)), [5.0, 0.0, -5.0]);
    let half = "{ iota = { step = 0.5 } }";
    assert_eq!(reals(&initial(&folder, "f64", 3, half)), [0.0, 0.5, 1.0]);
}

#[test]
fn random_data_depend_on_the_seed_alone() {
    let folder = Folder::new();
    let draw = |seed| {
        let init = format!("{{ random = {{ seed = {seed}, low = -1.0, high = 1.0 }} }}");
        initial(&folder, "f32", 1000, &init)
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    // The generated values must never change, so that results remain comparable between versions of the
    // program.
    let first: Vec<_> = (0..3).map(|idx| draw(1).show(idx)).collect();
    assert_eq!(first, ["0.13312314", "0.49156353", "0.9420055"]);
}

#[test]
fn random_data_fill_their_range_evenly() {
    let folder = Folder::new();
    let init = "{ random = { seed = 3, low = 0, high = 256 } }";
    let array = initial(&folder, "u8", 1 << 16, init);
    let mut counts = [0; 256];
    array.bytes().iter().for_each(|&b| counts[usize::from(b)] += 1);
    // Tests that random bytes are uniformly distributed. Each of the 256 values should occur 256 times, with
    // a standard deviation of 16. The permitted range is 256 plus or minus five standard deviations.
    assert!(counts.iter().all(|count| (176..336).contains(count)));
}

#[test]
fn an_npy_file_is_read_back_as_it_was_written() {
    let folder = Folder::new();
    let path = folder.path("a.npy");
    for element in ElementType::ALL {
        let array = match element.integer_range() {
            Some((low, high)) => Array::from_integers(element, [low, high, 1]),
            None => Array::from_reals(element, [-0.0, f64::INFINITY, 0.1]),
        };
        write_npy(&path, &array).unwrap();
        assert_eq!(read_npy(&path, element).unwrap(), array, "{element}");
    }
}

#[test]
fn an_npy_file_with_more_than_one_array_is_refused() {
    let folder = Folder::new();
    let path = folder.path("a.npy");
    write_npy(&path, &Array::from_integers(ElementType::U8, [1, 2])).unwrap();
    let one = fs::read(&path).unwrap();
    fs::write(&path, one.repeat(2)).unwrap();
    let error = read_npy(&path, ElementType::U8).unwrap_err().to_string();
    assert!(error.contains("there are bytes after its elements, expected one array"), "{error}");
}

#[test]
fn an_npy_file_fills_a_buffer_whatever_its_shape_and_byte_order() {
    let folder = Folder::new();
    let header = "{'descr': '>i4', 'fortran_order': False, 'shape': (2, 2), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(118_u16.to_le_bytes());
    bytes.extend(format!("{header:<117}\n").bytes());
    for value in [1_i32, -2, 3, -4] {
        bytes.extend(value.to_be_bytes());
    }
    fs::write(folder.path("x.npy"), bytes).unwrap();
    let text = "[[buffer]]\nname = \"a\"\ntype = \"i32\"\ninit = { file = \"x.npy\" }\n";
    let file = folder.read(&with_launch(text)).unwrap();
    assert_eq!(file.buffers[0].elements, 4);
    assert_eq!(reals(&file.initial()[0]), [1.0, -2.0, 3.0, -4.0]);
}

#[test]
fn a_header_with_brackets_deeper_than_any_type_has_is_refused_before_it_is_parsed() {
    let read = |header: &str| {
        let length = (header.len() as u16).to_le_bytes();
        let bytes = [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), b"{{{{{{{{"].concat();
        read_npy_bytes(Path::new("x.npy"), bytes.as_slice(), ElementType::U64)
    };
    let of_record = "{'descr': [('a', [('b', '<i4', (2,))])], 'fortran_order': False, 'shape': (1,), }";
    assert!(read(of_record).unwrap_err().to_string().starts_with("x.npy holds "));
    let refused = read(&"{".repeat(40)).unwrap_err().to_string();
    let why = "x.npy is not a readable .npy file: the brackets of its header are nested 40 deep, expected at most 6";
    assert_eq!(refused, why);
}

#[test]
fn writing_replaces_a_file_and_leaves_no_other_behind() {
    let folder = Folder::new();
    let path = folder.path("a.npy");
    fs::write(&path, "old").unwrap();
    let array = Array::zeros(ElementType::U8, 5);
    write_npy(&path, &array).unwrap();
    assert_eq!(read_npy(&path, ElementType::U8).unwrap(), array);
    let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 2, "k.ptx and a.npy");
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let path = folder.path("nowhere/a.npy");
    let error = write_npy(&path, &Array::zeros(ElementType::U8, 5)).unwrap_err();
    let expected = format!("cannot write {}: ", path.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn the_expected_values_of_a_file_are_compared_as_it_says() {
    let folder = Folder::new();
    let values = Array::from_reals(ElementType::F32, [1.0, 2.0]);
    write_npy(&folder.path("y.npy"), &values).unwrap();
    let text = r#"
[[buffer]]
name = "y"
type = "f32"
elements = 2
[[output]]
buffer = "y"
expect = { file = "y.npy", tolerance = { absolute = 0.5 } }
"#;
    let file = folder.read(&with_launch(text)).unwrap();
    let expected = file.compute_expected(&file.initial()).unwrap().remove(0).unwrap();
    let judge = |values: [f64; 2]| {
        let got = Array::from_reals(ElementType::F32, values);
        golden::reference::compare(&got, &expected.values, &expected.rule)
    };
    assert!(judge([1.5, 2.0]).is_ok());
    assert!(judge([1.75, 2.0]).is_err());
}

#[test]
fn a_buffer_can_state_its_address_but_not_a_low_one() {
    let folder = Folder::new();
    let text = |address: &str| {
        with_launch(&format!("[[buffer]]\nname = \"a\"\ntype = \"u8\"\nelements = 3\naddress = {address}\n"))
    };
    assert_eq!(folder.read(&text("0x10_0300")).unwrap().buffers[0].address, Some(0x10_0300));
    let problems = folder.problems(&text("0xf_ffff"));
    assert!(
        problems.len() == 1 && problems[0].contains("`buffer[0].address` is 0xf_ffff, expected 1048576"),
        "{problems:?}"
    );
}
