#!/usr/bin/env python3
"""Compares the cycles that measured loads of a warp occupy the L1 with those of its banks.

usage: l1_banks.py [accesses.jsonl] [--machine machines/hopper.toml] [--all]

A load takes the larger of two numbers: lines in the fullest tag bank, and words in the fullest of 32 data banks, summed over halves of the warp
(8 bytes a lane) or quarters (16 bytes). The address bits of the tag banks are those of `l1.banks` in the machine file. The kernel itself takes some
cycles between two loads, so no measurement is below the least of its width. Prints how many patterns agree within 0.45 cycles, and those that do
not; with --all, every pattern.
"""

import argparse
import collections
import json
import signal
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WITHIN = 0.45
LINE, WORD, DATA_BANKS, LANES = 128, 4, 32, 32


def fullest(members):
    """Number of members in the fullest bank, from pairs of bank and member."""
    return max(collections.Counter(bank for bank, _ in set(members)).values())


def cycles(addresses, words, tag_bank_bits):
    """Cycles of a load of `words` words per lane."""

    def tag_bank(line):
        return tuple(sum(line >> bit & 1 for bit in bits) % 2 for bits in tag_bank_bits)

    lookups = fullest((tag_bank(a // LINE * LINE), a // LINE) for a in addresses)
    together = LANES // words
    parts = (addresses[first : first + together] for first in range(0, LANES, together))
    read = ([a // WORD + word for a in part for word in range(words)] for part in parts)
    return max(lookups, sum(fullest((word % DATA_BANKS, word) for word in part) for part in read))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="?", type=Path, default=ROOT / "machines/silicon/data/h200-sxm/accesses.jsonl")
    parser.add_argument("--machine", type=Path, default=ROOT / "machines/hopper.toml")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    # A closed pipe ends the program silently.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    tag_bank_bits = tomllib.loads(arguments.machine.read_text(encoding="utf-8"))["l1"]["banks"]["tag_bank_bits"]
    rows = [json.loads(line) for line in arguments.measured.read_text(encoding="utf-8").splitlines()]
    patterns = next(row["patterns"] for row in rows if "patterns" in row)
    compared = agreed = 0
    for row in rows:
        kind, words = row.get("kind", ""), row.get("words")
        if not kind.startswith("ld.") or "shared" in kind:
            continue
        found = {name: measured for name, (_, measured) in row["found"].items()}
        floor, agreed_before = min(found.values()), agreed
        for name, measured in found.items():
            due = cycles([offset // WORD * WORD * words for offset in patterns[name]], words, tag_bank_bits)
            agrees = abs(measured - max(due, floor)) <= WITHIN
            agreed += agrees
            if arguments.all or not agrees:
                print(f"{kind}, {name}: {measured:.2f} cycles measured, {due} by the banks{'' if agrees else ' (differs)'}")
        compared += len(found)
        print(f"{kind}: {agreed - agreed_before} of {len(found)} patterns within {WITHIN} cycles; none below {floor:.2f}")
    print(f"{agreed} of {compared} patterns within {WITHIN} cycles")


if __name__ == "__main__":
    main()
