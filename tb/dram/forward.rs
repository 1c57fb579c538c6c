//! Second checker of DRAM command streams, written independently of the golden checker.
//!
//! For each command, the golden checker looks back at the earlier commands. This checker works forward, like
//! a memory device: each command delays later commands, and opens or closes rows. It accepts any legal order,
//! assumes no scheduler, and was written from the names of the timing parameters, not from the golden
//! checker's table.
//!
//! The two checkers must agree on the command streams of random controllers. They must also agree on each
//! stream after one command was moved, dropped, duplicated, or sent to another row or bank.

use std::collections::VecDeque;

use golden::dram::command::{BankId, Command, Kind};
use golden::dram::timing::{Bus, Timing};
use rtl::dram::config::DramConfig;

use crate::kit::Random;

/// Class of DRAM commands that have the same timing constraints.
#[derive(Clone, Copy)]
enum Class {
    Act,
    Read,
    Write,
    Close,
    Refresh,
}

use Class::{Act, Close, Read, Refresh as Refreshing, Write};

const CLASSES: [Class; 5] = [Act, Read, Write, Close, Refreshing];

/// First cycle in which a command of each class is legal.
type Earliest = [u64; CLASSES.len()];

fn class(kind: Kind) -> Class {
    match kind {
        Kind::Act => Act,
        Kind::Rd | Kind::Rda => Read,
        Kind::Wr | Kind::Wra => Write,
        Kind::Pre | Kind::Prea => Close,
        Kind::Ref => Refreshing,
    }
}

fn delay(earliest: &mut Earliest, class: Class, until: u64) {
    let cycle = &mut earliest[class as usize];
    *cycle = (*cycle).max(until);
}

/// Model of a DRAM device. It holds the timing constraints that follow from all commands so far.
#[derive(Clone)]
pub(crate) struct Device {
    timing: Timing,
    banks_per_group: u32,
    banks: Vec<Earliest>,
    groups: Vec<Earliest>,
    channel: Earliest,
    /// First free cycle of the row command bus and of the column command bus. A device with a single bus uses
    /// only the first entry.
    buses: [u64; 2],
    open: Vec<Option<u32>>,
    /// Cycles of the most recent ACTs, from oldest to newest.
    acts: VecDeque<u64>,
    /// Cycles in which recent data bursts began.
    bursts: VecDeque<u64>,
    refreshed: u64,
}

impl Device {
    /// Creates a device with all banks closed.
    pub fn new(timing: Timing, groups: u32, banks_per_group: u32) -> Self {
        let banks = (groups * banks_per_group) as usize;
        Self {
            timing,
            banks_per_group,
            banks: vec![[0; 5]; banks],
            groups: vec![[0; 5]; groups as usize],
            channel: [0; 5],
            buses: [0; 2],
            open: vec![None; banks],
            acts: VecDeque::new(),
            bursts: VecDeque::new(),
            refreshed: 0,
        }
    }

    fn index(&self, BankId { group, bank }: BankId) -> usize {
        (group * self.banks_per_group + bank) as usize
    }

    fn bus(&self, kind: Kind) -> usize {
        usize::from(self.timing.bus == Bus::RowsApart && kind.is_column())
    }

    /// Returns the cycle in which the data burst of a command begins, or `None` if the command transfers no
    /// data.
    fn burst(&self, command: &Command) -> Option<u64> {
        match class(command.kind) {
            Read => Some(command.cycle + self.timing.cl),
            Write => Some(command.cycle + self.timing.wl),
            _ => None,
        }
    }

    /// True if the command is legal in its cycle.
    fn takes(&self, command: &Command) -> bool {
        let &Command { cycle, kind, bank, row, .. } = command;
        let class = class(kind);
        let is_due = |earliest: &Earliest| earliest[class as usize] <= cycle;
        if cycle < self.buses[self.bus(kind)] || !is_due(&self.channel) {
            return false;
        }
        let Some(bank) = bank else {
            let is_closed = self.open.iter().all(Option::is_none);
            return self.banks.iter().all(is_due) && (kind != Kind::Ref || is_closed);
        };
        let at = self.index(bank);
        let (open, t) = (self.open[at], &self.timing);
        let fits = match class {
            Act => open.is_none() && row.is_some(),
            Read | Write => open.is_some() && row.is_none_or(|row| Some(row) == open),
            Close => open.is_some(),
            Refreshing => true,
        };
        let window = |acts: usize, cycles: u64| {
            let first = self.acts.len().checked_sub(acts).map(|at| self.acts[at]);
            !matches!(class, Act) || first.is_none_or(|first| cycle >= first + cycles)
        };
        let is_bus_free =
            self.burst(command).is_none_or(|start| self.bursts.iter().all(|other| start.abs_diff(*other) >= t.burst));
        fits && is_due(&self.banks[at])
            && is_due(&self.groups[bank.group as usize])
            && window(4, t.faw)
            && window(32, t.aw32)
            && is_bus_free
    }

