//! Tests of the contents of save files and translate filters, and of inputs that must be rejected.

use std::fs;
use std::io;
use std::path::Path;

use waves::gtkw::{Colour, Item, MAX_MARKERS, Marker, SaveFile, by_block, save_path};
use waves::scope::Selection;
use waves::signal::{Display, Kind, SignalId, Tree, TreeBuilder};

const STATE: &[&str] = &["IDLE", "", "", "", "", "BUSY"];
const KIND: &[&str] = &["READ", "WRITE"];

/// Describes a tree with one signal for each display format. Two enumerated signals have the same state
/// names.
fn tree() -> Tree {
    let mut build = TreeBuilder::new("machine");
    build.enter("sm0");
    build.enter("l1");
    build.signal("hit", 1, Kind::Wire, Display::Bit);
    build.signal("mask", 4, Kind::Wire, Display::Binary);
    build.signal("count", 6, Kind::Reg, Display::Unsigned);
    build.signal("hits", 64, Kind::Wire, Display::Count);
    build.signal("owners", 32, Kind::Reg, Display::MemberCount);
    build.signal("state", 3, Kind::Reg, Display::Enum(STATE));
    build.enter("queue");
    build.signal("kind[2]", 1, Kind::Reg, Display::Enum(KIND));
    build.signal("line[2]", 25, Kind::Reg, Display::Hex);
    build.signal("phase", 3, Kind::Reg, Display::Enum(STATE));
    build.leave();
    build.leave();
    build.leave();
    build.finish()
}

fn everything(tree: &Tree) -> Selection {
    let globs = ["**", "**.kind[2]", "**.line[2]"].map(|glob| glob.parse().expect("a glob"));
    Selection::new(tree, &globs).expect("they exist")
}

fn id(tree: &Tree, name: &str) -> SignalId {
    tree.ids().find(|&id| tree.signal(id).name == name).expect("it exists")
}

fn write(folder: &Path, tree: &Tree, items: &[Item], markers: &[Marker], view: Option<&str>) -> io::Result<String> {
    let dump = folder.join("a.vcd");
    let save = save_path(&dump, view);
    SaveFile { dump: &dump, tree, items, markers, sight: (100, 1099) }.write(&save)?;
    Ok(fs::read_to_string(save)?.replace(&format!("{}/", folder.display()), "DIR/"))
}

fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = folder.read_dir()?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

#[test]
fn a_save_file_groups_a_dump_by_block() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let tree = tree();
    let markers = [Marker { time: 500, label: "mismatch\nhere".to_owned() }];
    let text = write(folder.path(), &tree, &by_block(&tree, &everything(&tree)), &markers, None)?;
    let unset = " -1".repeat(MAX_MARKERS - 1);
    let expected = format!(
        "[*] GTKWave save file, generated with the dump\n\
         [dumpfile] \"DIR/a.vcd\"\n[savefile] \"DIR/a.gtkw\"\n[timestart] 100\n[size] 1400 900\n[pos] -1 -1\n\
         *-7.647458 500 500{unset}\n[markername] Amismatch here\n\
         [treeopen] machine.\n[signals_width] 320\n[sst_expanded] 0\n\
         @800200\n-machine\n@800200\n-sm0\n@c00200\n-l1\n\
         @28\nmachine.sm0.l1.hit\n\
         @28\nmachine.sm0.l1.mask[3:0]\n\
         @24\nmachine.sm0.l1.count[5:0]\n\
         @8024\nmachine.sm0.l1.hits[63:0]\n@20000\n-\n\
         @20000024\nmachine.sm0.l1.owners[31:0]\n\
         @100002028\n^1 DIR/a.filters/state_0.txt\nmachine.sm0.l1.state[2:0]\n\
         @c00200\n-queue\n\
         @100002028\n^2 DIR/a.filters/kind_1.txt\n#{{machine.sm0.l1.queue.kind[2]}} machine.sm0.l1.queue.kind[2][0]\n\
         @22\nmachine.sm0.l1.queue.line[2][24:0]\n\
         @100002028\n^1 DIR/a.filters/state_0.txt\nmachine.sm0.l1.queue.phase[2:0]\n\
         @1401200\n-queue\n@1401200\n-l1\n@1000200\n-sm0\n@1000200\n-machine\n"
    );
    assert_eq!(text, expected);
    assert_eq!(names_in(folder.path())?, ["a.filters", "a.gtkw"]);
    Ok(())
}

