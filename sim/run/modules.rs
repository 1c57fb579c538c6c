//! PTX files of a launch file: their kernels, and the addresses of their variables.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

use golden::reference::{Array, ElementType};
use input::noun;
use isa::alloc::AllocError;
use isa::program::{Addresses, MAX_WORDS, Program};
use isa::spill::spill;
use isa::texture::Texture;
use isa::types::Type;
use ptx::Source;
use ptx::data::{ModuleData, data};
use ptx::lower::PreparedModule;
use rtl::sm::SmConfig;

use super::RunError;
use crate::content::Content;
use crate::launch::{Buffer, BufferId, Init, LaunchFile};

/// Address of the first buffer. Lower addresses are not mapped, so that an access through a null pointer plus
/// an offset is detected.
pub(super) const FIRST_ADDRESS: u64 = 0x10_0000;
/// Alignment of buffers in bytes, as in `cudaMalloc`.
pub(super) const ALIGNMENT: u64 = 256;

/// PTX file of a launch file: its declarations, and the programs of the kernels that are launched.
pub(super) struct Module {
    pub(super) data: ModuleData,
    pub(super) programs: Vec<Program>,
}

/// Memory region for one variable of a PTX file, or for all constants of the file together.
pub(super) struct Region {
    pub(super) name: String,
    pub(super) address: u64,
    /// Contents of the region before the first launch.
    pub(super) bytes: Vec<u8>,
    /// True if kernels must not write to the region.
    pub(super) is_constant: bool,
}

impl Region {
    /// Returns the address range of the region.
    pub(super) fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes.len() as u64
    }
}

/// Addresses of all buffers and memory regions.
pub(super) struct Placement {
    /// Address of each buffer.
    pub(super) addresses: Vec<u64>,
    pub(super) regions: Vec<Region>,
    /// Indices of the buffers that represent constants. Such a buffer is inside the memory region of its
    /// file's constants.
    pub(super) inside: HashSet<usize>,
}

/// Returns the number of registers that a thread can have if a CTA of the shape `block` must fit an SM.
pub(super) fn registers_per_thread(sm: &SmConfig, block: [u32; 3]) -> u64 {
    let threads = block.iter().fold(1, |all: u64, &n| all.saturating_mul(n.into()));
    let lanes = u64::from(sm.warp_lanes).max(1);
    u64::from(sm.registers) / threads.div_ceil(lanes).saturating_mul(lanes).max(1)
}

/// Spills values of a program, so that CTAs of the shapes `blocks`, with which it is launched, fit an SM.
/// `.maxnreg` limits the registers per thread, too. `.maxntid` or `.reqntid` states the largest legal CTA, and
/// `.minnctapersm` how many of them must fit together. Without all these, a thread may have as many registers
/// as an instruction can address.
pub(super) fn limit_registers(
    program: Program,
    sm: &SmConfig,
    blocks: impl IntoIterator<Item = [u32; 3]>,
) -> Result<Program, AllocError> {
    let declared = program.limits.required_block.or(program.limits.largest_block);
    let ctas = u64::from(program.min_ctas.unwrap_or(1).max(1));
    let declared = declared.map(|block| registers_per_thread(sm, block) / ctas);
    let of_blocks = blocks.into_iter().map(|block| registers_per_thread(sm, block)).chain(declared);
    let limit = of_blocks.chain(program.max_regs.map(u64::from)).min();
    spill(program, limit.and_then(|limit| u16::try_from(limit).ok()).unwrap_or(MAX_WORDS))
}

