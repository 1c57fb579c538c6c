//! Tests a device on which a host program allocates memory, launches kernels one by one, and frees memory.

use std::fs;
use std::path::PathBuf;

use rtl::machine::MachineConfig;
use warpsieve::run::{Device, DeviceError, DeviceLaunch, Outcome, RunOptions, RunReport, Verdict};

use super::{fermi, root};

/// Number of array elements that one kernel launch adds.
const ELEMENTS: usize = 1000;

/// Launches the kernel `vadd`, which adds two arrays in device memory, and returns the report of the launch.
fn add(device: &mut Device<'_>, module: usize, [a, b, c]: [u64; 3]) -> RunReport {
    let kernel = device.kernel(module, "vadd").unwrap();
    let mut params: Vec<u8> = [a, b, c].iter().flat_map(|address| address.to_le_bytes()).collect();
    params.extend((ELEMENTS as u32).to_le_bytes());
    let launch = DeviceLaunch { grid: [4, 1, 1], block: [256, 1, 1], shared_bytes: 0, params };
    device.launch(&kernel, launch, &mut |_| {}).unwrap();
    device.last_report().unwrap()
}

fn device<'o>(config: &MachineConfig, options: &'o RunOptions) -> (Device<'o>, usize) {
    let mut device = Device::new(PathBuf::from("host"), config, options).unwrap();
    let ptx = fs::read_to_string(root().join("kernels/vadd/vadd.ptx")).unwrap();
    let module = device.load("vadd.ptx", &ptx).unwrap();
    (device, module)
}

fn allocate(device: &mut Device<'_>, name: &str, value: f32) -> u64 {
    let bytes: Vec<u8> = std::iter::repeat_n(value.to_le_bytes(), ELEMENTS).flatten().collect();
    let address = device.allocate(name, bytes.len() as u64, 1, 0).unwrap();
    device.write(address, &bytes).unwrap();
    address
}

#[test]
fn every_launch_on_memory_that_comes_and_goes_is_checked() {
    let options = RunOptions { check: true, ..RunOptions::default() };
    let (mut device, module) = device(&fermi(), &options);
    let [a, c] = [allocate(&mut device, "a", 1.5), allocate(&mut device, "c", 0.0)];
    for round in 0..3u8 {
        // In each round, the device allocates the same memory under another name. The memory still has the
        // contents of the previous round.
        let b = allocate(&mut device, &format!("b {round}"), round.into());
        let report = add(&mut device, module, [a, b, c]);
        assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed), "{report:?}");
        assert_eq!(device.read(c, 4).unwrap(), (1.5 + f32::from(round)).to_le_bytes());
        assert!(device.free(b));
    }
    assert_eq!(device.finish().unwrap().verdict, Verdict::Passed);
}

#[test]
fn counts_of_the_launches_add_up_to_those_of_the_device() {
    let options = RunOptions::default();
    let (mut device, module) = device(&fermi(), &options);
    let buffers = [("a", 1.0), ("b", 2.0), ("c", 0.0)].map(|(name, value)| allocate(&mut device, name, value));
    let runs = [(); 3].map(|()| add(&mut device, module, buffers));
    for run in &runs {
        assert_eq!(run.kernels, [("vadd".to_owned(), 1)]);
        let slots: u64 = run.counters.slots().sum();
        assert_eq!(slots, run.counters.cycles * u64::from(run.counters.schedulers) * run.counters.cores.len() as u64);
    }
    let l2 = |run: &RunReport| run.counters.totals().l2;
    assert_eq!((l2(&runs[0]).hits, l2(&runs[2]).hits), (0, l2(&runs[2]).accesses), "the L2 stays warm");
    let all = device.report().unwrap();
    let total = device.finish().unwrap();
    assert_eq!(all.counters, total.counters, "a report settles what the end of the run settles");
    let sum = |count: fn(&RunReport) -> u64| runs.iter().map(count).sum::<u64>();
    for count in [
        |run: &RunReport| run.counters.warp_instructions(),
        |run: &RunReport| run.counters.totals().l1.accesses,
        |run: &RunReport| run.counters.totals().l2.accesses,
        |run: &RunReport| run.counters.totals().dram.bytes,
        |run: &RunReport| run.loads.iter().map(|load| load.stats.accesses).sum(),
    ] {
        assert_eq!(sum(count), count(&total));
    }
    assert_eq!(total.kernels, [("vadd".to_owned(), 3)]);
}

