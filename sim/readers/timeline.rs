//! # Timeline: a run for Perfetto and Chrome's `about:tracing`
//! The timeline is written while the machine runs, in the JSON form of the trace event format. One
//! microsecond on the screen is one core cycle. The file contains:
//!
//! | event      | meaning                                                                       |
//! |------------|-------------------------------------------------------------------------------|
//! | slice      | one interval in which a request is at a port, labeled with SM and number      |
//! | slice      | one interval in which a state (`status` of an L1, `reason` of a scheduler) differs from its first code |
//! | async span | one request, from its entry into the network to the reply at its SM           |
//! | counter    | level of a queue                                                              |
//!
//! The viewer shows the top-level scopes of the machine, such as an SM, as processes, and their ports and
//! states as threads.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rtl::kernel::{Blocks, Clocks};
use waves::atomic_file::AtomicFile;
use waves::scope::Selection;
use waves::signal::{Display, EnumNames, SignalId, Tree};
use waves::sink::Sink;

use super::outline::Outline;
use super::places::{RequestPort, SmSource, places};
use super::scopes::ROOT;
use super::walk::{ChangedBlocks, Walker};

/// Names of the signals with states that the timeline displays.
const STATES: [&str; 2] = ["status", "reason"];
/// True for a port at which requests enter the request network. This is an input of the crossbar, or an input
/// of a router from an SM.
fn is_entrance(path: &str) -> bool {
    (path.starts_with("xbar_req.") || path.starts_with("noc_req.")) && path.contains(".inject")
}
/// Last part of the path of a port at which replies arrive at an SM.
const EXIT: &str = ".l1.mem_rsp";

/// Timeline under construction.
pub struct Timeline {
    walker: Walker,
    events: Events,
}

impl Timeline {
    /// Starts a timeline. Until the timeline is finished, it is written to a temporary file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn create(path: &Path, blocks: &impl Blocks, clocks: &Clocks, clock: usize) -> io::Result<Self> {
        let outline = Outline::of(blocks, &[]);
        let tree = &outline.tree;
        let mut selection = Selection::none(tree);
        let tracks = Tracks::of(tree);
        tracks.signals().for_each(|id| selection.add(id));
        let mut events = Events {
            out: BufWriter::new(AtomicFile::create(path)?),
            text: String::new(),
            values: vec![None; tree.len()],
            roles: tracks.roles(tree),
            dirty: Vec::new(),
            stays: vec![None; tracks.places.len()],
            tracks,
            period: u64::from(clocks.period(clock)),
            now: 0,
        };
        events.begin()?;
        Ok(Self { walker: Walker::new(&outline, &selection), events })
    }

    /// Records the values that changed in the last simulation step, which ended at `tick`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn sample(&mut self, tick: u64, changed: &ChangedBlocks, blocks: &impl Blocks) -> io::Result<()> {
        self.events.time(tick)?;
        self.walker.give(changed, blocks, &mut self.events)
    }

    /// Makes the next sample read the signals of every hardware block. This is necessary after the host code
    /// of the simulator has changed the machine directly instead of sending beats.
    pub fn refresh(&mut self) {
        self.walker.refresh();
    }

    /// Ends all spans at `tick`, renames the temporary file to its final name and returns that name.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(mut self, tick: u64) -> io::Result<PathBuf> {
        self.events.end(tick)?;
        self.events.out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}

/// Ports, states and queue levels that the timeline displays. A port, state or level is identified by its
/// index in its list.
struct Tracks {
    /// For each thread of the timeline, the number of the enclosing process and the name of the thread. The
    /// index in this list is the number of the thread.
    threads: Vec<(u32, String)>,
    processes: Vec<String>,
    places: Vec<RequestPort>,
    states: Vec<(SignalId, EnumNames)>,
    levels: Vec<(SignalId, String)>,
    ids: Vec<SignalId>,
}

/// Use of a signal in the timeline: the port, state or level that changes with it.
#[derive(Clone, Debug)]
enum Role {
    Place(usize),
    State(usize),
    Level(usize),
}

