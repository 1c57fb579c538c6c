#!/usr/bin/env python3
"""Finds the L2 slices of the lines of a 2 MB page, and the XORs of address bits that select them, from the latencies of all SMs.

usage: l2_slices.py [l2_page.npz] [--slices NUMBER]

Lines of one slice have the same latency from each SM. So the lines are grouped by their latencies, without what is below the noise. Two slices
that no SM can tell apart form one group, which has the lines of both. An XOR of address bits is part of the slice number if it is the same for all
lines of a group, or, in the group of two slices, if it divides the group into two of the usual size. Prints these XORs, a basis of them, and the
slices that the groups have once the basis divides them.
"""

import argparse
import signal
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LINE_LOG2 = 7
# A latency that differs from the median of its SM by more is an accident of the measurement.
OUTLIER = 40
# Singular values above this multiple of the median belong to the slices, all others to the noise.
SIGNAL = 5
# A slice has at least this part of the lines that it has on average.
WHOLE = 0.9


def features(cycles):
    """For each line, its latencies from all SMs without the noise: one number per direction in which slices differ."""
    differences = np.clip(cycles - np.median(cycles, axis=1, keepdims=True), -OUTLIER, OUTLIER)
    differences -= differences.mean(axis=1, keepdims=True)
    _, values, lines = np.linalg.svd(differences, full_matrices=False)
    return lines[values > SIGNAL * np.median(values)].T * values[values > SIGNAL * np.median(values)]


def group(points, distance=3.0):
    """The number of the group of each point: points nearer than `distance` to the mean of a group belong to it."""
    means, sizes, groups = [], [], np.zeros(len(points), dtype=int)
    for at, point in enumerate(points):
        apart = np.linalg.norm(np.array(means) - point, axis=1) if means else np.array([np.inf])
        nearest = int(apart.argmin())
        if apart[nearest] > distance:
            nearest = len(means)
            means.append(np.zeros_like(point))
            sizes.append(0)
        sizes[nearest] += 1
        means[nearest] += (point - means[nearest]) / sizes[nearest]
        groups[at] = nearest
    return groups


def parity(words):
    return np.array([int(word).bit_count() & 1 for word in words])


def masks(groups, least):
    """XORs of line-number bits that divide no group into parts of less than `least` lines."""
    lines = np.arange(len(groups))
    odd = parity(lines)
    sizes = np.bincount(groups)
    found = []
    for mask in range(1, len(groups)):
        ones = np.bincount(groups, weights=odd[lines & mask], minlength=len(sizes))
        parts = np.concatenate([ones, sizes - ones])
        if np.all((parts == 0) | (parts >= least)):
            found.append(mask)
    return found


def basis(found):
    """Masks of which no one is the XOR of others, those with the fewest bits first."""
    chosen, span = [], {0}
    for mask in sorted(found, key=lambda mask: (mask.bit_count(), mask)):
        if mask not in span:
            chosen.append(mask)
            span |= {mask ^ other for other in span}
    return chosen


def bits_of(mask):
    return [bit + LINE_LOG2 for bit in range(mask.bit_length()) if mask >> bit & 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", type=Path, default=ROOT / "machines/silicon/data/h100-sxm/l2_page.npz")
    parser.add_argument("--slices", type=int, default=80, help="slices of the whole L2, by default 80")
    arguments = parser.parse_args()
    # A closed pipe ends the program silently.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    cycles = np.load(arguments.page)["cycles"].astype(float)
    cycles = cycles[cycles.min(axis=1) > 0]
    points = features(cycles)
    groups = group(points)
    lines = len(groups)
    print(f"{lines} lines, {len(cycles)} SMs: latencies in {points.shape[1]} directions, {groups.max() + 1} groups of lines")
    found = masks(groups, WHOLE * lines / arguments.slices)
    chosen = basis(found)
    print(f"{len(found)} XORs of address bits tell groups apart, of which {len(chosen)} are independent:")
    for mask in chosen:
        print(f"  {bits_of(mask)}")
    classes = sum(parity(np.arange(lines) & mask) << place for place, mask in enumerate(chosen)) if chosen else 0
    sizes = np.unique(classes * lines + groups, return_counts=True)[1]
    print(f"{len(sizes)} slices of {sizes.min()} to {sizes.max()} lines in {1 << len(chosen)} classes")
    same = [bit + LINE_LOG2 for bit in range(lines.bit_length() - 1) if np.all(groups == groups[np.arange(lines) ^ 1 << bit])]
    print(f"address bits that never change the slice: {same}")


if __name__ == "__main__":
    main()
