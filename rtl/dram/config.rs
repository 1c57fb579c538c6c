//! # Configuration of a DRAM channel
//! Defines size, policies and timing of one channel.

use serde::{Deserialize, Serialize};

use super::layout::MappingConfig;
use super::message::BURST_BYTES;
use super::policy::PolicyConfig;
#[cfg(test)]
use super::policy::fr_fcfs::FrFcfs;
use crate::config::{Rules, Side};

/// Size, policies and timing of one channel.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// Number of requests that can wait in the controller, reads and writes together.
    pub queue_entries: u32,
    /// Maximum number of read bursts whose RD was issued and whose data have not been sent on the reply link.
    pub reply_entries: u32,
    /// Arbitration policy for the command bus.
    pub policy: PolicyConfig,
    /// Policy that decides when waiting reads are delayed to serve writes in groups.
    pub write_drain: WriteDrain,
    /// Type of refresh of the banks.
    pub refresh: Refresh,
    /// Command bus: one bus for all commands, or separate buses for rows and columns.
    pub command_bus: CommandBus,
    /// Width of the data bus in bits.
    pub bus_bits: u32,
    /// Number of bus-wide beats per column command: 8 for GDDR5, 2 or 4 for HBM.
    pub burst_length: u32,
    /// Number of bank groups.
    pub bank_groups: u32,
    /// Number of banks per group.
    pub banks_per_group: u32,
    /// Number of rows per bank.
    pub rows: u32,
    /// Number of bursts per row.
    pub columns: u32,
    /// Mapping of a burst address to row, bank and column.
    pub mapping: MappingConfig,
    /// Minimum distances between commands in command clock cycles.
    pub timing: DramTiming,
}

/// Policy that decides when waiting reads are delayed to serve writes in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WriteDrain {
    /// Writes are not grouped: reads and writes are scheduled alike.
    None,
    /// Reads are served until many writes wait; then writes are served until few are left.
    Watermarks {
        /// Number of waiting writes at which the channel starts to serve writes.
        high: u32,
        /// Number of waiting writes at or below which the channel serves reads again.
        low: u32,
        /// Number of command clock cycles without a waiting read after which waiting writes are served, even
        /// if fewer than `high` writes wait.
        idle: u32,
    },
}

/// Type of refresh of the banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refresh {
    /// No refresh, as in simulators that omit it.
    Off,
    /// Refresh of all banks at once.
    AllBank,
}

/// Organization of the command bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandBus {
    /// One bus for all commands: one command per cycle.
    Single,
    /// Two buses, as in HBM (JESD235): one for ACT, PRE and REF, and one for RD and WR. Each bus can issue
    /// one command per cycle; the two commands of a cycle are for different banks.
    Dual,
}

/// Minimum distances in cycles of the command clock. The names are those of the GDDR5 and HBM standards
/// without the leading `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DramTiming {
    /// Command clock cycles from RD to its first data.
    pub cl: u32,
    /// Command clock cycles from WR to its first data.
    pub wl: u32,
    /// Command clock cycles of data for one burst: 8 beats at 4 per cycle for GDDR5, 2 or 4 beats at 2 per
    /// cycle for HBM.
    pub burst: u32,
    /// Minimum command clock cycles from ACT to RD in the same bank.
    pub rcd_rd: u32,
    /// Minimum command clock cycles from ACT to WR in the same bank.
    pub rcd_wr: u32,
    /// Minimum command clock cycles from PRE to ACT in the same bank.
    pub rp: u32,
    /// Minimum command clock cycles from ACT to PRE in the same bank.
    pub ras: u32,
    /// Minimum command clock cycles from ACT to ACT in the same bank.
    pub rc: u32,
    /// Minimum command clock cycles from ACT to ACT in different bank groups.
    pub rrd_s: u32,
    /// Minimum command clock cycles from ACT to ACT in the same bank group.
    pub rrd_l: u32,
    /// Length in command clock cycles of a window that can contain at most 4 ACTs.
    pub faw: u32,
    /// Length in command clock cycles of a window that can contain at most 32 ACTs.
    pub aw32: u32,
    /// Minimum command clock cycles from RD to RD and from WR to WR in different bank groups.
    pub ccd_s: u32,
    /// Minimum command clock cycles from RD to RD and from WR to WR in the same bank group.
    pub ccd_l: u32,
    /// Minimum command clock cycles from RD to PRE in the same bank.
    pub rtp: u32,
    /// Minimum command clock cycles from the end of write data to PRE in the same bank.
    pub wr: u32,
    /// Minimum command clock cycles from the end of write data to RD in different bank groups.
    pub wtr_s: u32,
    /// Minimum command clock cycles from the end of write data to RD in the same bank group.
    pub wtr_l: u32,
    /// Minimum command clock cycles from PRE to PRE.
    pub ppd: u32,
    /// Minimum command clock cycles from REF to the next command.
    pub rfc: u32,
    /// Average command clock cycles from REF to REF.
    pub refi: u32,
}

