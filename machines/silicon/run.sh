#!/bin/bash
# Performs all measurements on the GPU within six minutes: microbenchmarks, the suite, counters. Changes no setting of the device.
#
# usage: bash machines/silicon/run.sh     in the root of a checkout; $OUT is the folder for the results, and $SILICON_SECONDS (350) the time for all measurements
set -u
here=$(cd "$(dirname "$0")" && pwd)
kernels=${KERNELS:-kernels}
out=${OUT:-silicon-out}
total=${SILICON_SECONDS:-350}
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
SECONDS=0
mkdir -p "$out/r"
left() { echo $((total - SECONDS)); }
least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }
pack() {
    kill "${smi:-0}" 2>/dev/null
    tar czf "$out/all.tgz" -C "$out" r log.txt 2>/dev/null
    for name in measure.jsonl suite.csv files.csv large-files.csv ncu.csv; do
        [ -f "$out/r/$name" ] && cp "$out/r/$name" "$out/$name"
    done
    rm -rf "$out/r" # at most 8 files come back
}
trap pack EXIT
exec > >(tee "$out/log.txt") 2>&1

nvidia-smi
nvidia-smi -q -d CLOCK,PERFORMANCE,POWER | head -80
(nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active --format=csv -lms 500 > "$out/r/clocks.csv" 2>&1) &
smi=$!

echo "== microbenchmarks, $(left) s left"
timeout -k 5 $(($(least 165 "$(left)") + 10)) python3 "$here/measure.py" --out "$out/r" --budget "$(least 165 "$(left)")"
echo "== single instructions, $(left) s left"
timeout -k 5 70 python3 "$here/forms.py" --out "$out/r" --budget 60
echo "== suite, $(left) s left"
timeout -k 5 $(($(least 85 "$(left)") + 15)) python3 "$here/suite.py" --kernels "$kernels" --out "$out/r" --budget "$(least 80 "$(left)")"
echo "== larger sizes, $(left) s left"
[ "$(left)" -gt 25 ] && timeout -k 5 60 python3 "$here/suite.py" --kernels "$kernels" --out "$out/r" --prefix large- --sizes paper,suite,candel,li,thesis,xie,modern --repeat 8 --budget 50

# Counters. Each pass of the profiler runs the whole program again, so that every launch finds the caches in the state that earlier launches left.
work=gpu__time_duration.sum,sm__cycles_elapsed.max,sm__cycles_active.max,sm__cycles_active.avg,smsp__inst_executed.sum,smsp__thread_inst_executed.sum
l1=l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,l1tex__m_xbar2l1tex_read_sectors.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
l2=lts__t_sectors_op_read.sum,lts__t_sectors_op_read_lookup_hit.sum,lts__t_sectors_op_write.sum,lts__t_sectors_op_atom.sum,lts__t_sectors_op_red.sum,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum,lts__t_sectors_srcunit_ltcfabric.sum,lts__t_requests_srcunit_tex.sum
dram=dram__bytes_read.sum,dram__bytes_write.sum,dram__cycles_elapsed.avg.per_second,lts__cycles_elapsed.avg.per_second,sm__cycles_elapsed.avg.per_second
stalls=smsp__issue_active.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active
for reason in barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle membar mio_throttle no_instruction not_selected selected short_scoreboard sleeping tex_throttle wait; do
    stalls=$stalls,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
done
all=$(cd "$kernels" && ls -d */ | tr -d / | grep -v -e common -e gaussian -e gramschmidt -e myocyte -e '^nw$' -e '^lud$' | tr '\n' ,)
profile() { # seconds, file, metrics, what suite.py is given
    [ "$(left)" -gt 20 ] || return
    local most=$1 file=$2 metrics=$3
    shift 3
    timeout -k 5 "$(least "$most" "$(left)")" ncu --target-processes all --replay-mode application --clock-control none --cache-control none --print-units base \
        --csv --page raw --metrics "$metrics" python3 "$here/suite.py" --once --kernels "$kernels" --out "$out/r/once" --budget 60 "$@" > "$out/r/$file" 2>&1
    echo "ncu $file: status $?, $(wc -l < "$out/r/$file") lines, $(left) s left"
}
echo "== counters, $(left) s left"
profile 150 ncu.csv "$work,$l1,$l2,$dram" --only "$all"
profile 150 ncu-large.csv "$work,$l1,$l2,$dram" --sizes paper,candel,li,thesis,xie,modern
profile 60 ncu-stalls.csv "$work,$stalls" --only "$all"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv
echo "== done after $SECONDS s"
