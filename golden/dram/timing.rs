//! Timing parameters of a GDDR5 or HBM channel [command clocks].

/// Command bus arrangement for row commands (ACT, PRE, PREA, REF) and column commands (RD, WR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// One shared bus that carries one command per cycle, as in GDDR5.
    Shared,
    /// Separate buses for row and column commands, so that one of each may be issued per cycle, as in HBM.
    RowsApart,
}

/// Minimum distances and durations, named as in the GDDR5 and HBM standards [command clocks].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Command bus arrangement: shared, or separate for rows and columns.
    pub bus: Bus,
    /// CL: delay from RD to its data.
    pub cl: u64,
    /// WL: delay from WR to its data.
    pub wl: u64,
    /// Duration of a burst on the data bus: 8 beats at 4 per command clock in GDDR5, 2 at 2 in HBM.
    pub burst: u64,
    /// tRCDRD: ACT to RD of the same bank.
    pub rcd_rd: u64,
    /// tRCDWR: ACT to WR of the same bank.
    pub rcd_wr: u64,
    /// tRP: PRE to the next ACT of the same bank.
    pub rp: u64,
    /// tRAS: minimum time that a row stays open.
    pub ras: u64,
    /// tRC: ACT to ACT of the same bank.
    pub rc: u64,
    /// tRRD_S: ACT to ACT of different banks.
    pub rrd_s: u64,
    /// tRRD_L: ACT to ACT of different banks in one group.
    pub rrd_l: u64,
    /// tFAW: minimum span of any five ACTs.
    pub faw: u64,
    /// t32AW: minimum span of any thirty-three ACTs.
    pub aw32: u64,
    /// tCCD_S: distance between column commands of one direction.
    pub ccd_s: u64,
    /// tCCD_L: distance between column commands of one direction within a bank group.
    pub ccd_l: u64,
    /// tRTP: RD to PRE of the same bank.
    pub rtp: u64,
    /// tWR: end of write data to PRE of the same bank.
    pub wr: u64,
    /// tWTR_S: end of write data to RD.
    pub wtr_s: u64,
    /// tWTR_L: end of write data to RD within a bank group.
    pub wtr_l: u64,
    /// tPPD: PRE to PRE.
    pub ppd: u64,
    /// tRFC: duration of a refresh.
    pub rfc: u64,
    /// tREFI: average interval between refreshes.
    pub refi: u64,
}

impl Timing {
    /// Hynix parameters of khairy2015 at 924 MHz, completed from published simulators where the paper is
    /// silent.
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

    /// Returns the delay from WR to the end of its data.
    pub fn write_burst(&self) -> u64 {
        self.wl + self.burst
    }
}
