//! Tests of external input: reading takes linear time and bounded memory, and no input can control the
//! terminal. Each row of a test table has a command, its input file, and the expected message.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{CACHE, CommandResult, root};

/// Time limit of one command. It is about ten times the duration of the longest command on an idle processor.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Limit of the address space of a command in KiB: 1 GiB for the input, and 2 GiB for the program itself.
const MAX_MEMORY: u64 = 3 << 20;

/// Runs the command in a folder with limited memory, and checks that it ends in time.
#[track_caller]
fn run_bounded(folder: &Path, arguments: &[&str]) -> CommandResult {
    let script = format!("ulimit -v {MAX_MEMORY}; exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &script]).arg(assert_cmd::cargo::cargo_bin!("warpsieve")).args(arguments);
    command.current_dir(folder).env("XDG_CACHE_HOME", CACHE).env_remove("RUST_BACKTRACE");
    let begun = Instant::now();
    let ended = CommandResult::of(&mut command);
    assert!(begun.elapsed() < MAX_TIME, "{arguments:?} took {:?}", begun.elapsed());
    for text in [&ended.out, &ended.err] {
        assert_eq!(input::escape_hidden(text), *text, "{arguments:?}");
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest < 1500, "{arguments:?}: a line of {longest} characters");
    }
    assert!(ended.err.lines().count() < 250, "{arguments:?}: {} lines", ended.err.lines().count());
    assert!(!ended.err.contains("panicked") && !ended.err.contains("internal error"), "{arguments:?}: {ended:?}");
    ended
}

/// Returns the path of the PTX file of the kernel `vadd`.
fn vadd() -> String {
    root().join("kernels/vadd/vadd.ptx").canonicalize().unwrap().display().to_string()
}

/// Returns the text of a launch file for the kernel `vadd`, with the given buffers and arguments.
fn launch_of(buffers: &str, arguments: &str) -> String {
    let step = "[[step]]\n[[step.launch]]\nkernel = \"vadd\"\ngrid = [1]\nblock = [32]\n";
    format!("ptx = \"{}\"\n{buffers}{step}args = [{arguments}, {{ i32 = 4 }}]\n", vadd())
}

fn buffers(count: usize) -> String {
    let buffer = |number| format!("[[buffer]]\nname = \"b{number}\"\ntype = \"f32\"\nelements = 4\n");
    (0..count).map(buffer).collect()
}

/// First lines of a PTX file, which every PTX file needs.
const HEAD: &str = ".version 6.4\n.target sm_30\n.address_size 64\n";

