//! # The machine
//! Combines the netlist of a machine (its hardware blocks and links) with its configuration. The simulator,
//! reports and observers use it to query the state of the machine.

use serde::{Deserialize, Serialize, Serializer};

use super::MachineConfig;
use super::units::{Roles, Wires};
use super::wiring::{Kinds, MachineNet, wire};
use crate::kernel::{
    BlockId, Blocks, Carries, Clocks, Describe, Due, Edge, Family, FastEdge, Islands, Outline, Payload, Pool,
    Simulator, Sleep, State, pool_of,
};
use crate::l1::access::{WarpAccess, WarpReply};
use crate::noc::packet::Request;
use crate::sm::{CtaLaunch, Dispatcher, DispatcherPorts};

/// Simulated GPU: all hardware blocks, the links between them, and the configuration.
#[derive(Deserialize)]
#[serde(try_from = "SavedMachine<State<Wires, Vec<Roles>>>")]
pub struct Machine {
    pub(super) config: MachineConfig,
    pub(super) clocks: Clocks,
    pub(super) net: MachineNet,
    pub(super) kinds: Kinds,
}

/// Saved state of a machine: its configuration, and the state of its hardware blocks and links.
#[derive(Serialize, Deserialize)]
struct SavedMachine<S> {
    #[serde(with = "crate::config::text")]
    config: MachineConfig,
    state: S,
}

impl Serialize for Machine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SavedMachine { config: self.config.clone(), state: self.net.state() }.serialize(serializer)
    }
}

impl TryFrom<SavedMachine<State<Wires, Vec<Roles>>>> for Machine {
    type Error = String;

    fn try_from(SavedMachine { config, state }: SavedMachine<State<Wires, Vec<Roles>>>) -> Result<Self, String> {
        if let Some(broken) = config.validate().first() {
            return Err(format!("its configuration: {broken}"));
        }
        let mut machine = Self::new(&config);
        if machine.net.adopt(state) { Ok(machine) } else { Err("it has the blocks of another machine".to_owned()) }
    }
}

impl Machine {
    /// Builds a machine for the configuration.
    ///
    /// # Panics
    /// Panics if the configuration violates a rule, so the configuration must be validated first.
    #[must_use]
    pub fn new(config: &MachineConfig) -> Self {
        let broken = config.validate();
        assert!(broken.is_empty(), "configuration was not validated: {}", broken[0]);
        let Some(clocks) = config.clocks() else { unreachable!("validated") };
        let (net, kinds) = wire(config, &clocks);
        Self { config: config.clone(), clocks, net, kinds }
    }

    /// Makes the simulator evaluate the dispatchers and all cores, when a kernel starts. Even a core without
    /// warps must be evaluated, because the throttle's monitoring periods start with the kernel.
    pub fn rouse(&self, sim: &mut Simulator) {
        (0..self.dispatchers().len()).for_each(|i| sim.wake(self.net.id(self.kinds.dispatchers, i)));
        (0..self.cores().len()).for_each(|sm| sim.wake(self.net.id(self.kinds.cores, sm)));
    }

    /// Returns the SMs whose load-store units were evaluated at the last tick.
    #[must_use]
    pub fn evaluated_lsus(&self, sim: &Simulator) -> Vec<usize> {
        let was_due = |sm: &usize| was_evaluated(self.net.id(self.kinds.lsus, *sm), sim);
        (0..self.lsus().len()).filter(was_due).collect()
    }

    /// Returns the DRAM channels that were evaluated at the last tick.
    #[must_use]
    pub fn evaluated_drams(&self, sim: &Simulator) -> Vec<usize> {
        let was_due = |channel: &usize| was_evaluated(self.net.id(self.kinds.drams, *channel), sim);
        (0..self.drams().len()).filter(was_due).collect()
    }

