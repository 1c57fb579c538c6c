//! Timing parameters of a GDDR5 or HBM channel, in command clocks.

/// Arrangement of the command bus for row commands (ACT, PRE, PREA, REF) and column commands (RD, WR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// One shared bus that carries one command per cycle, as in GDDR5.
    Shared,
    /// Separate buses for row and column commands, as in HBM. Each carries one command per cycle.
    RowsApart,
}

/// Minimum distances and durations in command clocks, named as in the GDDR5 and HBM standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Arrangement of the command bus: shared, or separate for row and column commands.
    pub bus: Bus,
    /// CL: delay from an RD command to the start of its data.
    pub cl: u64,
    /// WL: delay from a WR command to the start of its data.
    pub wl: u64,
    /// Duration of a data burst in command clocks: GDDR5 transfers 8 beats at 4 per clock, HBM 2 beats at 2
    /// per clock.
    pub burst: u64,
    /// tRCDRD: minimum distance from an ACT to an RD of the same bank.
    pub rcd_rd: u64,
    /// tRCDWR: minimum distance from an ACT to a WR of the same bank.
    pub rcd_wr: u64,
    /// tRP: minimum distance from a PRE to the next ACT of the same bank.
    pub rp: u64,
    /// tRAS: minimum time that a row stays open, from its ACT to the PRE.
    pub ras: u64,
    /// tRC: minimum distance from an ACT to the next ACT of the same bank.
    pub rc: u64,
    /// tRRD_S: minimum distance between ACTs of different banks.
    pub rrd_s: u64,
    /// tRRD_L: minimum distance between ACTs of different banks in the same bank group.
    pub rrd_l: u64,
    /// tFAW: minimum distance from an ACT to the fourth ACT after it, so that five ACTs span at least tFAW.
    pub faw: u64,
    /// t32AW: minimum distance from an ACT to the 32nd ACT after it, so that 33 ACTs span at least t32AW.
    pub aw32: u64,
    /// tCCD_S: minimum distance between two column commands of the same direction (both reads or both
    /// writes).
    pub ccd_s: u64,
    /// tCCD_L: minimum distance between two column commands of the same direction in the same bank group.
    pub ccd_l: u64,
    /// tRTP: minimum distance from an RD to a PRE of the same bank.
    pub rtp: u64,
    /// tWR: minimum distance from the end of write data to a PRE of the same bank.
    pub wr: u64,
    /// tWTR_S: minimum distance from the end of write data to an RD.
    pub wtr_s: u64,
    /// tWTR_L: minimum distance from the end of write data to an RD in the same bank group.
    pub wtr_l: u64,
    /// tPPD: minimum distance between two PREs.
    pub ppd: u64,
    /// tRFC: duration of a refresh.
    pub rfc: u64,
    /// tREFI: average interval between refreshes.
    pub refi: u64,
}

impl Timing {
    /// Hynix GDDR5 timing parameters of khairy2015 at 924 MHz. Parameters that the paper does not give come
    /// from published simulators.
    pub const REFERENCE: Timing = Timing {
        bus: Bus::Shared,
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

    /// Returns the delay from a WR command to the end of its data, in command clocks.
    pub fn write_burst(&self) -> u64 {
        self.wl + self.burst
    }
}