#[test]
fn filters_name_values_in_binary_of_the_width_of_the_signal() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let tree = tree();
    write(folder.path(), &tree, &by_block(&tree, &everything(&tree)), &[], None)?;
    let filters = folder.path().join("a.filters");
    assert_eq!(names_in(&filters)?, ["kind_1.txt", "state_0.txt"]);
    assert_eq!(fs::read_to_string(filters.join("state_0.txt"))?, "000 IDLE\n101 BUSY\n");
    assert_eq!(fs::read_to_string(filters.join("kind_1.txt"))?, "0 READ\n1 WRITE\n");
    Ok(())
}

#[test]
fn a_view_lies_beside_the_save_file_and_shares_its_filters() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let tree = tree();
    let item = |name, colour| Item::Signal { id: id(&tree, name), colour, label: Some(format!("l1_{name}")) };
    let items = [item("kind[2]", Some(Colour::Violet)), item("hit", None), item("owners", None)];
    write(folder.path(), &tree, &by_block(&tree, &everything(&tree)), &[], None)?;
    let text = write(folder.path(), &tree, &items, &[], Some("l1d"))?;
    assert!(text.ends_with(
        "@100002028\n^1 DIR/a.filters/kind_1.txt\n[color] 7\n\
         #{l1_kind[2]} machine.sm0.l1.queue.kind[2][0]\n\
         @28\n+{l1_hit} machine.sm0.l1.hit\n\
         @20000024\n+{l1_owners} machine.sm0.l1.owners[31:0]\n"
    ));
    assert_eq!(names_in(folder.path())?, ["a.filters", "a.gtkw", "a.l1d.gtkw"]);
    Ok(())
}

#[test]
fn a_block_without_a_selected_signal_has_no_group() {
    let tree = tree();
    let selection = Selection::default_of(&tree);
    let without_phase = ["**.hit".parse().expect("a glob")];
    let text = |selection: &Selection| format!("{:?}", by_block(&tree, selection));
    assert!(text(&selection).contains("\"queue\""));
    assert!(!text(&Selection::new(&tree, &without_phase).expect("it exists")).contains("\"queue\""));
}

#[test]
fn more_markers_than_letters_are_refused() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let markers = vec![Marker { time: 100, label: String::new() }; MAX_MARKERS + 1];
    let error = write(folder.path(), &tree(), &[], &markers, None).expect_err("27 markers");
    assert!(error.to_string().ends_with("a.gtkw: 27 markers, expected at most 26: A to Z"), "{error}");
    assert_eq!(names_in(folder.path())?, Vec::<String>::new());
    Ok(())
}

#[test]
fn a_sight_that_ends_before_it_starts_is_refused() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let (tree, dump) = (tree(), folder.path().join("a.vcd"));
    let save = SaveFile { dump: &dump, tree: &tree, items: &[], markers: &[], sight: (9, 8) };
    let error = save.write(&save_path(&dump, None)).expect_err("an empty sight");
    assert!(
        error.to_string().ends_with("the visible times are 9 to 8, expected the first not after the last"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_path_that_a_save_file_cannot_name_is_refused() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let error = write(&folder.path().join("two\nlines"), &tree(), &[], &[], None).expect_err("a line break");
    assert!(error.to_string().contains("expected a path in UTF-8 and on one line"), "{error}");
    Ok(())
}
