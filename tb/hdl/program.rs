//! # Simulation program of a SystemVerilog module
//! Verilator translates a module into C++. A short C++ main program then maps each row of inputs to a row of
//! outputs. It reads a row, writes the outputs and registers of the cycle, and then ticks the clock. A row
//! consists of 32-bit words, and no word holds more than one signal.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use rustix::process::{self, Pid, kill_process};
use waves::atomic_file::Scratch;

use super::hierarchy::texts_of;
use super::ports::{CLOCK, Signal, input_pin, output_pin, push, words};
use super::registers::Register;
use super::tool_cache::find_cached;
use super::{Memory, Poke};

/// C++ main program that calls the modules, which Verilator has translated to C++.
const MAIN: &str = include_str!("main.cpp");

/// Options of Verilator. All registers start at 0, as in the Rust model, and not at random values. Assertions
/// are checked. A memory has two drivers: its module and the host. When Verilator 5.006 splits a large
/// function, it loses the counters of the loops that it has formed, so it forms none.
const TO_CPP: [&str; 11] = [
    "--cc",
    "--assert",
    "-O3",
    "-fno-reloop",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-MULTIDRIVEN",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
];

/// Headers that every simulation program includes.
const COMMON: &str = "#include <verilated.h>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n\
                      #include <unistd.h>\n#include <vector>\n";

/// Input of a module, given by its name without ending, that gets another value than that in a row; `None` if
/// no input does.
pub(super) type OtherInput = Option<(&'static str, &'static str)>;

/// Modules of a simulation program, with the parameters and signals that they have in common. One module is
/// the original. All others are copies of it, each with one deliberate mistake.
pub(super) struct Shape<'a> {
    pub modules: &'a [String],
    pub parameters: &'a [(&'static str, String)],
    pub inputs: &'a [Signal],
    pub registers: &'a [Register],
    pub outputs: &'a [Signal],
    /// Memories of the module that the host can write.
    pub memories: &'static [Memory],
    /// For each module, an input that gets another value than that in a row, if there is one.
    pub driven: &'a [OtherInput],
}

/// Source files of the modules in a simulation program.
pub(super) struct Texts<'a> {
    /// Text of each module.
    pub modules: &'a [String],
    /// Text of the checker with its `bind` statements; empty without a checker.
    pub checker: &'a str,
    /// Files of the modules that these instantiate.
    pub instantiated: &'a [PathBuf],
}

/// Number of failed assertions after which a simulation program ends, if it shall continue after a failure.
const MANY_FAILURES: &str = "+verilator+error+limit+1000000000";

/// Executable simulation program that Verilator and a C++ compiler have built.
pub(super) struct Program {
    file: PathBuf,
    words_in: usize,
    words_out: usize,
    /// Width of the widest word of a memory that the host can write; 0 if there is none.
    memory_width: u32,
    /// Temporary folder that holds the program; `None` if the program is in the cache.
    _folder: Option<Scratch>,
}

impl Program {
    /// Builds a simulation program from its source files. If `name` is given, the program is cached under that
    /// name.
    pub fn new(shape: &Shape<'_>, texts: &Texts<'_>, name: Option<&str>) -> Result<Self, Report> {
        let outputs: Vec<_> = (0..shape.modules.len()).map(|k| format!("&top.out{k}")).collect();
        let source = Source {
            main: MAIN.replace("OUTPUTS", &outputs.join(", ")),
            top: top(shape),
            texts,
            // With many mutated modules, compiling takes longer than the runs, which end at the first
            // difference. The compiler therefore does not optimize.
            effort: if texts.modules.len() > 1 { "-O0" } else { "-O1" },
        };
        let (file, folder) = match name {
            Some(name) => (find_cached(name, &source.all()?, |to| source.make(to))?, None),
            None => {
                let folder = Scratch::new().into_diagnostic()?;
                let file = folder.path().join("program");
                source.make(&file)?;
                (file, Some(folder))
            }
        };
        let inputs = shape.inputs.iter().map(|signal| words(signal.width)).sum();
        let registers = shape.registers.iter().map(|register| words(register.signal.width)).sum::<usize>();
        let outputs = shape.outputs.iter().map(|signal| words(signal.width)).sum::<usize>();
        let memory_width = widest(shape.memories).unwrap_or(0);
        Ok(Self { file, words_in: inputs, words_out: registers + outputs, memory_width, _folder: folder })
    }

