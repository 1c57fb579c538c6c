//! # Memory-model check of the tracker testbench
//! Passes the events of a [`super::rig::Rig`] to the memory-model checker, kernel by kernel.

use std::collections::{HashMap, VecDeque};

use golden::consistency::{Checker, Issue, PendingLoad};

use super::rig::{Event, OpKind, Rig};

/// Memory-model checker, with the accesses in flight. When one of these accesses completes, the checker must
/// be notified.
#[derive(Default)]
pub struct MemoryModelCheck {
    checker: Checker,
    /// Loads in flight, by compute unit and number of the access.
    loading: HashMap<(usize, usize), PendingLoad>,
    /// For each compute unit, the coherent loads that have not reached memory yet.
    coherent: HashMap<usize, VecDeque<(usize, Issue)>>,
    /// Atomic exchanges in flight, by compute unit and the value to write. No value is written twice.
    exchanges: HashMap<(usize, u32), (usize, Issue)>,
    /// Value that memory returned for an access, by compute unit and number of the access.
    given: HashMap<(usize, usize), u32>,
}

impl MemoryModelCheck {
    /// Passes all events since the last call to the memory-model checker.
    ///
    /// # Errors
    /// Returns an error if a load returned a value that the memory model does not allow. The error describes
    /// the first such load.
    pub fn follow(&mut self, rig: &mut Rig) -> Result<(), String> {
        for (cu, event) in rig.take_events() {
            self.event(rig, cu, event)?;
        }
        Ok(())
    }

    fn event(&mut self, rig: &Rig, cu: usize, event: Event) -> Result<(), String> {
        let checker = &mut self.checker;
        match event {
            Event::Issued(number) => {
                let op = rig.op(cu, number);
                match op.does {
                    OpKind::Loads => drop(self.loading.insert((cu, number), checker.begin(cu, op.cell()))),
                    OpKind::LoadsCoherently => {
                        self.coherent.entry(cu).or_default().push_back((number, checker.issue()))
                    }
                    OpKind::Stores(value) => checker.store(cu, op.cell(), value.into()),
                    OpKind::Exchanges(value) => drop(self.exchanges.insert((cu, value), (number, checker.issue()))),
                }
            }
            Event::Performed(cell) => checker.perform(cu, cell),
            Event::ReadLine(line, words) => {
                // Coherent loads of the same line keep their order. Coherent loads of different lines may be
                // reordered, since they may go to different banks.
                let waiting = self.coherent.entry(cu).or_default();
                let first = waiting.iter().position(|(number, _)| rig.op(cu, *number).line == line);
                let number = first.and_then(|first| waiting.remove(first));
                let (number, issue) =
                    number.ok_or_else(|| format!("compute unit {cu} reads memory without a request"))?;
                let op = rig.op(cu, number);
                let value = words[op.word as usize];
                self.given.insert((cu, number), value);
                let read = Some(value.into());
                checker.record_coherent_from(issue, cu, op.cell(), read, None).map_err(|e| e.to_string())?;
            }
            Event::Exchanged(cell, old, new) => {
                let number = self.exchanges.remove(&(cu, new));
                let (number, issue) =
                    number.ok_or_else(|| format!("compute unit {cu} exchanges {new:#x} without a request"))?;
                self.given.insert((cu, number), old);
                let (read, write) = (Some(old.into()), Some(new.into()));
                checker.record_coherent_from(issue, cu, cell, read, write).map_err(|e| e.to_string())?;
            }
            Event::Answered(number, value) => match rig.op(cu, number).does {
                OpKind::Loads => {
                    let load = self.loading.remove(&(cu, number)).ok_or("an answer without a load")?;
                    checker.end(load, value.into()).map_err(|e| e.to_string())?;
                }
                OpKind::LoadsCoherently | OpKind::Exchanges(_) => {
                    let given = self.given.remove(&(cu, number));
                    if given != Some(value) {
                        return Err(format!("memory gave {given:x?}, but compute unit {cu} read {value:#x}"));
                    }
                }
                OpKind::Stores(_) => {}
            },
        }
        Ok(())
    }

    /// Notifies the memory-model checker that the kernel has ended.
    pub fn end_kernel(&mut self) {
        self.checker.end_kernel();
    }
}