#[test]
fn a_launch_after_an_illegal_access_is_refused_and_nothing_is_reported() {
    let options = RunOptions::default();
    let (mut device, module) = device(&fermi(), &options);
    let kernel = device.kernel(module, "vadd").unwrap();
    let params = vec![16; kernel.program().param_bytes as usize];
    let launch = DeviceLaunch { grid: [1; 3], block: [32, 1, 1], shared_bytes: 0, params };
    let illegal = device.launch(&kernel, launch.clone(), &mut |_| {});
    assert!(matches!(illegal, Err(DeviceError::Access(_))), "{illegal:?}");
    assert!(matches!(device.launch(&kernel, launch, &mut |_| {}), Err(DeviceError::Earlier)));
    assert!(matches!(device.report(), Err(DeviceError::Earlier)));
    assert!(device.finish().is_err());
}

/// Number of values of a thread of the kernel `sum` that are live at the same time.
const VALUES: u32 = 40;

/// Returns a kernel `sum`, which stores `(t + 1) * (1 + 2 + ... + VALUES)` for each thread `t` after it has
/// computed all summands. `directives` are those of the kernel.
pub(super) fn sum_of_many(directives: &str) -> String {
    let values = 1..=VALUES;
    let set: String = values.clone().map(|i| format!("mad.lo.u32 %r{i}, %r0, {i}, {i};\n")).collect();
    let add: String = values.skip(1).map(|i| format!("add.u32 %r1, %r1, %r{i};\n")).collect();
    format!(
        ".entry sum(.param .u64 out) {directives} {{\n\
         .reg .b32 %r<{}>; .reg .b64 %rd<3>; mov.u32 %r0, %tid.x; ld.param.u64 %rd1, [out];\n{set}{add}\
         mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1; ret; }}\n",
        VALUES + 1
    )
}

#[test]
fn registers_are_spilled_only_if_the_launched_block_does_not_fit_otherwise() {
    let options = RunOptions { check: true, ..RunOptions::default() };
    let (mut device, _) = device(&fermi(), &options);
    let ptx = format!(".version 7.1\n.target sm_35\n.address_size 64\n{}", sum_of_many(""));
    let module = device.load("sum.ptx", &ptx).unwrap();
    let kernel = device.kernel(module, "sum").unwrap();
    assert_eq!(kernel.spill_note(), None);
    assert!(device.fit(&kernel, [512, 1, 1]).unwrap().is_none());
    // An SM of `fermi` has 32,768 registers: 32 for each thread of a block of 1,024.
    let out = device.allocate("out", 4096, 4, 0).unwrap();
    let launch =
        DeviceLaunch { grid: [1; 3], block: [1024, 1, 1], shared_bytes: 0, params: out.to_le_bytes().to_vec() };
    let refused = device.launch(&kernel, launch.clone(), &mut |_| {});
    assert!(matches!(refused, Err(DeviceError::Launch(_))), "{refused:?}");
    let fitted = device.fit(&kernel, [1024, 1, 1]).unwrap().expect("a kernel with fewer registers");
    let note = fitted.spill_note().unwrap();
    assert!(note.contains("of kernel `sum` are spilled to local memory: 32 registers per thread"), "{note}");
    device.launch(&fitted, launch, &mut |_| {}).unwrap();
    assert_eq!(device.last_report().unwrap().verdict, Verdict::Passed);
    let sum: u32 = (1..=VALUES).sum();
    let expected: Vec<u8> = (1..=1024u32).flat_map(|t| (t * sum).to_le_bytes()).collect();
    assert_eq!(device.read(out, 4096).unwrap(), expected);
    assert!(device.fit(&fitted, [1024, 1, 1]).unwrap().is_none());
}
