//! # Pipeline: the stages of every warp instruction, for Konata
//! The log is written while the machine runs, in the Kanata log format (version 4). One cycle on the screen
//! is one core cycle, and a thread is a warp slot of an SM. A line of the log is an instruction, which passes
//! through these stages:
//!
//! | stage | state of the instruction                                                          |
//! |-------|-----------------------------------------------------------------------------------|
//! | `F`   | being fetched; two instructions are fetched at a time                              |
//! | `D`   | being decoded                                                                     |
//! | `B`   | in the instruction buffer, waiting for operands, a pipe or a scheduler grant       |
//! | `I`   | being issued                                                                      |
//! | `O`   | reading its operands; a memory instruction is in the address unit                  |
//! | `X`   | executing, including shared memory accesses                                        |
//! | `M`   | in the memory system                                                              |
//! | `W`   | writing its result                                                                |
//!
//! An instruction without a result ends when it is issued; a store ends when its last beat has been sent. An
//! instruction that was fetched but not issued, because it follows a taken branch, is marked as flushed.
//!
//! All information comes from signals that every waveform contains. The machine contains no code that is
//! specific to this reader.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rtl::kernel::{Blocks, Clocks};
use waves::atomic_file::AtomicFile;
use waves::scope::{Glob, Selection};
use waves::signal::{SignalId, Tree};
use waves::sink::Sink;

use super::outline::Outline;
use super::walk::{ChangedBlocks, Walker};

/// Glob that selects the table entries whose signals are read.
const ENTRIES: &str = "**.flight[*]";
/// Kinds of memory accesses whose reply carries a result: loads and atomics. These are names of values of
/// the address unit's signal `kind`.
const REPLIED: [&str; 2] = ["LOAD", "ATOMIC"];
/// Number of warp slots per SM, for numbering the threads of the log.
const WARPS: u64 = 64;

/// Pipeline log under construction.
pub struct Pipeline {
    walker: Walker,
    samples: Samples,
    cores: Vec<Core>,
    log: Log,
    /// Period of the core clock in ticks of the simulator.
    period: u64,
    /// Cycle in which the current samples were taken.
    cycle: Option<u64>,
}

impl Pipeline {
    /// Starts a pipeline log. Until the log is finished, it is written to a temporary file. `operand_read` is
    /// the number of cycles that an instruction takes to read its operands.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn create(
        path: &Path,
        blocks: &impl Blocks,
        (clocks, clock): (&Clocks, usize),
        operand_read: u16,
    ) -> io::Result<Self> {
        let entries: Option<Glob> = ENTRIES.parse().ok();
        let outline = Outline::of(blocks, entries.as_slice());
        let tree = &outline.tree;
        let cores: Vec<Core> = (0..).map_while(|sm| Core::find(tree, sm, operand_read.into())).collect();
        let mut selection = Selection::none(tree);
        cores.iter().flat_map(|core| core.signals.all()).for_each(|id| selection.add(id));
        let mut out = BufWriter::new(AtomicFile::create(path)?);
        out.write_all(b"Kanata\t0004\n")?;
        Ok(Self {
            walker: Walker::new(&outline, &selection),
            samples: Samples(vec![0; tree.len()]),
            cores,
            log: Log::new(out),
            period: u64::from(clocks.period(clock)),
            cycle: None,
        })
    }

    /// Sets the texts of the instructions in the log, indexed by program counter, for all instructions issued
    /// from now on.
    pub fn load(&mut self, names: Vec<String>) {
        self.log.names = names;
    }

    /// Records the values that changed in the last simulation step, which ended at `tick`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn sample(&mut self, tick: u64, changed: &ChangedBlocks, blocks: &impl Blocks) -> io::Result<()> {
        let cycle = tick / self.period;
        if self.cycle != Some(cycle) {
            self.settle()?;
            self.cycle = Some(cycle);
        }
        self.walker.give(changed, blocks, &mut self.samples)
    }

    /// Makes the next sample read the signals of every hardware block. This is necessary after the host code
    /// of the simulator has changed the machine directly instead of sending beats.
    pub fn refresh(&mut self) {
        self.walker.refresh();
    }

    /// Ends every log line, renames the temporary file to its final name and returns that name.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        self.settle()?;
        self.log.end()?;
        self.log.out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }

    /// Processes a cycle after all of its samples have been recorded.
    fn settle(&mut self) -> io::Result<()> {
        let Some(now) = self.cycle else { return Ok(()) };
        for core in &mut self.cores {
            core.step(now, &self.samples, &mut self.log);
        }
        self.log.write_until(now)
    }
}