impl DramTiming {
    /// Returns the minimum number of cycles between two REFs: the duration of one REF, plus the time to open
    /// a row, read or write it, and close it.
    #[must_use]
    pub fn refresh_busy(&self) -> u64 {
        let &Self { wl, burst, rcd_rd, rcd_wr, rp, ras, rc, rtp, wr, rfc, .. } = self;
        let sum = |times: &[u32]| times.iter().map(|&time| u64::from(time)).sum::<u64>();
        let open =
            [sum(&[ras]), sum(&[rcd_rd, rtp]), sum(&[rcd_wr, wl, burst, wr])].into_iter().fold(rc.into(), u64::max);
        open + sum(&[rp, rfc])
    }

    /// Returns the number of cycles from RD to the end of its data.
    #[must_use]
    pub fn read_latency(&self) -> u32 {
        self.cl + self.burst
    }

    /// Returns the number of cycles from WR to the end of its data.
    #[must_use]
    pub fn write_latency(&self) -> u32 {
        self.wl + self.burst
    }

    /// Returns the minimum number of cycles from RD to WR, including two cycles for the turnaround of the
    /// data bus.
    #[must_use]
    pub fn read_to_write(&self) -> u32 {
        (self.read_latency() + 2).saturating_sub(self.wl)
    }

    /// Returns the minimum number of cycles from RD to RD, or from WR to WR, that `ccd_s` and the shared data
    /// bus require.
    #[must_use]
    pub fn column_to_column(&self) -> u32 {
        self.ccd_s.max(self.burst)
    }

    fn validate(&self, rules: &mut Rules) {
        let distance = "a timing of the DRAM device, in command clocks";
        let fields = [
            ("cl", self.cl),
            ("wl", self.wl),
            ("burst", self.burst),
            ("rcd_rd", self.rcd_rd),
            ("rcd_wr", self.rcd_wr),
            ("rp", self.rp),
            ("ras", self.ras),
            ("rc", self.rc),
            ("rrd_s", self.rrd_s),
            ("rrd_l", self.rrd_l),
            ("faw", self.faw),
            ("aw32", self.aw32),
            ("ccd_s", self.ccd_s),
            ("ccd_l", self.ccd_l),
            ("rtp", self.rtp),
            ("wr", self.wr),
            ("wtr_s", self.wtr_s),
            ("wtr_l", self.wtr_l),
            ("ppd", self.ppd),
            ("rfc", self.rfc),
        ];
        for (field, value) in fields {
            rules.range(field, u64::from(value), 1..=4095, distance);
        }
        rules.range("refi", u64::from(self.refi), 1..=1 << 20, distance);
        self.validate_relations(rules);
        let (busy, refi) = (self.refresh_busy(), u64::from(self.refi));
        let refresh = Side::new("refi", refi, format!("more than {busy}, the cycles of a REF and an access to a row"));
        let most = (refi + u64::from(self.rfc)).checked_sub(busy + 1).filter(|&most| most > 0);
        let rfc = most.map(|most| Side::new("rfc", self.rfc, format!("{most} or less with refi = {refi}")));
        let why = "between two refreshes a row must be opened, read or written, and closed";
        rules.expect_relation(refi > busy, [refresh].into_iter().chain(rfc), why);
    }

