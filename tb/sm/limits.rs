//! Tests of occupancy limits, launch errors, faults, and the reports of cores that hang.

use std::sync::Arc;

use isa::alloc::allocate;
use rtl::config::Rules;
use rtl::kernel::Mode;
use rtl::sm::{AddressMap, KernelImage, StallReason, occupancy};

use super::bench::{Kernel, fermi};

fn fits(kernel: &Kernel) -> Result<u32, String> {
    occupancy(&kernel.config, &kernel.image()).map_err(|error| error.to_string())
}

#[test]
fn occupancy_is_the_tightest_of_five_limits() {
    let kernel = |threads| Kernel::new("st.global.u32 [%rd2], %r0;").grid(1, threads);
    assert_eq!(fits(&kernel(32)), Ok(8));
    assert_eq!(fits(&kernel(256)), Ok(6));
    assert_eq!(fits(&kernel(1024)), Ok(1));
    let mut shared = kernel(32);
    shared.dynamic_shared = 16 << 10;
    assert_eq!(fits(&shared), Ok(3));
    shared.dynamic_shared += 1;
    assert_eq!(fits(&shared), Ok(2));
    let mut registers = kernel(256);
    registers.config.registers = 8192;
    let per_cta = u32::from(registers.image().program().regs) * 256;
    assert_eq!(fits(&registers), Ok(8192 / per_cta));
}

#[test]
fn a_kernel_that_never_fits_says_what_it_lacks() {
    let mut kernel = Kernel::new("ret;");
    kernel.dynamic_shared = 70_000;
    assert_eq!(fits(&kernel).unwrap_err(), "kernel `k` needs 70000 bytes of shared memory per CTA, SM has 49152");
    let mut kernel = Kernel::new("ret;").grid(1, 1024);
    kernel.config.warps = 16;
    kernel.config.threads = 512;
    assert_eq!(fits(&kernel).unwrap_err(), "kernel `k` needs 32 warps per CTA, SM has 16");
}

