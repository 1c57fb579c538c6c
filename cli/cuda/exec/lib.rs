//! # Running a CUDA program on the simulated machine
//! [`run`] runs a program, which loads the crate `cudart` in place of the CUDA runtime. The library sends
//! each CUDA call as a request ([`cuda::wire`]) to this crate, which answers all requests with one simulated
//! machine. Processes that use the device at the same time are served one after the other.

mod check;
mod emit;
mod library;
mod server;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use cuda::wire;
use rtl::machine::MachineConfig;
use warpsieve::run::{Device, Progress, RunError, RunOptions, RunReport};

pub use check::{check, exports};

use emit::Emitter;
use server::Server;

/// File names of the CUDA runtime that programs load.
pub const RUNTIMES: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];
/// File name of the library that replaces the CUDA runtime.
pub const LIBRARY: &str = "libwarpsieve_cudart.so";
/// Exit status of a program that ends because it needs something that the model lacks.
pub const REFUSED: u8 = 3;
/// Interval at which the simulator checks, while no process is connected, whether the program has ended or a
/// process connects.
const POLL: Duration = Duration::from_millis(5);
/// Number that is added to the signal number to get the exit status of a process that a signal ended. Shells
/// add the same number.
const SIGNAL_BASE: i32 = 128;

/// Program to run, and properties of the device that it sees.
#[derive(Clone, Debug)]
pub struct Program {
    /// Path of the program, or its name in a folder of `PATH`.
    pub path: PathBuf,
    /// Arguments that the program gets on its command line.
    pub arguments: Vec<OsString>,
    /// Path of the library that replaces the CUDA runtime.
    pub library: PathBuf,
    /// Name of the simulated device, as the program sees it.
    pub device: String,
    /// Compute capability of the simulated device times ten: 75 is capability 7.5.
    pub capability: u32,
    /// Folder for the launch files that repeat the program's launches, and for their inputs. `None` to write
    /// no launch files.
    pub emit: Option<PathBuf>,
}

/// Result of running a program.
#[derive(Debug)]
pub struct Ended {
    /// Statistics of all kernel launches of the program.
    pub report: RunReport,
    /// Exit status of the program, as a shell reports it: 128 plus the signal number if a signal ended the
    /// program.
    pub status: u8,
}

/// Message that is shown to the user while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    /// Line of output about a kernel launch.
    Launch(&'a str),
    /// Reason why a CUDA call failed, or a remark on how the model runs the program.
    Message(&'a str),
}

/// Runs a program until it ends. Calls `progress` during kernel launches, and `note` with each message for
/// the user.
///
/// # Errors
/// Returns an error if the program cannot run, if a kernel makes an illegal access, or if a file cannot be
/// written.
pub fn run(
    program: &Program,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
    note: &mut dyn FnMut(Note<'_>),
) -> Result<Ended, RunError> {
    let path = check::find(&program.path);
    check(&path, &program.library)?;
    let bad = |what: &str, error: &dyn Display| failure(&path, &format!("{what}: {error}"));
    let folder = tempfile::tempdir().map_err(|e| bad("no temporary folder can be created", &e))?;
    let library = program.library.canonicalize().map_err(|e| failure(&program.library, &e))?;
    for name in RUNTIMES {
        symlink(&library, folder.path().join(name)).map_err(|e| bad("no temporary file can be created", &e))?;
    }
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).map_err(|e| bad("no socket can be created", &e))?;
    listener.set_nonblocking(true).map_err(|e| bad("no socket can be created", &e))?;
    let device = Device::new(path.clone(), config, options)?;
    let emitter = program.emit.as_deref().map(|folder| Emitter::new(folder, &path)).transpose()?;
    let mut server = Server::new(device, program, emitter, progress, note);
    let mut child = Command::new(&path);
    child.args(&program.arguments).env(wire::SOCKET, &socket).env("LD_LIBRARY_PATH", search_path(folder.path()));
    let mut child = child.spawn().map_err(|e| bad("the program cannot be started", &e))?;
    let status = serve(&listener, &mut child, &mut server).map_err(|e| bad("the program cannot be served", &e))?;
    let refused = server.is_refused();
    let report = server.finish()?;
    let status = if refused { REFUSED } else { status_of(status) };
    Ok(Ended { report, status })
}

/// Returns the value of `LD_LIBRARY_PATH` for the program: the folder of the replacement library, followed by
/// the current value.
fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(further) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(further);
    }
    path
}

/// Serves all processes that use the device, until the program has ended.
fn serve(listener: &UnixListener, child: &mut Child, server: &mut Server<'_, '_>) -> io::Result<ExitStatus> {
    loop {
        // The exit status of the program is read before the socket is polled. A child process of the program
        // may connect after the program has ended, and must still be served.
        let ended = child.try_wait()?;
        match listener.accept() {
            Ok((stream, _)) => serve_process(stream, server)?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match ended {
                Some(status) => return Ok(status),
                None => thread::sleep(POLL),
            },
            Err(error) => return Err(error),
        }
    }
}

/// Answers the requests of one process until it closes its connection.
fn serve_process(stream: UnixStream, server: &mut Server<'_, '_>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut from = BufReader::new(stream.try_clone()?);
    let mut to = BufWriter::new(stream);
    // A process that dies while it sends a message is treated like a process that closes its connection.
    while let Ok(Some((request, raw))) = wire::receive(&mut from) {
        let (reply, raw) = server.answer(request, &raw);
        if wire::send(&mut to, &reply, &raw).is_err() {
            break;
        }
    }
    server.end_process();
    Ok(())
}

fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn failure(path: &Path, reason: &dyn Display) -> RunError {
    RunError::Input { path: path.to_owned(), reason: reason.to_string() }
}