    /// Updates the earliest legal cycles of later commands by the timing constraints that follow from a
    /// command.
    fn tell(&mut self, command: &Command) {
        let &Command { cycle: now, kind, bank, .. } = command;
        let t = self.timing;
        let bus = self.bus(kind);
        self.buses[bus] = self.buses[bus].max(now + 1);
        if let Some(start) = self.burst(command) {
            self.bursts.push_back(start);
            if self.bursts.len() > 64 {
                self.bursts.pop_front();
            }
        }
        let Some(bank) = bank else {
            if kind == Kind::Ref {
                CLASSES.into_iter().for_each(|class| delay(&mut self.channel, class, now + t.rfc));
            } else {
                self.banks.iter_mut().for_each(|bank| delay(bank, Act, now + t.rp));
                delay(&mut self.channel, Close, now + t.ppd);
                delay(&mut self.channel, Refreshing, now + t.rp);
            }
            return;
        };
        let at = self.index(bank);
        let (own, group) = (&mut self.banks[at], &mut self.groups[bank.group as usize]);
        match class(kind) {
            Act => {
                delay(own, Act, now + t.rc);
                delay(own, Read, now + t.rcd_rd);
                delay(own, Write, now + t.rcd_wr);
                delay(own, Close, now + t.ras);
                delay(&mut self.channel, Refreshing, now + t.rc);
                for other in (0..self.banks.len()).filter(|other| *other != at) {
                    let is_near = other as u32 / self.banks_per_group == bank.group;
                    delay(&mut self.banks[other], Act, now + t.rrd_s.max(if is_near { t.rrd_l } else { 0 }));
                }
                self.acts.push_back(now);
            }
            Read => {
                delay(own, Close, now + t.rtp);
                delay(group, Read, now + t.ccd_l);
                delay(&mut self.channel, Read, now + t.ccd_s.max(t.burst));
                delay(&mut self.channel, Write, (now + t.cl + t.burst + 2).saturating_sub(t.wl));
            }
            Write => {
                let end = now + t.wl + t.burst;
                delay(own, Close, end + t.wr);
                delay(group, Write, now + t.ccd_l);
                delay(group, Read, end + t.wtr_l);
                delay(&mut self.channel, Write, now + t.ccd_s.max(t.burst));
                delay(&mut self.channel, Read, end + t.wtr_s);
            }
            Close => {
                delay(own, Act, now + t.rp);
                delay(&mut self.channel, Close, now + t.ppd);
                delay(&mut self.channel, Refreshing, now + t.rp);
            }
            Refreshing => {}
        }
    }

    /// Updates the open rows after a command: opens or closes the rows of the banks that it affects.
    fn turn(&mut self, command: &Command) {
        match (command.kind, command.bank) {
            (Kind::Act, Some(bank)) => {
                let at = self.index(bank);
                self.open[at] = command.row;
            }
            (Kind::Pre, Some(bank)) => {
                let at = self.index(bank);
                self.open[at] = None;
            }
            (Kind::Prea, _) => self.open.fill(None),
            (Kind::Ref, _) => self.refreshed = command.cycle,
            _ => {}
        }
    }

    /// True if every command of a stream is legal in its cycle, and no refresh is overdue.
    pub fn takes_all(mut self, commands: &[Command], refresh: bool) -> bool {
        let most = 9 * self.timing.refi;
        for cycle in commands.chunk_by(|one, next| one.cycle == next.cycle) {
            for (number, command) in cycle.iter().enumerate() {
                // Commands in the same cycle constrain each other too. Before a command is checked, a copy of
                // the device therefore applies the other commands of that cycle.
                let mut beside = self.clone();
                let others = cycle.iter().enumerate().filter(|(other, _)| *other != number);
                others.for_each(|(_, other)| beside.tell(other));
                let is_late = refresh && command.kind == Kind::Ref && command.cycle - self.refreshed > most;
                if is_late || !beside.takes(command) {
                    return false;
                }
            }
            cycle.iter().for_each(|command| self.tell(command));
            cycle.iter().for_each(|command| self.turn(command));
        }
        let end = commands.last().map_or(0, |last| last.cycle);
        !refresh || end - self.refreshed <= most
    }
}

/// Returns a copy of the stream in which one random command was moved, dropped, duplicated, or sent to
/// another row or bank.
pub(crate) fn change_stream(commands: &[Command], config: &DramConfig, random: &mut Random) -> Vec<Command> {
    let mut changed = commands.to_vec();
    let at = random.below(changed.len() as u64) as usize;
    let by = 1 + random.below(12);
    let command = &mut changed[at];
    match random.below(6) {
        0 | 1 => command.cycle = command.cycle.saturating_sub(by),
        2 => command.cycle += by,
        3 => drop(changed.remove(at)),
        4 => {
            let again = Command { cycle: command.cycle + by, ..*command };
            changed.push(again);
        }
        _ => match (&mut command.bank, &mut command.row) {
            (_, Some(row)) if random.percent(50) => *row ^= 1,
            (Some(bank), _) => bank.bank = (bank.bank + 1) % config.banks_per_group,
            _ => {}
        },
    }
    changed.sort_by_key(|command| command.cycle);
    changed
}
