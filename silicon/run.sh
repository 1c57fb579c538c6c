#!/bin/bash
# All measurements on the GPU in one go, under six minutes: microbenchmarks, the suite, counters. Changes no setting of the device.
#
# usage: bash silicon/run.sh     in the root of a checkout, with $OUT the folder that comes back; $SILICON_SECONDS (350) is the time for everything
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
echo "== suite, $(left) s left"
timeout -k 5 $(($(least 85 "$(left)") + 15)) python3 "$here/suite.py" --kernels "$kernels" --out "$out/r" --budget "$(least 80 "$(left)")"

# Counters: six kernels with many, then all with few.
metrics=gpu__time_duration.sum,sm__cycles_elapsed.max,sm__cycles_active.avg,smsp__inst_executed.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_read_lookup_hit.sum,lts__t_sectors_op_write.sum,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum,dram__bytes_read.sum,dram__bytes_write.sum
more=lts__t_sectors_srcunit_ltcfabric.sum,lts__t_sectors_srcnode_gpc.sum,lts__t_requests_srcunit_tex.sum,lts__average_t_sector_hit_rate.pct,l1tex__m_xbar2l1tex_read_sectors.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,dram__cycles_elapsed.avg.per_second,lts__cycles_elapsed.avg.per_second,sm__cycles_elapsed.avg.per_second,smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct,sm__warps_active.avg.pct_of_peak_sustained_active
profile() { # seconds, file, metrics, launches, files
    [ "$(left)" -gt 15 ] || return
    timeout -k 5 "$(least "$1" "$(left)")" ncu --target-processes all --clock-control none --cache-control none --print-units base --csv --page raw \
        --launch-count "$4" --metrics "$3" python3 "$here/suite.py" --once --kernels "$kernels" --out "$out/r/once" --budget 60 --only "$5" > "$out/r/$2" 2>&1
    echo "ncu $2: status $?, $(wc -l < "$out/r/$2") lines, $(left) s left"
}
echo "== counters, $(left) s left"
six=vadd,syrk,sgemm,spmv_csr,stencil3d,histo
profile 40 ncu.csv $metrics 40 $six
profile 30 ncu-more.csv $more 40 $six
echo "== larger sizes, $(left) s left"
[ "$(left)" -gt 25 ] && timeout -k 5 $(($(left) - 5)) python3 "$here/suite.py" --kernels "$kernels" --out "$out/r" --prefix large- --sizes paper,suite,candel,li,thesis,xie --repeat 8 --budget $(($(left) - 20))
all=$(cd "$kernels" && ls -d */ | tr -d / | grep -v -e common -e tensor -e gaussian -e gramschmidt -e myocyte -e '^nw$' -e '^lud$' | tr '\n' ,)
profile 60 ncu-all.csv gpu__time_duration.sum,sm__cycles_elapsed.max,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,lts__t_sectors_op_read.sum,dram__bytes_read.sum 300 "$all"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv
echo "== done after $SECONDS s"
