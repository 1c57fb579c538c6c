//! Runs a launch file on a model without cycles: launches in order, flags, memory.

use golden::interp::{InterpError, Launch, Sms};
use golden::memory::{AccessError, FlatMemory};
use golden::untimed::Geometry;
use rtl::index::IndexConfig;
use rtl::machine::MachineConfig;

use super::prepare::{Prepared, iterations};
use super::{RunError, verify};
use crate::l1::lockstep::set_index;

/// The L1 of a machine.
pub(super) fn l1_geometry(config: &MachineConfig) -> Result<Geometry, String> {
    geometry(config, &config.l1.index, config.l1.sets, config.l1.ways)
}

/// A bank of its L2.
pub(super) fn l2_geometry(config: &MachineConfig) -> Result<Geometry, String> {
    geometry(config, &config.l2.index, config.l2.sets, config.l2.ways)
}

fn geometry(config: &MachineConfig, index: &IndexConfig, sets: u32, ways: u32) -> Result<Geometry, String> {
    let index = set_index(index, sets, config.l1.line_bytes).map_err(|e| e.to_string())?;
    Ok(Geometry { index, ways: ways as usize })
}

/// Gives `run` every launch of a prepared file in order, how the SMs share it, and the memory.
pub(super) fn each_launch(
    prepared: &Prepared,
    config: &MachineConfig,
    run: &mut dyn FnMut(&Launch<'_>, Sms, &mut FlatMemory) -> Result<(), InterpError>,
) -> Result<(), RunError> {
    let bad = |reason: &dyn std::fmt::Display| RunError::input(&prepared.file.path, reason);
    let mut memory = verify::initial_memory(prepared).map_err(|e| bad(&e))?;
    for (step, kernels) in prepared.file.steps.iter().zip(&prepared.kernels) {
        let (at_most, flag) = iterations(step.repeat);
        let mut is_set = true;
        for _ in 0..at_most {
            if let Some(flag) = flag {
                clear(prepared, flag, &mut memory).map_err(|e| bad(&e))?;
            }
            for kernel in kernels {
                let ctas = rtl::sm::occupancy(&config.sm, &kernel.image).map_err(|e| bad(&e))? as usize;
                let sms = Sms { count: config.num_sms as usize, ctas };
                let ran = run(&verify::interpreted(kernel), sms, &mut memory);
                ran.map_err(|e| RunError::Fault(e.to_string()))?;
            }
            is_set = flag.is_none_or(|flag| holds_any(prepared, flag, &memory));
            if !is_set {
                break;
            }
        }
        if let Some(flag) = flag.filter(|_| is_set) {
            let name = &prepared.file.buffers[flag].name;
            return Err(bad(&format!("flag `{name}` is still set after {at_most} iterations (`at_most`)")));
        }
    }
    Ok(())
}

fn clear(prepared: &Prepared, buffer: usize, memory: &mut FlatMemory) -> Result<(), AccessError> {
    let first = prepared.addresses[buffer];
    (first..).take(prepared.file.buffers[buffer].bytes()).try_for_each(|address| {
        memory.write(address, 1)?[0] = 0;
        Ok(())
    })
}

fn holds_any(prepared: &Prepared, buffer: usize, memory: &FlatMemory) -> bool {
    let held = memory.buffer(&prepared.file.buffers[buffer].name);
    held.is_some_and(|held| held.bytes.iter().any(|byte| *byte != 0))
}