/// Parses each PTX file once, finds the kernels of all launches by name, and translates these kernels for a
/// machine with SMs as in `sm`.
pub(super) fn read(file: &mut LaunchFile, sm: &SmConfig) -> Result<BTreeMap<PathBuf, Module>, RunError> {
    let mut sources: BTreeMap<PathBuf, Source> = BTreeMap::new();
    for ptx in file.launches().map(|launch| &launch.ptx) {
        if !sources.contains_key(ptx) {
            let text = Content::Ptx.read(ptx);
            let text = text.map_err(|e| RunError::input(ptx, &format!("cannot be read: {e}")))?;
            sources.insert(ptx.clone(), Source::new(&ptx.display().to_string(), &text));
        }
    }
    let (mut parsed, mut names) = (Vec::new(), BTreeMap::new());
    for (ptx, source) in &sources {
        let module = source.parse()?;
        names.insert(ptx.clone(), module.kernels().map(|kernel| kernel.name.text.to_string()).collect());
        parsed.push((ptx, source, module));
    }
    file.resolve_kernels(&names)?;
    let mut modules = BTreeMap::new();
    for (ptx, source, module) in &parsed {
        // The largest stack of a kernel's launches is the one that all of them get, and the blocks of all of them
        // must fit.
        let mut shapes: BTreeMap<&str, (u32, BTreeSet<[u32; 3]>)> = BTreeMap::new();
        let mut wanted: Vec<&str> = Vec::new();
        for launch in file.launches().filter(|launch| launch.ptx == **ptx) {
            let (stack, blocks) = shapes.entry(&launch.kernel).or_insert_with(|| {
                wanted.push(&launch.kernel);
                Default::default()
            });
            *stack = launch.stack_bytes.max(*stack);
            blocks.insert(launch.block);
        }
        let prepared = PreparedModule::new(source, module)?;
        let translate = |kernel: &str| {
            let mut program = prepared.lower(kernel)?;
            let (stack, blocks) = &shapes[kernel];
            program.resize_stack(*stack);
            limit_registers(program, sm, blocks.iter().copied()).map_err(|e| RunError::input(ptx, &e))
        };
        let programs = wanted.into_iter().map(translate).collect::<Result<_, RunError>>()?;
        modules.insert((*ptx).clone(), Module { data: data(source, module)?, programs });
    }
    Ok(modules)
}

/// Returns the handle by which kernels identify the texture of a buffer.
pub(super) fn texture_handle(buffer: BufferId) -> u64 {
    buffer.0 as u64 + 1
}

/// Assigns addresses to buffers and variables, and inserts these addresses into data and programs.
///
/// If the launch file states an address for a buffer, the buffer is placed there. All other buffers are
/// placed in order, each at the next aligned address. The variables without a buffer follow. At least one
/// byte after each buffer or variable is not mapped, so that an access beyond its end never reaches the next.
pub(super) fn place(
    file: &LaunchFile,
    modules: &mut BTreeMap<PathBuf, Module>,
    initial: &mut [Array],
) -> Result<Placement, RunError> {
    let bound = BoundBuffers::of(file);
    let constants = modules.values().flat_map(|module| &module.data.constant_names);
    let inside: HashSet<usize> =
        constants.filter_map(|(name, _, _)| bound.variables.get(name.as_str()).copied()).collect();
    let end = |buffer: &Buffer| buffer.address.map(|address| address + buffer.bytes() as u64 + 1);
    let stated = file.buffers.iter().filter_map(end).max();
    let mut next = stated.map_or(FIRST_ADDRESS, |end| end.next_multiple_of(ALIGNMENT));
    let mut take = |bytes: usize| {
        let here = next;
        next = (here + bytes as u64 + 1).next_multiple_of(ALIGNMENT);
        here
    };
    let own = |(i, buffer): (usize, &Buffer)| match buffer.address {
        Some(address) => address,
        None if inside.contains(&i) => 0,
        None => take(buffer.bytes()),
    };
    let mut addresses: Vec<u64> = file.buffers.iter().enumerate().map(own).collect();
    let mut regions = Vec::new();
    let mut used = vec![false; file.buffers.len()];
    for (path, module) in modules.iter_mut() {
        let mut places = Addresses::default();
        let mut loose = Vec::new();
        for (number, block) in module.data.globals.iter().enumerate() {
            let address = match bound.variable(&block.name) {
                Some(i) => {
                    fits(file, i, block.bytes.len())?;
                    used[i] = true;
                    addresses[i]
                }
                None => {
                    loose.push(number);
                    take(block.bytes.len())
                }
            };
            places.globals.push(address);
        }
        let stated = module.data.constant_names.iter().find_map(|(name, offset, _)| {
            let buffer = &file.buffers[bound.variable(name)?];
            buffer.address.map(|address| address.saturating_sub(u64::from(*offset)))
        });
        places.constants = stated.unwrap_or_else(|| take(module.data.constants.bytes.len()));
        places.textures = module.data.textures.iter().map(|name| bound.texture(name)).collect();
        places.bound = textures(file, &addresses).into();
        module.data.link(&places);
        for (name, offset, bytes) in &module.data.constant_names {
            let Some(i) = bound.variable(name) else { continue };
            fits(file, i, *bytes as usize)?;
            used[i] = true;
            addresses[i] = places.constants + u64::from(*offset);
            let block = &mut module.data.constants.bytes[*offset as usize..][..*bytes as usize];
            match file.buffers[i].init {
                Init::Module => initial[i] = Array::from_bytes(file.buffers[i].element, block.to_vec()),
                _ => block.copy_from_slice(initial[i].bytes()),
            }
        }
        for block in &module.data.globals {
            if let Some(i) = bound.variable(&block.name)
                && matches!(file.buffers[i].init, Init::Module)
            {
                initial[i] = Array::from_bytes(file.buffers[i].element, block.bytes.clone());
            }
        }
        let globals = loose.iter().map(|&number| (&module.data.globals[number], places.globals[number]));
        let globals = globals.map(|(block, address)| {
            let name = format!("{} of {}", block.name, path.display());
            Region { name, address, bytes: block.bytes.clone(), is_constant: false }
        });
        let constants = Region {
            name: format!("constants of {}", path.display()),
            address: places.constants,
            bytes: module.data.constants.bytes.clone(),
            is_constant: true,
        };
        regions.extend(globals.chain([constants]).filter(|region| !region.bytes.is_empty()));
        for program in &mut module.programs {
            program.link(&places).map_err(|e| RunError::input(&file.path, &e))?;
        }
    }
    for (buffer, used) in file.buffers.iter().zip(used) {
        if let (Some(symbol), false) = (&buffer.symbol, used) {
            let message = format!("buffer `{}`: no PTX file of the launch file has a variable `{symbol}`", buffer.name);
            return Err(file.refuse_buffer(buffer, message).into());
        }
    }
    Ok(Placement { addresses, regions, inside })
}

