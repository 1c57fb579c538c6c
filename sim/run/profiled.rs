//! Computes the profile for the bypass scheme Profiled-BYPASS: for each launch, the lines that may be cached
//! in the L1Ds. The profile is taken from a run without timing on the same data
//! ([`golden::untimed::Recording::admitted_lines`]).

use std::sync::Arc;

use golden::untimed::{CountScope, Recording};
use rtl::l1::bypass::profiled::{ProfileScope, ProfiledConfig};
use rtl::machine::MachineConfig;

use super::RunError;
use super::prepare::PreparedLaunch;
use super::untimed::each_launch;

/// For the L1D of each SM, the lines that may be cached in one launch.
pub(super) type AdmittedLines = Vec<Arc<[u64]>>;

/// Computes the lines that may be cached, for every launch in order. The result is empty if the bypass scheme
/// of the machine uses no profile.
pub(super) fn profile_launches(
    prepared: &PreparedLaunch,
    config: &MachineConfig,
) -> Result<Vec<AdmittedLines>, RunError> {
    let Some(&ProfiledConfig { scope, threshold }) = config.l1.bypass.profile() else { return Ok(Vec::new()) };
    let counted = match scope {
        ProfileScope::Local => CountScope::Local,
        ProfileScope::Global => CountScope::Global,
        ProfileScope::Either => CountScope::Either,
    };
    let mut launches = Vec::new();
    each_launch(prepared, config, &mut |launch, sms, memory| {
        let recording = Recording::new(launch, sms, config.l1.line_bytes as usize, memory)?;
        launches.push(recording.admitted_lines(counted, threshold.into()).into_iter().map(Arc::from).collect());
        Ok(())
    })?;
    Ok(launches)
}
