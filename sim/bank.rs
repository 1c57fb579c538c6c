//! # One L2 bank in isolation
//! Test bench for one L2 bank, configured as in a machine, with a channel at each port of the bank. A
//! function that the caller provides acts as the SMs, the DRAM and the L1s. [`BankAlone::cycle`] calls this
//! function once per cycle and gives it the ends of the channels that are not connected to the bank. The bank
//! and the caller's function share one clock. A channel takes one cycle: a beat sent in cycle `c` is visible
//! in `c + 1`.

use std::io;
use std::path::{Path, PathBuf};

use rtl::kernel::{Block, BlockId, Blocks, Chan, Clocks, Describe, DescribeExt, Mode, Simulator, Sleep, link};
use rtl::l2::{BankPlace, L2Bank, L2Config, L2Io, RecallIo, RecallShape};
use rtl::machine::MachineConfig;
use rtl::noc::interleave::Interleave;
use waves::atomic_file::AtomicFile;
use waves::dump::Format;
use waves::scope::Glob;

pub use rtl::dram::message::{DramReply, DramRequest, DramShape};
pub use rtl::kernel::{Edge, Rx, RxBank, Tx, TxBank};
pub use rtl::l2::{Invalidate, InvalidateAck};
pub use rtl::noc::packet::{PacketShape, Reply, Request, RequestKind};

use crate::readers::{ChangedBlocks, WaveError, WaveSpec, Waveform};

const BANK: BlockId = BlockId { domain: 0, slot: 0 };
const DRIVER: BlockId = BlockId { domain: 0, slot: 1 };
const PERIODS: [u32; 1] = [1];
/// Capacity of a channel in beats: enough to send one beat in every cycle.
const DEPTH: u32 = 4;

/// Ends of the bank's channels, which the driver function can use in one cycle.
pub struct Ports<'a> {
    /// Requests from the SMs to the bank.
    pub req: Tx<'a, Request>,
    /// Replies from the bank to the SMs.
    pub rsp: Rx<'a, Reply>,
    /// Requests from the bank to each DRAM channel, each to read or write one burst.
    pub dram_req: RxBank<'a, DramRequest>,
    /// Replies from each DRAM channel to the bank: the bursts that were read.
    pub dram_rsp: TxBank<'a, DramReply>,
    /// Invalidate requests from the bank to the L1s; unused unless `l2.flow.coherence` is `"sharers"`.
    pub inv: Rx<'a, Invalidate>,
    /// Invalidate acknowledgments from the L1s to the bank.
    pub inv_ack: Tx<'a, InvalidateAck>,
}

/// L2 bank with the channels at its ports.
struct WiredBank {
    bank: L2Bank,
    recalls: bool,
    req: Chan<Request>,
    rsp: Chan<Reply>,
    dram_req: Vec<Chan<DramRequest>>,
    dram_rsp: Vec<Chan<DramReply>>,
    inv: Chan<Invalidate>,
    inv_ack: Chan<InvalidateAck>,
}

impl WiredBank {
    /// Creates the bank and its channels. `replies` is the packet layout of replies to the SMs, and `bursts`
    /// the layout of messages to and from DRAM.
    fn new(config: &L2Config, place: BankPlace, replies: PacketShape, bursts: DramShape) -> Self {
        let PacketShape { line_bits, sm_bits, partition_bits, .. } = replies;
        let recalls = RecallShape { line_bits, sm_bits, partition_bits, leaver_bits: u16::BITS };
        let channels = 0..place.channels.num_partitions;
        let to_dram = |i| link(&format!("l2.dram_req{i}"), DEPTH, &PERIODS, BANK, DRIVER, bursts);
        let from_dram = |i| link(&format!("l2.dram_rsp{i}"), DEPTH, &PERIODS, DRIVER, BANK, bursts);
        Self {
            bank: L2Bank::new("l2", config, place),
            recalls: place.coherent_l1s > 0,
            req: link("l2.req", DEPTH, &PERIODS, DRIVER, BANK, place.packets),
            rsp: link("l2.rsp", DEPTH, &PERIODS, BANK, DRIVER, replies),
            dram_req: channels.clone().map(to_dram).collect(),
            dram_rsp: channels.map(from_dram).collect(),
            inv: link("l2.inv", DEPTH, &PERIODS, BANK, DRIVER, recalls),
            inv_ack: link("l2.inv_ack", DEPTH, &PERIODS, DRIVER, BANK, recalls),
        }
    }

