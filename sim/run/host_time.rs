//! Measurement of the time that the simulator itself takes.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time that the simulator has taken for a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTime {
    /// Elapsed wall-clock time.
    pub wall: Duration,
    /// CPU time of all threads of this process.
    pub cpu: Duration,
}

impl std::ops::AddAssign for HostTime {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Timer for the time that the simulator takes.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    started: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts the timer.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), cpu: cpu() }
    }

    /// Returns the time since the timer was started.
    #[must_use]
    pub fn time(&self) -> HostTime {
        HostTime { wall: self.started.elapsed(), cpu: cpu().saturating_sub(self.cpu) }
    }
}

fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
