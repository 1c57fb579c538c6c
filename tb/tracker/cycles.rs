//! Tests of a single bank of the sharing tracker, cycle by cycle.

use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{Block, BlockId, Blocks, Chan, Describe, DescribeExt, Edge, Mode, Sleep};
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, Request, RequestKind, Sharing};
use rtl::replacement::lru::Lru;
use rtl::tracker::{
    Answer, Forward, ForwardResult, Probes, SharerList, TrackShape, Tracker, TrackerConfig, TrackerIo, TrackerPlace,
    TrackerScheme,
};

use crate::kit::{Bench, CycleTable, DescriptionSummary, Sink, Source, Stall, assert_table, link, run};

const PACKETS: PacketShape = PacketShape {
    tracked: true,
    hints: false,
    line_bits: 25,
    line_bytes: LINE_BYTES as u32,
    sm_bits: 4,
    partition_bits: 3,
};
const TRACK: TrackShape = TrackShape { line_bits: 25, sm_bits: 4, partition_bits: 3, row_bits: 6 };
const PERIODS: [u32; 1] = [1];

const fn id(slot: u8) -> BlockId {
    BlockId { domain: 0, slot }
}
const TRACKER: BlockId = id(6);

struct TrackerBench {
    tracker: Tracker,
    requests: Source<Request>,
    to_bank: Sink<Request>,
    replies: Source<Reply>,
    rsp: Sink<Reply>,
    forwards: Sink<Forward>,
    answers: Source<Answer>,
    req: Chan<Request>,
    bank: Chan<Request>,
    from_bank: Chan<Reply>,
    on: Chan<Reply>,
    forward: Chan<Forward>,
    answer: Chan<Answer>,
}

/// Creates a source that sends messages, each from the given cycle on.
fn timed_source<T>(script: Vec<(u64, T)>) -> Source<T> {
    let (cycles, beats): (Vec<_>, Vec<_>) = script.into_iter().unzip();
    Source::new(beats, Stall::NotBefore(cycles))
}

impl TrackerBench {
    fn new(requests: Vec<(u64, Request)>, replies: Vec<(u64, Reply)>, answers: Vec<(u64, Answer)>) -> Self {
        let place = TrackerPlace {
            path: "partition0.tracker".to_owned(),
            shape: TRACK,
            interleave: Interleave::new(8, LINE_BYTES as u32, LINE_BYTES as u32),
            num_sms: 16,
        };
        let config = TrackerConfig {
            scheme: TrackerScheme::Corrected,
            count: 1,
            sets: 128,
            ways: 8,
            replacement: Lru {}.into(),
            sharers: SharerList::All,
            probes: Probes::All,
            transfers: 64,
        };
        Self {
            tracker: Tracker::new(place, &config, config.scheme.protections()),
            requests: timed_source(requests),
            to_bank: Sink::new(Stall::Never),
            replies: timed_source(replies),
            rsp: Sink::new(Stall::Never),
            forwards: Sink::new(Stall::Never),
            answers: timed_source(answers),
            req: link("req", 2, &PERIODS, id(0), TRACKER, PACKETS),
            bank: link("bank", 2, &PERIODS, TRACKER, id(1), PACKETS),
            from_bank: link("from_bank", 2, &PERIODS, id(2), TRACKER, PACKETS),
            on: link("on", 2, &PERIODS, TRACKER, id(3), PACKETS),
            forward: link("forward", 2, &PERIODS, TRACKER, id(4), TRACK),
            answer: link("answer", 2, &PERIODS, id(5), TRACKER, TRACK),
        }
    }
}