    fn step(&mut self, at: &mut Edge<'_>) -> Sleep {
        let recall = RecallIo { inv: self.inv.tx(), inv_ack: self.inv_ack.rx() };
        let io = L2Io {
            req: self.req.rx(),
            rsp: self.rsp.tx(),
            dram_req: TxBank::of(&mut self.dram_req),
            dram_rsp: RxBank::of(&mut self.dram_rsp),
            recall: self.recalls.then_some(recall),
        };
        self.bank.eval(io, at)
    }

    fn far_ends(&mut self) -> Ports<'_> {
        Ports {
            req: self.req.tx(),
            rsp: self.rsp.rx(),
            dram_req: RxBank::of(&mut self.dram_req),
            dram_rsp: TxBank::of(&mut self.dram_rsp),
            inv: self.inv.rx(),
            inv_ack: self.inv_ack.tx(),
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.part("l2", |to| {
            self.req.describe("req", None, to);
            for (i, channel) in (0..).zip(&self.dram_rsp) {
                channel.describe("dram_rsp", (self.dram_rsp.len() > 1).then_some(i), to);
            }
            if self.recalls {
                self.inv_ack.describe("inv_ack", None, to);
            }
            self.bank.describe(to);
        });
    }
}

/// The two hardware blocks of the simulation: the L2 bank, and the driver function, which uses the other ends
/// of the bank's channels.
struct DrivenBank<'a, D>(&'a mut WiredBank, D);

impl<D: FnMut(Ports<'_>, &mut Edge<'_>)> Blocks for DrivenBank<'_, D> {
    fn population(&self) -> Vec<u8> {
        vec![2]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        if block == BANK {
            return self.0.step(at);
        }
        (self.1)(self.0.far_ends(), at);
        Sleep::Next
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        if block == BANK {
            self.0.describe(to);
        }
    }
}

fn nobody(_: Ports<'_>, _: &mut Edge<'_>) {}

/// One L2 bank whose ports are driven by a function of the caller.
pub struct BankAlone {
    wired: WiredBank,
    /// Interleaving of the lines over the memory partitions. The lines are as long as those of the L1.
    lines: Interleave,
    partition: u32,
    sim: Simulator,
    wave: Option<(Waveform<AtomicFile>, ChangedBlocks)>,
}

impl BankAlone {
    /// Creates the empty L2 bank of a memory partition.
    ///
    /// # Panics
    /// Panics if the configuration breaks a validation rule. A [resolved](crate::config::ResolvedMachine)
    /// configuration satisfies all rules.
    #[must_use]
    pub fn new(config: &MachineConfig, partition: u32) -> Self {
        let wired = WiredBank::new(&config.l2, config.bank_place(partition), config.packets(), config.bursts());
        Self::of(wired, config.interleave(config.l1.line_bytes), partition)
    }

    /// Creates an empty L2 bank at the position `place`. This may be a position that no machine has. The
    /// lines of the bank are as long as the lines of the L1s.
    ///
    /// # Panics
    ///
    /// Panics if the configuration breaks a validation rule.
    #[must_use]
    pub fn at_place(config: &L2Config, place: BankPlace) -> Self {
        let bursts = DramShape {
            burst_bits: place.local_bits() + place.bursts().ilog2(),
            acknowledges: config.acknowledges(),
            requester_bits: place.requester_bits,
        };
        Self::of(WiredBank::new(config, place, place.packets, bursts), place.interleave, place.partition)
    }

    fn of(mut wired: WiredBank, lines: Interleave, partition: u32) -> Self {
        let sim = Simulator::new(&PERIODS, &DrivenBank(&mut wired, nobody), Mode::default());
        Self { wired, lines, partition, sim, wave: None }
    }

    /// Starts recording a waveform of the signals that `globs` select, from the next cycle on. The file name
    /// extension selects the VCD or FST format. One cycle is shown as one nanosecond.
    ///
    /// # Errors
    /// Fails if the file cannot be created, its extension is unknown, or a glob selects nothing.
    pub fn record(&mut self, path: &Path, globs: &[&str]) -> Result<(), WaveError> {
        let globs: Vec<Glob> = globs.iter().map(|glob| glob.parse()).collect::<Result<_, _>>()?;
        let format = Format::of(path).map_err(io::Error::other)?;
        let clocks = Clocks::of_periods(&PERIODS);
        let spec = WaveSpec { format, globs: &globs, ..WaveSpec::of(&clocks, 0) };
        let shown = DrivenBank(&mut self.wired, nobody);
        self.wave = Some((Waveform::create(path, &shown, spec)?, ChangedBlocks::none(&shown)));
        Ok(())
    }