    /// Checks that no minimum distance is less than the sum of the distances that it includes. For example,
    /// ACT to ACT in one bank includes ACT to PRE and then PRE to ACT. All distances are in cycles.
    fn validate_relations(&self, rules: &mut Rules) {
        let &Self { burst, rcd_rd, rcd_wr, rp, ras, rc, rrd_s, rrd_l, faw, aw32, .. } = self;
        let &Self { ccd_s, ccd_l, rtp, wtr_s, wtr_l, rfc, .. } = self;
        let long = "banks of one group share more hardware than banks of different groups";
        rules.at_least(("rrd_l", rrd_l), &[("rrd_s", rrd_s, 1)], long);
        rules.at_least(("ccd_l", ccd_l), &[("ccd_s", ccd_s, 1)], long);
        rules.at_least(("wtr_l", wtr_l), &[("wtr_s", wtr_s, 1)], long);
        let why = "between two activates of a bank, its row stays open and is then closed";
        rules.at_least(("rc", rc), &[("ras", ras, 1), ("rp", rp, 1)], why);
        let why = "two activates of one bank are no closer than those of two banks in a group";
        rules.at_least(("rc", rc), &[("rrd_l", rrd_l, 1)], why);
        let why = "a row stays open until it can be read and closed";
        rules.at_least(("ras", ras), &[("rcd_rd", rcd_rd, 1), ("rtp", rtp, 1)], why);
        rules.at_least(("ras", ras), &[("rcd_wr", rcd_wr, 1)], "a row stays open until it can be written");
        rules.at_least(
            ("faw", faw),
            &[("rrd_s", rrd_s, 4)],
            "the window of four activates spans four activate-to-activate distances",
        );
        rules.at_least(("aw32", aw32), &[("faw", faw, 8)], "the window of 32 activates spans eight windows of four");
        rules.at_least(("ccd_s", ccd_s), &[("burst", burst, 1)], "the data of two bursts share the bus");
        rules.at_least(("rfc", rfc), &[("rc", rc, 1)], "a refresh opens and closes a row of each bank");
    }
}

impl DramConfig {
    /// Returns the number of banks of the channel, over all bank groups.
    #[must_use]
    pub fn banks(&self) -> u32 {
        self.bank_groups.saturating_mul(self.banks_per_group)
    }

    /// Returns the number of bytes that one column command (RD or WR) transfers.
    #[must_use]
    pub fn burst_bytes(&self) -> u32 {
        (self.bus_bits / 8).saturating_mul(self.burst_length)
    }

    /// Returns the number of bursts that the channel holds.
    #[must_use]
    pub fn bursts(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.banks()) * u64::from(self.columns)
    }

    /// Returns the width in bits of the requester number in requests: enough for the L2 itself and each SM.
    /// Returns `None` if the policy does not rank requests.
    #[must_use]
    pub fn requester_bits(&self, num_sms: u32) -> Option<u32> {
        self.policy.is_ranked().then(|| u32::BITS - num_sms.leading_zeros())
    }

    /// Returns the width of a burst address in bits.
    #[must_use]
    pub fn burst_bits(&self) -> u32 {
        self.bursts().trailing_zeros()
    }

    /// Checks all fields of the configuration.
    pub fn validate(&self, rules: &mut Rules) {
        let one_bit = "the controller keeps one bit per entry in a 64-bit mask";
        rules.range("queue_entries", u64::from(self.queue_entries), 1..=64, one_bit);
        rules.range("reply_entries", u64::from(self.reply_entries), 1..=256, "a small buffer at the data bus");
        rules.group("policy", |rules| self.policy.validate(rules));
        self.validate_burst(rules);
        let field = "it is a bit field of the address";
        rules.power_of_two("bank_groups", u64::from(self.bank_groups), 1..=8, field);
        rules.power_of_two("banks_per_group", u64::from(self.banks_per_group), 1..=8, field);
        rules.expect(self.banks() >= 2, "banks_per_group", self.banks_per_group, "at least 2 banks in total", field);
        rules.power_of_two("rows", u64::from(self.rows), 2..=65_536, field);
        rules.power_of_two("columns", u64::from(self.columns), 4..=256, field);
        if ["bank_groups", "banks_per_group", "rows", "columns"].iter().all(|size| !rules.is_broken(size)) {
            rules.group("mapping", |rules| self.mapping.validate(self, rules));
        }
        if let WriteDrain::Watermarks { high, low, idle } = self.write_drain {
            rules.group("write_drain", |rules| {
                let fits = "writes wait in the request queue";
                rules.range("high", u64::from(high), 1..=u64::from(self.queue_entries), fits);
                rules.expect(low < high, "low", low, "less than high", "a drain that starts must also end");
                rules.range("idle", u64::from(idle), 0..=1 << 20, "no write waits much longer than a refresh interval");
            });
        }
        rules.group("timing", |rules| self.timing.validate(rules));
    }

    fn validate_burst(&self, rules: &mut Rules) {
        let bits = self.bus_bits;
        let is_bus = matches!(bits, 32 | 64 | 128);
        let why = "a GDDR5 channel has one or two devices of 32 bits in lock-step, an HBM channel 64 or 128 wires";
        rules.expect(is_bus, "bus_bits", bits, "32, 64 or 128", why);
        if is_bus {
            let [least, most] = [BURST_BYTES / 2, BURST_BYTES].map(|bytes| bytes as u32 * 8 / bits);
            let legal = format!("{least} or {most} on a bus of {bits} bits");
            let is_burst = self.burst_length == least || self.burst_length == most;
            rules.expect(is_burst, "burst_length", self.burst_length, &legal, "a burst moves 32 or 64 bytes");
        }
    }
}

