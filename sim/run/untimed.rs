//! Helpers for running a launch file on untimed caches: the cache geometries, and the distribution of CTAs
//! over SMs.

use golden::interp::{InterpError, Launch, Sms};
use golden::memory::FlatMemory;
use golden::untimed::Geometry;
use rtl::index::IndexConfig;
use rtl::l1::config::L1Config;
use rtl::l2::L2Config;
use rtl::machine::MachineConfig;

use super::functional::Functional;
use super::prepare::PreparedLaunch;
use super::{RunError, verify};
use crate::check::l1::set_index;

/// Geometry of a machine's L1: set-index function, sets and ways.
pub(super) fn l1_geometry(config: &MachineConfig) -> Result<Geometry, String> {
    let L1Config { index, sets, ways, line_bytes, .. } = &config.l1;
    geometry(index, *sets, *ways, *line_bytes)
}

/// Geometry of an L2 bank of a machine: set-index function, sets and ways.
pub(super) fn l2_geometry(config: &MachineConfig) -> Result<Geometry, String> {
    let L2Config { index, sets, ways, line_bytes, .. } = &config.l2;
    geometry(index, *sets, *ways, *line_bytes)
}

fn geometry(index: &IndexConfig, sets: u32, ways: u32, line_bytes: u32) -> Result<Geometry, String> {
    let index = set_index(index, sets, line_bytes).map_err(|e| e.to_string())?;
    Ok(Geometry { index, ways: ways as usize })
}

/// Calls `run` for every launch of a prepared launch file, in order. The arguments of `run` are the launch,
/// the distribution of its CTAs over the SMs, and the memory.
pub(super) fn each_launch(
    prepared: &PreparedLaunch,
    config: &MachineConfig,
    run: &mut dyn FnMut(&Launch<'_>, Sms, &mut FlatMemory) -> Result<(), InterpError>,
) -> Result<(), RunError> {
    Functional::new(prepared)?.run(&mut |kernel, memory| {
        let occupancy = rtl::sm::occupancy(&config.sm, &kernel.image);
        let ctas = occupancy.map_err(|e| RunError::input(&prepared.file.path, &e))? as usize;
        let sms = Sms { count: config.num_sms as usize, ctas };
        run(&verify::to_interpreter(kernel), sms, memory).map_err(|e| RunError::of_kernel(&e))
    })
}