#[test]
fn launches_that_no_machine_can_run_are_refused() {
    let kernel = Kernel::bare("ret;");
    let image = |grid, block, params| {
        let program = allocate(&kernel.program()).unwrap();
        let map = Arc::new(AddressMap::default());
        KernelImage::new(program, vec![0; params], grid, block, 0, 0, map)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(image([1, 1, 1], [32, 1, 1], 16), Ok(()));
    let error = |result: Result<(), String>| result.unwrap_err();
    assert_eq!(error(image([0, 1, 1], [32, 1, 1], 16)), "grid is 0x1x1, expected 1 to 2^32 - 1 CTAs");
    assert_eq!(error(image([1, 1, 1], [32, 33, 1], 16)), "block is 32x33x1, expected 1 to 1024 threads");
    assert_eq!(error(image([1, 1, 1], [32, 1, 1], 12)), "kernel `k` takes 16 bytes of parameters, got 12");
    let mut narrow = kernel.clone();
    narrow.ptx = narrow.ptx.replace("input) {", "input) .maxntid 16, 2, 1 {");
    let launched = |threads| {
        let program = allocate(&narrow.program()).unwrap();
        KernelImage::new(program, vec![0; 16], [1; 3], [threads, 1, 1], 0, 0, Arc::default()).map(|_| ())
    };
    assert_eq!(launched(32), Ok(()));
    assert_eq!(
        launched(33).unwrap_err().to_string(),
        "block is 33x1x1, expected at most 32 threads, as in [16, 2, 1]: the kernel declares `.maxntid`"
    );
    let map = Arc::new(AddressMap::default());
    let virtual_form = KernelImage::new(kernel.program(), vec![0; 16], [1; 3], [1; 3], 0, 0, map).unwrap_err();
    assert_eq!(virtual_form.to_string(), "kernel `k` has virtual registers, expected an allocated program");
}

/// Runs a kernel that must fault on core 0, and returns the complete fault message.
fn fault(kernel: &Kernel) -> String {
    let bench = kernel.run(Mode::default());
    assert!(!bench.dispatcher.is_done());
    bench.cores[0].fault().expect("no fault").to_string()
}

#[test]
fn an_access_outside_every_buffer_names_thread_place_and_nearest_buffer() {
    let kernel = Kernel::new(
        "shl.b32 %r3, %r0, 11;\ncvt.u64.u32 %rd4, %r3; add.u64 %rd4, %rd0, %rd4;\nld.global.u32 %r4, [%rd4];",
    );
    assert_eq!(
        fault(&kernel.grid(1, 64)),
        "k.ptx:13: kernel `k`, SM 0 warp 1 lane 0 pc 11: load of 4 bytes at 0x10010000 is outside every buffer; nearest is \
         `out`, 0x10000000 to 0x1000ffff"
    );
}

#[test]
fn a_misaligned_store_is_told_by_its_lowest_lane() {
    let kernel = Kernel::new("cvt.u64.u32 %rd4, %r0; add.u64 %rd4, %rd0, %rd4;\nst.global.u16 [%rd4], %r0;");
    assert_eq!(
        fault(&kernel),
        "k.ptx:12: kernel `k`, SM 0 warp 0 lane 1 pc 10: store of 2 bytes at 0x10000001 is not aligned to 2 bytes"
    );
}

#[test]
fn shared_memory_ends_with_what_the_cta_has() {
    let mut kernel = Kernel::new("shl.b32 %r3, %r0, 2;\nst.shared.u32 [%r3], %r0;");
    kernel.dynamic_shared = 64;
    assert_eq!(
        fault(&kernel),
        "k.ptx:12: kernel `k`, SM 0 warp 0 lane 16 pc 9: store of 4 bytes at 0x40 is outside the 64 bytes of shared memory of \
         its CTA"
    );
}

/// Runs a kernel that must fault on core 0, and returns the reason in the fault message, without the
/// location.
fn fault_kind(kernel: &Kernel) -> String {
    kernel.run(Mode::default()).cores[0].fault().expect("no fault").kind.to_string()
}

#[test]
fn a_generic_address_leads_where_the_instruction_may_go() {
    let to = |address: &str, access: &str| {
        let body = format!(".local .align 8 .b8 l[8]; {address}\n{access}\nst.local.u32 [l], %r0;");
        fault_kind(&Kernel::new(&body))
    };
    let (local, param) =
        ("mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4;", "mov.b64 %rd4, out; cvta.param.u64 %rd4, %rd4;");
    let (atomic, memory) = ("atom.add.u32 %r3, [%rd4], 1;", "expected global or shared memory");
    assert_eq!(to(local, atomic), format!("atomic of 4 bytes at 0x200000000000000 is in local memory, {memory}"));
    assert_eq!(to(param, atomic), format!("atomic of 4 bytes at 0x300000000000000 is in param memory, {memory}"));
    assert_eq!(
        to(param, "st.u32 [%rd4], %r0;"),
        "store of 4 bytes at 0x300000000000000 is in the kernel parameters, which are read only"
    );
    assert_eq!(
        to("mov.u64 %rd4, 0x7700000000000000;", "ld.u32 %r3, [%rd4];"),
        "load of 4 bytes at 0x7700000000000000 is in no address space"
    );
}

#[test]
fn an_atomic_and_a_local_store_are_told_by_name_and_size() {
    let atomic = Kernel::new("atom.global.add.u32 %r3, [%rd1+262144], 1;");
    assert_eq!(
        fault_kind(&atomic),
        "atomic of 4 bytes at 0x20040000 is outside every buffer; nearest is `input`, 0x20000000 to 0x2000ffff"
    );
    let local = Kernel::new(".local .align 8 .b8 l[8]; mov.u64 %rd4, l;\nst.local.u32 [%rd4+4096], %r0;");
    let bytes = local.program().local_bytes;
    assert_eq!(
        fault_kind(&local),
        format!("store of 4 bytes at 0x1000 is outside the {bytes} bytes of local memory of its thread")
    );
}

#[test]
fn a_kernel_may_stop_itself() {
    assert_eq!(fault_kind(&Kernel::new("trap;")), "the kernel executed `trap`");
}

#[test]
fn a_core_at_fault_issues_nothing_more_and_charges_the_halt() {
    let kernel = Kernel::new("ld.global.u32 %r3, [%r0];\nst.global.u32 [%rd2], 1;").grid(1, 64);
    let mut bench = kernel.run(Mode::default());
    assert_eq!(bench.out(0), 0);
    assert!(!bench.cores[0].is_idle());
    bench.cores[0].settle(bench.cycles + 1000);
    assert!(bench.cores[0].stall_cycles(StallReason::Halted) >= 2000);
    assert!(bench.cores[0].waiting().iter().all(|warp| warp.reason == StallReason::Halted));
}

#[test]
fn a_core_that_hangs_tells_where_its_warps_wait() {
    // Warps 0 and 1 wait at different barriers. Each barrier needs both warps, so neither of the barriers
    // opens.
    let kernel =
        Kernel::new("setp.ge.u32 %p0, %r0, 32; @%p0 bra OTHER;\nbar.sync 0; bra END;\nOTHER: bar.sync 1;\nEND: ret;");
    let bench = kernel.grid(1, 64).run(Mode::default());
    let waiting = bench.cores[0].waiting();
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|warp| warp.reason == StallReason::Barrier));
    assert_eq!([waiting[0].warp, waiting[1].warp], [0, 1]);
}

#[test]
fn the_presets_pass_their_rules_and_a_broken_configuration_reports_every_breach() {
    let check = |config: &rtl::sm::SmConfig| {
        let mut rules = Rules::default();
        rules.group("sm", |rules| config.validate(128, rules));
        rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(check(&fermi()), Vec::<String>::new());
    let mut config = fermi();
    config.warps = 65;
    (config.warp_lanes, config.simd_width) = (48, 64);
    config.schedulers = 3;
    config.operands.banks = 12;
    config.operands.sp_collectors = 9;
    config.pipes.int.mul.interval = 0;
    assert_eq!(
        check(&config),
        [
            "sm.warp_lanes is 48, expected 32 or 64: a warp is 32 lanes or two such halves",
            "sm.simd_width is 64, expected a power of two from 8 to 32: 32 lanes are issued at a time",
            "sm.warps is 65, expected 1 to 64: one bit per warp in the masks of the core",
            "sm.schedulers is 3, expected a power of two from 1 to 4: the low bits of its id select the scheduler of a \
             warp",
            "sm.pipes.int.mul.interval is 0, expected 1 to 512: a pipe accepts at most one instruction per cycle",
            "sm.operands.banks is 12, expected 0 or a power of two up to 32 that divides the rows of the register \
             file: the bank is a bit field of the row number; without banks, no operand is late",
            "sm.operands.sp_collectors is 9, expected 1 to 8: an instruction is issued to a collector",
        ]
    );
}
