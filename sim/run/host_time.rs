//! What something took of this host's time.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTime {
    /// By the clock on the wall.
    pub wall: Duration,
    /// Of processors, for all threads of this process together.
    pub cpu: Duration,
}

impl std::ops::AddAssign for HostTime {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Measures spans.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    started: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), cpu: cpu() }
    }

    /// Since the start.
    #[must_use]
    pub fn time(&self) -> HostTime {
        HostTime { wall: self.started.elapsed(), cpu: cpu().saturating_sub(self.cpu) }
    }
}

fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
