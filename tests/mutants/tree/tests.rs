use super::*;
use crate::scan::Site;

const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", "[workspace]\n"),
    ("a/Cargo.toml", "[package]\n"),
    ("a/lib.rs", "mod b;\n"),
    ("a/b/mod.rs", "fn f() { go(); stop(); }\n"),
];

/// Returns a workspace with one crate, the list of its files, and the mutants of its only function.
fn workspace() -> (tempfile::TempDir, Vec<String>, Vec<Site>) {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in FILES {
        fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
        fs::write(root.path().join(file), text).unwrap();
    }
    let mutants = crate::operators::find(FILES[3].1).unwrap().mutants.into_iter().enumerate();
    let site =
        |(order, mutant)| Site { file: FILES[3].0.into(), mutant, text: String::new(), occurrence: order, order };
    (root, FILES.map(|(file, _)| file.to_owned()).to_vec(), mutants.map(site).collect())
}

#[test]
fn the_copy_has_the_mutants_and_a_switch_in_their_crate_and_the_workspace_stays_as_it_is() {
    let (root, files, mut sites) = workspace();
    // The mutants of the sample may be in any order.
    sites.reverse();
    let tree = Tree::new(root.path(), &files, &sites).unwrap();
    tree.restore().unwrap();
    let written = |file: &str| fs::read_to_string(tree.folder.join(file)).unwrap();
    assert_eq!(written("a/lib.rs"), "mod b;\n\nmod __mutant;\n");
    assert_eq!(written("a/__mutant.rs"), SWITCH);
    let on = "crate::__mutant::on";
    let expected =
        format!("fn f() {{ if {on}(3) {{ return (); }} if !{on}(2) {{ go(); }} if !{on}(1) {{ stop(); }} }}\n");
    assert_eq!(written("a/b/mod.rs"), expected);
    assert_eq!(tree.packages(root.path()).into_iter().collect::<Vec<_>>(), ["a"]);
    assert_eq!(fs::read_to_string(root.path().join("a/b/mod.rs")).unwrap(), FILES[3].1);
}

#[test]
fn what_tests_leave_or_change_in_the_copy_is_mended_and_the_rest_is_not_written_again() {
    let (root, files, sites) = workspace();
    let tree = Tree::new(root.path(), &files, &sites).unwrap();
    tree.restore().unwrap();
    let modified = |file: &str| fs::metadata(tree.folder.join(file)).unwrap().modified().unwrap();
    let before = modified("a/lib.rs");
    fs::write(tree.folder.join("a/left.txt"), "left").unwrap();
    fs::write(tree.folder.join("a/Cargo.toml"), "changed").unwrap();
    tree.restore().unwrap();
    assert!(!tree.folder.join("a/left.txt").exists());
    assert_eq!(fs::read_to_string(tree.folder.join("a/Cargo.toml")).unwrap(), FILES[1].1);
    assert_eq!(modified("a/lib.rs"), before);
}