    /// Starts the simulation program for one of its SystemVerilog modules, which is selected by its index.
    pub fn start(&self, module: usize) -> Result<Running, Report> {
        let mut command = Command::new(&self.file);
        let command = command.arg(module.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        self.running(command.stderr(Stdio::piped()))
    }

    /// Starts the simulation program so that it continues after a failed assertion. It writes its messages to
    /// a file.
    pub fn start_failing(&self, messages: File) -> Result<Running, Report> {
        let mut command = Command::new(&self.file);
        let command = command.args(["0", MANY_FAILURES]).stdin(Stdio::piped()).stdout(Stdio::piped());
        self.running(command.stderr(messages))
    }

    fn running(&self, command: &mut Command) -> Result<Running, Report> {
        let child = command.spawn().into_diagnostic().wrap_err("the verilated program does not start")?;
        let Self { words_in, words_out, memory_width, .. } = *self;
        Ok(Running { child, words_in, words_out, memory_width })
    }
}

/// Source files and options from which a simulation program is built.
struct Source<'a> {
    main: String,
    top: String,
    texts: &'a Texts<'a>,
    effort: &'static str,
}

impl Source<'_> {
    /// Returns all inputs that determine the built program, for use as its cache key.
    fn all(&self) -> Result<Vec<String>, Report> {
        let made = [&TO_CPP.join(" "), self.effort, &version()?].map(str::to_owned);
        let Texts { modules, checker, instantiated } = self.texts;
        let of = [self.main.clone(), self.top.clone(), (*checker).to_owned(), texts_of(instantiated)?];
        Ok(modules.iter().cloned().chain(of).chain(made).collect())
    }

    /// Builds the simulation program and writes it to the path `program`.
    fn make(&self, program: &Path) -> Result<(), Report> {
        let folder = Scratch::new().into_diagnostic()?;
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).into_diagnostic();
        let Texts { modules: texts, checker, instantiated } = self.texts;
        let modules: Vec<_> = (0..texts.len()).map(|k| format!("module{k}.sv")).collect();
        modules.iter().zip(*texts).try_for_each(|(name, text)| write(name, text))?;
        write("checker.sv", checker)?;
        write("top.sv", &self.top)?;
        write("main.cpp", &self.main)?;
        let mut verilator = Command::new("verilator");
        verilator.args(TO_CPP);
        verilator
            .args(["--top-module", "top", "--Mdir", ".", "top.sv", "checker.sv"])
            .args(&modules)
            .args(*instantiated);
        run_tool(verilator.current_dir(folder.path()))?;
        let mut all = String::new();
        let mut sources: Vec<_> =
            fs::read_dir(folder.path()).into_diagnostic()?.flatten().map(|f| f.file_name()).collect();
        sources.sort();
        for name in sources.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".cpp")) {
            let _ = writeln!(all, "#include \"{name}\"");
        }
        write("all.cc", &all)?;
        write("common.h", COMMON)?;
        symlink(common_header(self.effort)?, folder.path().join("common.h.gch")).into_diagnostic()?;
        let mut compiler = compiler()?;
        compiler.args([self.effort, "-I.", "-include", "common.h", "all.cc"]).args(runtime()?).arg("-o").arg(program);
        run_tool(compiler.current_dir(folder.path())).map(drop)
    }
}

/// Running simulation program that waits for input rows.
pub(super) struct Running {
    child: Child,
    words_in: usize,
    words_out: usize,
    memory_width: u32,
}