/// Last value of every signal.
struct Samples(Vec<u64>);

impl Samples {
    fn get(&self, id: SignalId) -> u64 {
        self.0[id.index()]
    }

    fn flag(&self, id: SignalId) -> bool {
        self.get(id) != 0
    }
}

impl Sink for Samples {
    fn time(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        self.0[id.index()] = value;
        Ok(())
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        // Only the lowest 64 bits are read; no signal used here is wider.
        self.sample(id, value[0])
    }
}

/// Signals that identify an instruction: valid, warp and program counter.
struct Place {
    valid: SignalId,
    warp: SignalId,
    pc: SignalId,
}

impl Place {
    /// Finds, in the scope `path`, the signals `valid`, `warp` and `pc` whose names begin with `prefix`.
    fn find(tree: &Tree, path: &str, prefix: &str) -> Option<Self> {
        let find = |name: &str| signal(tree, path, &format!("{prefix}{name}"));
        Some(Self { valid: find("valid")?, warp: find("warp")?, pc: find("pc")? })
    }

    fn at(&self, samples: &Samples) -> Option<(u64, u64)> {
        samples.flag(self.valid).then(|| (samples.get(self.warp), samples.get(self.pc)))
    }
}

fn signal(tree: &Tree, scope: &str, name: &str) -> Option<SignalId> {
    let scope = tree.scope(tree.find_scope(scope)?);
    scope.signals.iter().copied().find(|&id| tree.signal(id).name == name)
}

/// Signals of a result that is on its way from an execution pipe to the register file.
struct Flight {
    warp: SignalId,
    pc: SignalId,
    due: SignalId,
}

/// Signals of an SM core from which the log is derived.
struct Signals {
    decoding: SignalId,
    decoded: SignalId,
    heads: SignalId,
    seconds: SignalId,
    schedulers: Vec<Place>,
    busy: SignalId,
    flights: Vec<Flight>,
    unit: Place,
    unit_waits: SignalId,
    unit_kind: SignalId,
    unit_beats: SignalId,
    reply: Place,
    reply_kind: SignalId,
    reply_beat: SignalId,
}

impl Signals {
    fn find(tree: &Tree, sm: u32) -> Option<Self> {
        let core = format!("sm{sm}.core");
        let find = |scope: &str, name: &str| signal(tree, &format!("{core}.{scope}"), name);
        let flight = |slot| {
            let find = |name| find(&format!("pipes.flight[{slot}]"), name);
            Some(Flight { warp: find("warp")?, pc: find("pc")?, due: find("due")? })
        };
        let scheduler = |index| Place::find(tree, &format!("{core}.scheduler{index}"), "issue_");
        Some(Self {
            decoding: find("fetch", "decode_s1_valid")?,
            decoded: find("fetch", "decode_s1_warp")?,
            heads: find("fetch", "head_valid")?,
            seconds: find("fetch", "second_valid")?,
            schedulers: (0..).map_while(scheduler).collect(),
            busy: find("pipes", "busy")?,
            flights: (0..).map_while(flight).collect(),
            unit: Place::find(tree, &format!("{core}.address_unit"), "")?,
            unit_waits: find("address_unit", "waiting")?,
            unit_kind: find("address_unit", "kind")?,
            reply: Place::find(tree, &format!("{core}.wb"), "")?,
            unit_beats: find("address_unit", "beats")?,
            reply_kind: find("wb", "kind")?,
            reply_beat: find("wb", "beat")?,
        })
    }

