#!/usr/bin/env bash
# Counts host instructions per simulated core cycle, with callgrind. Start-up (reading the launch
# file, parsing, filling memory, expected results) is excluded: the same run is stopped at two
# cycles, and the difference in instructions is divided by the difference in cycles.
#
# usage: [BIN=COMMAND] [THREADS=step] tb/benches/instructions.sh LAUNCH.toml|KERNELSLIST.g FROM TO [further options]
# without BIN the command is built; without THREADS one thread runs the islands one after the other
set -euo pipefail
if (($# < 3)) || (($3 <= $2)); then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
launch=$1 from=$2 to=$3
shift 3
case $launch in
*.g) command=replay ;;
*) command=run ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
if [[ -z ${BIN:-} ]]; then
    cargo build --quiet --release --locked --manifest-path "$root/Cargo.toml" -p warpsieve-command --bin warpsieve
fi
warpsieve=${BIN:-${CARGO_TARGET_DIR:-$root/target}/release/warpsieve}

# Prints the instructions of a run that is stopped after $1 cycles and must not have ended before.
instructions() {
    local log status=0
    log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$warpsieve" "$command" "$launch" --quiet --threads "${THREADS:-1}" --max-cycles "$1" "${@:2}" 2>&1) || status=$?
    if ((status != 3)); then
        printf 'expected a run that is stopped after %s cycles (status 3), not status %s:\n%s\n' \
            "$1" "$status" "$log" >&2
        exit 1
    fi
    sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p' <<<"$log"
}

first=$(instructions "$from" "$@")
second=$(instructions "$to" "$@")
printf '%s, cycles %s to %s: %s instructions, %s a cycle\n' \
    "$launch" "$from" "$to" $((second - first)) $(((second - first) / (to - from)))
