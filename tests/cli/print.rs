//! Tests the output of the commands `list`, `config`, `counters`, `completions` and `man`, and the help
//! texts.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{CommandResult, warpsieve};

fn list(what: &str) -> Vec<Value> {
    let ended = warpsieve(&["list", what, "--format", "json"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

fn names(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn list_designs_names_slot_and_source() {
    let ended = warpsieve(&["list", "designs"]);
    let pric = ended.out.lines().find(|line| line.starts_with("pric ")).unwrap();
    assert!(pric.contains("  index  ") && pric.ends_with("khairy2015 section 4.3"), "{pric}");
    let entries = list("designs");
    let files = fs::read_dir(super::root().join("machines/designs")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path().file_stem().unwrap().to_owned()).collect();
    files.sort();
    let mut listed = names(&entries);
    listed.sort_unstable();
    assert_eq!(listed, files);
    let slot = |name: &str| &entries.iter().find(|entry| entry["name"] == name).unwrap()["slot"];
    assert_eq!((slot("baseline"), slot("pric")), (&Value::Null, &"index".into()));
}

#[test]
fn list_machines_begins_with_the_default() {
    assert_eq!(names(&list("machines"))[0], "fermi");
}

#[test]
fn list_figures_names_what_reproduce_takes_and_what_each_shows() {
    let entries = list("figures");
    let names = names(&entries);
    assert!(names.contains(&"suite") && names.contains(&"li2015/fig8") && !names.contains(&"all"), "{names:?}");
    assert!(entries.iter().all(|entry| !entry["shows"].as_str().unwrap().is_empty()), "{entries:?}");
    let ended = warpsieve(&["list", "figures"]);
    assert!(ended.out.contains("\ncandel2018/fig2"), "{}", ended.out);
}

#[test]
fn list_kernels_finds_the_launch_files_here_or_above() {
    let entries = list("kernels");
    let names = names(&entries);
    assert!(names.is_sorted() && names.contains(&"syrk"), "{names:?}");
    let vadd = entries.iter().find(|entry| entry["name"] == "vadd").unwrap();
    assert_eq!(vadd["launch"], "kernels/vadd/launch.toml");
    assert_eq!(vadd["others"], Value::from(vec!["modern", "paper", "small"]));
    let mut below = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    let below = CommandResult::of(below.args(["list", "kernels"]).current_dir(super::root().join("kernels/common")));
    assert!(below.out.contains("  ../../kernels/vadd/launch.toml  "), "{below:?}");
}

#[test]
fn from_elsewhere_the_kernels_of_the_sources_are_found_and_run_but_nothing_is_written_there() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = |arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        CommandResult::of(command.args(arguments).current_dir(folder.path()).env_clear().env("HOME", folder.path()))
    };
    let kernels: Value = serde_json::from_str(&elsewhere(&["list", "kernels", "--format", "json"]).out).unwrap();
    let vadd = kernels.as_array().unwrap().iter().find(|entry| entry["name"] == "vadd").unwrap();
    let small = Path::new(vadd["launch"].as_str().unwrap()).with_file_name("small");
    let ended = elsewhere(&["run", small.to_str().unwrap(), "--design", "pric", "--check"]);
    assert!(ended.status == Some(0) && ended.out.contains("  check         passed\n"), "{ended:?}");
    elsewhere(&["reproduce", "li2015/table1"])
        .assert_refused(&["no folder `kernels` in this folder or above", "`--output`"]);
    assert_eq!(elsewhere(&["reproduce", "--summary"]).status, Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn list_blocks_follows_the_code() {
    let entries = list("blocks");
    let blocks: Vec<_> = entries.iter().filter(|entry| entry["kind"] == "block").collect();
    assert!(blocks.len() >= 6, "{blocks:?}");
    for entry in &entries {
        let path = super::root().join(entry["path"].as_str().unwrap());
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with(&format!("//! # {}\n", entry["name"].as_str().unwrap())), "{entry}");
    }
}

#[test]
fn config_is_a_machine_file_that_gives_the_same_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let first = warpsieve(&["config", "--design", "pric", "--set", "l1.ways=8"]);
    assert_eq!(first.status, Some(0), "{first:?}");
    fs::write(&file, &first.out).unwrap();
    let again = warpsieve(&["config", "--machine", &file.display().to_string()]);
    let table = |text: &str| {
        let mut table: toml::Table = text.parse().unwrap();
        table.remove("name");
        table
    };
    assert_eq!(table(&again.out), table(&first.out));
    let hash = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(hash(&again.out), hash(&first.out));
}

#[test]
fn config_marks_what_is_assumed_and_what_was_changed() {
    let ended = warpsieve(&["config", "--design", "bypass-all", "--set", "l1.ways=8"]);
    let bypass = "bypass = { kind = \"all\" } # design bypass-all, was { kind = \"none\" }";
    for line in [bypass, "ways = 8 # --set, was 4", "reply = 4 # assumed"] {
        assert!(ended.out.lines().any(|printed| printed == line), "no `{line}` in:\n{}", ended.out);
    }
}

#[test]
fn the_version_names_commit_and_profile() {
    let ended = warpsieve(&["--version"]);
    let [name, version, commit_word, commit, profile_word, profile] =
        ended.out.split_whitespace().collect::<Vec<_>>()[..]
    else {
        panic!("{ended:?}")
    };
    assert_eq!((name, commit_word, profile_word), ("warpsieve", "(commit", "profile"));
    assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{ended:?}");
    let root = super::root().canonicalize().unwrap();
    let git = |what| {
        let git = Command::new("git").args(["rev-parse", what]).current_dir(&root).output();
        git.ok().filter(|git| git.status.success()).map(|git| String::from_utf8(git.stdout).unwrap())
    };
    let commit = commit.trim_end_matches(',');
    // The version text contains a git commit only if the source tree is a git clone itself. A source tree
    // inside another repository is not a clone; `scripts/mutants` creates such copies.
    let is_own = git("--show-toplevel").is_some_and(|top| Path::new(top.trim_end()).canonicalize().unwrap() == root);
    let head = is_own.then(|| git("HEAD")).flatten();
    assert!(head.map_or(commit == "unknown", |head| head.starts_with(commit)), "{ended:?}");
    let folder = assert_cmd::cargo::cargo_bin!("warpsieve").parent().unwrap().file_name().unwrap().to_owned();
    let folder = if folder == "debug" { "dev".into() } else { folder };
    assert_eq!(profile.trim_end_matches(')'), folder.to_str().unwrap());
}

#[test]
fn no_help_is_wider_than_100_columns() {
    let help = |words: &[&str]| {
        let ended = warpsieve(&[words, &["--help"]].concat());
        assert_eq!(ended.status, Some(0), "{words:?}");
        for line in ended.out.lines() {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
            // Lines with example commands may be longer. If an example were wrapped at 80 columns, it could
            // not be copied as a command.
            let is_example = line.starts_with("  warpsieve ");
            assert!(!is_example || line.chars().count() <= 80, "{words:?}: {line}");
        }
        let commands = ended.out.lines().skip_while(|line| *line != "Commands:").skip(1);
        // Help texts list the commands with an indent. Lines that continue the description of a command are
        // indented further, and are filtered out.
        let commands = commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
        let names = commands.filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(str::to_owned).collect::<Vec<_>>()
    };
    for command in help(&[]) {
        for inner in help(&[&command]) {
            help(&[&command, &inner]);
        }
    }
}

#[test]
fn help_shows_examples_and_the_exit_status() {
    let ended = warpsieve(&["--help"]);
    assert_eq!(ended.status, Some(0));
    for part in ["Cycle-exact, bit-width-accurate model", "Examples:", "Exit status: 0 done"] {
        assert!(ended.out.contains(part), "{}", ended.out);
    }
}

/// True if a statistics file contains `path`, with the meaning that paths have in `jq`. A `null` along the
/// path also counts as present, since it stands for something that is not modeled.
fn is_there(value: &Value, path: &str) -> bool {
    let mut at = value;
    for key in path.split('.').skip(1) {
        let inside = at.get(key.trim_end_matches("[]"));
        match if key.ends_with("[]") { inside.and_then(|list| list.get(0)) } else { inside } {
            Some(inside) => at = inside,
            None => return at.is_null(),
        }
    }
    true
}

#[test]
fn a_counter_is_explained_by_its_key_or_its_end() {
    let ended = warpsieve(&["counters", "l1.reservation_fails.mshr_entry"]);
    let text = "l1.reservation_fails.mshr_entry\n  \
                meaning  No MSHR entry is free, or loads still wait to receive bytes of an earlier fill of the line.\n  \
                within   Cycles in which the oldest access was refused (reservation fails), by reported reason.\n  \
                unit     cycles of the core clock\n  \
                in JSON  .l1.reservation_fails.mshr_entry\n";
    assert_eq!((ended.status, ended.out.as_str()), (Some(0), text));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.json").display().to_string();
    warpsieve(&["run", "kernels/vadd/small", "--quiet", "--stats", &file]);
    let statistics: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    for (name, key, unit) in [
        ("mshr_entry", "l2.stalls.mshr_entry", "cycles of the L2 clock".into()),
        ("hits", "texture_cache.hits", Value::Null),
        ("bytes", "noc.reply.bytes", "bytes".into()),
        ("read_latency", "dram.read_latency", "cycles of the DRAM clock".into()),
        (".units.dram[].reads", "units.dram[].reads", Value::Null),
        ("shared_conflicts", "shared_conflicts", "cycles of the core clock".into()),
    ] {
        let ended = warpsieve(&["counters", name, "--format", "json"]);
        let entries: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
        let entry = entries.iter().find(|entry| entry["key"] == key).unwrap_or_else(|| panic!("{key}: {ended:?}"));
        assert_eq!(entry["unit"], unit, "{entry}");
        for entry in &entries {
            assert!(is_there(&statistics, entry["path"].as_str().unwrap()), "{entry}");
        }
    }
}

#[test]
fn a_counter_that_does_not_exist_has_near_ones() {
    let refused = |name, help: &[&str]| warpsieve(&["counters", name]).assert_refused(help);
    refused("l1.hit", &["there is no counter `l1.hit`", "did you mean `l1.hits`?"]);
    refused("mshr_entri", &["did you mean `mshr_entry`?"]);
    refused("mshr", &["did you mean one of l1.reservation_fails.mshr_entry, "]);
    refused("xyzzy", &["`list counters` lists them all"]);
    refused("", &["there is no counter ``"]);
}

#[test]
fn completions_know_the_commands_and_bash_can_read_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = warpsieve(&["completions", shell]);
        assert!(ended.status == Some(0) && ended.out.contains("explain") && ended.err.is_empty(), "{shell}: {ended:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("warpsieve.bash");
    fs::write(&script, warpsieve(&["completions", "bash"]).out).unwrap();
    let asked = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                 _warpsieve warpsieve \"${!#}\" \"${COMP_WORDS[$# - 2]}\"; echo ${COMPREPLY[@]}";
    for (words, offered) in [
        (&["exp"][..], "explain\n"),
        (&["run", "kmeans/s"], "kmeans/small\n"),
        (&["profile", "kmea"], "kmeans kmeans/launch kmeans/paper kmeans/small\n"),
        (&["config", "--machine", "sou"], "southern-islands\n"),
        (&["run", "vadd", "--design", "dwt"], "dwt-cs dwt-pric\n"),
        (
            &["reproduce", "li2015/fig1"],
            "li2015/fig10 li2015/fig11 li2015/fig12 li2015/fig13 li2015/fig14 li2015/fig15\n",
        ),
    ] {
        let words = [&["warpsieve"], words].concat();
        let ended = CommandResult::of(Command::new("bash").args(["-c", asked]).arg(&script).args(&words));
        assert_eq!((ended.out.as_str(), ended.err.as_str()), (offered, ""), "{words:?}");
    }
    for shell in ["zsh", "fish"] {
        let script = warpsieve(&["completions", shell]).out;
        let names = ["hbm2", "pric", "kmeans/small", "li2015/fig8"];
        assert!(names.iter().all(|name| script.contains(name)), "{shell}");
        // For an option whose values the script lists, the fish shell offers no file names unless the script
        // requests them with `-F`.
        assert!(script.contains(if shell == "zsh" { "_files\"}" } else { "-r -F -a \"fermi" }), "{shell}");
    }
    let fish = warpsieve(&["completions", "fish"]).out;
    let line_of =
        |condition: &str| fish.lines().find(|line| line.contains(condition) && line.contains(" -a \"")).unwrap();
    let of_run = line_of("-n \"__fish_warpsieve_using_subcommand run\" -a");
    assert!(of_run.contains(" syrk/small ") && !of_run.contains("li2015"), "{of_run}");
    assert!(line_of("-n \"__fish_warpsieve_using_subcommand reproduce\" -a").contains("li2015/fig8"));
    assert!(line_of("__fish_seen_subcommand_from export\" -a").contains(" syrk/small "));
    warpsieve(&["completions", "dash"]).assert_refused(&["dash", "bash"]);
}

/// Returns the strings in a shell script, each with its quote character. In fish, a quote inside a string is
/// escaped by a backslash. In the other shells, it is doubled.
fn strings(script: &str, is_fish: bool) -> Vec<(char, String)> {
    let (mut strings, mut open, mut last) = (Vec::new(), None::<(char, String)>, '\n');
    let mut characters = script.chars().peekable();
    while let Some(c) = characters.next() {
        match &mut open {
            None if c == '#' && last.is_whitespace() => drop(characters.by_ref().find(|c| *c == '\n')),
            None if matches!(c, '"' | '\'') => open = Some((c, String::new())),
            None if is_fish && c == '\\' => drop(characters.next()),
            None => {}
            Some((_, text)) if is_fish && c == '\\' => text.extend(characters.next()),
            Some((quote, text)) if c == *quote && !is_fish && characters.peek() == Some(quote) => {
                text.extend(characters.next());
            }
            Some((quote, _)) if c == *quote => strings.extend(open.take()),
            Some((_, text)) => text.push(c),
        }
        last = c;
    }
    assert_eq!(open, None, "a string that does not end");
    strings
}

#[test]
fn completions_quote_what_they_say_as_each_shell_does() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, reads) in [
        ("bash", &["bash", "-n"][..]),
        ("zsh", &["zsh", "-n"]),
        ("fish", &["fish", "--no-execute"]),
        ("elvish", &["elvish", "-compileonly"]),
        ("powershell", &["pwsh", "-NoProfile", "-File"]),
    ] {
        let script = warpsieve(&["completions", shell]).out;
        if !["bash", "zsh"].contains(&shell) {
            let strings = strings(&script, shell == "fish");
            for (quote, text) in &strings {
                // In a fish script, a string may consist of several names that are separated by line breaks.
                assert!(!text.contains('\n') || (shell == "fish" && *quote == '"'), "{shell}: {text}");
            }
            let said = "Only these scopes and signals, such as 'sm0.l1.**'; may be repeated";
            assert!(strings.contains(&('\'', said.to_owned())), "{shell}");
        }
        let path = folder.path().join(format!("warpsieve.{}", if shell == "powershell" { "ps1" } else { shell }));
        fs::write(&path, script).unwrap();
        // If a shell is not installed, its script is not tested.
        if let Ok(read) = Command::new(reads[0]).args(&reads[1..]).arg(&path).output() {
            assert!(read.status.success() && read.stderr.is_empty(), "{shell}: {read:?}");
        }
    }
}

