//! Tests of traces that must be readable, some with warnings.

use std::io::Cursor;
use std::path::Path;

use isa::recorded::{Class, Register, RegisterFile, Space};

use super::super::list::{Command, KernelsList};
use super::{KernelTrace, Limits, addresses, kernel_of, only_warp, read, volta, warnings};

#[test]
fn an_instruction_has_pc_mask_registers_opcode_and_immediate() {
    let (warp, kernel) = only_warp(&volta("01a0 0000ffff 1 R4 LDGDEPBAR 0 0 2").replace("= 70", "= 80"));
    let step = warp.steps()[0];
    assert_eq!((step.mask, step.has_addresses(), warp.addresses(&step)), (0xffff, false, None));
    let operation = kernel.code().operations()[step.operation as usize];
    assert_eq!((operation.pc, operation.immediate, operation.dests()), (0x1a0, 2, &[Register::vector(4)][..]));
    assert_eq!(kernel.code().opcode(&operation).class, Class::Wait);
}

#[test]
fn mode_0_lists_an_address_for_every_active_lane() {
    let text = volta("0000 80000005 1 R2 LDG.E 1 R4 4 0 0x10 0x000000000000ff00 0x20 0");
    assert_eq!(addresses(&text), [0x10, 0xff00, 0x20]);
}

#[test]
fn mode_1_is_a_base_and_a_stride_from_the_lowest_active_lane() {
    let text = volta("0000 00000070 1 R2 LDG.E 1 R4 4 1 0x1000 -8 0");
    assert_eq!(addresses(&text), [0x1000, 0xff8, 0xff0]);
}

#[test]
fn mode_1_across_idle_lanes_counts_them_and_warns() {
    let (warp, kernel) = only_warp(&volta("0000 00000005 1 R2 LDG.E 1 R4 4 1 0x1000 8 0"));
    assert_eq!(warp.addresses(&warp.steps()[0]).unwrap()[2], 0x1010);
    let [warning] = &warnings(&kernel)[..] else { panic!("{:?}", kernel.warnings()) };
    assert!(warning.starts_with("t.traceg:16: a base and a stride for lanes with gaps"), "{warning}");
}

#[test]
fn mode_2_has_one_distance_fewer_than_lanes_and_leaves_the_immediate_alone() {
    let (warp, kernel) = only_warp(&volta("0000 0000000b 1 R2 LDG.E 1 R4 4 2 0x1000 16 -4 7"));
    let all = warp.addresses(&warp.steps()[0]).unwrap();
    assert_eq!([all[0], all[1], all[3]], [0x1000, 0x1010, 0x100c]);
    assert_eq!(kernel.code().operations()[0].immediate, 7);
}

#[test]
fn a_single_lane_in_mode_2_has_no_distances() {
    assert_eq!(addresses(&volta("0000 00000004 1 R2 LDG.E 1 R4 4 2 0xabc0 0")), [0xabc0]);
}

#[test]
fn an_access_of_no_lane_may_have_any_stride() {
    let (warp, kernel) = only_warp(&volta("0000 00000000 1 R2 LDG.E 1 R4 4 1 0x0 99999999999999999999 0"));
    assert_eq!(warp.addresses(&warp.steps()[0]), Some([0; 32]));
    assert_eq!(kernel.warnings(), []);
}

#[test]
fn a_missing_immediate_and_a_missing_final_line_end_are_accepted() {
    let text = volta("0000 ffffffff 0 EXIT 0 0");
    let (warp, kernel) = only_warp(text.trim_end());
    assert_eq!((warp.steps().len(), kernel.code().operations()[0].immediate), (1, 0));
}

#[test]
fn source_lines_stand_first_where_the_header_says_so() {
    let text = volta("123 0010 ffffffff 0 EXIT 0 0 0").replace("version = 5\n", "version = 5\n-enable lineinfo = 1\n");
    let (_, kernel) = only_warp(&text);
    let operation = kernel.code().operations()[0];
    assert_eq!((operation.line, operation.pc), (123, 0x10));
}

