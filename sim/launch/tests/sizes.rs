//! Tests of problem sizes: how a size is selected, what expressions yield, and every rule of sizes.

use std::fs;
use std::path::Path;

use golden::reference::ElementType;

use super::super::{LaunchFile, locate};
use super::Folder;

const SIZED: &str = r#"
title = "= title"

[size]
title = "many"
n = 1000
threads = 256
padded = "= next_multiple(n, threads)"
block = ["= threads"]
data = ""

[size.few]
title = "few"
n = 10
block = [16, 4]

[[buffer]]
name = "a"
type = "f32"
elements = "= padded"
init = { random = { seed = 1, low = 0.0, high = "= 1.0 * n" } }

[[step]]
[[step.launch]]
ptx = "= data + 'k.ptx'"
kernel = "k"
grid = ["= div_ceil(n, threads)", 1]
block = "= block"
args = ["a", { i32 = "= n" }]
"#;

fn sized() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("run.toml"), SIZED).unwrap();
    fs::write(folder.path("launch.toml"), SIZED).unwrap();
    folder
}

#[test]
fn a_size_gives_the_numbers_of_the_launch() {
    let folder = sized();
    for (path, title, elements, grid, block) in [
        ("run.toml", "many", 1024, [4, 1, 1], [256, 1, 1]),
        ("launch.toml", "many", 1024, [4, 1, 1], [256, 1, 1]),
        ("run.toml/few", "few", 256, [1, 1, 1], [16, 4, 1]),
        ("few", "few", 256, [1, 1, 1], [16, 4, 1]),
    ] {
        let file = LaunchFile::read(&folder.path(path)).unwrap();
        assert_eq!(file.path, folder.path(path));
        assert!(file.reads().any(|(_, read)| read.ends_with("k.ptx")));
        assert_eq!(file.title.as_deref(), Some(title));
        assert_eq!((file.buffers[0].element, file.buffers[0].elements), (ElementType::F32, elements), "{path}");
        let launch = file.launches().next().unwrap();
        assert_eq!((launch.grid, launch.block), (grid, block), "{path}");
    }
    // The sized file without expressions is the same launch file.
    let plain = LaunchFile::expand(&folder.path("few")).unwrap();
    fs::write(folder.path("plain.toml"), toml::to_string(&plain).unwrap()).unwrap();
    let plain = LaunchFile::read(&folder.path("plain.toml")).unwrap();
    assert_eq!(plain.initial(), LaunchFile::read(&folder.path("few")).unwrap().initial());
}

#[test]
fn a_path_selects_a_size_only_if_no_file_has_that_path() {
    let folder = sized();
    let of = |path: &str| {
        let (file, size) = locate(&folder.path(path));
        (file.strip_prefix(folder.path("")).unwrap().display().to_string(), size)
    };
    let few = || Some("few".to_owned());
    assert_eq!(of("few"), ("launch.toml".to_owned(), few()));
    assert_eq!(of("run.toml/few"), ("run.toml".to_owned(), few()));
    assert_eq!(of(""), ("launch.toml".to_owned(), None));
    assert_eq!(of("run"), ("run.toml".to_owned(), None));
    assert_eq!(of("none.toml"), ("none.toml".to_owned(), None));
    assert_eq!(of("none/few"), ("none/few".to_owned(), None));
    fs::create_dir(folder.path("few")).unwrap();
    assert_eq!(of("few"), ("few".to_owned(), None));
    assert_eq!(locate(Path::new("nowhere")), ("nowhere".into(), None));

    let folder = sized();
    for (path, exists) in
        [("few", true), ("run.toml/few", true), ("run.toml", true), ("fewer", false), ("none.toml", false), ("", true)]
    {
        assert_eq!(LaunchFile::exists(&folder.path(path)), exists, "{path}");
    }
    assert_eq!(LaunchFile::size_names(&folder.path("run.toml")).unwrap(), ["few"]);
    for (path, title) in [("run.toml", "many"), ("run.toml/few", "few")] {
        assert_eq!(LaunchFile::expand(&folder.path(path)).unwrap()["title"].as_str(), Some(title));
    }
}

