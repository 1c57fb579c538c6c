//! # Waveforms: dumps and the views that open them
//!
//! Nothing here knows the machine. A simulator describes its signals once as a [`signal::Tree`], chooses some of
//! them with globs ([`scope`]), hands values to a writer ([`vcd`]) cycle by cycle, and leaves a GTKWave save file
//! ([`gtkw`]) beside the dump, either with everything or as one of the curated [`view`]s.
//!
//! ```
//! use waves::scope::Selection;
//! use waves::signal::{Display, Kind, TreeBuilder};
//! use waves::vcd::{TimeUnit, Timescale, VcdWriter};
//!
//! let mut build = TreeBuilder::new("machine");
//! build.enter("sm0");
//! let pc = build.signal("pc", 32, Kind::Reg, Display::Hex);
//! build.leave();
//! let tree = build.finish();
//!
//! let timescale = Timescale::new(1, TimeUnit::NS);
//! let mut dump = VcdWriter::new(Vec::new(), &tree, &Selection::default_of(&tree), timescale)?;
//! for (cycle, value) in [0x100, 0x100, 0x108].into_iter().enumerate() {
//!     dump.time(cycle as u64);
//!     dump.sample(pc, value)?; // the second cycle writes nothing: the value stays
//! }
//! let bytes = dump.into_inner()?;
//! assert!(String::from_utf8_lossy(&bytes).ends_with("#2\nb100001000 !\n"));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod gtkw;
pub mod part_file;
pub mod scope;
pub mod signal;
pub mod vcd;
pub mod view;