    fn all(&self) -> impl Iterator<Item = SignalId> + '_ {
        let Self { decoding, decoded, heads, seconds, busy, unit_waits, unit_kind, .. } = self;
        let Self { unit_beats, reply_kind, reply_beat, .. } = self;
        let fetched = [decoding, decoded, heads, seconds, busy].map(|&id| id);
        let plain =
            fetched.into_iter().chain([unit_waits, unit_kind, unit_beats, reply_kind, reply_beat].map(|&id| id));
        let places = self.schedulers.iter().chain([&self.unit, &self.reply]);
        let places = places.flat_map(|place| [place.valid, place.warp, place.pc]);
        let flights = self.flights.iter().flat_map(|flight| [flight.warp, flight.pc, flight.due]);
        plain.chain(places).chain(flights)
    }
}

/// Memory instruction in flight, which accesses device memory.
struct Access {
    of: (u64, u64),
    line: u64,
    /// True while the address unit holds the instruction.
    in_unit: bool,
    /// Number of replies that the instruction still waits for. It ends when all of its beats have been
    /// answered.
    left: u64,
}

/// SM core, with its instructions that have been fetched and have not ended.
struct Core {
    sm: u64,
    operand_read: u64,
    signals: Signals,
    /// Values of the address unit's signal `kind` for the accesses that end with a reply. The next field,
    /// `data`, is the value of a reply's signal `kind` if the reply carries data.
    replied: Vec<u64>,
    data: u64,
    /// For each warp, the log lines of the instructions that were fetched but have not been issued yet.
    fetched: Vec<VecDeque<u64>>,
    /// Warp for which a pair of instructions was fetched in the previous cycle. The pair is now being
    /// decoded.
    decoding: Option<u64>,
    /// Warp whose pair of instructions was decoded in the previous cycle.
    decoded: Option<u64>,
    accesses: Vec<Access>,
    /// Reply that was at the head of the reply port in the previous cycle: warp, program counter and beat
    /// number.
    reply: Option<((u64, u64), u64)>,
}

impl Core {
    fn find(tree: &Tree, sm: u32, operand_read: u64) -> Option<Self> {
        let signals = Signals::find(tree, sm)?;
        let codes = |id: SignalId, wanted: &[&str]| match tree.signal(id).display {
            waves::signal::Display::Enum(names) => {
                (0..).zip(names).filter(|(_, name)| wanted.contains(name)).map(|(code, _)| code).collect()
            }
            _ => Vec::new(),
        };
        let replied = codes(signals.unit_kind, &REPLIED);
        let data = codes(signals.reply_kind, &["LOADED"]).first().copied()?;
        let fetched = vec![VecDeque::new(); WARPS as usize];
        Some(Self {
            sm: sm.into(),
            operand_read,
            signals,
            replied,
            data,
            fetched,
            decoding: None,
            decoded: None,
            accesses: Vec::new(),
            reply: None,
        })
    }

    /// Processes the state of the core after cycle `now`.
    fn step(&mut self, now: u64, samples: &Samples, log: &mut Log) {
        self.take_reply(now, samples, log);
        for scheduler in 0..self.signals.schedulers.len() {
            if let Some((warp, pc)) = self.signals.schedulers[scheduler].at(samples) {
                self.issue(now, (warp, pc), samples, log);
            }
        }
        self.leave_unit(now, samples, log);
        if let Some(warp) = self.decoded.take() {
            for &line in &self.fetched[warp as usize] {
                log.stage(now, line, "B");
            }
        }
        if let Some(warp) = self.decoding.take() {
            // The pair that was decoded in the previous cycle is now in the instruction buffer. At the end of
            // a program, only the first instruction of the pair enters the buffer.
            self.flush(now + 1, warp, samples, log);
            self.decoded = Some(warp);
        }
        if samples.flag(self.signals.decoding) {
            let warp = samples.get(self.signals.decoded);
            self.decoding = Some(warp);
            for _ in 0..2 {
                let line = log.begin(now, (self.sm, warp));
                log.stage(now + 1, line, "D");
                self.fetched[warp as usize].push_back(line);
            }
        }
    }