#[test]
fn lines_of_version_2_begin_with_cta_and_warp() {
    let text = volta("0 0 0 0 0010 ffffffff 1 R3 LDG.E 1 R2 4 1 0x100 4 0\n0 0 0 1 0020 ffffffff 0 EXIT 0 0 0");
    let (warp, kernel) = only_warp(&text.replace("tracer version = 5", "tracer version = 2"));
    assert_eq!((warp.steps().len(), kernel.code().operations()[1].pc), (2, 0x20));
    let [warning] = &warnings(&kernel)[..] else { panic!("{:?}", kernel.warnings()) };
    assert!(warning.contains("t.traceg:17: instructions name a CTA or warp other than"), "{warning}");
}

#[test]
fn version_6_has_more_register_files_a_second_immediate_and_values() {
    let values = ["0x1"; 32].join(" ");
    let text = format!(
        "0000 ffffffff 1 UR4 UIADD3 2 UR5 UP1 0 0 NoVal\n\
         0010 ffffffff 1 R4 IADD3 2 R5 P1 0 3 4 Val 1 0xff 32 {values} 1 0\n\
         0020 ffffffff 0 HGMMA.64x8x16.F32 1 R24 1 0 0 NoVal"
    );
    let text = kernel_of("-binary version = 90\n-accelsim tracer version = 6\n", &text);
    let (warp, kernel) = only_warp(&text);
    assert_eq!(warp.steps().len(), 3);
    let operations = kernel.code().operations();
    assert_eq!(operations[0].sources()[1], Register { file: RegisterFile::UniformPredicate, number: 1 });
    assert_eq!((operations[1].immediate, kernel.code().opcode(&operations[2]).class), (3, Class::Tensor));
}

#[test]
fn block_copies_are_read_past_with_a_warning() {
    let lines = "0000 00000001 0 UTMALDG.2D 2 UR4 UR8 8 0x400 1 3 4096 0 2 0x1000 3 128 128 0 NoVal\n\
                 0010 00000001 0 UTMASTG.2D 2 UR4 UR8 8 0x400 0 4096 0 0 2 0x1000 0x2000 0 NoVal";
    let (warp, kernel) = only_warp(&kernel_of("-binary version = 90\n-accelsim tracer version = 6\n", lines));
    assert_eq!(warp.steps().iter().filter(|step| step.has_addresses()).count(), 0);
    assert_eq!(kernel.warnings()[0].times, 2);
}

#[test]
fn engine_operations_of_blackwell_are_read_past_and_shapeless_products_are_warned_of() {
    let lines = "0000 00000001 0 UTCHMMA.2CTA 3 UR4 UR8 UR12 0 0\n\
                 0010 00000001 0 UTCCP.T.S 2 UR4 UR8 8 0x400 0 4096 0 0 2 0x1000 0x2000 0\n\
                 0020 ffffffff 1 R4 LDTM.x4 1 UR4 0 0\n\
                 0030 ffffffff 1 UR6 LDCU.64 0 0 0\n\
                 0040 ffffffff 4 R4 R5 R6 R7 OMMA.16864.F32 3 R8 R10 R12 0 0\n\
                 0050 ffffffff 4 R4 R5 R6 R7 QMMA.F32 3 R8 R10 R12 0 0";
    let (warp, kernel) = only_warp(&kernel_of("-binary version = 100\n-accelsim tracer version = 5\n", lines));
    let classes = warp.steps().iter().map(|step| {
        let operation = &kernel.code().operations()[step.operation as usize];
        kernel.code().opcode(operation).class
    });
    let expected =
        [Class::Engine, Class::Engine, Class::Alu, Class::Load(Space::Constant), Class::Tensor, Class::Tensor];
    assert_eq!(classes.collect::<Vec<_>>(), expected);
    let warnings: Vec<_> = kernel.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("the operation of an engine is not modeled"), "{warnings:?}");
    assert!(warnings[1].contains("states no shape: it takes as long as HMMA.1688"), "{warnings:?}");
}

#[test]
fn the_place_in_a_cluster_is_kept() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0").replace(
        "thread block = 0,0,0\n",
        "thread block = 0,0,0\ncluster id = 1,2,3\ncluster cta = 0,1,0\ncluster rank = 1\n",
    );
    let cluster = read(&text).unwrap().0[0].cluster.unwrap();
    assert_eq!((cluster.id, cluster.cta, cluster.rank), ([1, 2, 3], [0, 1, 0], 1));
}

