//! Field widths and other parameters of hardware blocks that follow from the configuration of the machine.
//! Tests use them to build single blocks outside a machine.

use super::MachineConfig;
use crate::kernel::bits_for;
use crate::l2::BankPlace;
use crate::noc::interleave::Interleave;
use crate::noc::packet::PacketShape;
use crate::replacement::priority::HintShape;

impl MachineConfig {
    /// Returns the field widths of the messages between SMs and memory partitions.
    #[must_use]
    pub fn packets(&self) -> PacketShape {
        PacketShape {
            tracked: self.tracker.is_on(),
            hints: self.l2.hints,
            line_bits: self.line_bits(),
            line_bytes: self.l1.line_bytes,
            sm_bits: bits_for(self.num_sms),
            partition_bits: bits_for(self.num_partitions),
        }
    }

    /// Returns which eviction priorities the accesses of an SM carry.
    #[must_use]
    pub fn hints(&self) -> HintShape {
        HintShape { l1: self.l1.hints, l2: self.l2.hints }
    }

    /// Returns the parameters that the machine determines for the L2 bank of a partition.
    #[must_use]
    pub fn bank_place(&self, partition: u32) -> BankPlace {
        let burst_bytes = self.dram.burst_bytes();
        BankPlace {
            packets: PacketShape { tracked: self.l2.bypass.needs_tracker(), ..self.packets() },
            interleave: self.interleave(self.l2.line_bytes),
            partition,
            channels: Interleave::new(self.channels_per_partition, self.interleave_bytes, burst_bytes),
            sharers: Interleave::new(self.partitions_per_channel, self.interleave_bytes, burst_bytes),
            line_bytes: self.l2.line_bytes,
            burst_bytes,
            coherent_l1s: if self.l2.recalls() { self.num_sms } else { 0 },
            requester_bits: self.dram.requester_bits(self.num_sms),
            sms: self.num_sms,
        }
    }
}