    /// Number of instructions in the instruction buffer of a warp.
    fn buffer_occupancy(&self, warp: u64, samples: &Samples) -> usize {
        let has = |set: SignalId| samples.get(set) >> warp & 1 != 0;
        usize::from(has(self.signals.heads)) + usize::from(has(self.signals.seconds))
    }

    /// Ends the log lines of instructions that are no longer in the instruction buffer of a warp, and marks
    /// these lines as flushed.
    fn flush(&mut self, now: u64, warp: u64, samples: &Samples, log: &mut Log) {
        let left = self.buffer_occupancy(warp, samples);
        while self.fetched[warp as usize].len() > left {
            if let Some(line) = self.fetched[warp as usize].pop_back() {
                log.end_line(now, line, End::Flushed);
            }
        }
    }

    fn issue(&mut self, now: u64, of: (u64, u64), samples: &Samples, log: &mut Log) {
        let (warp, pc) = of;
        // If an instruction was executed for only some of its lanes, it remains at the head of the
        // instruction buffer and is issued again later.
        if self.fetched[warp as usize].len() <= self.buffer_occupancy(warp, samples) {
            return;
        }
        let Some(line) = self.fetched[warp as usize].pop_front() else { return };
        self.flush(now, warp, samples, log);
        log.stage(now, line, "I");
        log.name(now, line, pc);
        let busy = samples.get(self.signals.busy);
        let flights = self.signals.flights.iter().enumerate().filter(|(slot, _)| busy >> slot & 1 != 0);
        let mine = flights
            .map(|(_, flight)| flight)
            .find(|flight| (samples.get(flight.warp), samples.get(flight.pc)) == of && samples.get(flight.due) > now);
        if let Some(flight) = mine {
            let due = samples.get(flight.due);
            log.stage(now + 1, line, "O");
            if now + 1 + self.operand_read < due {
                log.stage(now + 1 + self.operand_read, line, "X");
            }
            log.stage(due, line, "W");
            log.end_line(due + 1, line, End::Retired);
        } else if self.signals.unit.at(samples) == Some(of) {
            let is_replied = self.replied.contains(&samples.get(self.signals.unit_kind));
            let left = if is_replied { samples.get(self.signals.unit_beats) } else { 0 };
            log.stage(now + 1, line, "O");
            self.accesses.push(Access { of, line, in_unit: true, left });
        } else {
            log.end_line(now + 1, line, End::Retired);
        }
    }

    /// Moves instructions that are no longer in the address unit to stage `M`, the memory system.
    fn leave_unit(&mut self, now: u64, samples: &Samples, log: &mut Log) {
        let (holds, waits) = (self.signals.unit.at(samples), samples.flag(self.signals.unit_waits));
        self.accesses.retain_mut(|access| {
            if !access.in_unit || holds == Some(access.of) && !waits {
                return true;
            }
            access.in_unit = false;
            // The stage `M` starts one cycle later, because the last beat was still in the address unit in
            // the cycle in which it was sent.
            log.stage(now + 1, access.line, "M");
            if access.left == 0 {
                log.end_line(now + 2, access.line, End::Retired);
            }
            access.left > 0
        });
    }

    /// Ends a load whose last reply was taken in this cycle: the reply is no longer at the head of the reply
    /// port.
    fn take_reply(&mut self, now: u64, samples: &Samples, log: &mut Log) {
        let is_data = samples.get(self.signals.reply_kind) == self.data;
        let beat = samples.get(self.signals.reply_beat);
        let head = self.signals.reply.at(samples).filter(|_| is_data).map(|of| (of, beat));
        let taken = std::mem::replace(&mut self.reply, head).filter(|&taken| head != Some(taken));
        let Some((of, _)) = taken else { return };
        let Some(at) = self.accesses.iter().position(|access| access.of == of && access.left > 0) else { return };
        self.accesses[at].left -= 1;
        if self.accesses[at].left == 0 {
            let access = self.accesses.remove(at);
            log.stage(now, access.line, "W");
            log.end_line(now + 1, access.line, End::Retired);
        }
    }
}

