//! # Checker of the choices of a command arbiter
//! Determines the command that a channel must issue in each cycle, and compares it with the actual commands:
//! - In each bank, the waiting request of the highest priority determines the command. If that request hits
//!   the open row, any of the requests that hit this row may be served. Otherwise, the bank needs a PRE if a
//!   row is open, and an ACT if not. Exception: if a newly opened row has not served a request yet, and some
//!   waiting request hits it, that row stays open.
//! - Commands that break one of the [`rules`](super::rules) are excluded. In each cycle, each bus must carry
//!   the remaining command of the highest priority. Among commands of equal priority, the one that serves the
//!   oldest request wins.
//!
//! The [`policy`](super::policy) defines the priorities. A request waits for older requests to the same
//! burst, and a read waits for room in the buffer for read data. The write drain may restrict the choice to
//! reads or to writes. Once a refresh is due, only the row hits of that cycle are still served before it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::checker::{Checker, advance};
use super::command::{BankId, Command, Kind};
use super::drain::{Drain, Watermarks};
use super::legality::Legality;
use super::mapping::{BurstLocation, Mapping};
use super::policy::{Policy, Requests, Waiting};
use super::timing::Bus;

/// Command on the command bus, with the memory request that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Command that was issued.
    pub command: Command,
    /// Number of the memory request that the command serves; `None` for the commands of a refresh.
    pub request: Option<u64>,
}

/// Limits of a channel that restrict the choice of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bursts that have been read but not yet sent.
    pub reply_entries: usize,
    /// Thresholds of the write drain; `None` if reads and writes are scheduled alike.
    pub write_drain: Option<Watermarks>,
}

/// State of the refreshes of a channel.
#[derive(Debug)]
struct Refresh {
    /// Cycle in which the next refresh is due.
    due: u64,
    /// Numbers of the requests, all row hits, that are served before the refresh; `None` if no refresh is
    /// due.
    last: Option<BTreeSet<u64>>,
}

/// Burst that a request accesses.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Byte address of the burst. In the replay of a trace, addresses may exceed the size of the channel, so
    /// that several bursts have the same place.
    address: u64,
    /// Bank, row and column of the burst.
    place: BurstLocation,
}

/// Bursts that the waiting requests access.
#[derive(Debug, Default)]
struct Bursts {
    /// Burst of each waiting request, by request number.
    of: BTreeMap<u64, Burst>,
    /// Numbers of the waiting requests to each burst, by the address of the burst.
    requests: BTreeMap<u64, BTreeSet<u64>>,
}

impl Bursts {
    /// Adds request `number`, which accesses `burst`.
    fn insert(&mut self, number: u64, burst: Burst) {
        self.of.insert(number, burst);
        self.requests.entry(burst.address).or_default().insert(number);
    }

    /// Removes request `number`.
    fn remove(&mut self, number: u64) {
        let Some(Burst { address, .. }) = self.of.remove(&number) else { return };
        if let Entry::Occupied(mut requests) = self.requests.entry(address) {
            requests.get_mut().remove(&number);
            if requests.get().is_empty() {
                requests.remove();
            }
        }
    }

    /// Returns the numbers of all waiting requests to the burst of request `number`, oldest first.
    fn same_burst(&self, number: u64) -> &BTreeSet<u64> {
        &self.requests[&self.of[&number].address]
    }

    /// True if an older request to the burst of request `number` is still waiting.
    fn is_blocked(&self, number: u64) -> bool {
        self.same_burst(number).first() != Some(&number)
    }
}

/// State of a bank that determines the next command of each of its requests.
#[derive(Clone, Copy, Debug)]
enum RowState {
    /// No row is open.
    Closed,
    /// This row is open, and requests may hit it.
    Open(u32),
    /// A row is open that the policy forces the bank to close.
    MustClose,
}

impl RowState {
    /// Returns the kind of the next command that a request to the bank needs.
    fn next_kind(self, request: &Waiting) -> Kind {
        match self {
            RowState::Closed => Kind::Act,
            RowState::Open(row) if row == request.row => column_kind(request),
            RowState::Open(_) | RowState::MustClose => Kind::Pre,
        }
    }
}

/// Requests that wait for one bank.
#[derive(Debug, Default)]
struct Queue {
    requests: Requests,
    /// Kinds of the next commands that the requests need while no refresh is due, each with a cycle before which
    /// the command is illegal.
    needed: Vec<(Kind, u64)>,
}

