//! PTX file to be optimized: its loads, and the requests that they make in a run of a launch file.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use compiler::Triangle;
use compiler::characterise::{KernelMetrics, LoadMetrics, TransferCounts};
use compiler::rewrite::{StaticLoad, loads};
use golden::untimed::{Geometry, LoadRequests, Recording, SECTOR_BYTES};
use ptx::Source;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rtl::machine::MachineConfig;

use crate::content::Content;
use crate::launch::LaunchFile;
use crate::run::{RunError, record};

/// PTX file to be optimized, with the recorded launches of its kernels.
#[derive(Debug)]
pub struct Subject {
    /// Text of the PTX file.
    pub source: Source,
    /// Loads from global memory, in the order of the PTX text.
    pub loads: Vec<StaticLoad>,
    kernels: Vec<Kernel>,
    l1: Geometry,
    line_bytes: u64,
}

/// Recorded launches of one kernel.
#[derive(Debug)]
struct Kernel {
    name: String,
    /// Numbers of the selectable loads, in ascending order. A load is selectable if it was executed and its
    /// cache operator can be changed.
    candidates: Vec<usize>,
    launches: Vec<Launch>,
}

#[derive(Debug)]
struct Launch {
    recording: Recording,
    /// For each load of the recording, its number in the PTX file; `None` if its cache operator cannot be
    /// chosen.
    numbers: Vec<Option<usize>>,
}

impl Subject {
    /// Executes a launch file once and records the requests of its loads.
    ///
    /// # Errors
    /// Fails on bad input or an illegal access by a kernel.
    pub fn new(launch: LaunchFile, config: &MachineConfig) -> Result<Self, RunError> {
        let recordings = record(launch, config)?;
        let text = Content::Ptx
            .read(&recordings.ptx)
            .map_err(|e| RunError::Input { path: recordings.ptx.clone(), reason: format!("cannot be read: {e}") })?;
        let source = Source::new(&recordings.ptx.display().to_string(), &text);
        let loads = loads(&source)?;
        let of_place: BTreeMap<(u32, u32), usize> = loads
            .iter()
            .enumerate()
            .filter(|(_, load)| load.fixed.is_none())
            .map(|(number, load)| ((load.line, load.column), number))
            .collect();
        let kernels = recordings.kernels.into_iter().map(|kernel| {
            let number = |asked: &LoadRequests| of_place.get(&kernel.places[asked.pc as usize]).copied();
            let numbered = |recording: Recording| {
                let numbers = recording.loads().iter().map(number).collect();
                Launch { recording, numbers }
            };
            let launches: Vec<Launch> = kernel.launches.into_iter().map(numbered).collect();
            let candidates: BTreeSet<usize> = launches.iter().flat_map(|l| &l.numbers).copied().flatten().collect();
            Kernel { name: kernel.name, candidates: candidates.into_iter().collect(), launches }
        });
        let kernels = kernels.collect();
        Ok(Self { source, loads, kernels, l1: recordings.l1, line_bytes: recordings.line_bytes })
    }

    /// Names of the kernels, in the order in which [`Subject::characterise`] returns their metrics.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// Returns the number of line requests, summed over all launches, for each load whose cache operator can
    /// be chosen.
    #[must_use]
    pub fn lines_asked(&self) -> BTreeMap<usize, u64> {
        let mut lines = BTreeMap::new();
        for (number, asked) in self.kernels.iter().flat_map(|kernel| &kernel.launches).flat_map(Launch::chosen) {
            *lines.entry(number).or_default() += asked.transactions;
        }
        lines
    }

    /// Number of runs that [`Subject::characterise`] evaluates. Each run caches one or two loads.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.kernels.iter().map(|kernel| kernel.runs().len()).sum()
    }

    /// Computes the metrics of the loads of every kernel with the untimed model. `tick` is called after each
    /// run.
    #[must_use]
    pub fn characterise(&self, tick: &(dyn Fn() + Sync)) -> Vec<KernelMetrics> {
        let untimed = |kernel: &Kernel| {
            let hits = |cached: [usize; 2]| {
                let hits = kernel.launches.iter().map(|launch| launch.hits(self.l1, &cached)).sum();
                tick();
                Ok(hits)
            };
            let Ok::<_, Infallible>(metrics) = kernel.characterise(self.line_bytes, &hits);
            metrics
        };
        self.kernels.iter().map(untimed).collect()
    }

    /// Computes the metrics of the loads of every kernel. The function `hits` must return the number of hits
    /// in a run that caches certain loads. The arguments of `hits` are the name of a kernel and the numbers
    /// of the two cached loads. The two numbers are equal if only one load is cached.
    ///
    /// # Errors
    /// Returns the first error of `hits`.
    pub fn characterise_by<E, F>(&self, hits: &F) -> Result<Vec<KernelMetrics>, E>
    where
        E: Send,
        F: Fn(&str, [usize; 2]) -> Result<u64, E> + Sync,
    {
        let measured = |kernel: &Kernel| kernel.characterise(self.line_bytes, &|cached| hits(&kernel.name, cached));
        self.kernels.iter().map(measured).collect()
    }

    /// Computes the L2 traffic of the loads of all kernels, in bytes. The L1 caches the loads in `cached`.
    /// All other loads whose operator can be chosen bypass the L1.
    #[must_use]
    pub fn l2_bytes(&self, cached: &BTreeSet<usize>) -> u64 {
        let launches: Vec<&Launch> = self.kernels.iter().flat_map(|kernel| &kernel.launches).collect();
        launches.into_par_iter().map(|launch| launch.l2_bytes(self.l1, self.line_bytes, cached)).sum()
    }
}