/// Way in which an instruction's log line ends; the value is the code in the Kanata format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Retired = 0,
    Flushed = 1,
}

enum Event {
    Begin((u64, u64)),
    Name(u64),
    Stage(&'static str),
    End(End),
}

/// Writer of the log that sorts events by cycle.
struct Log {
    out: BufWriter<AtomicFile>,
    /// Events of future cycles, each with the number of its log line.
    due: BTreeMap<u64, Vec<(u64, Event)>>,
    /// Current stage of each log line.
    stages: HashMap<u64, &'static str>,
    names: Vec<String>,
    begun: u64,
    retired: u64,
    /// Last cycle that has been written to the file.
    written: Option<u64>,
}

impl Log {
    fn new(out: BufWriter<AtomicFile>) -> Self {
        Self {
            out,
            due: BTreeMap::new(),
            stages: HashMap::new(),
            names: Vec::new(),
            begun: 0,
            retired: 0,
            written: None,
        }
    }

    fn put(&mut self, cycle: u64, line: u64, event: Event) {
        self.due.entry(cycle).or_default().push((line, event));
    }

    /// Starts a log line for an instruction fetched in `cycle`.
    fn begin(&mut self, cycle: u64, thread: (u64, u64)) -> u64 {
        let line = self.begun;
        self.begun += 1;
        self.put(cycle, line, Event::Begin(thread));
        line
    }

    fn name(&mut self, cycle: u64, line: u64, pc: u64) {
        self.put(cycle, line, Event::Name(pc));
    }

    fn stage(&mut self, cycle: u64, line: u64, stage: &'static str) {
        self.put(cycle, line, Event::Stage(stage));
    }

    fn end_line(&mut self, cycle: u64, line: u64, end: End) {
        self.put(cycle, line, Event::End(end));
    }

    fn write_until(&mut self, cycle: u64) -> io::Result<()> {
        while let Some(entry) = self.due.first_entry()
            && *entry.key() <= cycle
        {
            let (at, events) = entry.remove_entry();
            match self.written.replace(at) {
                None => writeln!(self.out, "C=\t{at}")?,
                Some(before) => writeln!(self.out, "C\t{}", at - before)?,
            }
            for (line, event) in events {
                self.write(line, &event)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, line: u64, event: &Event) -> io::Result<()> {
        match event {
            Event::Begin((sm, warp)) => {
                writeln!(self.out, "I\t{line}\t{line}\t{}", sm * WARPS + warp)?;
                writeln!(self.out, "L\t{line}\t0\tsm{sm} w{warp}")?;
                self.enter(line, "F")
            }
            Event::Name(pc) => match self.names.get(*pc as usize) {
                Some(name) => writeln!(self.out, "L\t{line}\t0\t: {name}"),
                None => writeln!(self.out, "L\t{line}\t0\t: pc {pc}"),
            },
            Event::Stage(stage) => {
                self.leave(line)?;
                self.enter(line, stage)
            }
            Event::End(end) => {
                self.leave(line)?;
                let retired = if *end == End::Retired { self.retired } else { 0 };
                self.retired += u64::from(*end == End::Retired);
                writeln!(self.out, "R\t{line}\t{retired}\t{}", *end as u8)
            }
        }
    }

    fn enter(&mut self, line: u64, stage: &'static str) -> io::Result<()> {
        self.stages.insert(line, stage);
        writeln!(self.out, "S\t{line}\t0\t{stage}")
    }

    fn leave(&mut self, line: u64) -> io::Result<()> {
        match self.stages.remove(&line) {
            Some(stage) => writeln!(self.out, "E\t{line}\t0\t{stage}"),
            None => Ok(()),
        }
    }

    /// Ends the log. Writes all scheduled events, and marks the log lines that have not ended as flushed.
    fn end(&mut self) -> io::Result<()> {
        self.write_until(u64::MAX)?;
        let mut left: Vec<u64> = self.stages.keys().copied().collect();
        left.sort_unstable();
        left.into_iter().try_for_each(|line| self.write(line, &Event::End(End::Flushed)))
    }
}