/// Model of a DRAM channel that determines each command of its arbiter.
#[derive(Debug)]
pub struct Arbiter {
    legality: Legality,
    mapping: Mapping,
    policy: Box<dyn Policy>,
    reply_entries: usize,
    /// Number of bursts that were read and not sent yet.
    unsent_reads: usize,
    drain: Option<Drain>,
    refresh: Option<Refresh>,
    /// First cycle that was not checked yet.
    cycle: u64,
    /// Number of requests that the channel has accepted.
    num_accepted: u64,
    /// Bursts that the waiting requests access.
    bursts: Bursts,
    waiting: Requests,
    /// Waiting requests of each bank that has any.
    banks: BTreeMap<BankId, Queue>,
    rows: BTreeMap<BankId, u32>,
    /// Banks whose open row has served at least one request since the row was opened.
    used: BTreeSet<BankId>,
    /// Cycle before which no command is legal, unless a command is issued, a request accepted or a reply sent.
    quiet_until: u64,
}

impl Arbiter {
    /// Creates the model of an idle channel in cycle 0. `checker` holds the timing parameters, and states if
    /// the channel is refreshed.
    pub fn new(checker: Checker, mapping: Mapping, policy: Box<dyn Policy>, limits: Limits) -> Self {
        let refresh = checker.refresh.then_some(Refresh { due: checker.timing.refi, last: None });
        Self {
            legality: Legality::new(checker),
            mapping,
            policy,
            reply_entries: limits.reply_entries,
            unsent_reads: 0,
            drain: limits.write_drain.map(Drain::new),
            refresh,
            cycle: 0,
            num_accepted: 0,
            bursts: Bursts::default(),
            waiting: Requests::new(),
            banks: BTreeMap::new(),
            rows: BTreeMap::new(),
            used: BTreeSet::new(),
            quiet_until: 0,
        }
    }

    /// Compares the commands issued in `cycle` with the required ones. The channel must have issued none in
    /// the cycles since the previous call.
    ///
    /// # Errors
    /// Returns an error at the first cycle in which the commands differ, with an explanation.
    pub fn check(&mut self, cycle: u64, issued: &[Choice]) -> Result<(), String> {
        if let Some(last) = cycle.checked_sub(1) {
            self.check_idle(last)?;
        }
        self.check_next(issued)
    }

    /// Checks that no command is required in the cycles that were not checked yet, up to `cycle`.
    ///
    /// # Errors
    /// Returns an error at the first cycle with a required command, with an explanation.
    pub fn check_idle(&mut self, cycle: u64) -> Result<(), String> {
        while self.cycle <= cycle {
            self.check_next(&[])?;
        }
        Ok(())
    }

    /// Accepts a request in the last checked cycle, and returns its number. `address` is the byte address of
    /// its burst. `sm` is `None` for a request that the L2 itself makes.
    pub fn accept(&mut self, write: bool, address: u64, sm: Option<u32>) -> u64 {
        let (number, accept) = (self.num_accepted, self.cycle.saturating_sub(1));
        let place = self.mapping.place(address);
        let BurstLocation { bank, row, .. } = place;
        self.bursts.insert(number, Burst { address, place });
        let request = Waiting { number, sm, write, bank, row, accept };
        self.waiting.insert(number, request);
        self.banks.entry(bank).or_default().requests.insert(number, request);
        self.update_needed(bank);
        self.num_accepted += 1;
        self.quiet_until = 0;
        number
    }

    /// Records that the channel sent a burst in the last checked cycle, which frees a place in the buffer for
    /// read data.
    ///
    /// # Errors
    /// Returns an error if all bursts that were read had already been sent.
    pub fn send_reply(&mut self) -> Result<(), String> {
        let cycle = self.cycle.saturating_sub(1);
        let left = self.unsent_reads.checked_sub(1);
        self.unsent_reads = left.ok_or_else(|| format!("cycle {cycle}: a reply is sent, expected none"))?;
        self.quiet_until = 0;
        Ok(())
    }

