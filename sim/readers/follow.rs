//! # Follow: the path of one request through the machine, from a waveform dump
//! Lists, in order of time, the ports and queues that had the request at their head. A port of a DRAM channel
//! shows the number of a request but not its SM, and requests of different SMs may have the same number. A
//! number at a DRAM port is therefore attributed to the followed request only under two conditions. First,
//! some port that shows the SM must have held the followed request earlier, in the same memory partition as
//! the DRAM port. Second, some port that shows the SM must hold it at the same time or later.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::places::{RequestPort, SmSource, places};
use super::readback::{Readback, Unreadable};

/// Interval in which a request is at the head of one port or queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Path of the port or queue, without the name of the machine.
    pub path: String,
    /// Start of the interval in ps.
    pub from: u64,
    /// End of the interval in ps: the time at which the request leaves the head. `None` if it is still
    /// there at the end of the dump.
    pub to: Option<u64>,
    /// False if the port carries only the request's number and not its SM, so that it may be a request of
    /// another SM.
    pub is_certain: bool,
}

/// Path of a request through the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// SM that sent the request.
    pub sm: u64,
    /// Intervals in which the request was at the head of a port or queue, in order of time.
    pub stays: Vec<Stay>,
}

/// Reason why a request cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The file is not a readable dump.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// No signal in the dump carries the number of a request.
    #[error("{}: no signal has a request number, expected ports such as `machine.sm0.l1.mem_rsp.id`", path.display())]
    NoPlaces {
        /// Path of the dump.
        path: PathBuf,
    },
    /// The request number never appears.
    #[error("{}: request {request} never appears{}", path.display(), range.map_or(String::new(), |(low, high)| format!(", expected a number from {low} to {high}")))]
    Absent {
        /// Path of the dump.
        path: PathBuf,
        /// Request number that was searched for.
        request: u64,
        /// Lowest and highest request number in the dump.
        range: Option<(u64, u64)>,
    },
    /// The requested SM does not appear in the dump.
    #[error("{}: no SM {sm} in this waveform, expected {}", path.display(), join(sms))]
    NoSuchSm {
        /// Path of the dump.
        path: PathBuf,
        /// SM that was requested.
        sm: u64,
        /// Numbers of the SMs that appear in the dump.
        sms: Vec<u64>,
    },
    /// Several SMs have a request with this number.
    #[error("request {request} exists in SMs {}, choose one with `--sm`", join(sms))]
    Ambiguous {
        /// Request number that was searched for.
        request: u64,
        /// SMs that have a request with this number.
        sms: Vec<u64>,
    },
}

fn join(sms: &[u64]) -> String {
    sms.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Follows a request through a dump. If no SM is given, only one SM may have a request with this number.
///
/// # Errors
/// Fails if the dump cannot be read or the request cannot be found.
pub fn follow(wave: Readback, request: u64, sm: Option<u64>) -> Result<Life, FollowError> {
    let path = &wave.path().to_owned();
    let dump = Signals::read(wave)?;
    if dump.places.is_empty() {
        return Err(FollowError::NoPlaces { path: path.clone() });
    }
    let mut certain = Vec::new();
    let mut uncertain = Vec::new();
    let mut sms = BTreeSet::new();
    let mut range = None;
    let fixed = |place: &RequestPort| match place.sm {
        SmSource::Fixed(sm) => Some(sm),
        SmSource::Signal(_) | SmSource::Unknown => None,
    };
    let mut known: BTreeSet<u64> = dump.places.iter().filter_map(fixed).collect();
    for place in &dump.places {
        for (found, asker, stay) in dump.stays(place) {
            known.extend(asker);
            range = Some(range.map_or((found, found), |(low, high): (u64, u64)| (low.min(found), high.max(found))));
            match asker {
                _ if found != request => {}
                Some(asker) if sm.is_none_or(|sm| sm == asker) => {
                    sms.insert(asker);
                    certain.push(stay);
                }
                Some(_) => {}
                None => uncertain.push(stay),
            }
        }
    }
    if let Some(sm) = sm.filter(|sm| !known.contains(sm)) {
        return Err(FollowError::NoSuchSm { path: path.clone(), sm, sms: known.into_iter().collect() });
    }
    let sms: Vec<u64> = sms.into_iter().collect();
    let &[sm] = sms.as_slice() else {
        return Err(match sms.len() {
            0 => FollowError::Absent { path: path.clone(), request, range },
            _ => FollowError::Ambiguous { request, sms },
        });
    };
    let top = |stay: &Stay| stay.path.split('.').next().unwrap_or_default().to_owned();
    let last = certain.iter().map(|stay| stay.to.unwrap_or(u64::MAX)).max().unwrap_or(0);
    let arrived = |partition: &str| certain.iter().filter(|stay| top(stay) == partition).map(|stay| stay.from).min();
    uncertain.retain(|stay| arrived(&top(stay)).is_some_and(|from| stay.from >= from && stay.from < last));
    let mut stays = certain;
    stays.extend(uncertain);
    stays.sort_by_key(|stay| (stay.from, stay.to));
    Ok(Life { sm, stays })
}

/// Waveform dump, with the ports and queues whose signals show requests.
struct Signals {
    places: Vec<RequestPort>,
    dump: Readback,
}

impl Signals {
    fn read(mut dump: Readback) -> Result<Self, Unreadable> {
        let places = places(&dump.paths);
        let mut needed = BTreeSet::new();
        for RequestPort { id, valid, sm, .. } in &places {
            needed.extend([*id, *valid]);
            needed.extend(match sm {
                SmSource::Signal(at) => Some(*at),
                SmSource::Fixed(_) | SmSource::Unknown => None,
            });
        }
        dump.load(needed)?;
        Ok(Self { places, dump })
    }

    /// Returns all requests that were at the head of a port or queue, each with its number, its SM if known,
    /// and the interval.
    fn stays(&self, place: &RequestPort) -> Vec<(u64, Option<u64>, Stay)> {
        let signal = |at: usize| self.dump.changes(at);
        let asker = match place.sm {
            SmSource::Signal(at) => signal(at),
            SmSource::Fixed(_) | SmSource::Unknown => &[],
        };
        let moments: BTreeSet<u64> =
            [signal(place.id), signal(place.valid), asker].into_iter().flatten().map(|(time, _)| *time).collect();
        let mut stays: Vec<(u64, Option<u64>, Stay)> = Vec::new();
        let mut here = None;
        for time in moments {
            let is_valid = self.dump.value(place.valid, time).is_some_and(|valid| valid != 0);
            let sm = match place.sm {
                SmSource::Fixed(sm) => Some(sm),
                SmSource::Signal(at) => self.dump.value(at, time),
                SmSource::Unknown => None,
            };
            let now = self.dump.value(place.id, time).filter(|_| is_valid).map(|id| (id, sm));
            if now == here {
                continue;
            }
            if let (Some(_), Some((_, _, stay))) = (here, stays.last_mut()) {
                stay.to = Some(time);
            }
            if let Some((id, sm)) = now {
                let is_certain = place.sm != SmSource::Unknown;
                stays.push((id, sm, Stay { path: place.path.clone(), from: time, to: None, is_certain }));
            }
            here = now;
        }
        stays
    }
}
