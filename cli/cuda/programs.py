#!/usr/bin/env python3
"""Builds CUDA programs of other projects, runs them with `warpsieve exec`, and counts which pass their own check.

    cli/cuda/programs.py SUITE FOLDER --nvcc NVCC --exec "target/release/warpsieve exec" --output table.md

SUITE is the name of a suite in `cli/cuda/programs.toml`; FOLDER is a copy of its repository, which stays unchanged.
A program passes if it ends with status 0, prints what its suite expects of a success, and nothing that its suite lists
as a failure. A program that prints neither has no check of its own.
"""

import argparse
import hashlib
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
LAUNCH = r"^launch \d+: "
TYPES = "int|long|unsigned|size_t|u?int(?:32|64)_t|float|double"
SOURCES = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inl"}


def run(command, folder, seconds):
    """Returns the exit status and the output of a command. The status is None if the processor time did not suffice.

    A process that waits for its input, or for another process, uses no processor time, so there is a limit of real
    time too, for busy hosts a high one.
    """
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        ended = subprocess.run(command, cwd=folder, timeout=20 * seconds, preexec_fn=limit, **pipes)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        return 127, f"error: {error}"
    late = ended.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
    return None if late else ended.returncode, ended.stdout.decode(errors="replace")


def sources_of(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES and path.is_file())


def draw(place, suite):
    """Returns the names of the programs that a suite draws: those with the lowest hash of the seed and the name."""
    rules, names = suite["draw"], []
    before, after = suite["path"].split("{name}")
    for folder in sorted(place.glob(suite["path"].format(name="*"))):
        text = "\n".join(path.read_text(errors="replace") for path in sources_of(folder))
        makefile = "".join(path.read_text(errors="replace") for path in folder.glob("Makefile*"))
        linked = set(re.findall(r"(?<!\S)-l(\S+)", makefile)) - set(rules["linked"])
        linked.update(path.name for path in folder.rglob("*.dvc"))
        inputs = re.findall(r"^\t.*\$\(LAUNCHER\)(.*)", makefile, re.MULTILINE)
        linked.update(path for path in re.findall(r"\.\./\S+", "\n".join(inputs)) if not (folder / path).exists())
        included = re.search(rf"^\s*#\s*include.*(?:{rules['included']})", text, re.MULTILINE)
        if not linked and not included and not re.search(rules["textures"], text):
            names.append(str(folder.relative_to(place))[len(before) : -len(after) or None])
    digest = lambda name: hashlib.sha256(f"{rules['seed']}:{name}".encode()).hexdigest()
    print(f"{rules['count']} of {len(names)} programs drawn with seed {rules['seed']}")
    return sorted(sorted(names, key=digest)[: rules["count"]], key=str.lower)


def resize(folder, sizes, edits):
    """Replaces the values of constants, by name, and other texts in the sources of a program."""
    for file in sources_of(folder):
        before = text = file.read_text(errors="surrogateescape")
        for name, value in sizes.items():
            text = re.sub(rf"^(\s*# *define +(?:{name})[ \t]+)[^/\n]+", rf"\g<1>{value} ", text, flags=re.MULTILINE)
            text = re.sub(rf"(\b(?:{TYPES}) +(?:{name}) *= *)[^;,\n]+", rf"\g<1>{value}", text)
        for old, new in edits.items():
            text = text.replace(old, new)
        if text != before:
            file.write_text(text, errors="surrogateescape")


