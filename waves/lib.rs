//! # Waveforms: dumps and the views that open them
//!
//! This crate is independent of the simulated machine. A simulator describes its signals once as a
//! [`signal::Tree`] and selects some of them with globs ([`scope`]). It passes their values to a [`sink`]
//! cycle by cycle. It also writes a GTKWave save file ([`gtkw`]) next to the dump, with either all signals or
//! one of the curated [`view`]s.
//!
//! | sink        | output                                                                      |
//! |-------------|-----------------------------------------------------------------------------|
//! | [`vcd`]     | text, which every viewer reads                                               |
//! | [`fst`]     | compressed binary, for long runs                                             |
//! | [`dump`]    | VCD or FST, chosen by the file name                                          |
//! | [`history`] | the last cycles, kept in memory until a [`trigger`] fires or the run fails   |
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

pub mod atomic_file;
mod digits;
pub mod dump;
pub mod fst;
pub mod gtkw;
pub mod history;
pub mod scope;
pub mod signal;
pub mod sink;
pub mod trigger;
mod values;
pub mod vcd;
pub mod view;
