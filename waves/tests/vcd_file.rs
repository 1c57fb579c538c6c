//! Tests of the text of a VCD dump, of the order of calls that it requires, and of its behavior on output
//! errors.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use waves::scope::Selection;
use waves::signal::{Display, Kind, SignalId, Tree, TreeBuilder};
use waves::sink::Sink;
use waves::vcd::{TimeUnit, Timescale, VcdWriter};

struct Machine {
    tree: Tree,
    all: Selection,
    hit: SignalId,
    count: SignalId,
    line: SignalId,
}

fn machine() -> Machine {
    let mut build = TreeBuilder::new("machine");
    build.enter("l1");
    let hit = build.signal("hit", 1, Kind::Wire, Display::Bit);
    let count = build.signal("count", 4, Kind::Reg, Display::Unsigned);
    let line = build.signal("line", 100, Kind::Reg, Display::Hex);
    build.leave();
    let tree = build.finish();
    let all = Selection::default_of(&tree);
    Machine { tree, all, hit, count, line }
}

fn writer<W: Write>(machine: &Machine, out: W) -> io::Result<VcdWriter<W>> {
    VcdWriter::new(out, &machine.tree, &machine.all, Timescale::new(10, TimeUnit::PS))
}

#[test]
fn a_small_dump_reads_as_written() -> io::Result<()> {
    let m = machine();
    let mut dump = writer(&m, Vec::new())?;
    dump.time(5)?;
    dump.sample(m.hit, 1)?;
    dump.time(6)?; // no value changes, so no time stamp is written
    dump.sample(m.hit, 1)?;
    dump.time(7)?;
    dump.sample(m.hit, 0)?;
    dump.sample(m.count, 0)?;
    dump.sample_wide(m.line, &[3, 1])?;
    dump.time(9)?;
    dump.sample_wide(m.line, &[3, 1])?;
    dump.change(m.count, 9)?;
    dump.time(12)?;
    let text = String::from_utf8(dump.into_inner()?).expect("a dump is text");
    let zeros = "0".repeat(62);
    let expected = format!(
        "$version\n    warpsieve\n$end\n$timescale 10 ps $end\n\
         $scope module machine $end\n$scope module l1 $end\n\
         $var wire 1 ! hit $end\n$var reg 4 \" count [3:0] $end\n$var reg 100 # line [99:0] $end\n\
         $upscope $end\n$upscope $end\n$enddefinitions $end\n\
         #5\n$dumpvars\n1!\nbx \"\nbx #\n$end\n\
         #7\n0!\nb0 \"\nb1{zeros}11 #\n\
         #9\nb1001 \"\n\
         #12\n"
    );
    assert_eq!(text, expected);
    Ok(())
}

#[test]
fn bytes_and_words_of_one_value_write_the_same() -> io::Result<()> {
    let mut build = TreeBuilder::new("machine");
    let line = build.signal("line", 80, Kind::Reg, Display::Hex);
    let tree = build.finish();
    let dump = |give: &dyn Fn(&mut VcdWriter<Vec<u8>>) -> io::Result<()>| {
        let all = Selection::default_of(&tree);
        let mut dump = VcdWriter::new(Vec::new(), &tree, &all, Timescale::new(1, TimeUnit::NS))?;
        dump.time(0)?;
        give(&mut dump)?;
        dump.into_inner()
    };
    let bytes = dump(&|dump| dump.sample_bytes(line, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))?;
    let words = dump(&|dump| dump.sample_wide(line, &[0x0807_0605_0403_0201, 0x0a09]))?;
    assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&words));
    Ok(())
}

#[test]
fn bytes_counts_the_whole_dump() -> io::Result<()> {
    let m = machine();
    let mut dump = writer(&m, Vec::new())?;
    for cycle in 0..20_000 {
        dump.time(cycle)?;
        dump.sample(m.count, cycle % 16)?;
    }
    let counted = dump.bytes();
    assert_eq!(dump.into_inner()?.len() as u64, counted);
    Ok(())
}

#[test]
#[should_panic(expected = "waveform: time 5 after time 5, expected a later one")]
fn a_time_that_does_not_advance_is_refused() {
    let mut dump = writer(&machine(), Vec::new()).expect("memory takes everything");
    dump.time(5).and_then(|()| dump.time(5)).expect("memory takes everything");
}

