//! The machines and designs that come with the program, so that a name works from any folder.

/// A file of `machines/` or `designs/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// Path shown in messages.
    pub path: &'static str,
    /// Its contents.
    pub text: &'static str,
}

/// The preset whose keys and types every other configuration must have.
pub(super) const SCHEMA: &str = "fermi";

/// The machines, the default one first.
#[must_use]
pub fn machines() -> &'static [Builtin] {
    const fn machine(name: &'static str, path: &'static str, text: &'static str) -> Builtin {
        Builtin { name, path, text }
    }
    const {
        &[
            machine("fermi", "machines/fermi.toml", include_str!("../../machines/fermi.toml")),
            machine("kepler", "machines/kepler.toml", include_str!("../../machines/kepler.toml")),
            machine(
                "gddr5-reference",
                "machines/gddr5-reference.toml",
                include_str!("../../machines/gddr5-reference.toml"),
            ),
            machine("hybrid", "machines/hybrid.toml", include_str!("../../machines/hybrid.toml")),
            machine(
                "southern-islands",
                "machines/southern-islands.toml",
                include_str!("../../machines/southern-islands.toml"),
            ),
        ]
    }
}

/// The designs.
#[must_use]
pub fn designs() -> &'static [Builtin] {
    const fn design(name: &'static str, path: &'static str, text: &'static str) -> Builtin {
        Builtin { name, path, text }
    }
    const {
        &[
            design("baseline", "designs/baseline.toml", include_str!("../../designs/baseline.toml")),
            design("pric", "designs/pric.toml", include_str!("../../designs/pric.toml")),
            design("fermi-hash", "designs/fermi-hash.toml", include_str!("../../designs/fermi-hash.toml")),
            design("bypass-all", "designs/bypass-all.toml", include_str!("../../designs/bypass-all.toml")),
            design("decoupled", "designs/decoupled.toml", include_str!("../../designs/decoupled.toml")),
            design("decoupled-t0", "designs/decoupled-t0.toml", include_str!("../../designs/decoupled-t0.toml")),
            design(
                "decoupled-dueling",
                "designs/decoupled-dueling.toml",
                include_str!("../../designs/decoupled-dueling.toml"),
            ),
            design("srrip", "designs/srrip.toml", include_str!("../../designs/srrip.toml")),
            design("brrip", "designs/brrip.toml", include_str!("../../designs/brrip.toml")),
            design("drrip", "designs/drrip.toml", include_str!("../../designs/drrip.toml")),
            design("ship", "designs/ship.toml", include_str!("../../designs/ship.toml")),
            design("ship-mem", "designs/ship-mem.toml", include_str!("../../designs/ship-mem.toml")),
            design("transient", "designs/transient.toml", include_str!("../../designs/transient.toml")),
            design("frc", "designs/frc.toml", include_str!("../../designs/frc.toml")),
            design("swl-1", "designs/swl-1.toml", include_str!("../../designs/swl-1.toml")),
            design("dwt-cs", "designs/dwt-cs.toml", include_str!("../../designs/dwt-cs.toml")),
            design("ccws", "designs/ccws.toml", include_str!("../../designs/ccws.toml")),
            design("streaming", "designs/streaming.toml", include_str!("../../designs/streaming.toml")),
            design("streaming-l2", "designs/streaming-l2.toml", include_str!("../../designs/streaming-l2.toml")),
            design("dwt-pric", "designs/dwt-pric.toml", include_str!("../../designs/dwt-pric.toml")),
            design("operand-banks", "designs/operand-banks.toml", include_str!("../../designs/operand-banks.toml")),
            design("frc-4", "designs/frc-4.toml", include_str!("../../designs/frc-4.toml")),
            design("frc-8", "designs/frc-8.toml", include_str!("../../designs/frc-8.toml")),
            design("frc-16", "designs/frc-16.toml", include_str!("../../designs/frc-16.toml")),
            design("frc-32", "designs/frc-32.toml", include_str!("../../designs/frc-32.toml")),
            design("frc-64", "designs/frc-64.toml", include_str!("../../designs/frc-64.toml")),
            design("frc-128", "designs/frc-128.toml", include_str!("../../designs/frc-128.toml")),
            design("frc-256", "designs/frc-256.toml", include_str!("../../designs/frc-256.toml")),
            design("frc-512", "designs/frc-512.toml", include_str!("../../designs/frc-512.toml")),
            design("l2-256k", "designs/l2-256k.toml", include_str!("../../designs/l2-256k.toml")),
            design("l2-512k", "designs/l2-512k.toml", include_str!("../../designs/l2-512k.toml")),
            design("li2015-clocks", "designs/li2015-clocks.toml", include_str!("../../designs/li2015-clocks.toml")),
            design("kepler-l1-32k", "designs/kepler-l1-32k.toml", include_str!("../../designs/kepler-l1-32k.toml")),
            design("kepler-l1-48k", "designs/kepler-l1-48k.toml", include_str!("../../designs/kepler-l1-48k.toml")),
            design("mrpb", "designs/mrpb.toml", include_str!("../../designs/mrpb.toml")),
            design("mrpb-all", "designs/mrpb-all.toml", include_str!("../../designs/mrpb-all.toml")),
            design("pdp", "designs/pdp.toml", include_str!("../../designs/pdp.toml")),
            design("profiled", "designs/profiled.toml", include_str!("../../designs/profiled.toml")),
            design("profiled-local", "designs/profiled-local.toml", include_str!("../../designs/profiled-local.toml")),
            design(
                "profiled-global",
                "designs/profiled-global.toml",
                include_str!("../../designs/profiled-global.toml"),
            ),
            design("ways-16", "designs/ways-16.toml", include_str!("../../designs/ways-16.toml")),
            design("ways-32", "designs/ways-32.toml", include_str!("../../designs/ways-32.toml")),
            design("ways-64", "designs/ways-64.toml", include_str!("../../designs/ways-64.toml")),
            design(
                "fully-associative",
                "designs/fully-associative.toml",
                include_str!("../../designs/fully-associative.toml"),
            ),
            design("l1-128k", "designs/l1-128k.toml", include_str!("../../designs/l1-128k.toml")),
            design("tracker", "designs/tracker.toml", include_str!("../../designs/tracker.toml")),
            design("tracker-naive", "designs/tracker-naive.toml", include_str!("../../designs/tracker-naive.toml")),
            design("tracker-2", "designs/tracker-2.toml", include_str!("../../designs/tracker-2.toml")),
            design("tracker-4", "designs/tracker-4.toml", include_str!("../../designs/tracker-4.toml")),
            design("tracker-last", "designs/tracker-last.toml", include_str!("../../designs/tracker-last.toml")),
            design(
                "tracker-exclusive",
                "designs/tracker-exclusive.toml",
                include_str!("../../designs/tracker-exclusive.toml"),
            ),
            design("hybrid-policy", "designs/hybrid-policy.toml", include_str!("../../designs/hybrid-policy.toml")),
            design("unbounded", "designs/unbounded.toml", include_str!("../../designs/unbounded.toml")),
            design("no-caches", "designs/no-caches.toml", include_str!("../../designs/no-caches.toml")),
            design("fetch-on-write", "designs/fetch-on-write.toml", include_str!("../../designs/fetch-on-write.toml")),
        ]
    }
}