#[test]
fn files_without_end_or_measure_are_refused_in_bounded_time_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    write("kernel.toml", launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"").as_bytes());
    symlink("/dev/zero", folder.path().join("zero.toml")).unwrap();
    symlink("/dev/zero", folder.path().join("zero.vcd")).unwrap();
    let brackets = |depth| "[".repeat(depth) + &"]".repeat(depth);
    write("nested.toml", format!("x = {}", brackets(100_000)).as_bytes());
    write("dotted.toml", format!("{}a = 1", "a.".repeat(100_000)).as_bytes());
    write("brackets.toml", "[".repeat(2_000_000).as_bytes());
    write("equals.toml", "= = =\n".repeat(100_000).as_bytes());
    write("line.toml", format!("x = \"{}\"\ny = 1", "a".repeat(3_000_000)).as_bytes());
    write("keys.toml", (0..50_000).fold(String::new(), |text, i| text + &format!("k{i} = 1\n")).as_bytes());
    write("large.toml", &vec![b' '; (64 << 20) + 1]);
    let values = (0..100_001).fold(String::new(), |text, i| text + &format!("{i},"));
    write("runs.toml", format!("launch = \"kernel.toml\"\n[set]\nl1.sets = [{values}]\n").as_bytes());
    let keys =
        (0..4).fold(String::new(), |text, i| text + &format!("l1.k{i} = [{}]\n", "1,2,3,4,5,6,7,8,9,10,".repeat(100)));
    write("product.toml", format!("launch = \"kernel.toml\"\n[set]\n{keys}").as_bytes());
    write("open.json", "[".repeat(1_000_000).as_bytes());
    write("expression.ptx", format!("{HEAD}.global .u32 x = {}1{};", "(".repeat(100), ")".repeat(100)).as_bytes());
    write("minus.ptx", format!("{HEAD}.global .u32 x = {}1;", "-".repeat(1_000_000)).as_bytes());
    write("far.ptx", format!("{HEAD}{}.entry", " ".repeat(100_000)).as_bytes());
    write("token.ptx", format!("{HEAD}.entry k() {{ {} r1; }}", "a".repeat(1_000_000)).as_bytes());
    write("short.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}");
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}";
    write("shape.npy", &[b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes()].concat());
    for name in ["short", "shape"] {
        let buffer = format!("[[buffer]]\nname = \"b0\"\ntype = \"f32\"\ninit = {{ file = \"{name}.npy\" }}\n");
        write(&format!("{name}.toml"), launch_of(&buffer, "\"b0\", \"b0\", \"b0\"").as_bytes());
    }
    for (arguments, message) in [
        ("run zero.toml", "zero.toml: cannot read the launch file: it is not text: byte 0 is NUL"),
        ("compare zero.toml", "byte 0 is NUL"),
        ("profile zero.toml", "byte 0 is NUL"),
        ("optimize zero.toml -o o.ptx", "byte 0 is NUL"),
        ("sweep zero.toml", "byte 0 is NUL"),
        ("ptx /dev/zero", "byte 0 is NUL"),
        ("run kernel.toml --ptx /dev/zero", "byte 0 is NUL"),
        ("config --machine zero.toml", "cannot read the machine file: it is not text"),
        ("config --design zero.toml", "cannot read the design file: it is not text"),
        ("explain /dev/zero /dev/zero", "byte 0 is NUL"),
        ("dram /dev/zero", "byte 0 is NUL"),
        ("soak --totals /dev/zero", "byte 0 is NUL"),
        ("soak ptx --keep /dev/zero --count 1", "byte 0 is NUL"),
        ("replay /dev/zero", "the line has more than"),
        ("trace info /dev/zero", "the line has more than"),
        ("run kernel.toml --resume /dev/zero", "does not begin with the line"),
        ("run kernel.toml --checkpoint c --ptx /dev/zero", "it is no file"),
        ("waves follow zero.vcd --request 1", "it is not a regular file"),
        ("run large.toml", "it has more than 64 MiB, which is the limit"),
        ("run nested.toml", "recurse"),
        ("run dotted.toml", "recursion limit"),
        ("run brackets.toml", "not TOML"),
        ("run equals.toml", "not TOML"),
        ("config --machine equals.toml", "not TOML"),
        ("run line.toml", "unknown key `x`"),
        ("run keys.toml", "and 49981 more problems"),
        ("config --machine keys.toml", "and 49981 more problems"),
        ("sweep product.toml", "the file lists 1000000000000 runs, expected at most 100000"),
        ("sweep runs.toml", "the file lists 100001 runs, expected at most 100000"),
        ("explain open.json open.json", "recursion limit"),
        ("ptx expression.ptx", "an expression is nested more than 64 deep"),
        ("ptx minus.ptx", "an expression is nested more than 64 deep"),
        ("ptx far.ptx", "far.ptx:4:100007"),
        ("ptx token.ptx", "characters ..."),
        ("run short.toml", "its header has 4294967295 bytes, expected at most 65536"),
        ("run shape.toml", "its shape is (99999999999, 99999999999), expected at most 2 GiB"),
    ] {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let ended = run_bounded(folder.path(), &arguments);
        assert_eq!(ended.status, Some(2), "{arguments:?}: {ended:?}");
        let said = ended.out + &ended.err;
        assert!(said.contains(message), "{arguments:?}: {}", &said[..said.floor_char_boundary(3000)]);
    }
}

#[test]
fn long_arguments_are_not_compared_with_every_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.toml"), launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"")).unwrap();
    let long = "x".repeat(100_000);
    let path = format!("sm0.l1.{long}");
    for arguments in [
        &["run", "k.toml", "--wave", "x.vcd", "--wave-trigger", &format!("{path} == 3")][..],
        &["run", "k.toml", "--wave", "x.vcd", "--wave-trigger", &format!("{}sm0.l1.status == HIT", "(".repeat(100))],
        &["run", "k.toml", "--wave", "x.vcd", "--wave-scope", &path],
        &["run", "k.toml", "--design", &long],
        &["run", "k.toml", "--set", &format!("l1.{long}=3")],
        &["config", "--machine", &long],
        &["soak", &long],
        &["counters", &long],
        &["run", "k.toml", &format!("--{long}")],
    ] {
        let ended = run_bounded(folder.path(), arguments);
        assert_eq!(ended.status, Some(2), "{ended:?}");
    }
}

