//! Tests operations that the simulator (host code) performs on a machine between kernel launches. Illegal
//! operations must be rejected.

use rtl::machine::Machine;
use warpsieve::trace::synthetic::Kind;

use super::fermi;
use super::replay::{SMALL, TraceFolder, start};

#[test]
fn memory_that_is_not_mapped_is_refused_with_its_address_and_its_place() {
    let mut machine = Machine::new(&fermi());
    machine.map(0x1000, 256).unwrap();
    machine.write_memory(0x1000, &[7; 256]).unwrap();
    assert_eq!(machine.read_memory(0x10f8, 8), Ok(vec![7; 8]));
    // The second half of this 16-byte read is beyond the mapped range, which ends at 0x1100.
    let read = machine.read_memory(0x10f8, 16).unwrap_err().to_string();
    assert_eq!(read, "16 bytes at 0x10f8 are not mapped: partition4.dram: burst 0xa is not mapped by the host");
    let written = machine.write_memory(0x1100, &[1; 4]).unwrap_err().to_string();
    assert_eq!(written, "4 bytes at 0x1100 are not mapped: partition4.dram: burst 0xa is not mapped by the host");
    assert_eq!(machine.read_memory(0x10f8, 8), Ok(vec![7; 8]));
}

#[test]
fn memory_beyond_the_end_of_the_channels_cannot_be_mapped() {
    let mut machine = Machine::new(&fermi());
    let end = u64::from(fermi().num_partitions) * fermi().dram.bursts() * u64::from(fermi().dram.burst_bytes());
    machine.map(end - 512, 512).unwrap();
    let error = machine.map(end - 512, 513).unwrap_err().to_string();
    assert_eq!(
        error,
        "513 bytes at 0x5ffffe00 are not mapped: partition0.dram: burst 0x400001 does not exist, the channel holds \
         0x400000 bursts"
    );
}

/// A kernel must not be ended while loads are in flight, since its end would invalidate the L1s.
#[test]
fn a_kernel_that_runs_cannot_be_ended() {
    let traced = TraceFolder::synthetic(Kind::Stream, SMALL);
    let (mut machine, mut sim, ..) = start(&traced, 0);
    let mut tick = 0;
    while !machine.is_kernel_done() {
        let refused = machine.end_kernel(tick).unwrap_err();
        assert_eq!(refused.to_string(), "the machine is not idle");
        tick = sim.step(&mut machine).unwrap();
    }
    assert!(machine.end_kernel(tick).is_ok());
}
