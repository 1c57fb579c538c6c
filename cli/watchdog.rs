//! A hook of a scheme that never returns holds a run up for ever: no signal is looked at any more, no cycle counted. The
//! watchdog sees that a call is the same as seconds ago, says which it is, and ends the process.

use std::collections::HashMap;
use std::process;
use std::thread;
use std::time::Duration;

use rtl::hook::{HookCall, current_calls};
use warpsieve::crash;
use waves::part_file;

use super::{Exit, output};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks at one call after which it is taken to last for ever: a slow machine calls a hook thousands of times in a second.
/// Looks are counted, not seconds: a process that is stopped does not look either.
const MOST_LOOKS: u32 = 10;

/// Watches the hooks of this process from now on.
pub(super) fn watch() {
    // Without a thread for it nobody watches, and all else is as it was.
    let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(|| {
        let mut looks: HashMap<(u64, u64), u32> = HashMap::new();
        loop {
            thread::sleep(LOOK_EVERY);
            let calls = current_calls();
            let key = |call: &HookCall| (call.thread, call.number);
            looks = calls.iter().map(|call| (key(call), looks.get(&key(call)).map_or(1, |looks| looks + 1))).collect();
            if let Some(call) = calls.iter().find(|call| looks[&key(call)] > MOST_LOOKS) {
                end(call)
            }
        }
    });
}

fn end(call: &HookCall) -> ! {
    part_file::discard_all();
    let (call, seconds) = (crash::named(call), u64::from(MOST_LOOKS) * LOOK_EVERY.as_secs());
    output::complain(&format!(
        "internal error: {call}: it has not returned for {seconds} s\n\
         The scheme broke one of its own rules. Nothing of this run can be trusted, and nothing is written."
    ));
    process::exit(Exit::CheckFailed.status().into())
}