    /// Checks the next cycle, in which `issued` was issued.
    fn check_next(&mut self, issued: &[Choice]) -> Result<(), String> {
        let cycle = self.cycle;
        self.cycle += 1;
        self.policy.begin(cycle, &self.waiting);
        let served = match &mut self.drain {
            Some(drain) => drain.select(cycle, &self.waiting).map(Served::Kind),
            None => Some(Served::All),
        };
        self.prepare_refresh(cycle);
        let mut expected = self.find_expected(cycle, served);
        let mut seen = issued.to_vec();
        let key = |choice: &Choice| (choice.command.kind.is_column(), choice.request);
        expected.sort_by_key(key);
        seen.sort_by_key(key);
        if seen != expected {
            let [seen, expected] = [&seen, &expected].map(|choices| format_choices(choices));
            return Err(format!("cycle {cycle}: {seen}, expected {expected}"));
        }
        // The row command (ACT or PRE) is applied after the column command, since the policy must see the
        // state at the start of the cycle.
        seen.iter().rev().for_each(|choice| self.issue(choice));
        Ok(())
    }

    /// True if the buffer for read data has room for one more burst.
    fn has_room(&self) -> bool {
        self.unsent_reads < self.reply_entries
    }

    /// Once a refresh is due, selects the row hits that are served before it. While the buffer for read data
    /// is full, removes from this selection the reads, and the writes that wait for an older request to the
    /// same burst.
    fn prepare_refresh(&mut self, cycle: u64) {
        let has_room = self.has_room();
        let Self { refresh: Some(Refresh { due, last }), waiting, rows, policy, bursts, .. } = self else { return };
        if cycle < *due {
            return;
        }
        let eligible = if policy.serves_only_the_oldest() { 1 } else { waiting.len() };
        let last = last.get_or_insert_with(|| {
            let hits = waiting.values().take(eligible).filter(|request| rows.get(&request.bank) == Some(&request.row));
            hits.map(|request| request.number).collect()
        });
        if !has_room {
            last.retain(|number| waiting[number].write && !bursts.is_blocked(*number));
        }
    }

    /// Returns the requests that are still served before a refresh; `None` if no refresh is due.
    fn last_before_refresh(&self) -> Option<&BTreeSet<u64>> {
        self.refresh.as_ref()?.last.as_ref()
    }

    /// Returns the sort key of a request: priority, then age. The request with the greatest key is served
    /// first. `next` is the kind of the next command that the request needs.
    fn order(&self, cycle: u64, request: &Waiting, next: Kind) -> (Vec<u64>, u64) {
        (self.policy.priority(cycle, request, next.is_column()), u64::MAX - request.number)
    }

    /// True if the channel may choose a request: one that the write drain selects, or one that delays a
    /// selected younger request to the same burst.
    fn is_eligible(&self, served: Served, request: &Waiting) -> bool {
        let is_selected = |request: &Waiting| served == Served::All || served == Served::Kind(request.write);
        let is_awaited = || {
            let mut younger = self.bursts.same_burst(request.number).range(request.number + 1..);
            younger.any(|number| is_selected(&self.waiting[number]))
        };
        is_selected(request) || is_awaited()
    }

    /// Returns the state of a bank while no refresh is due.
    fn row_state(&self, bank: BankId) -> RowState {
        match self.rows.get(&bank) {
            None => RowState::Closed,
            Some(_) if self.policy.must_close(bank) => RowState::MustClose,
            Some(&row) => RowState::Open(row),
        }
    }

    /// Updates the kinds of the next commands that the requests of a bank need, after a request was accepted or
    /// a command issued.
    fn update_needed(&mut self, bank: BankId) {
        let row = self.row_state(bank);
        if let Entry::Occupied(mut queue) = self.banks.entry(bank) {
            let Queue { requests, needed } = queue.get_mut();
            let is_needed = |kind: &Kind| requests.values().any(|request| row.next_kind(request) == *kind);
            let kinds = [Kind::Act, Kind::Pre, Kind::Rd, Kind::Wr].into_iter().filter(is_needed);
            *needed = kinds.map(|kind| (kind, 0)).collect();
            if needed.is_empty() {
                queue.remove();
            }
        }
    }

