//! What is read, and what is only warned of.

use std::path::Path;

use isa::recorded::{Class, Register, RegisterFile, Space};

use super::super::list::{Command, KernelsList};
use super::{addresses, kernel_of, only_warp, read, volta, warnings};

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
    assert!(warning.contains("t.traceg:17: instructions name another CTA or warp"), "{warning}");
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
            "t.traceg:12: binary version is 0, which we do not know: opcodes of all architectures are taken",
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
    assert_eq!(spaces, [Global, Shared, Shared, Local, Local, Global]);
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
}

#[test]
fn the_highest_address_is_that_of_device_memory() {
    let text = "0000 3 1 R2 LDG.E 1 R4 4 1 0x7f0000001000 -16 0\n0010 1 1 R2 LDS 1 R4 4 1 0x7fff00000000 0 0";
    let (_, kernel) = only_warp(&volta(text));
    assert_eq!(kernel.highest_address(), 0x7f00_0000_1000);
}

#[test]
fn a_list_has_copies_and_kernels_in_order() {
    let text = "MemcpyHtoD,0x00007f0000000000,4096\n\nkernel-1.traceg\nMemcpyDtoH,0x1,2\nfoo\nkernel-2.traceg.xz";
    let mut list = KernelsList::new(Box::new(std::io::Cursor::new(text)), "l.g", Path::new("dir"));
    let commands: Vec<_> = list.by_ref().map(Result::unwrap).collect();
    let kernel = |name: &str| Command::Kernel { path: Path::new("dir").join(name) };
    let copy = Command::CopyToDevice { address: 0x7f00_0000_0000, bytes: 4096 };
    assert_eq!(commands, [copy, kernel("kernel-1.traceg"), kernel("kernel-2.traceg.xz")]);
    assert_eq!(list.warnings()[0].to_string(), "l.g:5: the line `foo` is no command that we know: ignored");
}
