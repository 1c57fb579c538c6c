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
    // The expanded file contains no expressions. Read again, it must give the same buffers as the size `few`.
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
fn values_in_a_path_replace_those_of_the_size_and_derived_values_follow() {
    let folder = sized();
    for (path, title, elements, grid, block) in [
        ("run.toml/n=2000", "many", 2048, [8, 1, 1], [256, 1, 1]),
        ("n=0x20,threads=32", "many", 32, [1, 1, 1], [32, 1, 1]),
        ("few,n=1_000", "few", 1024, [4, 1, 1], [16, 4, 1]),
        ("run.toml/few,threads=8", "few", 16, [2, 1, 1], [16, 4, 1]),
        ("launch,n=1", "many", 256, [1, 1, 1], [256, 1, 1]),
        // In this path, the given value replaces a value that the file computes by an expression.
        ("padded=2000", "many", 2000, [4, 1, 1], [256, 1, 1]),
    ] {
        let file = LaunchFile::read(&folder.path(path)).unwrap_or_else(|e| panic!("{path}: {:?}", e.lines()));
        assert_eq!(file.path, folder.path(path));
        assert_eq!((file.title.as_deref(), file.buffers[0].elements), (Some(title), elements), "{path}");
        let launch = file.launches().next().unwrap();
        assert_eq!((launch.grid, launch.block), (grid, block), "{path}");
        assert!(LaunchFile::exists(&folder.path(path)), "{path}");
    }
    for path in ["m=3", "few,m=3", "fewer,n=3", "n=3,few", "none/n=3"] {
        assert!(!LaunchFile::exists(&folder.path(path)), "{path}");
    }
    let plain = LaunchFile::expand(&folder.path("n=2000")).unwrap();
    assert_eq!(plain["buffer"][0]["elements"].as_integer(), Some(2048));
}

#[test]
fn a_value_that_leaves_another_without_a_use_is_no_error() {
    let folder = Folder::new();
    let launch = super::launch_with("grid = [1]", "grid = [\"= grid\"]");
    fs::write(folder.path("run.toml"), format!("[size]\nn = 1\ngrid = \"= n\"\n{launch}")).unwrap();
    let file = LaunchFile::read(&folder.path("run.toml/grid=7")).unwrap();
    assert_eq!(file.launches().next().unwrap().grid, [7, 1, 1]);
}

#[test]
fn values_in_a_path_that_cannot_be_used_are_refused_with_the_reason() {
    let folder = sized();
    for (path, problems) in [
        ("m=3", &["`m=3`: the file has no value `m` in `[size]` (values: block, data, n, padded, threads, title)"][..]),
        ("thread=3", &["`thread=3`: the file has no value `thread` in `[size]` (did you mean `threads`?)"]),
        (
            "few=3",
            &["`few=3`: the file has no value `few` in `[size]` (values: block, data, n, padded, threads, title)"],
        ),
        ("n=1.5", &["`n=1.5`: expected an integer of 64 bits"]),
        ("n=", &["`n=`: expected an integer of 64 bits"]),
        ("few,n=18446744073709551616", &["`n=18446744073709551616`: expected an integer of 64 bits"]),
        ("n=1,threads=8,n=1", &["`n` is given twice in `n=1,threads=8,n=1`"]),
        ("few,n=1,small", &["`small` is not a value, expected one such as `n=100` after a comma"]),
        ("title=3", &["`title=3`: `size.title` is no integer, and a path can give integers alone"]),
        ("few,block=3", &["`block=3`: `size.few.block` is no integer, and a path can give integers alone"]),
        ("fww,n=3", &["there is no problem size `fww` in the file (did you mean `few`?)"]),
        (
            "n=x,m=3",
            &[
                "`n=x`: expected an integer of 64 bits",
                "`m=3`: the file has no value `m` in `[size]` (values: block, data, n, padded, threads, title)",
            ],
        ),
    ] {
        let error = LaunchFile::read(&folder.path("run.toml").join(path)).unwrap_err();
        let expected: Vec<_> = problems.iter().map(|problem| format!("4:1: {problem}")).collect();
        assert_eq!(folder.lines(&error), expected, "{path}");
    }
    // A value that is legal in the expression but illegal in the launch file is reported at the position of
    // the expression.
    let error = LaunchFile::read(&folder.path("n=-5")).unwrap_err();
    assert!(folder.lines(&error).iter().any(|line| line.contains("with the value 0, expected 1 to ")), "{error:?}");
    fs::write(folder.path("run.toml"), super::LAUNCH).unwrap();
    let error = LaunchFile::read(&folder.path("run.toml/n=3")).unwrap_err();
    assert_eq!(folder.lines(&error), ["1:1: `n=3`: the file has no value `n` in `[size]` (there are no values)"]);
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
