//! Thread that owns a machine. While a Python thread waits for the machine, it checks for Python signals at
//! short intervals, so that a signal such as Ctrl-C can stop a launch. Other Python threads can run in the
//! meantime.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rtl::machine::MachineConfig;
use warpsieve::crash::catch_panic;
use warpsieve::run::{Device, RunError, RunOptions, RunReport};

use crate::errors::{Failure, Kind};

/// Interval at which Python's signals are polled while a call waits.
const POLL: Duration = Duration::from_millis(50);
/// Time that Python waits for a launch to end after a signal. A checked launch may take longer to end,
/// because the functional interpreter may be at work; Python then goes on without it.
const GRACE: Duration = Duration::from_millis(500);
/// Stack size of the thread in bytes, as large as that of a main thread.
const STACK_BYTES: usize = 8 << 20;
/// Signal number that is passed to a launch to stop it. The number is arbitrary, since Python's own signal
/// handler has already reacted to the real signal.
const SIGNAL: usize = 2;

/// Work to be performed on the machine by its thread. It returns an error if the machine must not be used
/// afterwards.
type Job = Box<dyn FnOnce(&mut Device<'_>) -> Result<(), Failure> + Send>;

enum Request {
    Work(Job),
    Finish(Sender<Result<RunReport, Failure>>),
}

/// Handle through which Python threads use the thread that owns a machine.
pub(crate) struct Worker {
    /// Channel of requests to the thread; `None` after the machine has been closed.
    requests: Mutex<Option<Sender<Request>>>,
    interrupt: Arc<AtomicUsize>,
}

impl Worker {
    /// Starts the thread and creates the machine.
    pub fn start(py: Python<'_>, config: MachineConfig, options: RunOptions, path: PathBuf) -> PyResult<Self> {
        let interrupt = Arc::clone(&options.interrupt);
        let (requests, received) = mpsc::channel();
        let (created, is_created) = mpsc::channel();
        thread::Builder::new()
            .name("machine".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(&config, &options, path, &created, &received))?;
        let worker = Self { requests: Mutex::new(Some(requests)), interrupt };
        worker.wait(py, is_created)?;
        Ok(worker)
    }

    /// Performs work on the machine and returns the result.
    pub fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Device<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let (to, from) = mpsc::channel();
        let interrupt = Arc::clone(&self.interrupt);
        let job = move |device: &mut Device<'_>| {
            let done = catch_panic(|| work(device));
            interrupt.store(0, Ordering::Relaxed);
            let broken = done.as_ref().err().map(|text| Failure::new(Kind::Internal, text));
            // If a signal ended the call, no Python thread waits for the result anymore. `send` then returns
            // an error, which is ignored.
            let _ = to.send(done.unwrap_or_else(|text| Err(Failure { kind: Kind::Internal, text })));
            broken.map_or(Ok(()), Err)
        };
        self.send(py, Request::Work(Box::new(job)))?;
        self.wait(py, from)
    }

    /// Completes the outputs and closes the machine. Returns `None` if it has been closed before.
    pub fn finish(&self, py: Python<'_>) -> PyResult<Option<RunReport>> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(requests) = requests else { return Ok(None) };
        let (to, from) = mpsc::channel();
        if requests.send(Request::Finish(to)).is_err() {
            return Ok(None);
        }
        self.wait(py, from).map(Some)
    }

    fn send(&self, py: Python<'_>, request: Request) -> PyResult<()> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        match requests.as_ref().map(|requests| requests.send(request)) {
            Some(Ok(())) => Ok(()),
            _ => Err(Failure::new(Kind::Stopped, "the machine is closed").into_error(py)),
        }
    }

    /// Waits for a result. If a Python signal handler raises an exception during the wait, requests the
    /// machine to stop.
    fn wait<T: Send>(&self, py: Python<'_>, mut from: Receiver<Result<T, Failure>>) -> PyResult<T> {
        loop {
            let received;
            (from, received) = py.detach(move || {
                let received = from.recv_timeout(POLL);
                (from, received)
            });
            match received {
                Ok(done) => return done.map_err(|failure| failure.into_error(py)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new(Kind::Stopped, "the machine is closed").into_error(py));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(raised) = py.check_signals() {
                self.interrupt.store(SIGNAL, Ordering::Relaxed);
                let until = Instant::now() + GRACE;
                py.detach(move || drop(from.recv_timeout(until - Instant::now())));
                return Err(raised);
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // If a launch is still running, nobody needs its result any more, so the launch is stopped.
        self.interrupt.store(SIGNAL, Ordering::Relaxed);
    }
}

/// Creates the machine, and serves requests until it is closed or dropped.
fn serve(
    config: &MachineConfig,
    options: &RunOptions,
    path: PathBuf,
    created: &Sender<Result<(), Failure>>,
    requests: &Receiver<Request>,
) {
    let program = path.clone();
    let mut device = match catch_panic(|| Device::new(path, config, options)) {
        Ok(Ok(device)) => device,
        Ok(Err(error)) => {
            let is_output = matches!(&error, RunError::Input { path, .. } if *path != program);
            let kind = if is_output { Kind::Output } else { Kind::Configuration };
            let _ = created.send(Err(Failure::of_run(kind, &error)));
            return;
        }
        Err(text) => {
            let _ = created.send(Err(Failure { kind: Kind::Internal, text }));
            return;
        }
    };
    let _ = created.send(Ok(()));
    for request in requests {
        match request {
            // After an internal error, the state of the machine is undefined, so the thread ends.
            Request::Work(job) => {
                if job(&mut device).is_err() {
                    return;
                }
            }
            Request::Finish(to) => {
                let finished = catch_panic(|| device.finish());
                let failure = |text| Failure { kind: Kind::Internal, text };
                let finished = finished.map_err(failure);
                let finished = finished.and_then(|done| done.map_err(|error| Failure::of_run(Kind::Output, &error)));
                let _ = to.send(finished);
                return;
            }
        }
    }
}