#[test]
fn completions_offer_no_name_that_a_shell_would_run_or_take_apart() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["plain", "it's", "a b", "$(touch x)", "`touch y`", "q\"q", "-o"];
    for name in names {
        let kernel = folder.path().join("kernels").join(name);
        fs::create_dir_all(&kernel).unwrap();
        fs::write(kernel.join("launch.toml"), "title = \"a\"\n").unwrap();
    }
    for shell in ["bash", "zsh", "fish"] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        let script = CommandResult::of(command.args(["completions", shell]).current_dir(folder.path())).out;
        let holds = |name: &str| script.contains(&format!("{name}/launch"));
        assert!(holds("plain") && !names[1..].iter().any(|name| holds(name)), "{shell}");
        assert!(!script.contains("touch"), "{shell}");
    }
}

#[test]
fn what_a_program_reads_is_as_wide_as_it_is_whatever_the_terminal() {
    let wide = warpsieve(&["list", "machines"]).out;
    assert!(wide.lines().any(|line| line.chars().count() > 100), "{wide}");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    let narrow = CommandResult::of(command.args(["list", "machines"]).current_dir(super::root()).env("COLUMNS", "40"));
    assert_eq!(narrow.out, wide);
}

/// This test runs only if the program `script` of util-linux is available and can create a terminal.
#[test]
fn tables_fit_a_terminal_of_80_columns() {
    let program = assert_cmd::cargo::cargo_bin!("warpsieve").display().to_string();
    let commands = [
        "list machines",
        "list designs",
        "list kernels",
        "list blocks",
        "list counters",
        "list stalls",
        "list figures",
        "area",
        "area --depth 9",
        "area --design pric --against baseline",
        "counters hits",
        "ptx kernels/syrk/syrk.ptx",
        "run vadd/small --energy --quiet",
        "run vadd/small --energy",
        "profile vadd/small",
        "compare vadd/small --design-set baseline,pric --quiet",
        "explain vadd/small --design pric --against baseline --quiet",
    ];
    for command in commands {
        let line = format!("stty rows 24 columns 80; exec {program} {command}");
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(super::root());
        script.env("XDG_CACHE_HOME", super::CACHE).env_remove("COLUMNS").stdin(std::process::Stdio::null());
        let Ok(output) = script.output() else { return };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {text}");
        for line in text.lines() {
            // A carriage return overwrites the progress line with a new version, so only the text after the
            // last one is visible.
            let line = line.rsplit('\r').next().unwrap_or_default();
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man/man1");
    let ended = warpsieve(&["man", pages.to_str().unwrap()]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""));
    let mut files: Vec<_> = fs::read_dir(&pages).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort_unstable();
    assert_eq!(ended.out.lines().count(), files.len());
    for page in ["warpsieve.1", "warpsieve-explain.1", "warpsieve-sweep-gather.1"] {
        assert!(files.iter().any(|file| file == page), "{page}: {files:?}");
    }
    let page = fs::read_to_string(pages.join("warpsieve-explain.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains("\\-\\-against"), "{page}");
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    warpsieve(&["man", file.to_str().unwrap()]).assert_refused(&["the folder cannot be created"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}
