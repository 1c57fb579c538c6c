//! Runs a launch file, without timing, on the combination of shared and distributed caches of anssari2012
//! ([`golden::hybrid`]). As in section 4.1 of the thesis, the compute units take turns: each executes one
//! warp instruction, in round-robin order.

use std::path::Path;

use golden::hybrid::{Config, Counts, Hybrid, LINE_BYTES, Source};
use golden::interp::{Access, WarpMemory, run_warps};
use golden::l1::coalescer::{WarpAccess, coalesce};
use golden::untimed::is_uncached;
use rtl::machine::MachineConfig;

use super::prepare::prepare;
use super::untimed::each_launch;
use super::{RunError, open};

/// Evaluates several cache systems for a launch file in a single run of the functional interpreter. `machine`
/// determines the number of SMs, which are the compute units, and their occupancy.
///
/// # Errors
/// Fails on bad input or an illegal access by the kernel.
pub fn hybrid(launch: &Path, machine: &MachineConfig, systems: &[Config]) -> Result<Vec<Counts>, RunError> {
    let prepared = prepare(open(launch, None)?, machine)?;
    let mut systems: Vec<_> = systems.iter().map(|config| Hybrid::new(*config)).collect();
    each_launch(&prepared, machine, &mut |launch, sms, memory| {
        run_warps(launch, sms, memory, &mut |asked| access(&mut systems, asked))?;
        systems.iter_mut().for_each(Hybrid::end_kernel);
        Ok(())
    })?;
    Ok(systems.iter().map(|system| *system.counts()).collect())
}

/// Performs the memory access of a warp instruction on every cache system. A line that misses is filled
/// immediately.
fn access(systems: &mut [Hybrid], asked: &WarpMemory<'_>) {
    let &WarpMemory { sm: cu, mem, access, mask, addresses, resident, .. } = asked;
    let lanes = WarpAccess { active: mask, addresses, width: mem.bytes() as usize };
    // A misaligned access can be skipped here, because the interpreter stops the launch at such an access.
    let Ok(requests) = coalesce(&lanes, LINE_BYTES) else { return };
    for system in systems {
        let contentious = system.config().is_contentious(requests.len(), resident);
        for request in &requests {
            let (line, bytes) = (request.line, request.byte_mask);
            match access {
                Access::Atomic => system.atomic(cu, line, bytes, request.lanes.count_ones().into()),
                Access::Load if is_uncached(mem) => system.coherent_load(cu, line, bytes),
                Access::Store if mem.volatile => system.coherent_store(cu, line, bytes),
                Access::Store => drop(system.store(cu, line, bytes)),
                Access::Load => {
                    let source = system.load(cu, line, bytes, contentious);
                    let stays = !(contentious && system.config().bypass_l1);
                    if matches!(source, Source::Remote(_) | Source::Coherent) && stays {
                        system.fill(cu, line);
                        system.deliver_notices();
                    }
                }
            }
        }
    }
}
