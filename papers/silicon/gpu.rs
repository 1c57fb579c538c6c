//! Measurements on a real GPU, read from the tables in `machines/silicon/data`, which were written by the
//! script `machines/silicon/run.sh`.

use std::collections::BTreeMap;
use std::path::Path;

use csv::StringRecord;
use input::read_text;
use miette::{IntoDiagnostic, Report, WrapErr, miette};

/// Measurements of all kernel launches of one launch file on a GPU.
#[derive(Clone, Debug, Default)]
pub(super) struct GpuMeasurement {
    /// Number of kernel launches in the launch file.
    pub launches: u32,
    /// Core cycles of all launches together. The time of an empty launch is subtracted from that of each
    /// launch, unless the cycles come from the profiler.
    pub cycles: f64,
    /// Counters of the profiler Nsight Compute; `None` if the profiler did not run.
    pub counted: Option<ProfilerCounters>,
}

/// Counters of the profiler Nsight Compute, summed over all launches of a launch file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProfilerCounters {
    /// Number of sectors that global loads requested from the L1s, and number of these sectors that hit in
    /// the L1s.
    pub l1: [f64; 2],
    /// Number of sectors that loads requested from the L2, and number of these sectors that hit in the L2.
    pub l2: [f64; 2],
    /// Number of bytes read from DRAM.
    pub dram_read: f64,
    /// Number of executed warp instructions. On the GPU, they are SASS instructions; on our machine, PTX
    /// instructions after lowering.
    pub instructions: f64,
}

/// Table from a CSV file, with a name for each column.
struct Table {
    head: StringRecord,
    rows: Vec<StringRecord>,
}

impl Table {
    /// Reads a CSV file. If the profiler wrote the file, lines that do not belong to the table are skipped.
    fn read(path: &Path, is_of_profiler: bool) -> Result<Self, Report> {
        let text = read_text(path).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
        let lines = text.lines().filter(|line| !is_of_profiler || line.starts_with('"'));
        let text = lines.collect::<Vec<_>>().join("\n");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers().into_diagnostic().wrap_err_with(|| path.display().to_string())?.clone();
        let rows = reader.into_records().collect::<Result<Vec<_>, _>>();
        let mut rows = rows.into_diagnostic().wrap_err_with(|| path.display().to_string())?;
        // In a file that the profiler wrote, the row below the headings contains only units, so it is
        // removed.
        if is_of_profiler && !rows.is_empty() {
            rows.remove(0);
        }
        Ok(Self { head, rows })
    }

    /// Returns the number in a cell. An empty cell is an error.
    fn require(&self, row: &StringRecord, column: &str) -> Result<f64, Report> {
        self.number(row, column)?.ok_or_else(|| miette!("no `{column}` in a row of a table of `machines/silicon/data`"))
    }

    fn text<'r>(&self, row: &'r StringRecord, column: &str) -> Result<&'r str, Report> {
        let at = self.head.iter().position(|name| name == column);
        at.and_then(|at| row.get(at))
            .ok_or_else(|| miette!("no column `{column}` in a table of `machines/silicon/data`"))
    }

    /// Returns the number in a cell, which may have commas between its digits. Returns `None` if the cell is
    /// empty.
    fn number(&self, row: &StringRecord, column: &str) -> Result<Option<f64>, Report> {
        let text = self.text(row, column)?.replace(',', "");
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| miette!("`{column}` is `{text}` in a table of `machines/silicon/data`, expected a number"))
    }
}

/// Launch files that were not profiled, because they have hundreds of launches.
const UNPROFILED: [&str; 7] = ["gaussian", "gramschmidt", "lud", "myocyte", "nw", "tensor-hmma", "tensor-wmma"];

/// Returns the measurements of every launch file that ran on the GPU, by the name of the launch file.
///
/// # Errors
/// Returns an error if a table is missing or lacks an expected column.
pub(super) fn read_measurements(folder: &Path) -> Result<BTreeMap<String, GpuMeasurement>, Report> {
    let path = folder.join("floor.json");
    let floor = read_text(&path).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
    let floor = serde_json::from_str::<BTreeMap<String, f64>>(&floor).into_diagnostic().wrap_err("floor.json")?;
    let floor_ns = *floor.get("cupti_ns_1").ok_or_else(|| miette!("no `cupti_ns_1` in floor.json"))?;
    let launches = Table::read(&folder.join("suite.csv"), false)?;
    let profiled = Table::read(&folder.join("ncu.csv"), true)?;
    let mut profiled_rows = profiled.rows.iter();
    let mut files: BTreeMap<String, GpuMeasurement> = BTreeMap::new();
    for row in &launches.rows {
        let file = launches.text(row, "file")?;
        let kernel = launches.text(row, "kernel")?;
        let megahertz = launches.require(row, "sm_clock_MHz")?;
        let counters = if UNPROFILED.contains(&file) { None } else { profiled_rows.next() };
        let found = files.entry(file.to_owned()).or_default();
        found.launches += 1;
        let of_profiler = |column: &str| counters.map_or(Ok(None), |row| profiled.number(row, column));
        // The time is taken from the driver's activity records. If these are missing, the number of active
        // cycles of the busiest SM, which the profiler measured, is used instead.
        let cycles = match launches.number(row, "cupti_ns_min")? {
            Some(ns) => Some((ns - floor_ns) * megahertz / 1000.0),
            None => of_profiler("sm__cycles_active.max")?,
        };
        found.cycles +=
            cycles.ok_or_else(|| miette!("no time of launch `{kernel}` of `{file}` in suite.csv or ncu.csv"))?;
        let Some(counters) = counters else { continue };
        let name = profiled.text(counters, "Kernel Name")?;
        if !kernel.contains(name.split('(').next().unwrap_or(name)) {
            return Err(miette!("launch `{kernel}` of suite.csv is `{name}` in ncu.csv"));
        }
        let counted = found.counted.get_or_insert_default();
        let count = |column: &str| profiled.require(counters, column);
        counted.l1[0] += count("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")?;
        counted.l1[1] += count("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum")?;
        // The counters of the L2 include stores. It is assumed that all stores hit in the L2. They are
        // subtracted from the lookups and from the hits, which leaves the numbers for loads.
        let stores = count("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")?;
        counted.l2[0] += (count("lts__t_sectors_srcunit_tex.sum")? - stores).max(0.0);
        counted.l2[1] += (count("lts__t_sectors_srcunit_tex_lookup_hit.sum")? - stores).max(0.0);
        counted.dram_read += count("dram__bytes_read.sum")?;
        counted.instructions += count("smsp__inst_executed.sum")?;
    }
    if profiled_rows.next().is_some() {
        return Err(miette!("ncu.csv has launches that suite.csv has not"));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_h100_left_is_read_launch_by_launch() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines/silicon/data/h100-sxm");
        let files = read_measurements(&folder).unwrap();
        assert_eq!(files.len(), 64);
        assert!(files.values().all(|file| file.cycles.is_finite() && file.cycles > 0.0));
        let vadd = &files["vadd"];
        let counted = vadd.counted.unwrap();
        // The kernel reads two vectors of 262,144 words of 4 bytes, each word once: 2,097,152 bytes, or
        // 65,536 sectors of 32 bytes.
        assert_eq!((vadd.launches, counted.l1), (1, [65_536.0, 0.0]));
        assert!((counted.dram_read / 2_097_152.0 - 1.0).abs() < 0.01, "{counted:?}");
        assert!(counted.l2[1] / counted.l2[0] < 0.01, "{counted:?}");
        assert!(files["nw"].counted.is_none() && files["nw"].launches == 64);
    }
}