#[test]
fn equal_instructions_are_kept_once() {
    let (warp, kernel) = only_warp(&volta(
        "0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x0 4 0\n0000 0000ffff 1 R2 LDG.E 1 R4 4 1 0x80 4 0\n0010 1 0 EXIT 0 0 0",
    ));
    assert_eq!(warp.steps().iter().map(|step| step.operation).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(kernel.code().operations().len(), 2);
}

#[test]
fn odd_headers_are_read_with_a_warning_each() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0")
        .replace("-binary version = 70", "-binary version = 0\n-nregs = 21955\n-shmem = many\n-color = red\n-stray");
    let (_, kernel) = only_warp(&text);
    assert_eq!(
        warnings(&kernel),
        [
            "t.traceg:7: shmem is `many`, expected a decimal number: ignored",
            "t.traceg:8: unknown key `color`: ignored",
            "t.traceg:9: the header line `stray` has no `=`: ignored",
            "t.traceg:12: nregs is 21955, but a thread has at most 255",
            "t.traceg:12: binary version 0 is unknown: opcodes of all architectures are accepted",
        ]
    );
}

#[test]
fn a_grid_that_is_not_traced_in_full_is_a_warning() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0").replace("(1,1,1)", "(2,3,1)");
    let (_, kernel) = read(&text).unwrap();
    assert_eq!(warnings(&kernel), ["t.traceg:19: the file has 1 CTAs, the grid 6"]);
}

#[test]
fn an_empty_warp_has_no_steps() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0").replace("insts = 1\n0000 ffffffff 0 EXIT 0 0 0\n", "insts = 0\n");
    assert_eq!(only_warp(&text).0.steps(), []);
}

#[test]
fn generic_addresses_mean_what_the_windows_say() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0")
        .replace("-binary", "-shmem base_addr = 0x1000\n-local mem base_addr = 0x2000\n-binary");
    let (_, kernel) = read(&text).unwrap();
    let addresses = [0xfff, 0x1000, 0x1fff, 0x2000, 0x100_1fff, 0x100_2000];
    use Space::{Global, Local, Shared};
    assert_eq!(
        addresses.map(|address| kernel.header().space_of(address)),
        [Global, Shared, Shared, Local, Local, Global]
    );
}

#[test]
fn a_generic_instruction_is_one_for_each_space_that_its_addresses_lead_to() {
    let generic = |mask: &str, address: &str| format!("0010 {mask} 1 R2 LD.E 1 R4 4 1 {address} 0 0");
    let text = [generic("1", "0x1000"), generic("1", "0x9000000"), generic("1", "0x1008"), generic("0", "0x1000")];
    let text =
        volta(&text.join("\n")).replace("-binary", "-shmem base_addr = 0x1000\n-local mem base_addr = 0x2000\n-binary");
    let (warp, kernel) = only_warp(&text);
    let class = |step: usize| {
        let operation = &kernel.code().operations()[warp.steps()[step].operation as usize];
        assert_eq!(&*kernel.code().opcode(operation).text, "LD.E");
        kernel.code().opcode(operation).class
    };
    let expected = [Space::Shared, Space::Global, Space::Shared, Space::Generic].map(Class::Load);
    assert_eq!([0, 1, 2, 3].map(class), expected);
    assert_eq!(warp.steps()[0].operation, warp.steps()[2].operation);
    assert_eq!(warnings(&kernel), [""; 0]);
}

#[test]
fn generic_accesses_that_no_one_space_has_are_warned_of() {
    let access = "0000 00000003 1 R2 LD.E 1 R4 4 1 0x1ffc 4 0\n0010 00000003 1 R2 LD.E 1 R4 4 1 0x1ff8 4 0";
    let text = |windows: &str| volta(access).replace("-binary", &format!("{windows}-binary"));
    let (_, kernel) = only_warp(&text("-shmem base_addr = 0x1000\n-local mem base_addr = 0x2000\n"));
    let several =
        "t.traceg:18: lanes of a generic access lie in several spaces: the lowest active lane decides for all";
    assert_eq!(warnings(&kernel), [several]);
    let (_, kernel) = only_warp(&text("-shmem base_addr = 0x1000\n"));
    let unknown = "t.traceg:17: the header has no windows of generic addresses: all of these are treated as shared \
                   memory (2 times)";
    assert_eq!(warnings(&kernel), [unknown]);
}

