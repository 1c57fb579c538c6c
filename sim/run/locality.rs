//! Runs a launch file without cycles and tells by whom each line was used before it was found in a cache
//! ([`golden::untimed::Locality`]).

use std::path::Path;

use golden::untimed::{Found, Locality};
use rtl::machine::MachineConfig;

use super::prepare::prepare;
use super::profile::caches;
use super::untimed::each_launch;
use super::{RunError, open};

/// The locality in all launches of a launch file.
///
/// # Errors
/// Bad input, or an illegal access of a kernel.
pub fn locality(launch: &Path, config: &MachineConfig) -> Result<Found, RunError> {
    let prepared = prepare(open(launch, None)?, config)?;
    let mut caches = Locality::new(caches(config).map_err(|e| RunError::input(launch, &e))?);
    each_launch(&prepared, config, &mut |launch, sms, memory| caches.run(launch, sms.ctas, memory))?;
    Ok(*caches.found())
}
