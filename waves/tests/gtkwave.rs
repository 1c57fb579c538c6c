//! Opens a dump, its save file and a view in GTKWave itself, under Xvfb, and checks what GTKWave displays. If
//! either program is missing, the test reports that it was skipped.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use waves::atomic_file::AtomicFile;
use waves::dump::{Dump, Format};
use waves::gtkw::{Item, Marker, SaveFile, by_block, save_path};
use waves::scope::Selection;
use waves::signal::{Display, Kind, Tree, TreeBuilder};
use waves::sink::Sink;
use waves::vcd::{TimeUnit, Timescale};
use waves::view::View;

const STATUS: &[&str] = &["HIT", "HIT_PENDING", "MISS", "RESERVATION_FAIL"];
const STATE: &[&str] = &["PENDING", "?darkred?READY"];
const VIEW: &str = "[Access]
access.valid yellow
status red
count
fail
[MSHR]
mshr.used
mshr.entry[*]
[Arrays]
tags[0]
dirty[1]
";

/// Writes a dump of 25 cycles. Its signals resemble those of an L1D and use every display format; they
/// include an array and a wide cache line.
fn dump(path: &Path) -> io::Result<(Tree, Selection)> {
    let mut build = TreeBuilder::new("machine");
    build.enter("sm0");
    let pc = build.signal("pc", 32, Kind::Reg, Display::Hex);
    build.enter("l1");
    let status = build.signal("status", 2, Kind::Wire, Display::Enum(STATUS));
    let count = build.signal("count", 64, Kind::Wire, Display::Count);
    let fail = build.signal("fail", 4, Kind::Wire, Display::Binary);
    let tags = [0, 1].map(|n| build.signal(&format!("tags[{n}]"), 20, Kind::Reg, Display::Hex));
    let dirty = [0, 1].map(|n| build.signal(&format!("dirty[{n}]"), 1, Kind::Reg, Display::Bit));
    build.enter("access");
    let valid = build.signal("valid", 1, Kind::Wire, Display::Bit);
    let line = build.signal("line", 1024, Kind::Wire, Display::Hex);
    build.leave();
    build.enter("mshr");
    let used = build.signal("used", 6, Kind::Reg, Display::MemberCount);
    build.enter("entry[3]");
    let state = build.signal("state", 1, Kind::Reg, Display::Enum(STATE));
    build.leave();
    build.leave();
    build.leave();
    build.leave();
    let tree = build.finish();
    let globs: Vec<_> =
        ["**", "**.tags[*]", "**.dirty[*]", "**.entry[*]"].map(|glob| glob.parse().expect("a glob")).into();
    let selection = Selection::new(&tree, &globs).expect("they exist");

    let format = Format::of(path).expect("a dump's name");
    let out = AtomicFile::create(path)?;
    let mut dump = Dump::new(out, format, &tree, &selection, Timescale::new(1, TimeUnit::NS))?;
    for cycle in 5..30 {
        dump.time(cycle)?;
        dump.sample(count, cycle / 3)?;
        dump.sample(pc, 0x400 + 8 * cycle)?;
        dump.sample(status, cycle / 2 % 4)?;
        dump.sample(fail, if cycle / 2 % 4 == 3 { 0b0101 } else { 0 })?;
        dump.sample(tags[cycle as usize % 2], 0xabc00 + cycle)?;
        dump.sample(dirty[1], cycle & 1)?;
        dump.sample(valid, cycle & 1)?;
        dump.sample_wide(line, &[cycle * 0x0101_0101_0101; 16])?;
        dump.sample(used, cycle)?;
        dump.sample(state, cycle / 8 % 2)?;
    }
    dump.finish()?;
    Ok((tree, selection))
}

/// Returns a command that runs a program under a virtual display. The utility `timeout` ends it after 20
/// seconds.
fn under_display(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["20", "xvfb-run", "-a", "-s", "-screen 0 1400x900x24", program]).stdin(Stdio::null());
    command
}

/// True if GTKWave and Xvfb are installed and a virtual display can be opened.
fn gtkwave_can_run() -> bool {
    let runs = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    runs(Command::new("gtkwave").arg("--version")) && runs(&mut under_display("true"))
}

/// Runs GTKWave with a script that prints the displayed signals and then, for each trace, its displayed name
/// and its value at time 7. Returns all output of GTKWave.
fn ask_gtkwave(folder: &Path, dump: &Path, save: &Path) -> io::Result<String> {
    let script = folder.join("ask.tcl");
    fs::write(
        &script,
        "gtkwave::setMarker 7\n\
         foreach name [gtkwave::getDisplayedSignals] {\n\
           puts \"shown $name\"\n\
         }\n\
         for {set i 0} {$i < [gtkwave::getTotalNumTraces]} {incr i} {\n\
           puts \"trace [gtkwave::getTraceNameFromIndex $i] = [gtkwave::getTraceValueAtMarkerFromIndex $i]\"\n\
         }\n\
         flush stdout\n\
         exit\n",
    )?;
    let mut command = under_display("gtkwave");
    command.args(["--nomenu", "-f"]).arg(dump).arg("-a").arg(save).arg("-S").arg(&script);
    // The home directory contains no GTKWave settings of the user, which could change the display.
    let output = command.env("HOME", folder).current_dir(folder).output()?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(text.concat())
}

#[test]
fn gtkwave_shows_a_dump_with_its_save_file_and_its_view() -> io::Result<()> {
    if !gtkwave_can_run() {
        eprintln!("skipped: gtkwave and xvfb-run are not both installed and able to run");
        return Ok(());
    }
    // The path contains spaces. GTKWave must nevertheless find the dump and the filters of a save file.
    let folder = tempfile::Builder::new().prefix("wave test ").tempdir()?;
    for name in ["a run.vcd", "a run.fst"] {
        shows(folder.path(), name)?;
    }
    Ok(())
}

/// Writes a dump named `name`, and checks what GTKWave displays with each of its two save files.
fn shows(folder: &Path, name: &str) -> io::Result<()> {
    let path = folder.join(name);
    let (tree, selection) = dump(&path)?;
    let markers = [Marker { time: 6, label: "first fail".to_owned() }];
    let save = |items: &[Item], view: Option<&str>| -> io::Result<String> {
        let save = save_path(&path, view);
        SaveFile { dump: &path, tree: &tree, items, markers: &markers, sight: (5, 29) }.write(&save)?;
        ask_gtkwave(folder, &path, &save)
    };

    let answer = save(&by_block(&tree, &selection), None)?;
    assert_eq!(answer.matches("shown machine.").count(), tree.len(), "every signal is found in the dump:\n{answer}");

    let view = View::parse("life", VIEW).expect("a view");
    let applied = view.apply(&tree, &selection, tree.find_scope("sm0.l1").expect("it exists"));
    let answer = save(&applied.items, Some(view.name()))?;
    let traces = answer.lines().filter_map(|line| line.strip_prefix("trace "));
    let shown: Vec<&str> = traces.filter(|trace| !trace.ends_with("= ")).collect();
    let expected = [
        "access_valid = 1",
        "status = RESERVATION_FAIL",
        "count = 2",
        "fail = 0101",
        "mshr_used = 3",
        "mshr_entry[3]_state = PENDING",
        "tags[0] = ABC06",
        "dirty[1] = 1",
    ];
    assert_eq!(shown, expected, "{answer}");
    Ok(())
}