    /// Evaluates one clock edge of the bank and of its driver. A beat that the bank or the driver sends
    /// becomes visible to its receiver at the next edge.
    ///
    /// # Errors
    /// Fails if the waveform cannot be written.
    ///
    /// # Panics
    /// Panics if the driver sends into a full channel or takes from an empty one.
    pub fn cycle(&mut self, driver: impl FnMut(Ports<'_>, &mut Edge<'_>)) -> io::Result<()> {
        let mut driven = DrivenBank(&mut self.wired, driver);
        let tick = self.sim.step(&mut driven);
        if let Some(((wave, changed), tick)) = self.wave.as_mut().zip(tick) {
            changed.take(&mut self.sim);
            wave.sample(tick, changed, &driven)?;
        }
        Ok(())
    }

    /// Returns the line address of line `number` of this bank, as it appears in requests. Counting `number`
    /// up from 0 gives the addresses of all lines that belong to this bank.
    #[must_use]
    pub fn line(&self, number: u64) -> u64 {
        self.lines.unit(self.partition, number)
    }

    /// Returns the L2 bank, so that its counters can be read.
    #[must_use]
    pub fn bank(&self) -> &L2Bank {
        &self.wired.bank
    }

    /// Completes the waveform. Returns the paths of the waveform file and of its GTKWave save files, or no
    /// paths if no waveform was recorded.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn finish(self) -> io::Result<Vec<PathBuf>> {
        let Some((wave, _)) = self.wave else { return Ok(Vec::new()) };
        let recorded = wave.finish(self.sim.tick())?;
        Ok(recorded.map(|recorded| recorded.save_all()).transpose()?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, ResolvedMachine};

    fn bank(sets: &[&str], partition: u32) -> BankAlone {
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        let request = config::Request { machine: "fermi".to_owned(), sets, ..config::Request::default() };
        BankAlone::new(&ResolvedMachine::new(&request).unwrap().config, partition)
    }

    /// Reads lines 0 and 1 of the bank. The memory behind the bank replies at once. Every byte of a burst
    /// holds 10 times the channel number plus the burst number. Returns the number of bursts requested from
    /// each channel. Also returns, for each line, the ticket of its request (which is the cycle of the
    /// request) and the first byte of the line.
    fn read_two_lines(mut alone: BankAlone) -> ([u32; 2], Vec<(u64, u8)>) {
        let (mut asked, mut read) = ([0, 0], Vec::new());
        let lines = [alone.line(0), alone.line(1)];
        for _ in 0..100 {
            let cycle = alone.cycle(|mut ports, at| {
                if let Some(&line) = usize::try_from(at.cycle).ok().and_then(|at| lines.get(at)) {
                    ports.req.push(at, Request { line, ticket: at.cycle, ..Request::default() });
                }
                for (channel, asked) in asked.iter_mut().enumerate().take(ports.dram_req.len()) {
                    if ports.dram_req.at(channel).peek(at).is_some() {
                        let DramRequest { burst, tag, .. } = ports.dram_req.at(channel).pop(at);
                        let data = [10 * channel as u8 + burst as u8; 64];
                        ports.dram_rsp.at(channel).push(at, DramReply { burst, tag, data, ..DramReply::default() });
                        *asked += 1;
                    }
                }
                if ports.rsp.peek(at).is_some() {
                    let reply = ports.rsp.pop(at);
                    read.push((reply.ticket, reply.data[0]));
                }
            });
            cycle.unwrap();
        }
        assert_eq!(alone.finish().unwrap(), Vec::<PathBuf>::new());
        (asked, read)
    }

    #[test]
    fn lines_of_any_partition_come_from_its_memory() {
        for partition in [0, 5] {
            assert_eq!(read_two_lines(bank(&[], partition)), ([4, 0], vec![(0, 0), (1, 2)]));
        }
    }

    #[test]
    fn two_channels_take_the_lines_in_turn() {
        let (asked, read) = read_two_lines(bank(&["channels_per_partition=2"], 3));
        assert_eq!((asked, read), ([2, 2], vec![(0, 0), (1, 10)]));
    }

    #[test]
    fn a_glob_that_chooses_nothing_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = bank(&[], 0).record(&folder.path().join("x.vcd"), &["l3"]).unwrap_err();
        assert!(matches!(error, WaveError::NoMatch(_)), "{error}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
