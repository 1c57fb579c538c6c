//! # Timeline: a run for Perfetto and Chrome's `about:tracing`
//! Written while the machine runs, in the JSON form of the trace event format. One microsecond on
//! the screen is one core cycle. It holds
//!
//! | event      | for                                                                           |
//! |------------|-------------------------------------------------------------------------------|
//! | slice      | each stay of a request at a port, named by SM and number                      |
//! | slice      | each span in which a state (`status` of an L1, `reason` of a scheduler) is not its first |
//! | async span | each request from the network to the answer at its SM                         |
//! | counter    | the level of each queue                                                       |
//!
//! Blocks are processes, ports and states their threads.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rtl::kernel::{Blocks, Clocks};
use waves::part_file::PartFile;
use waves::scope::Selection;
use waves::signal::{Display, EnumNames, SignalId, Tree};
use waves::sink::Sink;

use super::outline::Outline;
use super::places::{Asker, Place, places};
use super::scopes::ROOT;
use super::walk::{Changed, Walker};

/// Names of the states that are shown.
const STATES: [&str; 2] = ["status", "reason"];
/// Where a request enters its network: a crossbar, or the router of its SM.
fn is_entrance(path: &str) -> bool {
    (path.starts_with("xbar_req.") || path.starts_with("noc_req.")) && path.contains(".inject")
}
/// Where its answer waits for its SM.
const EXIT: &str = ".l1.mem_rsp";

/// A timeline under way.
pub struct Timeline {
    walker: Walker,
    events: Events,
}

impl Timeline {
    /// Starts a timeline that appears under this name when it is finished.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path, blocks: &impl Blocks, clocks: &Clocks, clock: usize) -> io::Result<Self> {
        let outline = Outline::of(blocks, &[]);
        let tree = &outline.tree;
        let mut selection = Selection::none(tree);
        let tracks = Tracks::of(tree);
        tracks.signals().for_each(|id| selection.add(id));
        let mut events = Events {
            out: BufWriter::new(PartFile::create(path)?),
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

    /// Notes what the last step of the simulator, which ended at `tick`, changed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn sample(&mut self, tick: u64, changed: &Changed, blocks: &impl Blocks) -> io::Result<()> {
        self.events.time(tick)?;
        self.walker.give(changed, blocks, &mut self.events)
    }

    /// Makes the next sample describe every block: after a host changed a machine by other means
    /// than beats.
    pub fn refresh(&mut self) {
        self.walker.refresh();
    }

    /// Ends all spans at `tick` and gives the file its name, which is returned.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self, tick: u64) -> io::Result<PathBuf> {
        self.events.end(tick)?;
        self.events.out.into_inner().map_err(io::IntoInnerError::into_error)?.keep()
    }
}

/// What is shown, by place in the list of its kind.
struct Tracks {
    /// Process and thread names; threads are numbered like this list.
    threads: Vec<(u32, String)>,
    processes: Vec<String>,
    places: Vec<Place>,
    states: Vec<(SignalId, EnumNames)>,
    levels: Vec<(SignalId, String)>,
    ids: Vec<SignalId>,
}

/// What a change of a signal concerns.
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
        // What concerns no block alone, queues and requests on their way, is the machine's.
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
        let of_place = |place: &Place| {
            let asker = match place.sm {
                Asker::Signal(at) => at,
                Asker::Fixed(_) | Asker::Unknown => place.id,
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
            if let Asker::Signal(sm) = place.sm {
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

/// Since when a request stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    since: u64,
    id: u64,
    sm: Option<u64>,
}

/// Turns samples into events.
struct Events {
    out: BufWriter<PartFile>,
    /// The event under construction.
    text: String,
    /// Last value and since when, by signal.
    values: Vec<Option<(u64, u64)>>,
    roles: Vec<Vec<Role>>,
    tracks: Tracks,
    /// Places with a change at the present time.
    dirty: Vec<usize>,
    stays: Vec<Option<Stay>>,
    /// Ticks of a core cycle.
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

    /// A tick in core cycles, three digits after the point.
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
        // Writing to a string cannot fail.
        let _ = text.write_fmt(event);
        let done = self.put(&text);
        self.text = text;
        done
    }

    /// The begin or the end of a request's way.
    fn way(&mut self, phase: char, stay: Stay) -> io::Result<()> {
        let Stay { id, sm: Some(sm), .. } = stay else { return Ok(()) };
        let at = self.cycles(self.now);
        let event = format!(
            r#""ph":"{phase}","cat":"request","name":"sm{sm} #{id}","id":"{sm}.{id}","pid":0,"tid":0,"ts":{at}"#
        );
        self.put(&event)
    }

    /// Ends the present time: places are looked at only when all their signals are known.
    fn settle(&mut self) -> io::Result<()> {
        while let Some(at) = self.dirty.pop() {
            let place = &self.tracks.places[at];
            let value = |signal: usize| self.values[signal].map(|(value, _)| value);
            let is_valid = value(place.valid).is_some_and(|valid| valid != 0);
            let sm = match place.sm {
                Asker::Fixed(sm) => Some(sm),
                Asker::Signal(signal) => value(signal),
                Asker::Unknown => None,
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

    /// Ends everything.
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
        // Numbers, flags, states and levels are narrow.
        self.sample(id, value[0])
    }
}