#[test]
fn a_size_that_the_file_does_not_have_is_refused_with_those_that_it_has() {
    let folder = sized();
    let error = LaunchFile::read(&folder.path("run.toml/fww")).unwrap_err();
    assert_eq!(folder.lines(&error), ["4:1: there is no problem size `fww` in the file (did you mean `few`?)"]);
    fs::write(folder.path("run.toml"), super::LAUNCH).unwrap();
    let error = LaunchFile::read(&folder.path("run.toml/few")).unwrap_err();
    assert_eq!(folder.lines(&error), ["1:1: there is no problem size `few` in the file (there are no sizes)"]);
}

#[test]
fn every_broken_rule_of_sizes_is_reported_at_its_line() {
    let folder = Folder::new();
    let launch = super::launch_with("grid = [1]", "grid = \"= grid\"");
    let problems = |size: &str| folder.problems(&format!("{size}{launch}"));
    let none: [String; 0] = [];
    fs::write(folder.path("run.toml"), format!("[size]\ngrid = [1]\n{launch}")).unwrap();
    assert!(LaunchFile::read(&folder.path("run.toml")).is_ok());
    for (size, expected) in [
        ("size = 3\n", &["1:8: `size` must be a table of values, and of sizes such as `[size.small]`"][..]),
        ("", &["6:8: `= grid`: `[size]` has no value `grid` (there are no values)"]),
        (
            "[size]\ngrid = [1]\n[size.small]\ngird = [2]\n",
            &["4:1: `size.small.gird` has no value in the main size `[size]` (did you mean `grid`?)"],
        ),
        ("[size]\ngrid = [1]\nn = 3\n", &["3:1: `size.n` is not used by any expression such as `\"= n\"`"]),
        (
            "[size]\ngrid = [1]\nb = 2\nz = \"= b\"\n",
            &["4:1: `size.z` is not used by any expression such as `\"= z\"`"],
        ),
        (
            "[size]\ngrid = [\"= a\"]\na = \"= b\"\nb = \"= a + 1\"\n",
            &["4:5: `size.b`: `a` is computed from itself: grid from a from b from a"],
        ),
        ("[size]\ngrid = [[1], 2]\n", &["2:8: `size.grid`: expected no array within an array"]),
        ("[size]\ngrid = 2026-01-01\n", &["2:8: `size.grid`: expected a number, a text, true, false or an array"]),
        (
            "[size]\ngrid = [\"= 7 / 2\"]\n",
            &["2:8: `size.grid`: 7 / 2 is not an integer; use `div_ceil(7, 2)` or `div_floor(7, 2)`"],
        ),
        (
            "[size]\ngrid = [1]\n\"a.b\" = 1\n",
            &[
                "3:1: `size.a.b` has an illegal name: expected letters, digits and _ after a letter",
                "3:1: `size.a.b` is not used by any expression such as `\"= a.b\"`",
            ],
        ),
        (
            "[size]\ngrid = [0]\n",
            &[
                "8:8: `step[0].launch[0].grid[0]` is \"= grid\" with the value 0, expected 1 to 2147483647: the extent in x",
            ],
        ),
    ] {
        let found = problems(size);
        assert_eq!(found.is_empty(), expected == none, "{size}");
        assert_eq!(found, expected, "{size}");
    }
    let chain: String = (0..100).map(|n| format!("v{n} = \"= v{}\"\n", n + 1)).collect();
    let found = problems(&format!("[size]\ngrid = [\"= v0\"]\n{chain}v100 = 1\n"));
    assert!(found[0].ends_with("`size.v62`: more than 64 values are each computed from the next"), "{found:?}");
}