    /// Returns the legal commands that the banks request in a cycle.
    fn candidates(&mut self, cycle: u64, served: Served) -> Vec<Choice> {
        if let Some(last) = self.last_before_refresh() {
            let mut found = self.candidates_before_refresh(cycle, last);
            found.retain(|choice| self.is_legal(cycle, choice.command.kind, choice.command.bank));
            return found;
        }
        let legal = self.find_legal_kinds(cycle);
        let mut eligible = self.waiting.values().filter(|request| self.is_eligible(served, request));
        let only = if self.policy.serves_only_the_oldest() { eligible.next() } else { None };
        let mut found = Vec::new();
        for kinds in legal.chunk_by(|one, next| one.0 == next.0) {
            let bank = kinds[0].0;
            let row = self.row_state(bank);
            let requests = self.banks[&bank].requests.values().filter(|request| match only {
                Some(only) => only == *request,
                None => self.is_eligible(served, request),
            });
            let requests: Vec<_> = requests.map(|request| (request, row.next_kind(request))).collect();
            let of_bank = self.candidates_of_bank(cycle, bank, &requests).into_iter();
            found.extend(of_bank.filter(|choice| kinds.contains(&(bank, choice.command.kind))));
        }
        found
    }

    /// Returns each bank with each kind of command that one of its waiting requests needs next and that is
    /// legal in `cycle`, sorted by bank. If there is none, notes until when this cannot change, even if the
    /// write drain selects other requests.
    fn find_legal_kinds(&mut self, cycle: u64) -> Vec<(BankId, Kind)> {
        let mut legal = Vec::new();
        let mut first = self.refresh.as_ref().map_or(u64::MAX, |refresh| refresh.due);
        let has_room = self.has_room();
        for (&bank, queue) in &mut self.banks {
            for (kind, from) in queue.needed.iter_mut().filter(|(kind, _)| *kind != Kind::Rd || has_room) {
                if *from <= cycle {
                    *from = self.legality.legal_cycle(cycle, *kind, Some(bank));
                    legal.extend((*from <= cycle).then_some((bank, *kind)));
                }
                first = first.min(*from);
            }
        }
        self.quiet_until = first;
        legal
    }

    /// Returns the commands that a bank requests in a cycle, for `requests` with their next commands. The
    /// commands may still break a timing rule.
    fn candidates_of_bank(&self, cycle: u64, bank: BankId, requests: &[(&Waiting, Kind)]) -> Vec<Choice> {
        let hits = requests.iter().filter(|(_, next)| next.is_column());
        let num_hits = hits.clone().count();
        let serves_hits = num_hits == requests.len() || num_hits > 0 && !self.used.contains(&bank);
        let first = || requests.iter().max_by_key(|(request, next)| self.order(cycle, request, *next));
        match if serves_hits { None } else { first() } {
            Some((first, kind)) if !kind.is_column() => {
                let row = (*kind == Kind::Act).then_some(first.row);
                let command = Command { cycle, kind: *kind, bank: Some(bank), row, col: None };
                vec![Choice { command, request: Some(first.number) }]
            }
            _ => {
                let free = hits.filter(|(hit, _)| !self.bursts.is_blocked(hit.number));
                free.map(|(hit, _)| self.column(cycle, hit)).collect()
            }
        }
    }

    /// Returns the commands that may be issued while a refresh is due: those of the row hits in `last`, or
    /// else the next command of the refresh itself.
    fn candidates_before_refresh(&self, cycle: u64, last: &BTreeSet<u64>) -> Vec<Choice> {
        if last.is_empty() {
            let kind = if self.rows.is_empty() { Kind::Ref } else { Kind::Prea };
            let command = Command { cycle, kind, bank: None, row: None, col: None };
            return vec![Choice { command, request: None }];
        }
        let free = last.iter().filter(|number| !self.bursts.is_blocked(**number));
        free.map(|number| self.column(cycle, &self.waiting[number])).collect()
    }

    /// Returns the column command (RD or WR) that serves a request.
    fn column(&self, cycle: u64, request: &Waiting) -> Choice {
        let BurstLocation { bank, row, col } = self.bursts.of[&request.number].place;
        let kind = column_kind(request);
        let command = Command { cycle, kind, bank: Some(bank), row: Some(row), col: Some(col) };
        Choice { command, request: Some(request.number) }
    }

