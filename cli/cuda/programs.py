#!/usr/bin/env python3
"""Builds CUDA programs of other projects, runs them with `warpsieve exec`, and counts which pass their own check.

    cli/cuda/programs.py SUITE FOLDER --nvcc NVCC --exec "target/release/warpsieve exec" --output table.md

SUITE is the name of a suite in `cli/cuda/programs.toml`; FOLDER is a copy of its repository. A program passes if it
ends with status 0, prints what its suite expects of a success, and nothing that its suite lists as a failure.
"""

import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib

TARGET = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"]


def run(command, folder, seconds):
    """Returns the exit status and the output of a command; the status is None if the time did not suffice."""
    try:
        ended = subprocess.run(command, cwd=folder, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")
    return ended.returncode, ended.stdout.decode(errors="replace")


def resize(suite, folder, program):
    """Replaces the problem sizes in the headers of a program."""
    for file in folder.glob(suite["sized"]):
        text = file.read_text()
        for pattern, value in {**suite["sizes"], **program.get("sizes", {})}.items():
            text = re.sub(rf"^(# *define (?:{pattern})) +[0-9]+", rf"\1 {value}", text, flags=re.MULTILINE)
        file.write_text(text)


def build(nvcc, suite, folder, program, to):
    """Compiles a program. Returns what the compiler printed if it failed."""
    sources = sorted(str(path) for ending in ("cu", "cpp") for path in folder.glob("*." + ending))
    flags = suite.get("flags", []) + program.get("flags", [])
    status, text = run([nvcc, *TARGET, *flags, *sources, "-o", str(to)], folder, 900)
    return None if status == 0 else text


def reason(text):
    """Returns the line of the output that says why a program was refused or failed."""
    lines = text.splitlines()
    for mark in ("not supported", "does not have", "cannot run", "error: ", "Error", "FAIL"):
        for line in lines:
            if mark in line:
                return line.strip()[:160]
    return lines[-1].strip()[:160] if lines else "no output"


def judge(suite, status, text):
    """Returns the result of a run in a word, and the reason unless it passed."""
    if status is None:
        return "time limit", ""
    if status != 0:
        return ("refused" if "error: " in text and status in (2, 3) else "failed"), f"status {status}: {reason(text)}"
    if re.search(suite["failure"], text):
        return "failed", reason(text)
    return ("passed", "") if re.search(suite["success"], text) else ("no check", "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("suite")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--exec", default="warpsieve exec", help="command that runs a program")
    arguments.add_argument("--seconds", type=int, default=300, help="time limit of a run")
    arguments.add_argument("--only", help="regular expression of names")
    arguments.add_argument("--built", type=pathlib.Path, help="folder in which built programs are kept")
    arguments.add_argument("--output", type=pathlib.Path, help="file for the table")
    given = arguments.parse_args()
    suite = tomllib.loads((pathlib.Path(__file__).parent / "programs.toml").read_text())[given.suite]
    kept = given.built or pathlib.Path(tempfile.mkdtemp())
    kept.mkdir(parents=True, exist_ok=True)
    place = given.folder
    if "sized" in suite:
        place = pathlib.Path(shutil.copytree(given.folder, pathlib.Path(tempfile.mkdtemp()) / "copy"))
    rows, counts = [], {}
    for name, program in suite["programs"].items():
        if given.only and not re.search(given.only, name):
            continue
        folder = place / suite["path"].format(name=name)
        if "sized" in suite:
            resize(suite, folder, program)
        binary = (kept / name).resolve()
        unbuilt = None if binary.exists() else build(given.nvcc, suite, folder, program, binary)
        words = shlex.split(program.get("arguments", ""))
        if unbuilt is None:
            status, text = run([*shlex.split(given.exec), "--", str(binary), *words], folder, given.seconds)
            launches = len(re.findall(r"^launch \d+: ", text, re.MULTILINE))
            result, why = judge(suite, status, text)
        else:
            launches, result, why = 0, "not built", reason(unbuilt)
        counts[result] = counts.get(result, 0) + 1
        why = why.replace("|", "\\|").replace(str(binary), name).replace(str(folder), "")
        rows.append(f"| {name} | `{' '.join(words)}` | {launches} | {result} | {why} |".replace("``", ""))
        print(rows[-1], flush=True)
    head = "| program | arguments | launches | result | reason |\n|---|---|---|---|---|\n"
    total = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(total)
    if given.output:
        given.output.write_text(head + "\n".join(rows) + f"\n\n{total}\n")


main()