def build(nvcc, suite, folder, program):
    """Compiles a program. Returns its path, or `None` and what the compiler printed."""
    flags = suite.get("flags", []) + program.get("flags", [])
    arch = program.get("arch", ARCH)
    if "make" in suite:
        replace = {"nvcc": f"{nvcc} -cudart shared", "arch": arch, "flags": " ".join(flags)}
        command = ["make", *(word.format(**replace) for word in suite["make"])]
        # A makefile names the program by a variable, by the target that runs it, or not at all.
        text = "".join(path.read_text(errors="replace") for path in sorted(folder.glob("[Mm]akefile")))
        named = re.search(r"^program\s*:?=\s*(\S+)", text, re.MULTILINE)
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
    text = "".join(path.read_text(errors="replace") for path in folder.glob("Makefile"))
    found = re.search(r"^run\s*:.*\n(?:\t#.*\n)*\t.*?(?:\$\(program\)|\./main)(.*)$", text, re.MULTILINE)
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
    if status is None:
        return "time limit", f"more than {seconds} s"
    if status != 0:
        return ("refused" if "error: " in text and status in (2, 3) else "failed"), f"status {status}: {reason(text)}"
    failure = re.search(suite["failure"], text)
    if failure:
        line = text[: failure.end()].count("\n")
        return "failed", text.splitlines()[line].strip()[:200]
    if re.search(suite["success"], text):
        return "passed", ""
    return ("no check", "") if re.search(LAUNCH, text, re.MULTILINE) else ("failed", "no launch: " + reason(text))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("suite")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--exec", default="warpsieve exec", help="command that runs a program")
    arguments.add_argument("--seconds", type=int, default=300, help="limit of the processor time of a run")
    arguments.add_argument("--only", help="regular expression of names")
    arguments.add_argument("--kept", type=pathlib.Path, help="folder for built programs and their outputs")
    arguments.add_argument("--no-run", action="store_true", help="only build")
    arguments.add_argument("--output", type=pathlib.Path, help="file for the table")
    given = arguments.parse_args()
    suite = tomllib.loads((pathlib.Path(__file__).parent / "programs.toml").read_text())[given.suite]
    kept = (given.kept or pathlib.Path(tempfile.mkdtemp())).resolve()
    place = kept / "copy"
    if not place.exists():
        shutil.copytree(given.folder, place, symlinks=True)
    names = draw(given.folder, suite) if "draw" in suite else list(suite["programs"])
    rows, counts = [], {}
    for name in names:
        if given.only and not re.search(given.only, name):
            continue
        program = suite["programs"].get(name, {})
        folder = place / suite["path"].format(name=name)
        built = kept / f"{name}.path"
        sizes = {**suite.get("sizes", {}), **program.get("sizes", {})}
        if not built.exists():
            original = given.folder / suite["path"].format(name=name)
            shutil.rmtree(folder)
            shutil.copytree(original, folder, symlinks=True)
            subprocess.run(["sh", "-c", program.get("prepare", "")], cwd=folder, check=True)
            resize(folder, sizes, program.get("edits", {}))
            binary, text = build(given.nvcc, suite, folder, program)
            (kept / f"{name}.build").write_text(text)
            built.write_text(str(binary or ""))
        binary = built.read_text()
        words = program.get("arguments", default_arguments(folder))
        launches, result, why = 0, "not built", ""
        if not binary:
            why = reason((kept / f"{name}.build").read_text())
        elif given.no_run:
            result = "built"
        else:
            simulator, *options = shlex.split(given.exec)
            # A program runs in its own folder, where a relative path would not be found.
            simulator = shutil.which(simulator) or simulator
            command = [str(pathlib.Path(simulator).resolve()), *options, "--", binary, *shlex.split(words)]
            status, text = run(command, pathlib.Path(binary).parent, given.seconds)
            (kept / f"{name}.run").write_text(text)
            launches = len(re.findall(LAUNCH, text, re.MULTILINE))
            result, why = judge({**suite, **program}, status, text, given.seconds)
        counts[result] = counts.get(result, 0) + 1
        why = why.replace(str(pathlib.Path(binary or folder).parent) + "/", "").replace("|", "\\|")
        changed = [f"{key} = {value}" for key, value in program.get("sizes", {}).items()]
        changed += [f"{old}: {new}" for old, new in program.get("edits", {}).items()]
        changed = ", ".join(f"`{change}`" for change in changed).replace("|", "/")
        row = [name, f"`{words}`" if words else "", changed, str(launches), result, why]
        rows.append("| " + " | ".join(row) + " |")
        print(rows[-1], flush=True)
    head = "| program | arguments | changed constants | launches | result | reason |\n|---|---|---|---|---|---|\n"
    total = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(total)
    if given.output:
        given.output.write_text(head + "\n".join(rows) + f"\n\n{total}\n")


main()
