//! Timing parameters of a GDDR5 channel, in command clocks.

/// Minimum distances and durations; named as in the GDDR5 standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// CL: from a RD to its data.
    pub cl: u64,
    /// WL: from a WR to its data.
    pub wl: u64,
    /// Cycles for which a burst of 8 holds the data bus: the data rate is 4 per command clock.
    pub burst: u64,
    /// tRCDRD: from an ACT to a RD of the bank.
    pub rcd_rd: u64,
    /// tRCDWR: from an ACT to a WR of the bank.
    pub rcd_wr: u64,
    /// tRP: from a PRE to the bank's next ACT.
    pub rp: u64,
    /// tRAS: for how long a row stays open at least.
    pub ras: u64,
    /// tRC: between two ACTs of a bank.
    pub rc: u64,
    /// tRRD_S: between ACTs of different banks.
    pub rrd_s: u64,
    /// tRRD_L: between ACTs of different banks of a group.
    pub rrd_l: u64,
    /// tFAW: any five ACTs span at least this.
    pub faw: u64,
    /// t32AW: any thirty-three ACTs span at least this.
    pub aw32: u64,
    /// tCCD_S: between column commands of one direction.
    pub ccd_s: u64,
    /// tCCD_L: the same within a bank group.
    pub ccd_l: u64,
    /// tRTP: from a RD to a PRE of the bank.
    pub rtp: u64,
    /// tWR: from the end of write data to a PRE of the bank.
    pub wr: u64,
    /// tWTR_S: from the end of write data to a RD.
    pub wtr_s: u64,
    /// tWTR_L: the same within a bank group.
    pub wtr_l: u64,
    /// tPPD: between two PREs.
    pub ppd: u64,
    /// tRFC: for how long a refresh lasts.
    pub rfc: u64,
    /// tREFI: mean distance of refreshes.
    pub refi: u64,
}

impl Timing {
    /// The Hynix set of khairy2015 at 924 MHz, completed from published simulators where the paper
    /// is silent.
    pub const USED_HERE: Timing = Timing {
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
    };

    /// From a WR to the end of its data.
    pub fn write_burst(&self) -> u64 {
        self.wl + self.burst
    }
}