    /// Returns the commands that the channel must issue in a cycle. `served` is the kind of request that the
    /// write drain selects; a due refresh overrides it.
    fn find_expected(&mut self, cycle: u64, served: Option<Served>) -> Vec<Choice> {
        let is_refresh_due = self.last_before_refresh().is_some();
        let served = match served {
            _ if is_refresh_due => Served::All,
            Some(served) if !self.waiting.is_empty() && cycle >= self.quiet_until => served,
            _ => return Vec::new(),
        };
        let legal = self.candidates(cycle, served);
        let first = |of: &dyn Fn(&Choice) -> bool| {
            let on_bus = legal.iter().filter(|choice| of(choice)).copied();
            on_bus.max_by_key(|choice| {
                choice.request.map(|number| self.order(cycle, &self.waiting[&number], choice.command.kind))
            })
        };
        match self.legality.checker.timing.bus {
            Bus::Shared => first(&|_| true).into_iter().collect(),
            Bus::RowsApart => {
                let is_column = |choice: &Choice| choice.command.kind.is_column();
                [first(&is_column), first(&|choice| !is_column(choice))].into_iter().flatten().collect()
            }
        }
    }

    /// True if a command of this kind keeps its minimum distance from all earlier commands, and finds room
    /// for its data if it is an RD.
    fn is_legal(&mut self, cycle: u64, kind: Kind, bank: Option<BankId>) -> bool {
        if kind == Kind::Rd && !self.has_room() {
            return false;
        }
        self.legality.legal_cycle(cycle, kind, bank) <= cycle
    }

    /// Updates the model of the channel after a command.
    fn issue(&mut self, choice: &Choice) {
        let Choice { command, request } = choice;
        if let Some(&served) = request.as_ref().and_then(|number| self.waiting.get(number)) {
            self.policy.issue(command.cycle, &served, command.kind, &self.waiting);
            if command.kind.is_column() {
                self.serve(&served);
            } else {
                self.used.remove(&served.bank);
            }
        }
        if let Some(refresh) = self.refresh.as_mut().filter(|_| command.kind == Kind::Ref) {
            *refresh = Refresh { due: refresh.due + self.legality.checker.timing.refi, last: None };
        }
        advance(&mut self.rows, command);
        self.legality.record(*command);
        match command.bank {
            Some(bank) => self.update_needed(bank),
            None => {
                self.banks.keys().copied().collect::<Vec<_>>().into_iter().for_each(|bank| self.update_needed(bank))
            }
        }
        self.quiet_until = 0;
    }

    /// Removes a request whose RD or WR was issued.
    fn serve(&mut self, request: &Waiting) {
        self.waiting.remove(&request.number);
        if let Some(queue) = self.banks.get_mut(&request.bank) {
            queue.requests.remove(&request.number);
        }
        self.bursts.remove(request.number);
        self.used.insert(request.bank);
        self.unsent_reads += usize::from(!request.write);
        if let Some(last) = self.refresh.as_mut().and_then(|refresh| refresh.last.as_mut()) {
            last.remove(&request.number);
        }
    }
}

/// Requests that the write drain lets take part in the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// All requests: there is no write drain, or a refresh is due.
    All,
    /// Writes if true, otherwise reads.
    Kind(bool),
}

/// Returns the kind of the column command that serves a request.
fn column_kind(request: &Waiting) -> Kind {
    if request.write { Kind::Wr } else { Kind::Rd }
}