#[test]
fn a_launch_file_with_thousands_of_buffers_and_of_wrong_names_is_read_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let many = buffers(20_000);
    write("many.toml", launch_of(&many, "\"b0\", \"b1\", \"b19999\""));
    assert_eq!(run_bounded(folder.path(), &["run", "many.toml", "--quiet"]).status, Some(0));
    let arguments = (0..20_000).fold(String::new(), |text, number| text + &format!("\"x{number}\", "));
    write("names.toml", launch_of(&many, &format!("{arguments}\"b1\"")));
    let ended = run_bounded(folder.path(), &["run", "names.toml"]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(ended.err.contains("and 19980 more problems"), "{}", ended.err);
}

#[test]
fn a_sweep_file_with_thousands_of_wrong_settings_is_refused_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let settings = (0..8000).fold(String::new(), |text, i| text + &format!("l1.k{i} = {i}\n"));
    fs::write(folder.path().join("s.toml"), format!("launch = \"syrk/small\"\n[set]\n{settings}")).unwrap();
    let ended = run_bounded(folder.path(), &["sweep", "s.toml"]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(ended.err.contains("unknown key `l1.k0`") && ended.err.contains("and 7980 more problems"), "{}", ended.err);
}

#[test]
fn a_pattern_of_many_wildcards_is_decided_in_time() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.toml"), launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"")).unwrap();
    for pattern in ["**.".repeat(1000), "**.*.".repeat(1000), format!("sm0.{}.", "*a".repeat(1000))] {
        for option in
            [&["--wave-scope", &format!("{pattern}nothing")], &["--wave-trigger", &format!("{pattern}nothing == 3")]]
        {
            let ended = run_bounded(folder.path(), &[&["run", "k.toml", "--wave", "x.vcd"], &option[..]].concat());
            assert_eq!(ended.status, Some(2), "{ended:?}");
        }
    }
}

#[test]
fn a_checkpoint_that_expands_beyond_measure_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("k.toml"), launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"")).unwrap();
    let saved = run_bounded(folder.path(), &["run", "k.toml", "--quiet", "--checkpoint", "c", "--max-cycles", "50"]);
    assert_eq!(saved.status, Some(3), "{saved:?}");
    let bytes = fs::read(path("c")).unwrap();
    let header = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    let file = fs::File::create(path("bomb")).unwrap();
    (&file).write_all(&bytes[..header]).unwrap();
    let mut packed = lz4_flex::frame::FrameEncoder::new(file);
    let zeros = vec![0; 1 << 20];
    (0..1025).for_each(|_| packed.write_all(&zeros).unwrap());
    packed.finish().unwrap();
    assert!(fs::metadata(path("bomb")).unwrap().len() < 20 << 20);
    let ended = run_bounded(folder.path(), &["run", "k.toml", "--resume", "bomb"]);
    ended.assert_refused(&["bomb: its state has more than 1 GiB, which is the limit"]);
}

/// File name with control characters that would clear the screen, set colors, move the cursor back, ring the
/// bell, and reorder text.
const EVIL: &str = "e\u{1b}[2J\u{1b}]0;t\u{7}\u{8}\u{9b}31m\u{202e}\u{200b}\u{7f}";

