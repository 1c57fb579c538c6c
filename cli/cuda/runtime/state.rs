//! State of the process: what the program has registered and created.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda::error::CudaError;
use cuda::wire::{DeviceProperties, KernelProperties, Reply, Request};

use crate::connection::{Connection, Failure, fail_unexpected};
use crate::managed::Managed;

/// Exit status of a program that needs something that neither this library nor the model supports.
const REFUSED: i32 = 3;

/// Fat binary that the program has registered.
pub struct FatBinary {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Number of the module in the simulator; `None` until the program uses the module.
    pub module: Option<u32>,
    /// Managed variables: location of the program's pointer, and name.
    pub managed: Vec<(usize, String)>,
}

/// Kernel that the program has registered.
pub struct Kernel {
    /// Index of the fat binary.
    pub binary: usize,
    /// Name in the PTX text.
    pub name: String,
    /// Properties of the kernel; `None` until the program uses the kernel.
    pub properties: Option<KernelProperties>,
}

/// Shape of a launch: grid, block, dynamic shared memory in bytes, and stream.
pub type Configuration = ([u32; 3], [u32; 3], usize, usize);

/// State of the process.
#[derive(Default)]
pub struct State {
    connection: Option<Connection>,
    /// Error of a kernel after which no call succeeds.
    pub sticky: Option<CudaError>,
    pub binaries: Vec<FatBinary>,
    /// Kernels, by the address of the function that launches them.
    pub kernels: HashMap<usize, Kernel>,
    /// Index of the fat binary and name of each device variable, by the address of its host counterpart in
    /// the program.
    pub variables: HashMap<usize, (usize, String)>,
    pub managed: Managed,
    /// Page-locked allocations, by address.
    pub host: HashMap<usize, Layout>,
    /// Time at which each event was recorded, in nanoseconds.
    pub events: HashMap<usize, Option<f64>>,
    /// Streams that the program has created, each with its flags and its priority.
    pub streams: HashMap<usize, (u32, i32)>,
    handles: usize,
}

/// True if the process is ending because the program needs something unsupported.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// Error code of the last failed call of the thread.
    static LAST: Cell<CudaError> = const { Cell::new(CudaError::SUCCESS) };
    /// Launch configurations that the thread has pushed, the last one on top.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

impl State {
    fn connection(&mut self) -> Result<&mut Connection, Failure> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open()?);
        }
        self.connection.as_mut().ok_or(Failure::End(None))
    }

    /// Returns the properties of the device.
    pub fn device(&mut self) -> Result<&DeviceProperties, Failure> {
        Ok(&self.connection()?.device)
    }

    /// Sends a request with raw bytes and waits for the reply and its raw bytes.
    pub fn request(&mut self, request: &Request, raw: &[u8]) -> Result<(Reply, Vec<u8>), Failure> {
        self.connection()?.request(request, raw)
    }

    /// Sends a request whose reply only says that it was carried out.
    pub fn tell(&mut self, request: &Request, raw: &[u8]) -> Result<(), Failure> {
        match self.request(request, raw)? {
            (Reply::Done, _) => Ok(()),
            (reply, _) => Err(fail_unexpected(&reply)),
        }
    }

    /// Returns the simulated time in nanoseconds.
    pub fn time(&mut self) -> Result<f64, Failure> {
        match self.request(&Request::Time, &[])? {
            (Reply::Time(time), _) => Ok(time),
            (reply, _) => Err(fail_unexpected(&reply)),
        }
    }

    /// Ends the process, because the program needs something that the library lacks.
    pub fn refuse<T>(&mut self, message: String) -> Result<T, Failure> {
        self.request(&Request::Refuse { message: message.clone() }, &[])?;
        Err(Failure::End(Some(message)))
    }

    /// Returns a new handle of an event or a stream.
    pub fn new_handle(&mut self) -> usize {
        self.handles += 1;
        // The lowest values stand for the default streams.
        0x1000 + 16 * self.handles
    }
}

/// Executes a function of the runtime. Returns its error code, and records it as the last error of the
/// thread.
///
/// While the process ends because of something unsupported, all functions fail. Destructors of the program
/// may still call them.
pub fn call(function: impl FnOnce(&mut State) -> Result<(), Failure>) -> i32 {
    if IS_ENDING.load(Ordering::Relaxed) {
        return CudaError::UNLOADING.0;
    }
    let mut lock = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = lock.get_or_insert_default();
    let result = match state.sticky {
        Some(error) => Err(error.into()),
        None => function(state),
    };
    // The lock is released before `exit` below, which runs destructors that acquire the lock.
    drop(lock);
    match result {
        Ok(()) => CudaError::SUCCESS.0,
        Err(Failure::Code(error)) => {
            set_last(error);
            error.0
        }
        Err(Failure::End(text)) => {
            if let Some(text) = text {
                eprintln!("warpsieve: {text}");
            }
            if IS_ENDING.swap(true, Ordering::Relaxed) {
                return CudaError::UNLOADING.0;
            }
            std::process::exit(REFUSED)
        }
    }
}

/// Executes a function that reads or changes only the state of the process, even after a kernel has failed.
pub fn with<T>(function: impl FnOnce(&mut State) -> T) -> T {
    let mut lock = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    function(lock.get_or_insert_default())
}

fn set_last(error: CudaError) {
    // If the thread is ending, its thread-local storage is gone, and the error is not recorded.
    let _ = LAST.try_with(|last| last.set(error));
}

/// Returns the last error of the thread. If `clear` is set, resets the last error, unless a kernel has
/// failed.
pub fn last_error(clear: bool) -> CudaError {
    if let Some(sticky) = with(|state| state.sticky) {
        return sticky;
    }
    LAST.try_with(|last| if clear { last.replace(CudaError::SUCCESS) } else { last.get() })
        .unwrap_or(CudaError::SUCCESS)
}

/// Pushes the shape of the thread's next launch.
pub fn push_configuration(configuration: Configuration) {
    CONFIGURATIONS.with_borrow_mut(|all| all.push(configuration));
}

/// Pops the shape of the thread's next launch.
pub fn pop_configuration() -> Option<Configuration> {
    CONFIGURATIONS.with_borrow_mut(Vec::pop)
}