/// Buffers that represent the variables and the texture references of the PTX files, by name.
struct BoundBuffers<'f> {
    variables: HashMap<&'f str, usize>,
    textures: HashMap<&'f str, usize>,
}

impl<'f> BoundBuffers<'f> {
    fn of(file: &'f LaunchFile) -> Self {
        let (mut variables, mut textures) = (HashMap::new(), HashMap::new());
        for (number, buffer) in file.buffers.iter().enumerate() {
            if let Some(symbol) = &buffer.symbol {
                variables.entry(symbol.as_str()).or_insert(number);
            }
            if let Some(name) = buffer.texture.as_ref().and_then(|texture| texture.name.as_deref()) {
                textures.entry(name).or_insert(number);
            }
        }
        Self { variables, textures }
    }

    /// Returns the index of the buffer that represents a variable.
    fn variable(&self, name: &str) -> Option<usize> {
        self.variables.get(name).copied()
    }

    /// Returns the handle of the texture whose buffer is bound to a texture reference.
    fn texture(&self, name: &str) -> Option<u64> {
        self.textures.get(name).map(|&number| texture_handle(BufferId(number)))
    }
}

fn fits(file: &LaunchFile, buffer: usize, bytes: usize) -> Result<(), RunError> {
    let buffer = &file.buffers[buffer];
    if buffer.bytes() == bytes {
        return Ok(());
    }
    let symbol = buffer.symbol.as_deref().unwrap_or_default();
    let (name, has) = (&buffer.name, buffer.bytes());
    let unit = noun(has, "byte", "bytes");
    let message = format!("buffer `{name}` has {has} {unit}, expected {bytes}, the size of variable `{symbol}`");
    Err(file.refuse_buffer(buffer, message).into())
}

/// Creates one texture for each buffer, so that texture handles correspond to buffer numbers. Buffers without
/// a texture get a placeholder.
fn textures(file: &LaunchFile, addresses: &[u64]) -> Vec<Texture> {
    let of = |(buffer, &base): (&Buffer, &u64)| {
        let shape = buffer.texture.as_ref();
        Texture {
            name: buffer.name.clone(),
            base,
            extent: shape.map_or([buffer.elements as u32, 1, 1], |shape| shape.extent),
            ty: channel(buffer.element),
            channels: shape.map_or(1, |shape| shape.channels),
            outside: shape.map_or_else(Default::default, |shape| shape.outside),
            normalized: shape.is_some_and(|shape| shape.normalized),
            unit: shape.is_some_and(|shape| shape.unit),
            filter: shape.map_or_else(Default::default, |shape| shape.filter),
        }
    };
    file.buffers.iter().zip(addresses).map(of).collect()
}

/// Type of a texture channel; `None` for elements of 64 bits, which cannot form a texture.
fn channel(element: ElementType) -> Type {
    match element {
        ElementType::I8 => Type::S8,
        ElementType::U8 => Type::U8,
        ElementType::I16 => Type::S16,
        ElementType::U16 => Type::U16,
        ElementType::I32 => Type::S32,
        ElementType::U32 | ElementType::U64 | ElementType::I64 | ElementType::F64 => Type::U32,
        ElementType::F16 => Type::F16,
        ElementType::F32 => Type::F32,
    }
}