/// Returns the controller configuration with which the reference command streams were made: 16 queue entries,
/// no hit cap, no refresh. The timing is taken from khairy2015 and, where the paper gives none, from
/// published simulators.
#[cfg(test)]
pub(crate) fn reference() -> DramConfig {
    DramConfig {
        queue_entries: 16,
        reply_entries: 16,
        policy: FrFcfs { hit_cap: 0 }.into(),
        write_drain: WriteDrain::None,
        refresh: Refresh::Off,
        command_bus: CommandBus::Single,
        bus_bits: 64,
        burst_length: 8,
        bank_groups: 4,
        banks_per_group: 4,
        rows: 4096,
        columns: 64,
        mapping: MappingConfig::new(&["column", "group", "bank", "row"], &[]),
        timing: DramTiming {
            cl: 12,
            wl: 4,
            burst: 2,
            rcd_rd: 12,
            rcd_wr: 10,
            rp: 12,
            ras: 28,
            rc: 40,
            rrd_s: 6,
            rrd_l: 6,
            faw: 23,
            aw32: 184,
            ccd_s: 2,
            ccd_l: 3,
            rtp: 2,
            wr: 12,
            wtr_s: 5,
            wtr_l: 5,
            ppd: 1,
            rfc: 61,
            refi: 3604,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(config: &DramConfig) -> Vec<String> {
        let mut rules = Rules::default();
        rules.group("dram", |rules| config.validate(rules));
        rules.into_violations().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_reference_channel_is_legal_and_holds_256_megabytes() {
        let config = reference();
        assert_eq!(violations(&config), [""; 0]);
        assert_eq!(config.bursts() * u64::from(config.burst_bytes()), 256 << 20);
    }

    #[test]
    fn a_burst_moves_32_or_64_bytes_on_every_bus() {
        for (bus_bits, least) in [(32, 8), (64, 4), (128, 2)] {
            for burst_length in 0..=17 {
                let config = DramConfig { bus_bits, burst_length, ..reference() };
                let broken = violations(&config);
                if burst_length == least || burst_length == 2 * least {
                    assert_eq!(broken, [""; 0], "{bus_bits} bits, {burst_length} beats");
                } else {
                    let legal = format!("expected {least} or {} on a bus of {bus_bits} bits", 2 * least);
                    assert!(broken.len() == 1 && broken[0].contains(&legal), "{broken:?}");
                }
            }
        }
    }

    #[test]
    fn every_illegal_field_is_named_with_the_reason() {
        let mut config = reference();
        config.bus_bits = 256;
        config.rows = 1000;
        config.write_drain = WriteDrain::Watermarks { high: 17, low: 17, idle: 0 };
        config.timing.ccd_l = 1;
        assert_eq!(
            violations(&config),
            [
                "dram.bus_bits is 256, expected 32, 64 or 128: a GDDR5 channel has one or two devices of 32 bits in \
                 lock-step, an HBM channel 64 or 128 wires",
                "dram.rows is 1000, expected a power of two from 2 to 65536: it is a bit field of the address",
                "dram.write_drain.high is 17, expected 1 to 16: writes wait in the request queue",
                "dram.write_drain.low is 17, expected less than high: a drain that starts must also end",
                "dram.timing.ccd_l is 1, expected 2 or more with ccd_s = 2: banks of one group share more hardware \
                 than banks of different groups",
            ]
        );
    }
}
