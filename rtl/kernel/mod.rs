//! The simulation kernel: clocks, registers, channels, memories, and the description of each hardware block.
//! Waveforms, area estimates, state hashes and dumps are all generated from that one description.
//!
//! | file       | holds                                                                     |
//! |------------|---------------------------------------------------------------------------|
//! | `time`     | clock domains with exact rational ratios on one integer time base         |
//! | `wake`     | which block is evaluated at which edge: sleeping blocks cost nothing      |
//! | `chan`     | registered valid/ready links, the only communication between blocks       |
//! | `regs`     | flip-flops with a start-of-cycle copy `q` and a live value `d`            |
//! | `array`    | SRAM, CAM and register files with counted ports                           |
//! | `contract` | edges with and without checks for violations of contracts                 |
//! | `turn`     | order in which the ports of a component may be used within a cycle        |
//! | `describe` | registers, memories and logic of a block, listed once                     |
//! | `counters` | statistics of a block, listed once                                        |
//! | `digest`   | hashes of state and of beats                                              |
//! | `name`     | names in a saved state                                                    |
//! | `net`      | netlist: a machine as a list of blocks and of links between their ports   |
//! | `sim`      | evaluation loop, with options for debugging                               |
//!
//! A hardware block implements [`Block`]. Its `eval` executes one rising clock edge: it first copies the
//! register values `q`, makes all decisions based on `q`, and writes the next values `d`. Its result is the
//! time at which the block must be evaluated next, which depends on the new state only.

mod array;
mod chan;
pub mod contract;
mod counters;
mod describe;
mod digest;
pub mod name;
mod net;
mod regs;
mod sim;
mod time;
mod turn;
mod wake;

pub use array::{Access, Accesses, Array, ArraySpec, ArrayView, Collide, Storage};
pub use chan::{Chan, ChanSpec, Ends, Rx, RxBank, Tx, TxBank, link};
pub use contract::{AnyEdge, FastEdge};
pub(crate) use counters::describe_in;
pub use counters::{
    Counted, CounterReader, Key, Paths, Quantity, Reason, ScopeKind, Value, count_by, count_classes, count_group,
    count_if, count_units,
};
pub use derive::{Counted, Encoding, Kinds, Links, Payload, Ports, Reason};
pub(crate) use describe::AsProbes;
pub use describe::{
    Describe, DescribeExt, Encoding, Field, Fields, FieldsExt, Logic, Payload, bits_for, bits_of, width_of,
};
pub use digest::{Digest, digest_of};
pub use net::{
    AnyPool, AnyPort, BlockRange, BlockWithPorts, Bundle, Carries, Crossing, Extra, Family, Group, HasPorts, In,
    Islands, Kind, Link, LinkSpec, Links, MAX_PER_KIND, Many, Net, Of, Out, Outline, Path, Pool, Port, PortVisitor,
    Ports, Receives, Sends, State, Unit, pool_of,
};
pub use regs::Regs;
pub use sim::{Blocks, Due, IndependentBlocks, Mode, Simulator, SlotMask};
pub use time::{ClockError, Clocks};
pub use turn::PortOrder;
pub use wake::{BlockId, DOMAINS as MAX_DOMAINS, Edge, Wake};

/// Next clock edge at which a hardware block must be evaluated, determined from the block's new state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Evaluates the hardware block at the next edge of its clock.
    Next,
    /// Evaluates the hardware block at the given cycle of its own clock, or earlier if a channel event wakes
    /// it.
    At(u64),
    /// Evaluates the hardware block only when a beat arrives or a full channel gets a free slot.
    UntilEvent,
}

impl Sleep {
    /// Returns the earlier of two wake-ups. A hardware block with several components sleeps until the first
    /// of them must be evaluated.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        match (self, other) {
            (Self::Next, _) | (_, Self::Next) => Self::Next,
            (Self::At(a), Self::At(b)) => Self::At(a.min(b)),
            (Self::At(a), Self::UntilEvent) | (Self::UntilEvent, Self::At(a)) => Self::At(a),
            (Self::UntilEvent, Self::UntilEvent) => Self::UntilEvent,
        }
    }
}

/// Hardware block with a clock. Other blocks observe it only through channels, so its own state needs no
/// commit phase.
pub trait Block {
    /// Channel ends that the hardware block receives for one clock edge. A block cannot use a port that is
    /// not listed here.
    type Io<'a>;

    /// Executes one clock edge, and returns when the hardware block must be evaluated next.
    fn eval(&mut self, io: Self::Io<'_>, at: &mut Edge<'_>) -> Sleep;

    /// Lists every register, memory and logic function of the hardware block once. Implementations
    /// destructure `Self` without `..`, so that an omitted register is a compile error:
    ///
    /// ```compile_fail,E0027
    /// # use rtl::kernel::{Describe, FieldsExt};
    /// struct Counter { value: u8, limit: u8 }
    /// impl Counter {
    ///     fn describe(&self, to: &mut dyn Describe) {
    ///         let Self { value } = self; // error: pattern does not mention field `limit`
    ///         to.bits("value", *value);
    ///     }
    /// }
    /// ```
    fn describe(&self, to: &mut dyn Describe);
}