#[test]
fn the_recorded_width_is_that_of_the_access() {
    let widths = |instruction: &str| {
        let (warp, kernel) = only_warp(&volta(&format!("{instruction}\n{instruction}")));
        let code = kernel.code();
        let width = |step: usize| code.opcode(&code.operations()[warp.steps()[step].operation as usize]).width;
        // The second line is the same as the first, so its result comes from the cache of instruction lines.
        assert_eq!(width(0), width(1), "{instruction}");
        (width(0), kernel.warnings().first().map(|warning| warning.message.clone()))
    };
    let access = |opcode: &str, width: u32| widths(&format!("0000 00000003 1 R2 {opcode} 1 R4 {width} 1 0x100 16 0"));
    let record_counts = || Some("the recorded width is not that of the opcode: the recorded width is used".to_owned());
    let opcode_counts =
        || Some("no lane accesses as many bytes as recorded: the width of the opcode is used".to_owned());
    let split = || Some("an atomic of 16 bytes moves 8: the model has no wider ones".to_owned());
    assert_eq!(access("LDG.E", 4), (4, None));
    assert_eq!(access("LDG.E", 8), (8, record_counts()));
    assert_eq!(access("LDG.E.64", 4), (4, record_counts()));
    assert_eq!(access("LDG.E.S16", 2), (2, None));
    assert_eq!(access("LDG.E.S16", 4), (2, None));
    assert_eq!(access("LDG.E.64", 12), (8, opcode_counts()));
    assert_eq!(access("ATOMG.E.ADD.F64.RN", 8), (8, None));
    assert_eq!(access("ATOMG.E.ADD.F64.RN", 4), (8, None));
    assert_eq!(access("RED.E.ADD.F32", 8), (8, record_counts()));
    assert_eq!(access("ATOMG.E.CAS.128", 16), (16, split()));
    // An opcode that accesses no memory has no access width: the recorded width is ignored.
    assert_eq!(access("MUFU.RCP", 8), (4, None));
}

#[test]
fn an_address_that_is_too_wide_is_refused_at_its_line() {
    let read = |instruction: &str, address_bits: u32| {
        let text = volta(&format!("0000 ffffffff 0 NOP 0 0 0\n{instruction}"));
        let limits = Limits { address_bits, ..Limits::default() };
        let mut kernel = KernelTrace::new(Cursor::new(text.into_bytes()), "t.traceg", limits)?;
        kernel.next_cta()
    };
    let wide = [
        ("00000003 1 R2 LDG.E 1 R4 4 1 0xfffffffc 4", "0x100000000"),
        ("00000003 1 R2 LDG.E 1 R4 4 1 0x100000004 -4", "0x100000004"),
        ("00000003 0 STG.E 1 R4 4 0 0x10 0x100000000", "0x100000000"),
        ("00000007 0 RED.E.ADD 1 R4 4 2 0x10 4294967280 -16", "0x100000000"),
        ("00000001 1 R2 LDL 1 R4 4 1 0x100000000 0", "0x100000000"),
        ("00000001 1 R2 LDC 1 R4 4 1 0x100000000 0", "0x100000000"),
    ];
    for (instruction, address) in wide {
        let instruction = format!("0010 {instruction} 0");
        assert!(read(&instruction, 33).is_ok(), "{instruction}");
        let expected =
            format!("t.traceg:17:1: {address} takes 33 address bits, but the machine has 32: use `--set addr_bits=33`");
        assert_eq!(read(&instruction, 32).unwrap_err().to_string(), expected);
    }
    let wider = "0010 00000001 1 R2 LDG.E 1 R4 4 1 0x00ff800000000000 4 0";
    let expected =
        "t.traceg:17:1: 0xff800000000000 takes 56 address bits, but the machine has 49: none can have more than 49";
    assert_eq!(read(wider, 49).unwrap_err().to_string(), expected);
    for near in ["LDS 1 R4 4 1 0x100000000 0", "LDG.E 1 R4 4 1 0xfffffffc 0"] {
        assert!(read(&format!("0010 00000001 1 R2 {near} 0"), 32).is_ok(), "{near}");
    }
    // The address is too wide for the machine, but no lane is active, so no lane accesses it. The line must
    // be legal.
    assert!(read("0010 00000000 1 R2 LDG.E 1 R4 4 1 0x100000000 0 0", 32).is_ok());
}

