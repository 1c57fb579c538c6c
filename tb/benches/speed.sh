#!/usr/bin/env bash
# Measures the numbers of docs/speed.md and prints them as Markdown tables: host instructions per core cycle and per whole
# process, core cycles per second by --threads, and peak memory. It takes about fifteen minutes. --threads needs an idle
# host.
#
# usage: [BIN=COMMAND] tb/benches/speed.sh [host|cycles|sms|processes|threads|memory]...
# without BIN the command is built; without arguments all tables are printed
# needs: valgrind, GNU time (apt-get install valgrind time)
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in
-*)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
if [[ -z ${BIN:-} ]]; then
    cargo build --quiet --release --locked -p warpsieve-command --bin warpsieve
    BIN=${CARGO_TARGET_DIR:-target}/release/warpsieve
fi
export BIN
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints a number with thousands separated by commas.
grouped() { sed ':again; s/\B[0-9]\{3\}\>/,&/; t again' <<<"$1"; }

# Prints host instructions per core cycle. Arguments: launch file or list of traces, the two cycles, options of the run.
per_cycle() { tb/benches/instructions.sh "$@" | sed 's/.* \([0-9]*\) a cycle$/\1/'; }

# Prints the host instructions of a whole process.
whole() { valgrind --tool=callgrind --callgrind-out-file=/dev/null "$BIN" "$@" 2>&1 >/dev/null | sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p'; }

print_host() {
    printf 'Measured on %s processors (%s), with %s.\n' "$(nproc)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | xargs)" "$(rustc --version | cut -d ' ' -f 1,2)"
}

print_cycles() {
    "$BIN" trace export kernels/sgemm/launch.toml --output "$scratch/sgemm" --quiet >/dev/null
    echo '| `tb/benches/instructions.sh` | island by island | in step |'
    echo '|---|---|---|'
    while read -r run; do
        # shellcheck disable=SC2086 # a line holds several arguments
        printf '| `%s` | %s | %s |\n' "$run" "$(grouped "$(per_cycle $run)")" "$(grouped "$(THREADS=step per_cycle $run)")"
    done <<-'END'
		kernels/vadd/launch.toml 1000 13000
		kernels/syrk/launch.toml 10000 110000
		kernels/syrk/launch.toml 1000 18000 --design pric
		kernels/sgemm/launch.toml 2000 40000
		kernels/conv2d/launch.toml 2000 12000
		kernels/bfs/launch.toml 2000 40000
	END
    local run=("$scratch/sgemm/kernelslist.g" 2000 40000)
    printf '| the trace of `sgemm`, `2000 40000` | %s | %s |\n' "$(grouped "$(per_cycle "${run[@]}")")" \
        "$(grouped "$(THREADS=step per_cycle "${run[@]}")")"
}

print_sms() {
    echo '| `tb/benches/instructions.sh`, with `--machine volta` | 80 SMs | 15 SMs, 16 partitions | ratio |'
    echo '|---|---|---|---|'
    while read -r run; do
        # shellcheck disable=SC2086
        all=$(per_cycle $run --machine volta) few=$(per_cycle $run --machine volta --set num_sms=15 --set num_partitions=16)
        printf '| `%s` | %s | %s | %s |\n' "$run" "$(grouped "$all")" "$(grouped "$few")" \
            "$(awk "BEGIN { printf \"%.2f\", $all / $few }")"
    done <<-'END'
		kernels/sgemm_cache/thesis 2000 6000
		kernels/conv2d/paper 2000 4000
	END
}

print_processes() {
    cat >"$scratch/sweep.toml" <<-END
		launch = "$PWD/kernels/syrk/small"
		design = ["baseline", "pric", "bypass-all", "srrip", "decoupled"]
		[set]
		l1.mshr_entries = [16, 32]
	END
    echo '| command | instructions |'
    echo '|---|---|'
    printf '| `warpsieve run kernels/syrk/small` | %s |\n' "$(grouped "$(whole run kernels/syrk/small)")"
    printf '| `warpsieve sweep` of ten such runs, 5 designs by 2 numbers of MSHR entries | %s |\n' \
        "$(grouped "$(whole sweep "$scratch/sweep.toml" --jobs 1 --cache "$scratch/cache" --quiet)")"
}

# Prints the highest core cycles per second of wall time of five runs. Arguments: launch file, value of --threads.
best() {
    for _ in 1 2 3 4 5; do
        "$BIN" run "$1" --threads "$2" --quiet --stats "$scratch/stats.json" >/dev/null
        awk -F '[:, ]+' '$2 == "\"cycles\"" && !cycles { cycles = $3 } $2 == "\"wall_seconds\"" { wall = $3 }
            END { printf "%d\n", cycles / wall }' "$scratch/stats.json"
    done | sort -n | tail -n 1
}

print_threads() {
    echo '| run | `step` | `1` | `auto` |'
    echo '|---|---|---|---|'
    for kernel in vadd sgemm conv2d bfs mm2 kmeans gesummv syrk; do
        launch=kernels/$kernel/launch.toml
        printf '| `%s` | %s | %s | %s |\n' "$launch" "$(grouped "$(best "$launch" step)")" "$(grouped "$(best "$launch" 1)")" \
            "$(grouped "$(best "$launch" auto)")"
    done
}

print_memory() {
    echo '| run | peak resident memory |'
    echo '|---|---|'
    while read -r run; do
        # shellcheck disable=SC2086
        peak=$( { command time -f %M "$BIN" run $run --quiet >/dev/null; } 2>&1 | tail -n 1)
        printf '| `%s` | %s MiB |\n' "$run" $((peak / 1024))
    done <<-'END'
		kernels/vadd/launch.toml
		kernels/syrk/launch.toml
		kernels/gesummv/launch.toml
		kernels/vadd/paper --machine volta
		kernels/fdtd2d/launch.toml --machine volta
		kernels/pathfinder/li --machine volta
	END
}

tables=("$@")
((${#tables[@]})) || tables=(host cycles sms processes threads memory)
for table in "${tables[@]}"; do
    case $table in
    host | cycles | sms | processes | threads | memory)
        "print_$table"
        echo
        ;;
    *)
        printf 'speed.sh: no table %s: host, cycles, sms, processes, threads, memory\n' "$table" >&2
        exit 2
        ;;
    esac
done
