//! Drives a single L2 bank through its ports. Three lines replace one another in it, with or without a Fetch
//! and Replacement Cache (FRC, candel2018). The latencies are those of Figure 2 of that paper: a lookup takes
//! 10 cycles, a recall from the L1s 80, and a fetch from memory 110. The command
//! `cargo run --profile fast --example one_bank -- 2 frc.vcd` uses 2 FRC entries and writes a waveform; 0
//! means no FRC.

use std::collections::VecDeque;
use std::path::Path;

use miette::{IntoDiagnostic, Result};
use warpsieve::bank::{BankAlone, DramReply, InvalidateAck, Request};
use warpsieve::config::{self, ResolvedMachine};

/// Reads that the bank receives: for each, the cycle in which the bank accepts it, and the number of the line
/// to read. Line 0 is fetched long before the other lines, so it occupies the only way when the second read
/// arrives.
const READS: [(u64, u64); 4] = [(1, 0), (1000, 1), (1090, 2), (1240, 3)];
const SETS: &str = "interleave_bytes=64 l1.line_bytes=64 l2.line_bytes=64 l2.sets=1 l2.ways=1 l2.lookup_latency=10 \
    l2.flow.kind=transient l2.flow.coherence=sharers l2.flow.frc.swap_latency=0 l2.flow.frc.entries=";

/// Simulates the reads. Returns each line together with the cycle in which the bank serves it.
pub fn play(frc_entries: &str, wave: &Path) -> Result<Vec<(u64, u64)>> {
    let sets = format!("{SETS}{frc_entries}").split(' ').map(str::to_owned).collect();
    let config = ResolvedMachine::new(&config::Request { machine: "fermi".to_owned(), designs: vec![], sets })?.config;
    let mut alone = BankAlone::new(&config, 0);
    let mut reads: VecDeque<_> = READS.map(|(cycle, line)| (cycle - 1, line, alone.line(line))).into();
    let (mut memory, mut l1s, mut served) = (VecDeque::new(), VecDeque::new(), Vec::new());
    alone.record(wave, &["l2", "l2.tags[0]"]).into_diagnostic()?;
    for _ in 0..2000 {
        let cycle = alone.cycle(|mut ports, at| {
            if let Some((_, ticket, line)) = reads.pop_front_if(|(due, ..)| *due <= at.cycle) {
                ports.req.push(at, Request { line, ticket, ..Request::default() });
            }
            if ports.dram_req.at(0).peek(at).is_some() {
                let asked = ports.dram_req.at(0).pop(at);
                let reply = DramReply { burst: asked.burst, tag: asked.tag, ..DramReply::default() };
                memory.push_back((at.cycle + 108, reply));
            }
            if let Some((_, reply)) = memory.pop_front_if(|(due, _)| *due <= at.cycle) {
                ports.dram_rsp.at(0).push(at, reply);
            }
            if ports.inv.peek(at).is_some() {
                let leaver = ports.inv.pop(at).leaver;
                l1s.push_back((at.cycle + 78, InvalidateAck { partition: 0, leaver }));
            }
            if let Some((_, answer)) = l1s.pop_front_if(|(due, _)| *due <= at.cycle) {
                ports.inv_ack.push(at, answer);
            }
            if ports.rsp.peek(at).is_some() {
                served.push((ports.rsp.pop(at).ticket, at.cycle - 2)); // one cycle to the channel, one through it
            }
        });
        cycle.into_diagnostic()?;
    }
    alone.finish().into_diagnostic()?;
    Ok(served)
}

fn main() -> Result<()> {
    let [entries, wave] = [(1, "2"), (2, "frc.vcd")].map(|(at, or)| std::env::args().nth(at).unwrap_or(or.to_owned()));
    play(&entries, wave.as_ref())?.iter().for_each(|(line, cycle)| println!("line {line} is served in cycle {cycle}"));
    Ok(())
}
