//! # The simulator as a Python module
//! `warpsieve._native` provides simulated machines. The Python package `warpsieve` around it adds arrays,
//! kernel arguments and the driver for Triton.
//!
//! | file     | content                                                           |
//! |----------|-------------------------------------------------------------------|
//! | `errors` | Python exceptions for errors of the simulator, with the same text |
//! | `worker` | thread that owns a machine; a Python interrupt can stop a launch  |
//! | `result` | counts of launches: statistics and summary                        |

mod errors;
mod result;
mod worker;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rtl::kernel::Mode;
use warpsieve::config::{Request, ResolvedMachine, designs, machines};
use warpsieve::run::{Device, DeviceLaunch, RunOptions, SeriesOptions, Threads, WaveOptions};
use warpsieve::statistics::dictionary;

use errors::{Failure, Kind};
use result::LaunchResult;
use worker::Worker;

/// Name of the calling program, for messages of the simulator.
const PROGRAM: &str = "python";

/// Simulated machine with its device memory and loaded modules.
#[pyclass(frozen, module = "warpsieve._native")]
struct Machine {
    resolved: Arc<ResolvedMachine>,
    worker: Worker,
}

/// Parameter of a kernel: its name, its PTX type without the leading dot, and its size in bytes.
type Parameter = (String, &'static str, u32);

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (machine, designs, sets, *, check, max_cycles, threads, wave, timeline, series, interval))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        machine: String,
        designs: Vec<String>,
        sets: Vec<String>,
        check: bool,
        max_cycles: Option<u64>,
        threads: Option<NonZeroUsize>,
        wave: Option<PathBuf>,
        timeline: Option<PathBuf>,
        series: Option<PathBuf>,
        interval: u64,
    ) -> PyResult<Self> {
        let resolved = ResolvedMachine::new(&Request { machine, designs, sets });
        let resolved = resolved.map_err(|error| Failure::of(Kind::Configuration, &error).into_error(py))?;
        let options = RunOptions {
            check,
            max_cycles,
            wave: wave.map(|path| WaveOptions { path, ..WaveOptions::default() }),
            timeline,
            series: series.map(|path| SeriesOptions { path, interval, columns: Vec::new() }),
            threads: threads.map_or(Threads::Auto, Threads::Of),
            mode: Mode::FAST,
            ..RunOptions::default()
        };
        let resolved = Arc::new(resolved);
        let worker = Worker::start(py, resolved.config.clone(), options, PathBuf::from(PROGRAM))?;
        Ok(Self { resolved, worker })
    }

    /// Names of the machine and its designs.
    #[getter]
    fn name(&self) -> String {
        let names = std::iter::once(&self.resolved.machine.name).chain(&self.resolved.designs);
        names.map(String::as_str).collect::<Vec<_>>().join(" + ")
    }

    /// All fields of the configuration: for each field name, the value as TOML.
    fn configuration(&self) -> std::collections::BTreeMap<String, String> {
        self.resolved.values()
    }

    /// Clock of the SMs in kHz.
    #[getter]
    fn core_khz(&self) -> u32 {
        self.resolved.config.clock.core_khz
    }

    /// Number of SMs.
    #[getter]
    fn num_sms(&self) -> u32 {
        self.resolved.config.num_sms
    }

    /// Maximum shared memory of an SM in bytes.
    #[getter]
    fn shared_bytes(&self) -> u32 {
        self.resolved.config.sm.shared.bytes
    }

    /// Number of 32-bit registers of an SM.
    #[getter]
    fn registers(&self) -> u32 {
        self.resolved.config.sm.registers
    }

    /// Number of core cycles simulated so far.
    fn cycles(&self, py: Python<'_>) -> PyResult<u64> {
        self.worker.call(py, |device| Ok(device.cycles()))
    }

    /// Size of the allocated device memory and of the whole device memory, in bytes.
    fn memory(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.worker.call(py, |device| Ok((device.allocated_bytes(), device.memory_bytes())))
    }

    /// Allocates device memory and returns its address.
    fn allocate(&self, py: Python<'_>, name: String, bytes: u64) -> PyResult<u64> {
        self.worker.call(py, move |device| {
            device.allocate(&name, bytes, 1, 0).ok_or_else(|| {
                let free = device.memory_bytes().saturating_sub(device.allocated_bytes());
                let text = format!("`{name}` of {bytes} bytes, and {free} bytes are free, perhaps not in one piece");
                Failure { kind: Kind::Memory, text }
            })
        })
    }

    /// Frees the allocations of device memory that start at these addresses.
    fn free(&self, py: Python<'_>, addresses: Vec<u64>) -> PyResult<()> {
        self.worker.call(py, move |device| match addresses.iter().find(|&&address| !device.free(address)) {
            Some(address) => Err(Failure::new(Kind::Memory, &format!("no allocation starts at {address:#x}"))),
            None => Ok(()),
        })
    }

    /// Reads device memory.
    fn read<'py>(&self, py: Python<'py>, address: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = move |device: &mut Device<'_>| {
            device.read(address, bytes).map_err(|text| Failure { kind: Kind::Memory, text })
        };
        Ok(PyBytes::new(py, &self.worker.call(py, read)?))
    }

    /// Writes device memory.
    fn write(&self, py: Python<'_>, address: u64, bytes: &[u8]) -> PyResult<()> {
        let bytes = bytes.to_vec();
        self.worker
            .call(py, move |device| device.write(address, &bytes).map_err(|text| Failure { kind: Kind::Memory, text }))
    }

    /// Loads a PTX text as a module. Returns the number of the module and the names of its kernels.
    fn load(&self, py: Python<'_>, name: String, text: String) -> PyResult<(usize, Vec<String>)> {
        self.worker.call(py, move |device| {
            let module = device.load(&name, &text).map_err(|error| Failure::of_run(Kind::Ptx, &error))?;
            let kernels = device.kernels(module).map_err(|error| Failure::of_run(Kind::Ptx, &error))?;
            Ok((module, kernels))
        })
    }

    /// Returns the variables of a module: name, address, size in bytes, and true if kernels cannot write the
    /// variable.
    fn variables(&self, py: Python<'_>, module: usize) -> PyResult<Vec<(String, u64, u64, bool)>> {
        self.worker.call(py, move |device| {
            let variables = device.variables(module).into_iter();
            Ok(variables.map(|of| (of.name, of.address, of.bytes, of.is_constant)).collect())
        })
    }

    /// Translates a kernel and returns its parameters, number of registers, and static shared memory in
    /// bytes.
    fn kernel(&self, py: Python<'_>, module: usize, name: String) -> PyResult<(Vec<Parameter>, u32, u32)> {
        self.worker.call(py, move |device| {
            let kernel = device.kernel(module, &name).map_err(|error| Failure::of_run(Kind::Ptx, &error))?;
            let parameters = kernel.parameters().iter();
            let parameters = parameters.map(|param| (param.name.clone(), param.ty.name(), param.bytes));
            Ok((parameters.collect(), kernel.program().regs.into(), kernel.program().shared_bytes))
        })
    }

    /// Runs a kernel to its end. `arguments` holds the bytes of each parameter.
    #[expect(clippy::too_many_arguments, reason = "a launch has these")]
    fn launch(
        &self,
        py: Python<'_>,
        module: usize,
        name: String,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: Vec<Vec<u8>>,
    ) -> PyResult<LaunchResult> {
        let report = self.worker.call(py, move |device| {
            let kernel = device.kernel(module, &name).map_err(|error| Failure::of_run(Kind::Ptx, &error))?;
            let mut params = vec![0; kernel.program().param_bytes as usize];
            for (param, bytes) in kernel.parameters().iter().zip(&arguments) {
                let to = params.get_mut(param.offset as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
                match to.filter(|_| bytes.len() == param.bytes as usize) {
                    Some(to) => to.copy_from_slice(bytes),
                    None => {
                        let (given, needed) = (bytes.len(), param.bytes);
                        let text = format!("kernel `{name}`: `{}` has {given} bytes, expected {needed}", param.name);
                        return Err(Failure { kind: Kind::Launch, text });
                    }
                }
            }
            let launch = DeviceLaunch { grid, block, shared_bytes, params };
            device.launch(&kernel, launch, &mut |_| {}).map_err(|error| Failure::of_launch(&name, &error))?;
            device.last_report().map_err(|error| Failure::of_launch(&name, &error))
        })?;
        Ok(LaunchResult::new(self.name_of(&report), self.resolved.clone(), report))
    }

    /// Returns the statistics of all launches so far.
    fn report(&self, py: Python<'_>) -> PyResult<LaunchResult> {
        let report = self.worker.call(py, |device| device.report().map_err(|error| Failure::of_launch("", &error)))?;
        Ok(LaunchResult::new(Path::new("all launches").to_owned(), self.resolved.clone(), report))
    }

    /// Completes all output files, closes the machine, and returns the statistics of all launches.
    fn close(&self, py: Python<'_>) -> PyResult<Option<LaunchResult>> {
        let report = self.worker.finish(py)?;
        let path = Path::new("all launches");
        Ok(report.map(|report| LaunchResult::new(path.to_owned(), self.resolved.clone(), report)))
    }
}

impl Machine {
    /// Returns the title of a launch's statistics: the name of its kernel.
    fn name_of(&self, report: &warpsieve::run::RunReport) -> PathBuf {
        PathBuf::from(report.kernels.first().map_or(PROGRAM, |(name, _)| name))
    }
}

/// Returns the names of the built-in machines and of the built-in designs.
#[pyfunction]
fn builtin() -> (Vec<&'static str>, Vec<&'static str>) {
    let names = |files: &[warpsieve::config::Builtin]| files.iter().map(|file| file.name).collect();
    (names(machines()), names(designs()))
}

/// Returns the keys of the statistics as JSON, each with its meaning and unit.
#[pyfunction]
fn statistics_keys() -> PyResult<String> {
    serde_json::to_string(&dictionary()).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// Python module `warpsieve._native`.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Machine>()?;
    module.add_class::<LaunchResult>()?;
    module.add_function(wrap_pyfunction!(builtin, module)?)?;
    module.add_function(wrap_pyfunction!(statistics_keys, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
