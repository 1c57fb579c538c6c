//! # Waveforms: dumps and the views that open them
//!
//! Nothing here knows the machine. A simulator describes its signals once as a [`signal::Tree`], chooses some of
//! them with globs ([`scope`]), hands values cycle by cycle to a [`sink`], and leaves a GTKWave save file ([`gtkw`])
//! beside the dump, either with everything or as one of the curated [`view`]s.
//!
//! | sink        | gives                                                                       |
//! |-------------|-----------------------------------------------------------------------------|
//! | [`vcd`]     | text that every viewer reads                                                 |
//! | [`fst`]     | the same compressed, for long runs                                           |
//! | [`dump`]    | one of the two, by file name                                                 |
//! | [`history`] | the last cycles, kept in memory until a [`trigger`] or a failure wants them  |
//!
//! ```
//! use waves::scope::Selection;
//! use waves::sink::Sink;
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

mod digits;
pub mod dump;
pub mod fst;
pub mod gtkw;
pub mod history;
pub mod part_file;
pub mod scope;
pub mod signal;
pub mod sink;
pub mod trigger;
mod values;
pub mod vcd;
pub mod view;