/// Returns the first warning about a trace, or the error that reading it causes.
fn complaint(text: &str, limits: Limits) -> Option<String> {
    let mut kernel = KernelTrace::new(Cursor::new(text.as_bytes().to_vec()), "t.traceg", limits).unwrap();
    match kernel.next_cta() {
        Ok(_) => kernel.warnings().first().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn an_access_that_reaches_beyond_the_address_bits_is_refused() {
    let limits = Limits { address_bits: 49, ..Limits::default() };
    let of = |access: &str| complaint(&volta(&format!("0000 00000001 {access} 0")), limits);
    assert_eq!(
        of("1 R2 LDG.E.128 1 R4 16 1 0x1fffffffffff8 0").as_deref(),
        Some(
            "t.traceg:16:1: the 16 bytes at 0x1fffffffffff8 reach beyond the 49 address bits of the machine: none can \
             have more than 49"
        )
    );
    assert_eq!(of("1 R2 LDG.E.128 1 R4 16 1 0x1fffffffffff0 0"), None);
    assert!(of("0 STG.E.64 2 R4 R6 8 0 0xfffffffffffffff8").unwrap().contains("takes 64 address bits"));
}

#[test]
fn shared_memory_ends_where_that_of_an_sm_does() {
    let limits = Limits { shared_bytes: 0xc000, ..Limits::default() };
    let of = |access: &str| complaint(&volta(&format!("0000 ffffffff {access} 0")), limits);
    for (access, bytes, address) in [
        ("1 R2 LDS 1 R4 4 1 0x10000 4", 4, "0x1007c"),
        ("1 R2 LDS 1 R4 4 1 0x100000000 4", 4, "0x10000007c"),
        ("1 R2 LDS.64 1 R4 8 1 0xffffffffffff0000 0", 8, "0xffffffffffff0000"),
        ("0 STS.U8 2 R4 R5 1 1 0xc400 0", 1, "0xc400"),
        ("1 R2 ATOMS.ADD 2 R4 R5 4 1 0x100000000000 0", 4, "0x100000000000"),
    ] {
        let expected = format!(
            "t.traceg:16:1: the {bytes} bytes at {address} lie beyond the 49152 bytes of shared memory of an SM"
        );
        assert_eq!(of(access), Some(expected), "{access}");
    }
    assert_eq!(of("1 R2 LDS 1 R4 4 1 0xbf80 4"), None);
    // From sm_80 on, the kernel's own shared memory begins after 1 KiB that CUDA reserves, so this address is
    // legal.
    assert_eq!(of("1 R2 LDS 1 R4 4 1 0xc380 4"), None);
    let windows = "-shmem base_addr = 0x7f0000000000\n-local mem base_addr = 0x7f0001000000\n-binary";
    let generic = |address: &str| {
        complaint(
            &volta(&format!("0000 ffffffff 1 R2 LD.E 1 R4 4 1 {address} 0 0")).replace("-binary", windows),
            limits,
        )
    };
    assert_eq!(generic("0x7f000000bffc"), None);
    let beyond = "t.traceg:18: shared memory is accessed beyond the 49152 bytes of an SM";
    assert_eq!(generic("0x7f0000010000").as_deref(), Some(beyond));
    // Tracers may record shared memory addresses as generic addresses, in the window of shared memory.
    let plain = volta("0000 ffffffff 1 R2 LDS 1 R4 4 1 0x7f0000000000 4 0").replace("-binary", windows);
    assert_eq!(complaint(&plain, limits), None);
}

#[test]
fn an_access_that_is_not_aligned_is_warned_of() {
    let warning = "t.traceg:16: an address is not a multiple of the access size: it is rounded down";
    let of = |access: &str| complaint(&volta(&format!("0000 0000000f {access} 0")), Limits::default());
    for access in [
        "1 R2 LDG.E 1 R4 4 1 0x7f800000007e 0",
        "1 R2 LDG.E 1 R4 4 1 0x1000 2",
        "0 STG.E.64 2 R4 R6 8 0 0x1000 0x1008 0x1014 0x1018",
        "0 STS 2 R4 R5 4 1 0x1 4",
        "0 RED.E.ADD.F16 2 R4 R5 2 1 0x1001 2",
        "1 R2 LDL.128 1 R4 16 2 0x1000 16 8 8",
    ] {
        assert_eq!(of(access).as_deref(), Some(warning), "{access}");
    }
    for access in ["1 R2 LDG.E.U8 1 R4 1 1 0x1001 3", "1 R2 LDG.E 1 R4 4 1 0x1004 -4", "1 R2 LDG.E.U16 1 R4 2 1 0x2 2"]
    {
        assert_eq!(of(access), None, "{access}");
    }
    // Only some lanes supply the address of a row of the matrix. The misaligned addresses belong to other
    // lanes, so they must not cause a warning.
    assert_eq!(
        complaint(
            &volta("0000 ffffffff 1 R2 LDSM.16.M88 1 R4 16 1 0x1 1 0").replace("= 70", "= 80"),
            Limits::default()
        ),
        None
    );
}

#[test]
fn lanes_that_the_block_does_not_have_are_warned_of() {
    let text = |threads: &str| {
        volta("0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x1000 4 0\n0010 0000ffff 0 EXIT 0 0 0").replace("(32,1,1)", threads)
    };
    let warning = "t.traceg:16: instructions are active in lanes for which the block has no threads";
    assert_eq!(complaint(&text("(16,1,1)"), Limits::default()).as_deref(), Some(warning));
    assert_eq!(complaint(&text("(2,8,2)"), Limits::default()), None);
    let (_, kernel) = read(&text("(48,1,1)").replace("warp = 0", "warp = 1")).unwrap();
    assert_eq!(warnings(&kernel)[0], warning);
}

#[test]
fn the_highest_address_is_that_of_device_memory() {
    let text = "0000 3 1 R2 LDG.E 1 R4 4 1 0x7f0000001000 -16 0\n0010 1 1 R2 LDS 1 R4 4 1 0x7fff00000000 0 0";
    let (_, kernel) = only_warp(&volta(text));
    assert_eq!(kernel.highest_address(), 0x7f00_0000_1003);
}

#[test]
fn a_file_of_unknown_lines_is_refused_before_its_end() {
    let list = |text: String| KernelsList::new(Box::new(Cursor::new(text)), "l.g", Path::new(""));
    let (unknown, kernel) = ("y\n".repeat(1_000), "kernel-1.traceg\n");
    let accepted = list(format!("{unknown}{kernel}{unknown}{kernel}")).map(Result::unwrap);
    assert_eq!(accepted.count(), 2, "each command begins a new succession");
    let refused = list(format!("{unknown}y\n{kernel}")).next_command().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "l.g:1001:1: 1000 lines before this one are no known commands: not a list of traces"
    );
}

#[test]
fn a_list_has_copies_and_kernels_in_order() {
    let text = "MemcpyHtoD,0x00007f0000000000,4096\n\nkernel-1.traceg\nMemcpyDtoH,0x1,2\nfoo\nkernel-2.traceg.xz";
    let mut list = KernelsList::new(Box::new(Cursor::new(text)), "l.g", Path::new("dir"));
    let commands: Vec<_> = list.by_ref().map(Result::unwrap).collect();
    let kernel = |name: &str| Command::Kernel { path: Path::new("dir").join(name) };
    let copy = Command::CopyToDevice { address: 0x7f00_0000_0000, bytes: 4096 };
    assert_eq!(commands, [copy, kernel("kernel-1.traceg"), kernel("kernel-2.traceg.xz")]);
    assert_eq!(list.warnings()[0].to_string(), "l.g:5: the line `foo` is not a known command: ignored");
}
