//! User-defined schemes, with the designs that select them.

pub mod bypass;
pub mod dram;
pub mod index;
pub mod l2prefetch;
pub mod mshr;
pub mod partition;
pub mod prefetch;
pub mod replacement;
pub mod scheduler;
pub mod throttle;
pub mod victim;

use warpsieve::config::Builtin;

/// Designs of this crate, by their names in `--design`.
pub static DESIGNS: &[Builtin] = &[
    Builtin { name: "new-bypass", path: "designs/new-bypass.toml", text: include_str!("../designs/new-bypass.toml") },
    Builtin { name: "new-dram", path: "designs/new-dram.toml", text: include_str!("../designs/new-dram.toml") },
    Builtin { name: "new-index", path: "designs/new-index.toml", text: include_str!("../designs/new-index.toml") },
    Builtin { name: "new-mshr", path: "designs/new-mshr.toml", text: include_str!("../designs/new-mshr.toml") },
    Builtin {
        name: "new-partition",
        path: "designs/new-partition.toml",
        text: include_str!("../designs/new-partition.toml"),
    },
    Builtin {
        name: "new-l2prefetch",
        path: "designs/new-l2prefetch.toml",
        text: include_str!("../designs/new-l2prefetch.toml"),
    },
    Builtin {
        name: "new-prefetch",
        path: "designs/new-prefetch.toml",
        text: include_str!("../designs/new-prefetch.toml"),
    },
    Builtin {
        name: "new-replacement",
        path: "designs/new-replacement.toml",
        text: include_str!("../designs/new-replacement.toml"),
    },
    Builtin {
        name: "new-scheduler",
        path: "designs/new-scheduler.toml",
        text: include_str!("../designs/new-scheduler.toml"),
    },
    Builtin {
        name: "new-throttle",
        path: "designs/new-throttle.toml",
        text: include_str!("../designs/new-throttle.toml"),
    },
    Builtin { name: "new-victim", path: "designs/new-victim.toml", text: include_str!("../designs/new-victim.toml") },
];
