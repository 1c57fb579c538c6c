//! State of the library in one process: what the program has registered and created.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda::error::CudaError;
use cuda::wire::{DeviceProperties, KernelProperties, Reply, Request};

use crate::connection::{Connection, Failure, fail_unexpected};
use crate::managed::Managed;

/// Exit status of a program that ends because it needs something that neither this library nor the model
/// supports.
const REFUSED: i32 = 3;

/// Fat binary that the program has registered.
pub struct FatBinary {
    /// Contents of the fat binary.
    pub bytes: Vec<u8>,
    /// Number of the binary's module in the simulator; `None` until the program first uses the module.
    pub module: Option<u32>,
    /// Managed variables of the fat binary: address of the program's pointer to each variable, and name of
    /// the variable.
    pub managed: Vec<(usize, String)>,
}

/// Kernel that the program has registered.
pub struct Kernel {
    /// Index of the fat binary that contains the kernel.
    pub binary: usize,
    /// Name of the kernel in the PTX text.
    pub name: String,
    /// Properties of the kernel; `None` until the program first uses the kernel.
    pub properties: Option<KernelProperties>,
}

/// Configuration of a launch: grid size, CTA size, dynamic shared memory in bytes, and stream.
pub type Configuration = ([u32; 3], [u32; 3], usize, usize);

/// State of the CUDA runtime in this process.
#[derive(Default)]
pub struct State {
    connection: Option<Connection>,
    /// Error of a kernel that failed: all later calls return it too. `None` if no kernel has failed.
    pub sticky: Option<CudaError>,
    pub binaries: Vec<FatBinary>,
    /// Registered kernels, by the address of the host function that launches the kernel.
    pub kernels: HashMap<usize, Kernel>,
    /// Device variables, by the address of the corresponding host variable. Each has the index of its fat
    /// binary, and its name.
    pub variables: HashMap<usize, (usize, String)>,
    pub managed: Managed,
    /// Page-locked allocations of the program, by address.
    pub host: HashMap<usize, Layout>,
    /// For each event, by handle: the simulated time in nanoseconds at which it was recorded; `None` if it
    /// was not recorded.
    pub events: HashMap<usize, Option<f64>>,
    /// Streams that the program has created, by handle, each with its flags and its priority.
    pub streams: HashMap<usize, (u32, i32)>,
    handles: usize,
}

/// True if the process is ending because the program needs something that is not supported.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// Error code of the last call in this thread that failed.
    static LAST: Cell<CudaError> = const { Cell::new(CudaError::SUCCESS) };
    /// Stack of the launch configurations that this thread has pushed; the last element is the top.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

impl State {
    fn connection(&mut self) -> Result<&mut Connection, Failure> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open()?);
        }
        self.connection.as_mut().ok_or(Failure::End(None))
    }

    /// Returns the properties of the simulated device.
    pub fn device(&mut self) -> Result<&DeviceProperties, Failure> {
        Ok(&self.connection()?.device)
    }

    /// Sends a request and its raw bytes. Waits for the reply, and returns the reply and its raw bytes.
    pub fn request(&mut self, request: &Request, raw: &[u8]) -> Result<(Reply, Vec<u8>), Failure> {
        self.connection()?.request(request, raw)
    }

    /// Sends a request and its raw bytes. The expected reply only confirms that the request was carried out.
    pub fn tell(&mut self, request: &Request, raw: &[u8]) -> Result<(), Failure> {
        match self.request(request, raw)? {
            (Reply::Done, _) => Ok(()),
            (reply, _) => Err(fail_unexpected(&reply)),
        }
    }

    /// Returns the simulated time since the start of the run, in nanoseconds.
    pub fn time(&mut self) -> Result<f64, Failure> {
        match self.request(&Request::Time, &[])? {
            (Reply::Time(time), _) => Ok(time),
            (reply, _) => Err(fail_unexpected(&reply)),
        }
    }

    /// Ends the process, because the program needs something that the library or the model lacks.
    pub fn refuse<T>(&mut self, message: String) -> Result<T, Failure> {
        self.request(&Request::Refuse { message: message.clone() }, &[])?;
        Err(Failure::End(Some(message)))
    }

    /// Returns a handle for a new event or stream, different from all earlier handles.
    pub fn new_handle(&mut self) -> usize {
        self.handles += 1;
        // Handles start above 0x1000, because the smallest values stand for the default streams.
        0x1000 + 16 * self.handles
    }
}

/// Executes a function of the CUDA runtime. Returns the error code of the function, and records it as the
/// last error of the thread.
///
/// While the process ends because something is unsupported, all calls fail, such as those from the program's
/// destructors.
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

/// Executes a function that needs only the state of this process. Unlike `call`, it works even after a kernel
/// has failed.
pub fn with<T>(function: impl FnOnce(&mut State) -> T) -> T {
    let mut lock = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    function(lock.get_or_insert_default())
}

fn set_last(error: CudaError) {
    // If the thread is ending, its thread-local storage no longer exists, and the error is not recorded.
    let _ = LAST.try_with(|last| last.set(error));
}

/// Returns the last error of the thread. If `clear` is true, resets it to success. The error of a failed
/// kernel is never reset.
pub fn last_error(clear: bool) -> CudaError {
    if let Some(sticky) = with(|state| state.sticky) {
        return sticky;
    }
    LAST.try_with(|last| if clear { last.replace(CudaError::SUCCESS) } else { last.get() })
        .unwrap_or(CudaError::SUCCESS)
}

/// Pushes the configuration of the thread's next launch on a stack.
pub fn push_configuration(configuration: Configuration) {
    CONFIGURATIONS.with_borrow_mut(|all| all.push(configuration));
}

/// Pops the configuration of the thread's next launch from the stack.
pub fn pop_configuration() -> Option<Configuration> {
    CONFIGURATIONS.with_borrow_mut(Vec::pop)
}
