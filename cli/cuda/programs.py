#!/usr/bin/env python3
"""Builds CUDA programs of other projects, runs them with `warpsieve exec`, and counts which pass their own check.

    cli/cuda/programs.py SUITE FOLDER --nvcc NVCC --exec "target/release/warpsieve exec" --output table.md

SUITE is the name of a suite in `cli/cuda/programs.toml`; FOLDER is a copy of its repository, which stays unchanged.
A program passes if it ends with status 0, prints what its suite expects of a success, and nothing that its suite lists
as a failure. A program that prints neither has no check of its own; it runs a second time with `--check`, which compares
its memory with that of the functional interpreter after each launch.
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import tomllib

ARCH = "compute_75"
# What the simulator prints beside the program: a line for each launch, and a summary after the program's end.
LAUNCH = r"^launch \d+: .*\n?"
SUMMARY = r"^\S.* on .*\n  kernels  (?:.|\n)*"
TYPES = "int|long|unsigned|size_t|u?int(?:32|64)_t|float|double"
HEAD = """# CUDA programs of other projects

`cli/cuda/programs.py` writes the sections of this page. It builds the programs of a suite, unchanged but for the constants that the tables name, runs
them with `warpsieve exec`, and searches their output for the words with which they report success or failure. A program without such words runs a
second time with `--check`, which compares its memory with that of the functional interpreter after each launch: "memory equal" or "memory differs".
[cuda.md](../cuda.md) describes `exec`, and what it refuses.
"""
SOURCES = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inl"}


def run(command, folder, seconds):
    """Returns the exit status and the output of a command. The status is None if the processor time did not suffice.

    The limit holds for each process. A process that waits for its input, or for another process, uses no processor
    time, so there is a limit of real time too, for busy hosts a high one.
    """
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        process = subprocess.Popen(command, cwd=folder, start_new_session=True, preexec_fn=limit, **pipes)
    except OSError as error:
        return 127, f"error: {error}"
    try:
        output, _ = process.communicate(timeout=20 * seconds)
        # A simulated program that a signal ends has the status 128 plus the number of the signal.
        late = any(process.returncode in (-number, 128 + number) for number in (signal.SIGKILL, signal.SIGXCPU))
    except subprocess.TimeoutExpired:
        late = True
    if late:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    return None if late else process.returncode, output.decode(errors="replace")


def sources_of(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES and path.is_file())


def makefiles_of(folder):
    return sorted(path for path in folder.glob("[Mm]akefile*") if path.is_file())


def makefile_of(folder):
    """Returns the text of the makefiles of a program."""
    return "".join(path.read_text(errors="replace") for path in makefiles_of(folder))


def draw(place, suite):
    """Returns the programs that a suite draws, those with the lowest hashes of the seed and the name, and from how many."""
    rules, names = suite["draw"], []
    before, after = suite["path"].split("{name}")
    for folder in sorted(place.glob(suite["path"].format(name="*"))):
        text = "\n".join(path.read_text(errors="replace") for path in sources_of(folder))
        makefile = makefile_of(folder)
        linked = set(re.findall(r"(?<!\S)-l(\S+)", makefile)) - set(rules["linked"])
        linked.update(path.name for path in folder.rglob("*.dvc"))
        inputs = re.findall(r"^\t.*\$\(LAUNCHER\)(.*)", makefile, re.MULTILINE)
        linked.update(path for path in re.findall(r"\.\./\S+", "\n".join(inputs)) if not (folder / path).exists())
        included = re.search(rf"^\s*#\s*include.*(?:{rules['included']})", text, re.MULTILINE)
        if not linked and not included and not re.search(rules["textures"], text):
            names.append(str(folder.relative_to(place))[len(before) : -len(after) or None])
    digest = lambda name: hashlib.sha256(f"{rules['seed']}:{name}".encode()).hexdigest()
    return sorted(sorted(names, key=digest)[: rules["count"]], key=str.lower), len(names)


def resize(folder, sizes, edits):
    """Replaces the values of constants, by name, and other texts in the sources and makefiles of a program.

    Returns the names and texts that do not occur.
    """
    unused = {*sizes, *edits}
    for file in [*sources_of(folder), *makefiles_of(folder)]:
        before = text = file.read_text(errors="surrogateescape")
        for name, value in sizes.items():
            define, constant = rf"^(\s*# *define +(?:{name})[ \t]+)[^/\n]+", rf"(\b(?:{TYPES}) +(?:{name}) *= *)[^;,\n]+"
            text, defines = re.subn(define, rf"\g<1>{value} ", text, flags=re.MULTILINE)
            text, constants = re.subn(constant, rf"\g<1>{value}", text)
            unused -= {name} if defines + constants else set()
        for old, new in edits.items():
            unused -= {old} if old in text else set()
            text = text.replace(old, new)
        if text != before:
            file.write_text(text, errors="surrogateescape")
    return unused


def build(nvcc, suite, folder, program):
    """Compiles a program. Returns its path, or `None` and what the compiler printed."""
    flags = suite.get("flags", []) + program.get("flags", [])
    arch = program.get("arch", ARCH)
    if "make" in suite:
        replace = {"nvcc": f"{nvcc} -cudart shared", "arch": arch, "flags": " ".join(flags)}
        command = ["make", *(word.format(**replace) for word in suite["make"])]
        # A makefile names the program by a variable, by the target that runs it, or not at all.
        named = re.search(r"^program\s*:?=\s*(\S+)", makefile_of(folder), re.MULTILINE)
        binary = folder / program.get("program", named.group(1) if named else "main")
        binary.unlink(missing_ok=True)
    else:
        binary = folder / "program"
        patterns = program.get("sources", ["*.cu", "*.cpp"])
        files = sorted(str(path.relative_to(folder)) for pattern in patterns for path in folder.glob(pattern))
        command = [nvcc, "-cudart", "shared", "-gencode", f"arch={arch},code={arch}", *flags, *files, "-o", str(binary)]
    status, text = run(command, folder, 1800)
    return (binary, text) if status == 0 and binary.exists() else (None, text)


def default_arguments(folder):
    """Returns the arguments of the first command of the makefile's target `run`."""
    command = r"^run\s*:.*\n(?:\t#.*\n)*\t.*?(?:\$\(program\)|\./main)(.*)$"
    found = re.search(command, makefile_of(folder), re.MULTILINE)
    return found.group(1).strip() if found else ""


