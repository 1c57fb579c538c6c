//! # Readers of a machine's description
//! Every block lists its registers, memories, channels and logic once, in `describe`. Here are
//! the readers of that list that a user meets.
//!
//! | file       | gives                                                                    |
//! |------------|--------------------------------------------------------------------------|
//! | `wave`     | a waveform while the machine runs ([`Waveform`])                          |
//! | `walk`     | the samples of all that a step can have changed, for these three          |
//! | `timeline` | a trace of requests, queues and stalls for Perfetto ([`Timeline`])        |
//! | `pipeline` | every warp instruction stage by stage, for Konata ([`Pipeline`])            |
//! | `follow`   | the life of one request, from a dump ([`follow()`])                       |
//! | `sightings` | what happened to a line, an instruction or a warp, from a dump ([`sightings()`]) |
//! | `readback` | the signals of a dump, for these two                                     |
//! | `sizes`    | whether what an FST says it holds has room in it                         |
//! | `places`   | where a request's number can be seen                                     |
//! | `outline`  | the signals of a machine, elaborated once, and where each is described    |
//! | `dump`     | the state at one moment as text ([`Dump`]): deadlock report, `--print`    |
//! | `counts`   | flip-flops, memories and logic, scope by scope ([`Counts`])               |
//! | `queues`   | every queue that is not empty, with its oldest entry ([`queues()`])       |
//! | `scopes`   | the tree of scopes that all of them share, hence one name for one thing   |
//! | `look`     | how a value is shown: by name, as a level, in hexadecimal, as a number    |

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
pub use walk::Changed;
pub use wave::{Cut, Recorded, WaveError, WaveSpec, Waveform};

#[cfg(test)]
mod tests;