    /// Returns a summary of the machine: the kinds of hardware blocks, and the links between them.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.net.outline()
    }

    /// Starts to maintain digests (hashes) of all memories and links.
    pub fn record(&mut self) {
        self.net.record();
    }

    /// Returns the digest of every beat that was sent or received on any link since [`Self::record`].
    #[must_use]
    pub fn beat_digest(&self) -> u64 {
        self.net.beat_digest()
    }

    /// Returns the CTA launches that are in flight from the dispatchers to the SM cores.
    pub(super) fn launches_in_flight(&self) -> impl Iterator<Item = &CtaLaunch> {
        let launches = &self.net.links().launches;
        self.net.ports(self.kinds.cores).flat_map(|ports| launches.at(&ports.launch).beats())
    }

    /// Returns the warp instructions that load-store units accepted at tick `tick`, each with the number of
    /// the SM. For observers outside the model.
    pub fn accepted_accesses(&self, tick: u64) -> impl Iterator<Item = (usize, &WarpAccess)> {
        let (ports, links) = (self.net.ports(self.kinds.lsus), &self.net.links().accesses);
        ports.enumerate().filter_map(move |(sm, ports)| Some((sm, links.at(&ports.core_req).beat_taken_at(tick)?)))
    }

    /// Returns the replies that load-store units sent at tick `tick`, each with the number of the SM. For
    /// observers outside the model.
    pub fn sent_replies(&self, tick: u64) -> impl Iterator<Item = (usize, &WarpReply)> {
        let (ports, links) = (self.net.ports(self.kinds.cores), &self.net.links().replies_to_warps);
        ports.enumerate().filter_map(move |(sm, ports)| Some((sm, links.at(&ports.wb).beat_sent_at(tick)?)))
    }

    /// Returns the requests that L2 banks accepted at tick `tick`. For observers outside the model.
    pub fn accepted_requests(&self, tick: u64) -> impl Iterator<Item = &Request> {
        let links = &self.net.links().requests;
        self.net.ports(self.kinds.banks).filter_map(move |ports| links.at(&ports.req).beat_taken_at(tick))
    }

    /// Returns the links of the machine with beats of type `T`, in which the ports of a block have numbers.
    /// For observers outside the model.
    #[must_use]
    pub fn links<T: Payload + 'static>(&self) -> &Pool<T>
    where
        Wires: Carries<T>,
    {
        pool_of(self.net.links())
    }

    /// Returns the number of CTAs that have not yet sent their completion message to the dispatcher. The
    /// kernel cannot end while this number is above 0.
    #[must_use]
    pub fn outstanding_ctas(&self) -> u64 {
        let links = self.net.links();
        self.dispatchers().iter().map(|dispatcher| outstanding_ctas(dispatcher, dispatcher.ports(), links)).sum()
    }

    /// True if the machine can be split into islands, which are groups of hardware blocks that can be
    /// simulated in parallel.
    #[must_use]
    pub fn has_islands(&self) -> bool {
        self.net.num_islands().is_some()
    }

    /// Splits the machine into islands, which can be simulated in parallel; returns `None` if the machine
    /// cannot be split. Until [`Self::rejoin`], the machine contains no hardware blocks, because the islands
    /// contain them.
    pub fn separate(&mut self, sim: &mut Simulator) -> Option<MachineIslands> {
        let dispatchers = (self.kinds.dispatchers, self.dispatchers().len());
        Some(MachineIslands { islands: self.net.separate(sim)?, dispatchers })
    }

    /// Reassembles the machine from its islands. All islands must have reached the same tick, and the
    /// synchronization points of the round that ended there must have been executed.
    pub fn rejoin(&mut self, MachineIslands { islands, .. }: MachineIslands, sim: &mut Simulator) {
        self.net.rejoin(islands, sim);
    }
}

fn outstanding_ctas(dispatcher: &Dispatcher, ports: &DispatcherPorts, links: &Wires) -> u64 {
    let (ended, all) = dispatcher.progress();
    all - ended - links.ends.all_at(&ports.done).map(|done| done.len() as u64).sum::<u64>()
}

/// Machine that is split into islands (groups of hardware blocks), each of which can run on a separate
/// thread.
pub struct MachineIslands {
    islands: Islands<Wires, Roles>,
    /// Handle for the CTA dispatchers, and the number of dispatchers.
    dispatchers: (Family<Dispatcher>, usize),
}

impl MachineIslands {
    /// Returns the number of islands.
    #[must_use]
    pub fn count(&self) -> usize {
        self.islands.count()
    }

    /// Returns the number of synchronization points in each round. They are executed after all islands have
    /// run, and before the islands run again.
    #[must_use]
    pub fn num_sync_points(&self) -> usize {
        self.islands.num_sync_points()
    }

    /// Runs one island up to the tick set by [`Self::plan_round`]. Different islands may run at the same time
    /// on different threads.
    pub fn run(&self, island: usize) {
        self.islands.run(island);
    }

    /// Executes synchronization point number `meeting`, at which one island exchanges messages with other
    /// islands. Several synchronization points may be executed at the same time, but only while no island
    /// runs.
    pub fn synchronize(&self, meeting: usize) {
        self.islands.synchronize(meeting);
    }

    /// Sets the tick up to which each island runs in the next round, at most `end`. Called after the
    /// synchronization points of the previous round, while no island runs. Returns false if all islands have
    /// reached `end`. Lowers `end`, so that the caller can inspect the whole machine, in four cases: `stop`
    /// is true, a core has stopped at a fault, no hardware block is scheduled, or the kernel may end.
    #[must_use]
    pub fn plan_round(&self, end: &mut u64, stop: bool) -> bool {
        let (dispatchers, count) = self.dispatchers;
        let outstanding = |block| self.islands.read_block(dispatchers, block, outstanding_ctas);
        self.islands.plan_round(end, stop || (0..count).map(outstanding).sum::<u64>() == 0)
    }
}

impl Blocks for Machine {
    fn population(&self) -> Vec<u8> {
        self.net.population()
    }
    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        self.net.eval(block, at)
    }
    fn eval_due(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        self.net.eval_due(due, at);
    }
    fn eval_due_fast(&mut self, due: &mut Due, at: &mut FastEdge<'_>) {
        self.net.eval_due_fast(due, at);
    }
    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        self.net.describe(block, to);
    }
}

/// True if a hardware block was evaluated at the last tick.
fn was_evaluated(id: BlockId, sim: &Simulator) -> bool {
    sim.evaluated_blocks(id.domain.into()) >> id.slot & 1 != 0
}