def reason(text):
    """Returns the line of the output that says why a program was refused or failed."""
    lines = text.splitlines()
    for mark in ("not supported", "does not have", "cannot run", "kernel `", "error: ", "Error", "FAIL", "error"):
        for line in lines:
            if mark in line:
                return line.strip()[:200]
    return lines[-1].strip()[:200] if lines else "no output"


def judge(suite, status, text, seconds):
    """Returns the result of a run in a word, and the reason unless it passed."""
    launches = len(re.findall(LAUNCH, text, re.MULTILINE))
    text = re.sub(SUMMARY, "", re.sub(LAUNCH, "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    if status is None:
        return "time limit", f"more than {seconds} s"
    if status != 0:
        return ("refused" if "error: " in text and status in (2, 3) else "failed"), f"status {status}: {reason(text)}"
    failure = re.search(suite["failure"], text)
    if failure:
        line = text[: failure.end()].count("\n")
        return "failed", text.split("\n")[line].strip()[:200]
    if re.search(suite["success"], text):
        return "passed", ""
    return ("no check", "") if launches else ("failed", "no launch: " + reason(text))


def prepare(given, suite, name, place, folder):
    """Copies, changes and builds a program. Returns its path, or `None` and the reason."""
    program = suite["programs"].get(name, {})
    shutil.rmtree(folder, ignore_errors=True)
    # Links are replaced by what they point to, so that no change reaches the original.
    shutil.copytree(given.folder / folder.relative_to(place), folder, ignore_dangling_symlinks=True)
    status, text = run(["sh", "-ec", program.get("prepare", "")], folder, 600)
    if status != 0:
        return None, f"error: `prepare` ended with status {status}: {text}"
    resize(folder, suite.get("sizes", {}), {})
    unused = resize(folder, program.get("sizes", {}), program.get("edits", {}))
    if unused:
        return None, f"error: no source contains {', '.join(sorted(unused))}"
    return build(given.nvcc, suite, folder, program)


def run_suite(given, suite, names, kept):
    """Builds and runs programs of a suite. Returns the rows of the table and the number of each result."""
    place = kept / "copy"
    if not place.exists():
        shutil.copytree(given.folder, place, symlinks=True)
    rows, counts = [], {}
    for name in names:
        program = suite["programs"].get(name, {})
        folder = place / suite["path"].format(name=name)
        # A program that is kept is built again when anything has changed that decides its build.
        recipe = kept / f"{name}.json"
        keys = ["sizes", "flags", "make"]
        now = [given.nvcc, {key: suite.get(key) for key in keys}, program]
        built = json.loads(recipe.read_text()) if recipe.exists() else {}
        if built.get("recipe") != now:
            binary, text = prepare(given, suite, name, place, folder)
            built = {"recipe": now, "binary": str(binary or ""), "text": text}
            recipe.write_text(json.dumps(built))
        binary = built["binary"]
        words = program.get("arguments", default_arguments(folder))
        launches, result, why = 0, "not built", ""
        if not binary:
            why = reason(built["text"])
        elif given.no_run:
            result = "built"
        else:
            start = lambda *options: run(
                [*given.exec, *options, "--", binary, *shlex.split(words)], pathlib.Path(binary).parent, given.seconds
            )
            status, text = start()
            (kept / f"{name}.run").write_text(text)
            launches = len(re.findall(LAUNCH, text, re.MULTILINE))
            result, why = judge({**suite, **program}, status, text, given.seconds)
            if result == "no check":
                checked, text = start("--check", "--quiet")
                if checked == 0:
                    result = "memory equal"
                elif checked == 1:
                    # A check has failed.
                    result, why = "memory differs", reason(text)
                else:
                    why = f"--check: {'time limit' if checked is None else reason(text)}"
        counts[result] = counts.get(result, 0) + 1
        why = why.replace(str(pathlib.Path(binary or folder).parent) + "/", "").replace("|", "\\|")
        changed = [f"{key} = {value}" for key, value in program.get("sizes", {}).items()]
        changed += [f"{old}: {new}" for old, new in program.get("edits", {}).items()]
        changed = ", ".join(f"`{change}`" for change in changed).replace("|", "/")
        row = [name, f"`{words}`" if words else "", changed, str(launches), result, why]
        rows.append("| " + " | ".join(row) + " |")
        print(rows[-1], flush=True)
    return rows, counts


def command_of(text):
    """Returns a command as a list of words. Programs run in their own folders, so its path becomes absolute."""
    words = shlex.split(text)
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise SystemExit(f"`{text}` is no command that can be run")
    return [os.path.abspath(program), *words[1:]]


def write_section(file, title, text):
    """Replaces the section of a page, or adds it. Sections are in alphabetical order."""
    present = file.read_text() if file.exists() else HEAD
    head, *sections = re.split(r"^(?=## )", present, flags=re.MULTILINE)
    sections = [section.rstrip() for section in sections if not section.startswith(f"## {title}\n")]
    sections = sorted([*sections, f"## {title}\n{text.rstrip()}"])
    file.write_text("\n\n".join([head.rstrip(), *sections]) + "\n")


def main():
    suites = tomllib.loads((pathlib.Path(__file__).parent / "programs.toml").read_text())
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("suite", choices=suites)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--exec", default="warpsieve exec", help="command that runs a program")
    arguments.add_argument("--seconds", type=int, default=300, help="limit of the processor time of a run")
    arguments.add_argument("--only", default="", help="regular expression of names")
    arguments.add_argument("--kept", type=pathlib.Path, help="folder for built programs and their outputs")
    arguments.add_argument("--no-run", action="store_true", help="only build")
    arguments.add_argument("--output", type=pathlib.Path, help="file for the table")
    given = arguments.parse_args()
    suite, options = suites[given.suite], given.exec
    [given.nvcc] = command_of(given.nvcc)
    given.exec = [] if given.no_run else command_of(options)
    drawn = ""
    names = list(suite["programs"])
    if "draw" in suite:
        names, among = draw(given.folder, suite)
        drawn = f" {len(names)} of {among} programs are drawn with seed {suite['draw']['seed']}."
    chosen = [name for name in names if re.search(given.only, name)]
    if not chosen:
        raise SystemExit(f"no program has a name that matches `{given.only}`: {', '.join(names)}")
    with contextlib.ExitStack() as stack:
        kept = given.kept or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept = kept.resolve() / given.suite
        kept.mkdir(parents=True, exist_ok=True)
        rows, counts = run_suite(given, suite, chosen, kept)
    total = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(total)
    if given.output:
        git = ["git", "-C", str(given.folder), "rev-parse", "--short=12", "HEAD"]
        commit = subprocess.run(git, stdout=subprocess.PIPE, check=False).stdout.decode().strip()
        options = re.sub(r"^\S*/", "", options)
        sizes = ", ".join(f"`{name} = {value}`" for name, value in suite.get("sizes", {}).items())
        text = f"Commit {commit or 'unknown'}, command `{options}`.{drawn}"
        text += f" Constants of all programs: {sizes}." if sizes else ""
        text += f" Results: {total}.\n\n| program | arguments | changed constants | launches | result | reason |\n"
        text += "|---|---|---|---|---|---|\n" + "\n".join(rows)
        write_section(given.output, given.suite, text)


main()