impl Tracks {
    fn of(tree: &Tree) -> Self {
        let ids: Vec<SignalId> = tree.ids().collect();
        let paths: Vec<String> = ids.iter().map(|&id| tree.path(id)).collect();
        let short = |path: &str| path.split_once('.').map_or(path, |(_, below)| below).to_owned();
        let places = places(&paths);
        let mut states = Vec::new();
        let mut levels = Vec::new();
        for &id in &ids {
            let signal = tree.signal(id);
            match signal.display {
                Display::Enum(names) if STATES.contains(&signal.name.as_str()) => states.push((id, names)),
                _ if signal.name == "level" => levels.push((id, short(&tree.path(id)))),
                _ => {}
            }
        }
        let names = places.iter().map(|place| place.path.clone());
        let names: Vec<String> = names.chain(states.iter().map(|&(id, _)| short(&tree.path(id)))).collect();
        // Process 0 stands for the whole machine. It contains queues and requests in flight, which belong to
        // no single scope.
        let mut processes = vec![ROOT.to_owned()];
        let mut threads = Vec::new();
        for name in names {
            let block = name.split('.').next().unwrap_or_default().to_owned();
            let process = processes.iter().position(|seen| *seen == block).unwrap_or_else(|| {
                processes.push(block);
                processes.len() - 1
            });
            threads.push((process as u32, name));
        }
        Self { threads, processes, places, states, levels, ids }
    }

    fn signals(&self) -> impl Iterator<Item = SignalId> + '_ {
        let of_place = |place: &RequestPort| {
            let asker = match place.sm {
                SmSource::Signal(at) => at,
                SmSource::Fixed(_) | SmSource::Unknown => place.id,
            };
            [place.id, place.valid, asker].map(|at| self.ids[at])
        };
        let states = self.states.iter().map(|&(id, _)| id);
        self.places.iter().flat_map(of_place).chain(states).chain(self.levels.iter().map(|&(id, _)| id))
    }

    fn roles(&self, tree: &Tree) -> Vec<Vec<Role>> {
        let mut roles = vec![Vec::new(); tree.len()];
        for (at, place) in self.places.iter().enumerate() {
            roles[place.id].push(Role::Place(at));
            roles[place.valid].push(Role::Place(at));
            if let SmSource::Signal(sm) = place.sm {
                roles[sm].push(Role::Place(at));
            }
        }
        for (at, &(id, _)) in self.states.iter().enumerate() {
            roles[id.index()].push(Role::State(at));
        }
        for (at, &(id, _)) in self.levels.iter().enumerate() {
            roles[id.index()].push(Role::Level(at));
        }
        roles
    }
}

/// Request at a port, with the time at which it arrived there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    since: u64,
    id: u64,
    sm: Option<u64>,
}

/// Converter of sampled signal values to timeline events.
struct Events {
    out: BufWriter<AtomicFile>,
    /// Text buffer for the event that is being written.
    text: String,
    /// Last value of each signal, and the tick at which the signal took this value.
    values: Vec<Option<(u64, u64)>>,
    roles: Vec<Vec<Role>>,
    tracks: Tracks,
    /// Ports whose signals have changed at the current time.
    dirty: Vec<usize>,
    stays: Vec<Option<Stay>>,
    /// Period of the core clock in ticks.
    period: u64,
    now: u64,
}