/// Formats commands and their requests as text for an error message.
fn format_choices(choices: &[Choice]) -> String {
    let each = choices.iter().map(|Choice { command, request }| match request {
        Some(request) => format!("{command} for request {request}"),
        None => format!("{command} for a refresh"),
    });
    if choices.is_empty() { "no command".to_owned() } else { each.collect::<Vec<_>>().join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::super::policy::{ChannelInfo, Scheme, bliss, fcfs, fr_fcfs};
    use super::super::timing::Timing;
    use super::*;

    const CHANNEL: ChannelInfo = ChannelInfo { num_sms: 2, read_latency: 14, write_latency: 6 };

    /// Limits under which reads are never delayed.
    const NO_LIMITS: Limits = Limits { reply_entries: 256, write_drain: None };

    /// Checks the arbitration of commands of the form `(cycle, kind, request)`. They serve three reads of
    /// bank 0.0: the first and the last access row 1, the second accesses row 2. The channel accepts one read
    /// per cycle, and sends a reply in each of the cycles `replies`.
    fn judge_limited(
        scheme: &dyn Scheme,
        limits: Limits,
        replies: &[u64],
        commands: &[(u64, Kind, u64)],
    ) -> Option<String> {
        let addresses = [1 << 16, 2 << 16, (1 << 16) + 64];
        let mapping = Mapping::reference();
        let choice = |&(cycle, kind, request): &(u64, Kind, u64)| {
            let BurstLocation { bank, row, col } = mapping.place(addresses[request as usize]);
            let (row, col) = ((kind != Kind::Pre).then_some(row), kind.is_column().then_some(col));
            Choice { command: Command { cycle, kind, bank: Some(bank), row, col }, request: Some(request) }
        };
        let checker = Checker::new(Timing::REFERENCE, false);
        let mut arbiter = Arbiter::new(checker, Mapping::reference(), scheme.twin(&CHANNEL), limits);
        for cycle in 0..=commands.last().expect("a command").0 {
            let issued: Vec<_> = commands.iter().filter(|command| command.0 == cycle).map(choice).collect();
            if let Err(text) = arbiter.check(cycle, &issued) {
                return Some(text);
            }
            if let Some(&address) = addresses.get(cycle as usize) {
                arbiter.accept(false, address, Some(0));
            }
            if replies.contains(&cycle) {
                arbiter.send_reply().expect("a read was served");
            }
        }
        None
    }

    fn judge(scheme: &dyn Scheme, commands: &[(u64, Kind, u64)]) -> Option<String> {
        judge_limited(scheme, NO_LIMITS, &[], commands)
    }

    const HITS_FIRST: [(u64, Kind, u64); 6] = [
        (1, Kind::Act, 0),
        (13, Kind::Rd, 0),
        (16, Kind::Rd, 2),
        (29, Kind::Pre, 1),
        (41, Kind::Act, 1),
        (53, Kind::Rd, 1),
    ];

    #[test]
    fn a_row_hit_may_overtake_under_fr_fcfs_but_not_beyond_the_cap_nor_under_fcfs() {
        let capped = fr_fcfs::Config { hit_cap: 1 };
        assert_eq!(judge(&fr_fcfs::Config { hit_cap: 0 }, &HITS_FIRST), None);
        assert_eq!(judge(&capped, &HITS_FIRST), None);
        let found = judge(&fcfs::Fcfs {}, &HITS_FIRST).unwrap();
        assert_eq!(found, "cycle 16: Rd bank 0.0 row 1 col 1 at 16 for request 2, expected no command");
    }

    #[test]
    fn a_command_that_is_late_or_serves_the_wrong_request_is_named() {
        let mut late = HITS_FIRST;
        late[2].0 = 17;
        let none = judge(&fr_fcfs::Config { hit_cap: 0 }, &late).unwrap();
        assert_eq!(none, "cycle 16: no command, expected Rd bank 0.0 row 1 col 1 at 16 for request 2");
        let wrong = [(1, Kind::Act, 0), (13, Kind::Rd, 2)];
        let found = judge(&bliss::Config { threshold: 4, interval: 10_000 }, &wrong).unwrap();
        assert!(found.starts_with("cycle 13: Rd bank 0.0 row 1 col 1 at 13 for request 2, expected Rd"), "{found}");
    }

    #[test]
    fn a_full_reply_buffer_delays_reads_until_the_cycle_after_a_reply() {
        let one = Limits { reply_entries: 1, ..NO_LIMITS };
        let scheme = fr_fcfs::Config { hit_cap: 0 };
        let late = [(1, Kind::Act, 0), (13, Kind::Rd, 0), (31, Kind::Rd, 2)];
        assert_eq!(judge_limited(&scheme, one, &[30], &late), None);
        let found = judge_limited(&scheme, one, &[29], &late).unwrap();
        assert!(found.starts_with("cycle 30: no command, expected Rd"), "{found}");
        let found = judge_limited(&scheme, one, &[30], &HITS_FIRST).unwrap();
        assert_eq!(found, "cycle 16: Rd bank 0.0 row 1 col 1 at 16 for request 2, expected no command");
        let mut idle = Arbiter::new(
            Checker::new(Timing::REFERENCE, false),
            Mapping::reference(),
            scheme.twin(&CHANNEL),
            NO_LIMITS,
        );
        assert_eq!(idle.check(7, &[]), Ok(()));
        assert_eq!(idle.send_reply(), Err("cycle 7: a reply is sent, expected none".to_owned()));
    }

    #[test]
    fn a_refresh_waits_for_the_row_hits_that_wait_when_it_is_due() {
        let timing = Timing { refi: 300, ..Timing::REFERENCE };
        let scheme = fr_fcfs::Config { hit_cap: 0 };
        let arbiter = || {
            let policy = scheme.twin(&CHANNEL);
            Arbiter::new(Checker::new(timing, true), Mapping::reference(), policy, NO_LIMITS)
        };
        let command = |cycle, kind| Command { cycle, kind, bank: None, row: None, col: None };
        let refresh = |cycle, kind| [Choice { command: command(cycle, kind), request: None }];
        let mut idle = arbiter();
        assert_eq!(idle.check(300, &refresh(300, Kind::Ref)), Ok(()));
        assert_eq!(idle.check(600, &refresh(600, Kind::Ref)), Ok(()));
        assert_eq!(idle.check(901, &[]).unwrap_err(), "cycle 900: no command, expected Ref at 900 for a refresh");

        let mut busy = arbiter();
        busy.check(280, &[]).unwrap();
        busy.accept(false, 1 << 16, Some(0));
        let BurstLocation { bank, row, col } = Mapping::reference().place(1 << 16);
        let act = Command { bank: Some(bank), row: Some(row), ..command(281, Kind::Act) };
        let rd = Command { bank: Some(bank), row: Some(row), col: Some(col), ..command(293, Kind::Rd) };
        busy.check(281, &[Choice { command: act, request: Some(0) }]).unwrap();
        busy.check(293, &[Choice { command: rd, request: Some(0) }]).unwrap();
        busy.check(298, &[]).unwrap();
        // Before the refresh, only a read of the open row that was accepted before the refresh was due is
        // served. A read that is accepted later waits.
        busy.accept(false, (1 << 16) + 64, Some(0));
        let hit = Command { cycle: 299, col: Some(col + 1), ..rd };
        busy.check(299, &[Choice { command: hit, request: Some(1) }]).unwrap();
        busy.check(300, &[]).unwrap();
        busy.accept(false, (1 << 16) + 128, Some(0));
        busy.check(309, &refresh(309, Kind::Prea)).unwrap();
        busy.check(321, &refresh(321, Kind::Ref)).unwrap();
        let act = Command { cycle: 382, ..act };
        assert_eq!(busy.check(382, &[Choice { command: act, request: Some(2) }]), Ok(()));
    }

    /// Checks the commands of a channel that accepts a read and then a write of the same bank, row and column,
    /// and serves the write first. The address of the write is `beyond` bytes above that of the read.
    fn judge_overtaking(beyond: u64, limits: Limits) -> Result<(), String> {
        let (mapping, address) = (Mapping::reference(), (1 << 16) + 64);
        let BurstLocation { bank, row, col } = mapping.place(address);
        assert_eq!(mapping.place(address + beyond), mapping.place(address));
        let policy = fr_fcfs::Config { hit_cap: 0 }.twin(&CHANNEL);
        let mut arbiter = Arbiter::new(Checker::new(Timing::REFERENCE, false), mapping, policy, limits);
        let act = Command { cycle: 1, kind: Kind::Act, bank: Some(bank), row: Some(row), col: None };
        let write = Command { cycle: 11, kind: Kind::Wr, col: Some(col), ..act };
        arbiter.check(0, &[])?;
        arbiter.accept(false, address, Some(0));
        arbiter.check(1, &[Choice { command: act, request: Some(0) }])?;
        arbiter.accept(true, address + beyond, Some(0));
        arbiter.check(11, &[Choice { command: write, request: Some(1) }])
    }

    #[test]
    fn requests_to_one_place_wait_for_each_other_only_if_their_addresses_are_equal() {
        let capacity = 1 << 28;
        // If writes are drained, the read is served first only if a write waits for it.
        let drain = Limits { write_drain: Some(Watermarks { high: 1, low: 0, idle: 0 }), ..NO_LIMITS };
        for limits in [NO_LIMITS, drain] {
            assert_eq!(judge_overtaking(capacity, limits), Ok(()));
            let text = judge_overtaking(0, limits).unwrap_err();
            assert!(text.starts_with("cycle 11: Wr") && text.ends_with("expected no command"), "{text}");
        }
    }
}
