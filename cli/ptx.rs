//! `warpsieve ptx`: lists the kernels of a PTX file, and the instructions that cannot run.

use std::collections::BTreeSet;
use std::path::Path;

use input::{shorten, visible_line};
use isa::alloc::allocate;
use isa::program::{Inst, MAX_WORDS, MemOp, Op, Program, Unit};
use isa::spill::spill;
use isa::types::Space;
use miette::{IntoDiagnostic, Report, WrapErr};
use ptx::Source;
use ptx::ast::Function;
use ptx::data::data;
use ptx::lower::PreparedModule;
use serde::Serialize;

use super::Exit;
use super::args::{Format, PtxArguments};
use super::output::{self, columns, format_count, format_thousands, wrap_text};
use warpsieve::content::Content;
use warpsieve::limit;

/// Contents of a PTX file: the kernels that can run, and those that cannot.
#[derive(Serialize)]
struct File {
    file: String,
    version: String,
    target: String,
    /// Size of all `.global` variables of the file, initialized or not, in bytes.
    global_bytes: u64,
    const_bytes: u64,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    /// Contents of the kernel; `None`, or `null` in JSON, if the kernel cannot run.
    program: Option<Listing>,
    refused: Vec<Refusal>,
}

/// Contents of a kernel that can run.
#[derive(Serialize)]
struct Listing {
    params: Vec<Param>,
    instructions: usize,
    /// Number of instructions for each kind of execution unit.
    units: Vec<(String, usize)>,
    /// Number of 32-bit registers per thread.
    registers: u16,
    predicates: u16,
    shared_bytes: u32,
    local_bytes: u32,
    /// Size of the registers that are spilled to local memory, in bytes.
    spill_bytes: u32,
    accesses: Vec<Access>,
}

#[derive(Serialize)]
struct Param {
    name: String,
    #[serde(rename = "type")]
    ty: &'static str,
    offset: u32,
    bytes: u32,
}

/// Instruction that accesses memory other than kernel parameters.
#[derive(Serialize)]
struct Access {
    pc: usize,
    line: u32,
    what: &'static str,
    space: &'static str,
    /// Number of bytes that each thread accesses.
    bytes: u32,
    /// Text of the instruction in the PTX file.
    text: String,
}

/// Problem that prevents a kernel from running.
#[derive(Serialize)]
struct Refusal {
    line: u32,
    column: Option<u32>,
    message: String,
    help: Option<String>,
}

pub(super) fn ptx(arguments: &PtxArguments) -> Result<Exit, Report> {
    let found = read(&arguments.file)?;
    let text = match arguments.format {
        Format::Table => table(&found),
        Format::Json => serde_json::to_string_pretty(&found).into_diagnostic()? + "\n",
    };
    output::print(&text)?;
    let refused: Vec<_> = found.kernels.iter().filter(|kernel| kernel.program.is_none()).collect();
    match refused.as_slice() {
        [] => Ok(Exit::Done),
        [kernel] => Err(miette::miette!("{}: kernel `{}` cannot be run", found.file, kernel.name)),
        several => Err(miette::miette!("{}: {} kernels cannot be run", found.file, several.len())),
    }
}

fn read(path: &Path) -> Result<File, Report> {
    let name = path.display().to_string();
    let text = Content::Ptx.read(path).into_diagnostic().wrap_err_with(|| format!("{name}: cannot be read"))?;
    let source = Source::new(&name, &text);
    let module = source.parse()?;
    let variables = data(&source, &module)?;
    let (major, minor) = module.version;
    let target: Vec<_> = module.target.iter().map(|name| name.text).collect();
    let lines: Vec<&str> = text.lines().collect();
    let prepared = PreparedModule::new(&source, &module)?;
    Ok(File {
        file: name,
        version: format!("{major}.{minor}"),
        target: target.join(", "),
        global_bytes: variables.globals.iter().map(|block| block.bytes.len() as u64).sum(),
        const_bytes: variables.constants.bytes.len() as u64,
        kernels: module.kernels().map(|kernel| list_kernel(&prepared, kernel, &lines)).collect(),
    })
}

fn list_kernel(prepared: &PreparedModule<'_>, kernel: &Function<'_>, lines: &[&str]) -> Kernel {
    let name = kernel.name.text;
    let refused = |line, column, message: &str, help: Option<&str>| Refusal {
        line,
        column,
        message: message.to_owned(),
        help: help.map(str::to_owned),
    };
    let spilled = |program: Program| {
        let limit = program.max_regs.and_then(|most| u16::try_from(most).ok()).unwrap_or(MAX_WORDS);
        spill(program, limit).and_then(|program| allocate(&program))
    };
    let (program, refused) = match prepared.lower(name).map(spilled) {
        Ok(Ok(program)) => (Some(Listing::new(&program, lines)), Vec::new()),
        Ok(Err(error)) => {
            let message =
                format!("more than {} {} are live at this point, the limit per thread", error.limit, error.what);
            (None, vec![refused(error.line, None, &message, None)])
        }
        Err(_) => {
            let all = prepared.refusals(name);
            let all = all.iter().map(|e| refused(e.line(), Some(e.column()), e.message(), e.help_text()));
            (None, all.collect())
        }
    };
    Kernel { name: name.to_owned(), program, refused }
}