impl Running {
    /// Sends rows of inputs to the program. [`Running::receive`] returns the resulting outputs later.
    pub fn send(&mut self, rows: &[u32]) -> Result<(), Report> {
        let count = rows.len() / self.words_in;
        self.write(count as u32, rows)
    }

    /// Writes words to memories of the module, before the rows that are sent later.
    pub fn poke(&mut self, pokes: &[Poke]) -> Result<(), Report> {
        let mut words = Vec::new();
        for Poke { memory, address, bytes } in pokes {
            push(&mut words, u32::BITS, &memory.to_le_bytes());
            push(&mut words, u64::BITS, &address.to_le_bytes());
            push(&mut words, self.memory_width, bytes);
        }
        self.write(1 << 31 | pokes.len() as u32, &words)
    }

    fn write(&mut self, head: u32, words: &[u32]) -> Result<(), Report> {
        let words = [head].into_iter().chain(words.iter().copied());
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        let Some(to) = &mut self.child.stdin else { unreachable!("its input is a pipe") };
        to.write_all(&bytes).and_then(|()| to.flush()).map_err(|_| self.ended())
    }

    /// Receives the output rows of `count` cycles from the program.
    pub fn receive(&mut self, count: usize) -> Result<Vec<u32>, Report> {
        let mut bytes = vec![0; count * self.words_out * 4];
        let Some(from) = &mut self.child.stdout else { unreachable!("its output is a pipe") };
        from.read_exact(&mut bytes).map_err(|_| self.ended())?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

impl Running {
    /// Returns the error that the program has ended, with what it printed, such as a failed assertion.
    fn ended(&mut self) -> Report {
        let mut told = String::new();
        if let Some(messages) = &mut self.child.stderr {
            // If the messages cannot be read, the error is reported without them.
            let _ = messages.read_to_string(&mut told);
        }
        miette!("the verilated program has ended\n{told}")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program would exit by itself at the end of its input. Killing it avoids the wait.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the width of the widest word of the given memories.
fn widest(memories: &[Memory]) -> Option<u32> {
    memories.iter().map(|memory| memory.width).max()
}

/// Returns the source text of the top module, which splits wide words into ports and reads registers by name.
fn top(shape: &Shape<'_>) -> String {
    let Shape { modules, parameters, inputs, registers, outputs, memories, driven } = shape;
    let widths = inputs.iter().map(|signal| signal.width);
    let row_in = widths.map(words).sum::<usize>() * 32;
    let widths =
        registers.iter().map(|register| register.signal.width).chain(outputs.iter().map(|signal| signal.width));
    let row_out = widths.map(words).sum::<usize>() * 32;
    let outs: String = (0..modules.len()).map(|k| format!(", output logic [{}:0] out{k}", row_out - 1)).collect();
    let poke = widest(memories).unwrap_or(u32::BITS);
    let mut text = format!(
        "module top(input logic clk, rst_n, input logic [{}:0] in{outs},\n  \
         input logic poke_clk, input logic [31:0] poke_memory, input logic [63:0] poke_address,\n  \
         input logic [{}:0] poke_data);\n",
        row_in - 1,
        poke - 1
    );
    let parameters: Vec<_> = parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    for (k, module) in modules.iter().enumerate() {
        let mut pins = if registers.is_empty() { Vec::new() } else { CLOCK.map(str::to_owned).to_vec() };
        let mut at = 0;
        for Signal { name, width } in *inputs {
            match driven[k] {
                Some((input, value)) if input == name => pins.push(format!(".{}({value})", input_pin(name))),
                _ => pins.push(format!(".{}(in[{at}+:{width}])", input_pin(name))),
            }
            at += words(*width) * 32;
        }
        at = 0;
        for Register { signal, expression } in *registers {
            let bits = words(signal.width) * 32;
            let _ = writeln!(text, "  assign out{k}[{at}+:{bits}] = {bits}'(dut{k}.{expression});");
            at += bits;
        }
        for Signal { name, width } in *outputs {
            let (bits, own) = (words(*width) * 32, *width as usize);
            pins.push(format!(".{}(out{k}[{at}+:{own}])", output_pin(name)));
            if bits > own {
                let _ = writeln!(text, "  assign out{k}[{}+:{}] = '0;", at + own, bits - own);
            }
            at += bits;
        }
        let _ = writeln!(text, "  {module} #({}) dut{k}({});", parameters.join(", "), pins.join(", "));
        for (number, Memory { array, width }) in memories.iter().enumerate() {
            let _ = writeln!(
                text,
                "  always @(posedge poke_clk)\n    if (poke_memory == {number}) \
                 dut{k}.{array}[poke_address] <= poke_data[{}:0];",
                width - 1
            );
        }
    }
    text + "endmodule\n"
}

/// Returns a C++ compiler command that has Verilator's include folders set.
fn compiler() -> Result<Command, Report> {
    let include = include()?;
    let mut compiler = Command::new("g++");
    compiler.args(["-w", "-pthread"]).arg("-I").arg(&include).arg("-I").arg(include.join("vltstd"));
    Ok(compiler)
}

fn include() -> Result<PathBuf, Report> {
    let root = run_tool(Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]))?;
    Ok(Path::new(root.trim()).join("include"))
}

/// Returns the precompiled header of the text [`COMMON`] for an option of optimization. It is cached because
/// reading these headers takes longer than compiling most modules.
fn common_header(effort: &str) -> Result<PathBuf, Report> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    find_cached(&format!("common{effort}"), &[COMMON, effort, &version()?], |to| {
        let folder = Scratch::new().into_diagnostic()?;
        let header = folder.path().join("common.h");
        fs::write(&header, COMMON).into_diagnostic()?;
        run_tool(compiler()?.args([effort, "-x", "c++-header"]).arg(header).arg("-o").arg(to)).map(drop)
    })
}

/// Returns the object files of Verilator's run-time library. They are cached because compiling them takes
/// longer than compiling most modules.
fn runtime() -> Result<Vec<PathBuf>, Report> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let object = |name: &str| {
        find_cached(name, &[version()?], |to| {
            run_tool(compiler()?.args(["-O1", "-c"]).arg(include()?.join(name)).arg("-o").arg(to)).map(drop)
        })
    };
    ["verilated.cpp", "verilated_threads.cpp"].into_iter().map(object).collect()
}