#[test]
#[should_panic(expected = "machine.l1.count: value 0x10 given to a signal of 4 bits")]
fn a_value_too_wide_for_its_signal_is_refused() {
    let m = machine();
    let mut dump = writer(&m, Vec::new()).expect("memory takes everything");
    dump.time(0).and_then(|()| dump.sample(m.count, 16)).expect("memory takes everything");
}

#[test]
#[should_panic(expected = "given to a signal of 100 bits")]
fn a_wide_value_with_a_bit_above_its_width_is_refused() {
    let m = machine();
    let mut dump = writer(&m, Vec::new()).expect("memory takes everything");
    dump.time(0).and_then(|()| dump.sample_wide(m.line, &[0, 1 << 36])).expect("memory takes everything");
}

#[test]
#[should_panic(expected = "waveform: a value before the first time")]
fn a_value_without_a_time_is_refused() {
    let m = machine();
    let mut dump = writer(&m, Vec::new()).expect("memory takes everything");
    dump.sample(m.hit, 1).expect("memory takes everything");
}

/// Output that accepts `room` bytes and then reports once that the disk is full. Later write calls succeed
/// but are counted, since a correct writer makes none.
#[derive(Debug)]
struct Disk {
    room: usize,
    calls_after_full: Rc<Cell<u32>>,
    full: bool,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.full {
            self.calls_after_full.set(self.calls_after_full.get() + 1);
        } else if bytes.len() > self.room {
            self.full = true;
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no room"));
        } else {
            self.room -= bytes.len();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes samples to a dump until the first error.
fn fill<W: Write>(dump: &mut VcdWriter<W>, m: &Machine) -> io::Result<()> {
    for cycle in 0..1_000_000 {
        dump.time(cycle)?;
        dump.sample(m.count, cycle % 16)?;
    }
    Ok(())
}

#[test]
fn a_full_disk_is_reported_at_once_and_again_at_the_end() -> io::Result<()> {
    let m = machine();
    let calls_after_full = Rc::new(Cell::new(0));
    let disk = Disk { room: 300_000, calls_after_full: calls_after_full.clone(), full: false };
    let mut dump = writer(&m, disk)?;
    let first = fill(&mut dump, &m).expect_err("the disk is full");
    assert_eq!(first.kind(), io::ErrorKind::StorageFull);
    let last = dump.into_inner().expect_err("the dump is not whole");
    assert_eq!((last.kind(), last.to_string()), (io::ErrorKind::StorageFull, "no room".to_owned()));
    assert_eq!(calls_after_full.get(), 0, "a dump with a hole would look whole");
    Ok(())
}

#[test]
fn a_disk_too_full_for_the_header_is_reported() {
    let disk = Disk { room: 10, calls_after_full: Rc::default(), full: false };
    let error = writer(&machine(), disk).expect_err("the header does not fit");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_finished_dump_stands_under_its_name() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.vcd");
    let m = machine();
    let mut dump = VcdWriter::create(&path, &m.tree, &m.all, Timescale::new(1, TimeUnit::NS))?;
    dump.time(0)?;
    assert!(!path.exists());
    assert_eq!(dump.finish()?, path);
    assert!(path.exists());
    assert_eq!(folder.path().read_dir()?.count(), 1);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_dump_leaves_nothing_and_names_its_file() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    // The path of the dump is a link to `/dev/full`, which rejects every byte with the error of a full disk.
    std::os::unix::fs::symlink("/dev/full", folder.path().join("a.vcd"))?;
    let m = machine();
    let timescale = Timescale::new(1, TimeUnit::NS);
    let error =
        VcdWriter::create(&folder.path().join("a.vcd"), &m.tree, &m.all, timescale).expect_err("the device is full");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("a.vcd: cannot write: No space left on device"), "{error}");
    let names: Vec<_> = folder.path().read_dir()?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    assert_eq!(names, ["a.vcd"]);
    Ok(())
}

#[test]
fn an_abandoned_dump_leaves_nothing() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let m = machine();
    let mut dump = VcdWriter::create(&folder.path().join("a.vcd"), &m.tree, &m.all, Timescale::new(1, TimeUnit::NS))?;
    dump.time(0)?;
    drop(dump);
    assert_eq!(folder.path().read_dir()?.count(), 0);
    Ok(())
}