impl Listing {
    /// Returns the contents of a kernel, given its program after register allocation.
    fn new(program: &Program, lines: &[&str]) -> Self {
        let count = |unit| program.insts.iter().filter(|inst| inst.unit == unit).count();
        let units = [Unit::Sp, Unit::Sfu, Unit::Dp, Unit::Tensor, Unit::Mem, Unit::Control];
        let units = units.iter().map(|&unit| (unit.to_string(), count(unit))).filter(|&(_, count)| count > 0);
        let param = |param: &isa::program::Param| Param {
            name: param.name.clone(),
            ty: param.ty.name(),
            offset: param.offset,
            bytes: param.bytes,
        };
        let insts = program.insts.iter().enumerate();
        Self {
            params: program.params.iter().map(param).collect(),
            instructions: program.insts.len(),
            units: units.collect(),
            registers: program.regs,
            predicates: program.preds,
            shared_bytes: program.shared_bytes,
            local_bytes: program.local_bytes,
            spill_bytes: program.spill_bytes,
            accesses: insts.filter_map(|(pc, inst)| Access::new(pc, inst, lines)).collect(),
        }
    }
}

impl Access {
    fn new(pc: usize, inst: &Inst, lines: &[&str]) -> Option<Self> {
        let (what, space, bytes) = match &inst.op {
            Op::Load(MemOp { space: Space::Param, .. }) => return None,
            Op::Load(mem) | Op::LoadMatrix(_, mem) => ("load", mem.space.name(), mem.bytes()),
            Op::Store(mem) => ("store", mem.space.name(), mem.bytes()),
            Op::Atomic(_, mem) => ("atomic", mem.space.name(), mem.bytes()),
            Op::Texture(op) => ("fetch", "texture", 4 * op.result.bytes()),
            _ => return None,
        };
        let text = lines.get(inst.line as usize - 1).map_or("", |line| line.trim());
        Some(Self { pc, line: inst.line, what, space, bytes, text: text.to_owned() })
    }
}

const HEAD: [&str; 6] = ["pc", "line", "access", "space", "bytes", "text"];

fn table(found: &File) -> String {
    let File { file, version, target, global_bytes, const_bytes, kernels } = found;
    let head = format!(
        "{file}: PTX {version} for {target}, {}, {} of variables, {} of constants",
        format_count(kernels.len() as u64, "kernel", "kernels"),
        format_count(*global_bytes, "byte", "bytes"),
        format_thousands(*const_bytes),
    );
    let mut text = wrap_text(&visible_line(&head), 2) + "\n";
    for Kernel { name, program, refused } in kernels {
        match program {
            Some(listing) => text += &format!("\n{}", listing_table(name, listing)),
            None => {
                text += &format!(
                    "\nkernel {}: cannot be run, {}\n",
                    shorten(name),
                    format_count(refused.len() as u64, "reason", "reasons")
                );
                let reason = |Refusal { line, column, message, .. }: &Refusal| {
                    let column = column.map_or(String::new(), |column| format!(":{column}"));
                    format!("{file}:{line}{column}: {message}")
                };
                let reasons: Vec<_> = refused.iter().map(reason).collect();
                text.extend(limit::lines(&reasons, "reason").iter().map(|line| format!("  {line}\n")));
                // Many problems have the same remedy, so each remedy is printed only once.
                let helps: BTreeSet<_> = refused.iter().filter_map(|refusal| refusal.help.as_deref()).collect();
                text.extend(helps.iter().map(|help| format!("  help: {}\n", shorten(help))));
            }
        }
    }
    text
}

fn listing_table(name: &str, listing: &Listing) -> String {
    let Listing {
        params,
        instructions,
        units,
        registers,
        predicates,
        shared_bytes,
        local_bytes,
        spill_bytes,
        accesses,
    } = listing;
    let params: Vec<_> = params.iter().map(|Param { name, ty, .. }| format!("{ty} {name}")).collect();
    let units: Vec<_> = units.iter().map(|(unit, count)| format!("{unit} {count}")).collect();
    let row = |access: &Access| {
        let Access { pc, line, what, space, bytes, text } = access;
        vec![
            pc.to_string(),
            line.to_string(),
            (*what).to_owned(),
            (*space).to_owned(),
            bytes.to_string(),
            shorten(text),
        ]
    };
    let rows: Vec<_> = accesses.iter().map(row).collect();
    let spilled = match spill_bytes {
        0 => String::new(),
        _ => format!(", of which {} are spilled registers", format_count((*spill_bytes).into(), "byte", "bytes")),
    };
    let memory = format!(
        "  {}, {}, shared memory {}, local memory {} per thread{spilled}",
        format_count((*registers).into(), "register", "registers"),
        format_count((*predicates).into(), "predicate", "predicates"),
        format_count((*shared_bytes).into(), "byte", "bytes"),
        format_count((*local_bytes).into(), "byte", "bytes"),
    );
    format!(
        "{}\n  {}: {}\n{}\n{}",
        wrap_text(&format!("kernel {}({})", shorten(name), shorten(&params.join(", "))), 4),
        format_count(*instructions as u64, "instruction", "instructions"),
        units.join(", "),
        wrap_text(&memory, 4),
        columns(&HEAD, &rows),
    )
}
