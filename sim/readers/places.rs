//! # Places: the signals that carry a request's number
//! A request carries its number through every port as a signal `id` (`head_id` at the tags of an L1). Each SM
//! numbers its requests independently. At a port that serves several SMs, a signal `sm` next to `id`
//! therefore identifies the SM. Ports of the DRAM carry only the number.

/// Port or queue at which request numbers are visible, with the signals that belong to it. A signal is given
/// by its index in the list of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestPort {
    /// Path of the port or queue, without the name of the outermost scope and without the signal name `id`,
    /// for example `sm0.l1.mem_rsp`.
    pub(super) path: String,
    /// Signal that carries the request number.
    pub(super) id: usize,
    /// Signal that is nonzero while a request is present.
    pub(super) valid: usize,
    /// Way to find the SM to which the request belongs.
    pub(super) sm: SmSource,
}

/// Way to find the SM to which a request at a port or queue belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmSource {
    /// The port serves only the SM with this number.
    Fixed(u64),
    /// The value of the signal with this index is the number of the SM.
    Signal(usize),
    /// The port carries the request number, but not the SM.
    Unknown,
}

/// Finds all ports and queues that carry request numbers. `paths` are the paths of all signals, which begin
/// with the root's name.
pub(super) fn places(paths: &[String]) -> Vec<RequestPort> {
    let by_path: std::collections::HashMap<&str, usize> =
        paths.iter().enumerate().map(|(at, path)| (path.as_str(), at)).collect();
    let find = |path: String| by_path.get(path.as_str()).copied();
    let place = |(id, path): (usize, &String)| {
        let (scope, name) = path.rsplit_once('.')?;
        let valid = match name {
            "head_id" => find(format!("{scope}.head_valid"))?,
            "id" => {
                let above = scope.rsplit_once('.').map_or("", |(above, _)| above);
                // Finds the signal that is nonzero while a request is present. This is `valid` at a port,
                // `level` (the number of entries) at a queue, and `kind` for a command.
                let ways = [format!("{scope}.valid"), format!("{above}.level"), format!("{scope}.kind")];
                let is_oldest = scope.ends_with(".oldest");
                let [valid, level, kind] = ways.map(find);
                valid.or(level.filter(|_| is_oldest)).or(kind)?
            }
            _ => return None,
        };
        let short = scope.split_once('.').map_or(scope, |(_, below)| below);
        let own = short.split('.').next().and_then(|first| first.strip_prefix("sm")).and_then(|sm| sm.parse().ok());
        let sm = match (own, find(format!("{scope}.sm"))) {
            // If there is a signal `sm`, it takes precedence over the SM in the path. An L1 that supplies
            // other L1s receives their requests at a port in its own SM; there, the signal `sm` shows which
            // SM sent the request.
            (_, Some(signal)) => SmSource::Signal(signal),
            (Some(sm), None) => SmSource::Fixed(sm),
            (None, None) => SmSource::Unknown,
        };
        Some(RequestPort { path: short.to_owned(), id, valid, sm })
    };
    paths.iter().enumerate().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_with_what_gives_it_a_meaning() {
        let names = [
            "sm3.l1.head_id",
            "sm3.l1.head_valid",
            "sm3.l1.coalescer.next_id",
            "partition0.l2.req.valid",
            "partition0.l2.req.id",
            "partition0.l2.req.sm",
            "partition0.dram.command.kind",
            "partition0.dram.command.id",
            "partition0.dram.queue.level",
            "partition0.dram.queue.oldest.id",
            "sm3.l1.forward.valid",
            "sm3.l1.forward.id",
            "sm3.l1.forward.sm",
        ];
        let paths = names.map(|name| format!("machine.{name}"));
        let place = |path: &str, id, valid, sm| RequestPort { path: path.to_owned(), id, valid, sm };
        let expected = [
            place("sm3.l1", 0, 1, SmSource::Fixed(3)),
            place("partition0.l2.req", 4, 3, SmSource::Signal(5)),
            place("partition0.dram.command", 7, 6, SmSource::Unknown),
            place("partition0.dram.queue.oldest", 9, 8, SmSource::Unknown),
            place("sm3.l1.forward", 11, 10, SmSource::Signal(12)),
        ];
        assert_eq!(places(&paths), expected);
    }
}