/// Returns the version text of the installed Verilator.
fn version() -> Result<String, Report> {
    run_tool(Command::new("verilator").arg("--version"))
}

/// Returns the list of the process ids of all tools that this process has started and that still run.
fn tools() -> MutexGuard<'static, Vec<Pid>> {
    static TOOLS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
    TOOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Terminates all tools that this process has started. Called when the process is about to exit.
pub fn end_tools() {
    for &tool in tools().iter() {
        // A tool may have exited just now and then needs no signal, so errors are ignored.
        let _ = kill_process(tool, process::Signal::TERM);
    }
}

/// Runs an external tool until it exits, and returns what it printed.
pub(super) fn run_tool(command: &mut Command) -> Result<String, Report> {
    let name = command.get_program().to_string_lossy().into_owned();
    let missing = || format!("{name} is needed, and cannot be run: apt-get install {name}");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.into_diagnostic().wrap_err_with(missing)?;
    let id = Pid::from_child(&child);
    tools().push(id);
    let output = child.wait_with_output();
    tools().retain(|other| *other != id);
    let output = output.into_diagnostic()?;
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    if output.status.success() { Ok(out) } else { Err(miette!("{name} failed:\n{out}{err}")) }
}

/// Runs a Yosys script in the given folder, and returns what Yosys printed.
pub(super) fn yosys(folder: &Path, script: &str) -> Result<String, Report> {
    fs::write(folder.join("script.ys"), script).into_diagnostic()?;
    run_tool(Command::new("yosys").args(["-Q", "-T", "-s", "script.ys"]).current_dir(folder))
}
