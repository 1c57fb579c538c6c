//! The hardware blocks and their parts, described by the first lines of their own files.

use serde::Serialize;

/// A block (evaluated on its own at every clock edge) or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hardware {
    /// Its name: the heading of its file.
    pub name: String,
    /// `block` or `part`.
    pub kind: &'static str,
    /// Its file.
    pub path: &'static str,
    /// What it does: the first sentence of its file.
    pub purpose: String,
}

/// Kind, path and text of a file.
type Entry = (&'static str, &'static str, &'static str);

/// Every block, each followed by its parts.
const FILES: &[Entry] = &[
    ("block", "rtl/sm/dispatcher.rs", include_str!("../rtl/sm/dispatcher.rs")),
    ("block", "rtl/sm/core.rs", include_str!("../rtl/sm/core.rs")),
    ("part", "rtl/sm/fetch.rs", include_str!("../rtl/sm/fetch.rs")),
    ("part", "rtl/sm/scheduler.rs", include_str!("../rtl/sm/scheduler.rs")),
    ("part", "rtl/sm/scoreboard.rs", include_str!("../rtl/sm/scoreboard.rs")),
    ("part", "rtl/sm/simt_stack.rs", include_str!("../rtl/sm/simt_stack.rs")),
    ("part", "rtl/sm/halves.rs", include_str!("../rtl/sm/halves.rs")),
    ("part", "rtl/sm/barrier.rs", include_str!("../rtl/sm/barrier.rs")),
    ("part", "rtl/sm/register_file.rs", include_str!("../rtl/sm/register_file.rs")),
    ("part", "rtl/sm/collectors.rs", include_str!("../rtl/sm/collectors.rs")),
    ("part", "rtl/sm/pipes.rs", include_str!("../rtl/sm/pipes.rs")),
    ("part", "rtl/sm/shared_memory.rs", include_str!("../rtl/sm/shared_memory.rs")),
    ("part", "rtl/sm/address_unit.rs", include_str!("../rtl/sm/address_unit.rs")),
    ("part", "rtl/sm/texture.rs", include_str!("../rtl/sm/texture.rs")),
    ("part", "rtl/throttle/monitor.rs", include_str!("../rtl/throttle/monitor.rs")),
    ("part", "rtl/throttle/scores.rs", include_str!("../rtl/throttle/scores.rs")),
    ("block", "rtl/l1/lsu.rs", include_str!("../rtl/l1/lsu.rs")),
    ("part", "rtl/l1/coalescer.rs", include_str!("../rtl/l1/coalescer.rs")),
    ("part", "rtl/l1/bypass/contention.rs", include_str!("../rtl/l1/bypass/contention.rs")),
    ("part", "rtl/l1/pending.rs", include_str!("../rtl/l1/pending.rs")),
    ("part", "rtl/l1/mrpb.rs", include_str!("../rtl/l1/mrpb.rs")),
    ("part", "rtl/l1/cache.rs", include_str!("../rtl/l1/cache.rs")),
    ("part", "rtl/index/mod.rs", include_str!("../rtl/index/mod.rs")),
    ("part", "rtl/l1/tags.rs", include_str!("../rtl/l1/tags.rs")),
    ("part", "rtl/l1/decoupled.rs", include_str!("../rtl/l1/decoupled.rs")),
    ("part", "rtl/l1/replacement.rs", include_str!("../rtl/l1/replacement.rs")),
    ("part", "rtl/throttle/victims.rs", include_str!("../rtl/throttle/victims.rs")),
    ("part", "rtl/cells/streaming.rs", include_str!("../rtl/cells/streaming.rs")),
    ("part", "rtl/l1/bypass/pdp.rs", include_str!("../rtl/l1/bypass/pdp.rs")),
    ("part", "rtl/l1/mshr.rs", include_str!("../rtl/l1/mshr.rs")),
    ("part", "rtl/l1/miss_queue.rs", include_str!("../rtl/l1/miss_queue.rs")),
    ("block", "rtl/l1/dueling.rs", include_str!("../rtl/l1/dueling.rs")),
    ("block", "rtl/throttle/coordinator.rs", include_str!("../rtl/throttle/coordinator.rs")),
    ("block", "rtl/noc/xbar.rs", include_str!("../rtl/noc/xbar.rs")),
    ("part", "rtl/noc/buffer.rs", include_str!("../rtl/noc/buffer.rs")),
    ("block", "rtl/tracker/bank.rs", include_str!("../rtl/tracker/bank.rs")),
    ("part", "rtl/tracker/table.rs", include_str!("../rtl/tracker/table.rs")),
    ("part", "rtl/tracker/transfers.rs", include_str!("../rtl/tracker/transfers.rs")),
    ("block", "rtl/l2/bank.rs", include_str!("../rtl/l2/bank.rs")),
    ("part", "rtl/l2/split.rs", include_str!("../rtl/l2/split.rs")),
    ("part", "rtl/l2/mshr.rs", include_str!("../rtl/l2/mshr.rs")),
    ("part", "rtl/cells/atomic.rs", include_str!("../rtl/cells/atomic.rs")),
    ("part", "rtl/l2/bank/atomic_buffer.rs", include_str!("../rtl/l2/bank/atomic_buffer.rs")),
    ("part", "rtl/l2/pending.rs", include_str!("../rtl/l2/pending.rs")),
    ("part", "rtl/l2/evictions.rs", include_str!("../rtl/l2/evictions.rs")),
    ("part", "rtl/l2/frc.rs", include_str!("../rtl/l2/frc.rs")),
    ("block", "rtl/dram/channel.rs", include_str!("../rtl/dram/channel.rs")),
    ("part", "rtl/dram/queue.rs", include_str!("../rtl/dram/queue.rs")),
    ("part", "rtl/dram/scheduler.rs", include_str!("../rtl/dram/scheduler.rs")),
    ("part", "rtl/dram/bank.rs", include_str!("../rtl/dram/bank.rs")),
    ("part", "rtl/dram/timing.rs", include_str!("../rtl/dram/timing.rs")),
    ("part", "rtl/dram/drain.rs", include_str!("../rtl/dram/drain.rs")),
    ("part", "rtl/dram/refresh.rs", include_str!("../rtl/dram/refresh.rs")),
    ("part", "rtl/dram/replies.rs", include_str!("../rtl/dram/replies.rs")),
];

/// The blocks and parts, from the SMs to memory.
#[must_use]
pub fn hardware() -> Vec<Hardware> {
    FILES.iter().map(|&entry| read(entry)).collect()
}

fn read((kind, path, text): Entry) -> Hardware {
    let mut lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let heading = lines.next().unwrap_or_default();
    let name = heading.trim_start_matches('#').trim().to_owned();
    let prose: Vec<_> = lines.take_while(|line| !line.is_empty() && !line.starts_with("1.")).collect();
    let prose = prose.join(" ");
    let end = prose.find(". ").map_or(prose.len(), |dot| dot + 1);
    Hardware { name, kind, path, purpose: prose[..end].trim_end_matches(['.', ':']).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_says_its_name_and_purpose_in_its_first_lines() {
        for hardware in hardware() {
            let Hardware { name, path, purpose, .. } = &hardware;
            assert!(!name.is_empty() && name.len() < 60, "{path}: {name}");
            assert!(purpose.len() > 10 && !purpose.contains('|'), "{path}: {purpose}");
        }
    }

    #[test]
    fn the_first_sentence_ends_at_its_full_stop() {
        let text = "//! # Name\n//! Does one thing\n//! with care. Then more.\n//!\n//! Else.\nuse x;\n";
        let Hardware { name, purpose, .. } = read(("part", "x.rs", text));
        assert_eq!((name.as_str(), purpose.as_str()), ("Name", "Does one thing with care"));
    }
}