#[test]
fn names_and_values_of_files_control_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let evil_file = format!("{EVIL}.toml");
    let escaped = EVIL.chars().fold(String::new(), |text, c| text + &format!("\\u{:04x}", u32::from(c)));
    write(&evil_file, format!("\"{escaped}\" = 1\n"));
    write("key.toml", format!("\"{escaped}\" = 1\n"));
    write("raw.toml", format!("# {EVIL}\nx = \"{EVIL}\"\n"));
    write("value.toml", format!("title = \"a\"\nptx = \"{escaped}.ptx\"\n"));
    let ptx = fs::read_to_string(root().join("kernels/vadd/vadd.ptx")).unwrap();
    write("token.ptx", ptx.replacen("ret;", &format!("{EVIL} ret;"), 1));
    write(&format!("{EVIL}.ptx"), ptx);
    write("title.toml", format!("title = \"{escaped}\"\n{}", launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"")));
    write("machine.toml", format!("name = \"{escaped}\"\ndescription = \"{escaped}\"\nbased-on = \"fermi\"\n"));
    let header = "-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n-binary version = 70\n";
    write("k.traceg", format!("-kernel name = {EVIL}\n-kernel id = 1\n{header}-cuda stream id = 0\n\n#BEGIN_TB\n"));
    for arguments in [
        &["run", &evil_file][..],
        &["run", "key.toml"],
        &["run", "raw.toml"],
        &["run", "value.toml"],
        &["run", "title.toml"],
        &["run", EVIL],
        &["profile", "key.toml"],
        &["sweep", "key.toml"],
        &["config", "--machine", "key.toml"],
        &["config", "--machine", "machine.toml"],
        &["config", "--design", EVIL],
        &["config", "--set", EVIL],
        &["config", EVIL],
        &[EVIL],
        &["ptx", "token.ptx"],
        &["ptx", &format!("{EVIL}.ptx")],
        &["trace", "info", "k.traceg"],
        &["trace", "info", "k.traceg", "--format", "json"],
        &["replay", "k.traceg"],
        &["list", EVIL],
        &["explain", EVIL, EVIL],
        &["soak", EVIL],
        &["waves", "follow", EVIL, "--request", "1"],
        &["hdl", "synth", EVIL],
        &["run", "title.toml", "--wave", "x.vcd", "--wave-trigger", EVIL],
        &["compare", "title.toml", "--format", "csv"],
    ] {
        run_bounded(folder.path(), arguments);
    }
}

#[test]
fn a_name_of_two_lines_stays_on_one_in_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let name = "two\nlines\t.toml";
    fs::write(folder.path().join(name), launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"")).unwrap();
    let compared = run_bounded(folder.path(), &["compare", name, "--columns", "launch-file,on,check", "--quiet"]);
    assert!(
        compared.out.starts_with("launch file        on        check\ntwo\\nlines\\t.toml  baseline  "),
        "{compared:?}"
    );
    let markdown = run_bounded(folder.path(), &["compare", name, "--format", "markdown", "--quiet"]);
    assert!(markdown.out.contains("| two\\nlines\\t.toml | baseline |"), "{markdown:?}");
    let ran = run_bounded(folder.path(), &["run", name, "--stats", "s\n.json"]);
    assert!(ran.out.starts_with("two\\nlines\\t.toml on fermi\n"), "{ran:?}");
    assert!(ran.out.ends_with("  wrote         s\\n.json\n"), "{ran:?}");
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions_and_its_links() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("k.toml"), launch_of(&buffers(3), "\"b0\", \"b1\", \"b2\"")).unwrap();
    let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o7777;
    for (arguments, output) in [
        ("run k.toml --quiet --stats", "s.json"),
        ("run k.toml --quiet --report", "r.html"),
        ("run k.toml --quiet --wave", "w.vcd"),
        ("run k.toml --quiet --series", "s.csv"),
        ("area --svg", "a.svg"),
        ("compare k.toml --format csv --output", "t.csv"),
    ] {
        let link = format!("link-{output}");
        fs::write(path(output), "older").unwrap();
        fs::set_permissions(path(output), fs::Permissions::from_mode(0o640)).unwrap();
        symlink(output, path(&link)).unwrap();
        let arguments: Vec<_> = arguments.split(' ').chain([link.as_str()]).collect();
        let ended = run_bounded(folder.path(), &arguments);
        // The command must accept a symbolic link as its output file. It must replace the file to which the
        // link points, and keep the link and the access permissions.
        assert_eq!(ended.status, Some(0), "{arguments:?}: {ended:?}");
        assert_eq!(mode(output), 0o640, "{arguments:?}");
        assert!(fs::symlink_metadata(path(&link)).unwrap().is_symlink(), "{arguments:?}");
        assert_ne!(fs::read(path(output)).unwrap(), b"older", "{arguments:?}");
    }
}
