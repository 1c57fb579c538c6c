//! Timing parameters of a GDDR5 or HBM channel, in command clocks.

/// What a row command (ACT, PRE, PREA, REF) and a column command (RD, WR) have to do with each other on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// They share a bus, which carries one command a cycle. GDDR5.
    Shared,
    /// Rows and columns have a bus each, so that one of both may stand in a cycle. HBM.
    RowsApart,
}

/// Minimum distances and durations; named as in the standards of GDDR5 and HBM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// What carries the commands.
    pub bus: Bus,
    /// CL: from a RD to its data.
    pub cl: u64,
    /// WL: from a WR to its data.
    pub wl: u64,
    /// Cycles for which a burst holds the data bus: 8 beats at 4 a command clock in GDDR5, 2 at 2 in HBM.
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

    /// From a WR to the end of its data.
    pub fn write_burst(&self) -> u64 {
        self.wl + self.burst
    }
}