impl Events {
    fn begin(&mut self) -> io::Result<()> {
        let first = r#"{"ph":"M","name":"process_labels","pid":0,"args":{"labels":"1 us is a core cycle"}}"#;
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{first}")?;
        for process in 0..self.tracks.processes.len() {
            let name = &self.tracks.processes[process];
            let event = format!(r#""ph":"M","name":"process_name","pid":{process},"tid":0,"args":{{"name":"{name}"}}"#);
            self.put(&event)?;
        }
        for thread in 0..self.tracks.threads.len() {
            let (process, name) = &self.tracks.threads[thread];
            let event =
                format!(r#""ph":"M","name":"thread_name","pid":{process},"tid":{thread},"args":{{"name":"{name}"}}"#);
            self.put(&event)?;
        }
        Ok(())
    }

    fn put(&mut self, event: &str) -> io::Result<()> {
        self.out.write_all(b",\n{")?;
        self.out.write_all(event.as_bytes())?;
        self.out.write_all(b"}")
    }

    /// Formats a tick in core cycles with three decimals.
    fn cycles(&self, tick: u64) -> String {
        format!("{}.{:03}", tick / self.period, tick % self.period * 1000 / self.period)
    }

    fn slice(&mut self, thread: usize, name: &str, from: u64, to: u64) -> io::Result<()> {
        if from == to {
            return Ok(());
        }
        let (process, _) = self.tracks.threads[thread];
        let (start, length) = (self.cycles(from), self.cycles(to - from));
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let event =
            format_args!(r#""ph":"X","name":"{name}","pid":{process},"tid":{thread},"ts":{start},"dur":{length}"#);
        // The result is ignored, because writing to a string cannot fail.
        let _ = text.write_fmt(event);
        let done = self.put(&text);
        self.text = text;
        done
    }

    /// Writes the start or the end of a request's span, which lasts from the time when the request enters the
    /// network until its reply arrives.
    fn way(&mut self, phase: char, stay: Stay) -> io::Result<()> {
        let Stay { id, sm: Some(sm), .. } = stay else { return Ok(()) };
        let at = self.cycles(self.now);
        let event = format!(
            r#""ph":"{phase}","cat":"request","name":"sm{sm} #{id}","id":"{sm}.{id}","pid":0,"tid":0,"ts":{at}"#
        );
        self.put(&event)
    }

    /// Evaluates the ports that changed at the current time. A port is evaluated only after all its signals
    /// have been sampled.
    fn settle(&mut self) -> io::Result<()> {
        while let Some(at) = self.dirty.pop() {
            let place = &self.tracks.places[at];
            let value = |signal: usize| self.values[signal].map(|(value, _)| value);
            let is_valid = value(place.valid).is_some_and(|valid| valid != 0);
            let sm = match place.sm {
                SmSource::Fixed(sm) => Some(sm),
                SmSource::Signal(signal) => value(signal),
                SmSource::Unknown => None,
            };
            let new = value(place.id).filter(|_| is_valid).map(|id| Stay { since: self.now, id, sm });
            let old = self.stays[at];
            if new.map(|stay| (stay.id, stay.sm)) == old.map(|stay| (stay.id, stay.sm)) {
                continue;
            }
            let (enters, leaves) = (is_entrance(&place.path), place.path.ends_with(EXIT));
            self.stays[at] = new;
            if let Some(stay) = old {
                let asker = stay.sm.map_or(String::new(), |sm| format!("sm{sm} "));
                self.slice(at, &format!("{asker}#{}", stay.id), stay.since, self.now)?;
                if leaves {
                    self.way('e', stay)?;
                }
            }
            if let Some(stay) = new.filter(|_| enters) {
                self.way('b', stay)?;
            }
        }
        Ok(())
    }

    /// Ends all slices and writes the end of the file.
    fn end(&mut self, tick: u64) -> io::Result<()> {
        self.time(tick)?;
        self.settle()?;
        for at in 0..self.stays.len() {
            if let Some(stay) = self.stays[at].take() {
                let asker = stay.sm.map_or(String::new(), |sm| format!("sm{sm} "));
                self.slice(at, &format!("{asker}#{}", stay.id), stay.since, tick)?;
            }
        }
        for at in 0..self.tracks.states.len() {
            let (id, _) = self.tracks.states[at];
            if let Some((code, since)) = self.values[id.index()] {
                self.state(at, code, since, tick)?;
            }
        }
        self.out.write_all(b"\n]}\n")
    }

    fn state(&mut self, at: usize, code: u64, from: u64, to: u64) -> io::Result<()> {
        let (_, names) = self.tracks.states[at];
        match names.get(code as usize) {
            Some(name) if code != 0 => self.slice(self.tracks.places.len() + at, name, from, to),
            _ => Ok(()),
        }
    }
}

impl Sink for Events {
    fn time(&mut self, now: u64) -> io::Result<()> {
        self.settle()?;
        self.now = now;
        Ok(())
    }

    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        let old = self.values[id.index()];
        if old.is_some_and(|(last, _)| last == value) {
            return Ok(());
        }
        self.values[id.index()] = Some((value, self.now));
        for at in 0..self.roles[id.index()].len() {
            match self.roles[id.index()][at] {
                Role::Place(place) => self.dirty.push(place),
                Role::State(state) => {
                    if let Some((code, since)) = old {
                        self.state(state, code, since, self.now)?;
                    }
                }
                Role::Level(level) => {
                    let name = &self.tracks.levels[level].1;
                    let at = self.cycles(self.now);
                    let event = format!(r#""ph":"C","name":"{name}","pid":0,"ts":{at},"args":{{"level":{value}}}"#);
                    self.put(&event)?;
                }
            }
        }
        Ok(())
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        // Only the lowest 64 bits are used: request numbers, valid signals, states and levels are not wider.
        self.sample(id, value[0])
    }
}
