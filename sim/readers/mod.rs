//! # Readers of a machine's description
//! Every hardware block lists its registers, memories, channels and logic once, in `describe`. This module
//! contains the readers of these descriptions that produce output for users, and their helpers. In this
//! folder, "dump" means a waveform file, except in the module `dump`.
//!
//! | file       | content                                                                  |
//! |------------|--------------------------------------------------------------------------|
//! | `wave`     | a waveform, written while the machine runs ([`Waveform`])                 |
//! | `walk`     | sampling of the signals that a step can have changed, for `wave`, `timeline` and `pipeline` |
//! | `timeline` | a trace of requests, queues and stalls for Perfetto ([`Timeline`])        |
//! | `pipeline` | the pipeline stages of every warp instruction, for Konata ([`Pipeline`])  |
//! | `follow`   | the path of one request through the machine, from a dump ([`follow()`])   |
//! | `sightings` | the events of a line, an instruction or a warp, from a dump ([`sightings()`]) |
//! | `readback` | the signals of a dump, for `follow` and `sightings`                      |
//! | `sizes`    | validation of the sizes that a dump file claims                           |
//! | `places`   | the signals that carry a request's number                                 |
//! | `outline`  | the list of a machine's signals, and the hardware block that describes each |
//! | `dump`     | the state at one moment as text ([`Dump`]): deadlock report, `--print`    |
//! | `counts`   | flip-flops, memories and logic of each scope ([`Counts`])                 |
//! | `queues`   | every nonempty queue with its oldest entry ([`queues()`])                 |
//! | `scopes`   | the scope tree that all readers share, so that names agree                |
//! | `look`     | display format of a value: name, level, hexadecimal or number             |

mod counts;
mod dump;
mod follow;
mod look;
mod outline;
mod pipeline;
mod places;
mod queues;
mod readback;
mod scopes;
mod sightings;
mod sizes;
mod timeline;
mod walk;
mod wave;

pub use counts::{ArrayCount, ChannelCount, Counts, LogicCount};
pub use dump::{Dump, NoScope, Show};
pub use follow::{FollowError, Life, Stay, follow};
pub use pipeline::Pipeline;
pub use queues::{QueueHead, queues};
pub use readback::{Readback, Unreadable};
pub use sightings::{Sighting, SightingError, Subject, sightings};
pub use timeline::Timeline;
pub use walk::ChangedBlocks;
pub use wave::{Cut, RecordedDump, WaveError, WaveSpec, Waveform};

#[cfg(test)]
mod tests;