impl Blocks for TrackerBench {
    fn population(&self) -> Vec<u8> {
        vec![7]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        match block.slot {
            0 => self.requests.eval(self.req.tx(), at),
            1 => self.to_bank.eval(self.bank.rx(), at),
            2 => self.replies.eval(self.from_bank.tx(), at),
            3 => self.rsp.eval(self.on.rx(), at),
            4 => self.forwards.eval(self.forward.rx(), at),
            5 => self.answers.eval(self.answer.tx(), at),
            _ => {
                let io = TrackerIo {
                    req: self.req.rx(),
                    to_bank: self.bank.tx(),
                    from_bank: self.from_bank.rx(),
                    rsp: self.on.tx(),
                    forward: self.forward.tx(),
                    answer: self.answer.rx(),
                };
                self.tracker.eval(io, at)
            }
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        if block == TRACKER {
            to.part("tracker", |to| {
                self.req.describe("req", None, to);
                self.from_bank.describe("from_bank", None, to);
                self.answer.describe("answer", None, to);
                self.tracker.describe(to);
            });
        }
    }
}

impl Bench for TrackerBench {
    fn periods(&self) -> Vec<u32> {
        PERIODS.to_vec()
    }
    fn history(&self) -> u64 {
        self.to_bank.digest() ^ self.forwards.digest().rotate_left(1)
    }
}

#[test]
fn a_line_goes_from_the_bank_to_an_l1_and_from_there_to_others_until_it_is_written() {
    let load = |id, sm, sharing| Request { id, sm, ticket: id.into(), sharing, ..Request::default() };
    let store = Request { kind: RequestKind::Write, byte_mask: 0xf, ..load(4, 2, Sharing::Aside) };
    let reply = |id, sm| Reply { id, sm, ticket: id.into(), ..Reply::default() };
    let answer = |found| Answer { found, ..Answer::default() };
    let requests = vec![
        (0, load(1, 0, Sharing::Keeps)),
        (10, load(2, 1, Sharing::Keeps)),
        (20, load(3, 2, Sharing::Keeps)),
        (22, store),
        (30, load(5, 3, Sharing::Takes)),
    ];
    let replies = vec![(5, reply(1, 0)), (32, reply(3, 2))];
    let mut bench = TrackerBench::new(
        requests,
        replies,
        vec![(15, answer(ForwardResult::Here)), (25, answer(ForwardResult::Gone))],
    );
    run(&mut bench, Mode::default(), 100);
    let mut table = CycleTable::sparse();
    table.column("req", bench.requests.sent().iter().map(|(cycle, beat)| (*cycle, beat.id)));
    table.column("to_bank", bench.to_bank.received().iter().map(|(cycle, beat)| (*cycle, beat.id)));
    table.column("from_bank", bench.replies.sent().iter().map(|(cycle, beat)| (*cycle, beat.id)));
    table.column("rsp", bench.rsp.received().iter().map(|(cycle, beat)| (*cycle, beat.id)));
    let to = |beat: &Forward| format!("{}>sm{}", beat.id, beat.supplier);
    table.column("forward", bench.forwards.received().iter().map(|(cycle, beat)| (*cycle, to(beat))));
    table.column("answer", bench.answers.sent().iter().map(|(cycle, beat)| (*cycle, format!("{:?}", beat.found))));
    // The L2 bank answers load 1, and the tracker lists the SM of that load, SM 0, as a sharer of the line.
    // SM 0 supplies load 2. Round robin selects SM 1 for load 3, but SM 1 has dropped the line, so load 3
    // goes to the L2 bank. Store 4 comes from the same SM as load 3, so it waits until load 3 has gone to the
    // L2 bank. After the store, the tracker lists no SM, so load 5 goes to the L2 bank too.
    assert_table(
        &table,
        "cycle  req  to_bank  from_bank  rsp  forward  answer
         0      1    .        .          .    .        .
         2      .    1        .          .    .        .
         5      .    .        1          .    .        .
         7      .    .        .          1    .        .
         10     2    .        .          .    .        .
         12     .    .        .          .    2>sm0    .
         15     .    .        .          .    .        Here
         20     3    .        .          .    .        .
         22     4    .        .          .    3>sm1    .
         25     .    .        .          .    .        Gone
         27     .    3        .          .    .        .
         28     .    4        .          .    .        .
         30     5    .        .          .    .        .
         32     .    5        3          .    .        .
         34     .    .        .          3    .        .",
    );
    let stats = bench.tracker.stats();
    assert_eq!((stats.listed, stats.poisoned, stats.held), (2, 1, 27 - 23));
}

#[test]
fn a_bank_of_eight_has_tags_three_bits_narrower_than_lines() {
    let listed = DescriptionSummary::of(|to| TrackerBench::new(vec![], vec![], vec![]).tracker.describe(to));
    let bits: Vec<_> = listed.arrays.into_iter().map(|(_, _, bits)| bits).collect();
    // An entry of the sharer table has 1 valid bit, 15 tag bits, 16 sharer bits and 4 bits for the
    // round-robin pointer. A line number has 22 bits within the bank, of which 7 select the set: 22 - 7 = 15.
    // The LRU order of a set takes 3 bits for each of its 8 ways.
    assert_eq!(bits, [1 + 15 + 16 + 4, 8 * 3]);
}
