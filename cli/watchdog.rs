//! Ends the process if a function of a scheme, which the hardware model calls, never returns. Such a call
//! blocks the simulation: cycles no longer pass, and signals are no longer checked. The watchdog finds that
//! the same call is still running after several seconds, reports it, and ends the process.

use std::collections::HashMap;
use std::process;
use std::thread;
use std::time::Duration;

use rtl::hook::{HookCall, current_calls};
use warpsieve::crash;
use waves::atomic_file;

use super::{Exit, output};

/// Interval between two checks of the running calls.
const POLL_PERIOD: Duration = Duration::from_secs(1);
/// Number of checks after which a call that is still running is taken to be endless: even a slow computer
/// completes thousands of calls per second. The limit counts checks instead of seconds, because no check
/// takes place while the process is stopped (SIGSTOP).
const MAX_POLLS: u32 = 10;

/// Starts the thread that watches the calls of scheme functions in this process.
pub(super) fn watch() {
    // If the thread cannot start, the process runs without a watchdog.
    let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(|| {
        let mut looks: HashMap<(u64, u64), u32> = HashMap::new();
        loop {
            thread::sleep(POLL_PERIOD);
            let calls = current_calls();
            let key = |call: &HookCall| (call.thread, call.number);
            looks = calls.iter().map(|call| (key(call), looks.get(&key(call)).map_or(1, |looks| looks + 1))).collect();
            if let Some(call) = calls.iter().find(|call| looks[&key(call)] > MAX_POLLS) {
                end(call)
            }
        }
    });
}

fn end(call: &HookCall) -> ! {
    atomic_file::discard_all();
    let (call, seconds) = (crash::format_hook_call(call), u64::from(MAX_POLLS) * POLL_PERIOD.as_secs());
    output::print_error(&format!(
        "internal error: {call}: it has not returned for {seconds} s\n\
         The scheme broke one of its own rules. No result of this run can be trusted, and nothing is written."
    ));
    process::exit(Exit::CheckFailed.status().into())
}