impl Kernel {
    /// Returns the two cached loads of each run. In the first runs only one load is cached, so both entries
    /// are this load. The remaining runs have two different loads.
    fn runs(&self) -> Vec<[usize; 2]> {
        let all = &self.candidates;
        let pairs = Triangle::<u64>::pairs(all.len()).map(|(i, j)| [all[i], all[j]]);
        all.iter().map(|&load| [load; 2]).chain(pairs).collect()
    }

    fn characterise<E: Send>(
        &self,
        line_bytes: u64,
        hits: &(dyn Fn([usize; 2]) -> Result<u64, E> + Sync),
    ) -> Result<KernelMetrics, E> {
        let mut hits: Vec<u64> = self.runs().into_par_iter().map(hits).collect::<Result<_, E>>()?;
        let pair_hits = hits.split_off(self.candidates.len());
        let mut alone: Vec<LoadMetrics> =
            hits.into_iter().map(|hits| LoadMetrics { hits, ..Default::default() }).collect();
        let (mut all_cached, mut all_bypassed) = (TransferCounts::default(), TransferCounts::default());
        for (number, asked) in self.launches.iter().flat_map(Launch::chosen) {
            let load = &mut alone[self.candidates.partition_point(|&other| other < number)];
            load.accesses += asked.transactions;
            load.sectors += asked.sectors;
            all_cached.useful_bytes += asked.bytes;
            all_cached.transferred_bytes += asked.transactions * line_bytes;
            all_bypassed.useful_bytes += asked.bytes;
            all_bypassed.transferred_bytes += asked.sectors * SECTOR_BYTES as u64;
        }
        let loads = self.candidates.clone();
        let mut pair_hits = pair_hits.into_iter();
        let pair_hits = Triangle::new(loads.len(), |_| pair_hits.next().unwrap_or_default());
        Ok(KernelMetrics { line_bytes, loads, alone, pair_hits, all_cached, all_bypassed })
    }
}

impl Launch {
    /// Iterates over the loads whose operator can be chosen, each with its number and its requests.
    fn chosen(&self) -> impl Iterator<Item = (usize, &LoadRequests)> {
        self.numbers.iter().zip(self.recording.loads()).filter_map(|(number, asked)| Some(((*number)?, asked)))
    }

    /// Returns for each load of the recording whether the L1 caches it. For loads whose operator can be
    /// chosen, the function `is_cached` decides. All other loads are cached or bypass the L1 as in the
    /// recorded program.
    fn cached_loads(&self, is_cached: impl Fn(usize) -> bool) -> Vec<bool> {
        let loads = self.recording.loads().iter();
        self.numbers.iter().zip(loads).map(|(number, asked)| number.map_or(asked.is_cached, &is_cached)).collect()
    }

    /// Computes the number of hits of the loads in `cached`, when the L1 caches only these loads.
    fn hits(&self, l1: Geometry, cached: &[usize]) -> u64 {
        let is_cached = |number: usize| cached.contains(&number);
        if !self.numbers.iter().flatten().any(|&number| is_cached(number)) {
            return 0;
        }
        let hits = self.recording.hits(l1, &self.cached_loads(is_cached));
        self.numbers.iter().zip(hits).filter(|(number, _)| number.is_some_and(is_cached)).map(|(_, hits)| hits).sum()
    }

    fn l2_bytes(&self, l1: Geometry, line_bytes: u64, cached: &BTreeSet<usize>) -> u64 {
        let cached = self.cached_loads(|number| cached.contains(&number));
        let hits = self.recording.hits(l1, &cached);
        let bytes = |((asked, hits), cached): ((&LoadRequests, u64), bool)| match cached {
            true => (asked.transactions - hits) * line_bytes,
            false => asked.sectors * SECTOR_BYTES as u64,
        };
        self.recording.loads().iter().zip(hits).zip(cached).map(bytes).sum()
    }
}
