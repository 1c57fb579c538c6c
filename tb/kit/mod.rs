//! Testbench kit: components that surround a device under test.
//!
//! | file       | holds                                                                                      |
//! |------------|--------------------------------------------------------------------------------------------|
//! | `random`   | random stalls from a seed, and replay of one seed with `SEED=`                             |
//! | `source`   | sends a list of payloads, at full rate or with stalls                                      |
//! | `sink`     | receives payloads, at full rate or with stalls, and records them with their cycles         |
//! | `bench`    | runs a testbench in every evaluation mode of the simulator, compares hashes and statistics |
//! | `table`    | cycle tables: inputs and outputs cycle by cycle, as text                                   |
//! | `waves`    | waveforms of tests, with `WAVES=DIR cargo test NAME`                                       |
//! | `coverage` | functional coverage: points that the stimulus must reach, with hit counts                  |
//!
//! A testbench implements [`rtl::kernel::Blocks`] for the evaluation of its device, sources and sinks, and
//! [`Bench`].

mod around;
mod bench;
mod listed;
mod random;
mod sink;
mod source;
mod table;
mod waves;

pub use ::soak::coverage;
pub use around::DeviceLinks;
pub use bench::{Bench, run, run_in_all_modes};
pub use hdl::{Random, is_thorough, sample};
pub use listed::DescriptionSummary;
pub use random::{Stall, for_each_seed};
pub use rtl::kernel::link;
pub use sink::Sink;
pub use source::Source;
pub use table::{CycleTable, assert_table};
pub use waves::{BenchSimulator, wave_path};

/// Payloads that passed a port, each with its cycle.
pub type Monitor<T> = Vec<(u64, T)>;

/// Configuration settings that make all queues, tables and links between the SMs and memory as small as is
/// legal.
pub const MIN_QUEUES: [&str; 16] = [
    "link.inject=0",
    "link.request=1",
    "link.reply=1",
    "link.deliver=0",
    "link.dram_return=1",
    "lsu.slots=1",
    "lsu.access_queue=1",
    "l1.mshr_entries=1",
    "l1.mshr_merges=1",
    "l1.miss_queue=2",
    "xbar.buffer_flits=5",
    "l2.mshr_entries=1",
    "l2.mshr_merges=1",
    "l2.reply_queue=1",
    "dram.queue_entries=1",
    "dram.reply_entries=1",
];
