use super::*;
use isa::program::{RelocatedOperand, Relocation, Src};

fn source(text: &str) -> Source {
    Source::new("k.ptx", &format!(".version 7.1\n.target sm_35\n.address_size 64\n{text}"))
}

fn of(text: &str) -> ModuleData {
    let source = source(text);
    data(&source, &source.parse().unwrap()).unwrap()
}

fn find_error(text: &str) -> String {
    let source = source(text);
    data(&source, &source.parse().unwrap()).unwrap_err().to_string()
}

fn words(block: &Block) -> Vec<u32> {
    block.bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

#[test]
fn braces_fill_rows_and_leave_the_rest_zero() {
    let data = of(".global .align 8 .u32 t[2][3] = {{1, 2}, {3, 4, 5}}; .global .u32 flat[2][2] = {1, 2, 3};");
    assert_eq!(words(&data.globals[0]), [1, 2, 0, 3, 4, 5]);
    assert_eq!(data.globals[0].align, 8);
    assert_eq!(words(&data.globals[1]), [1, 2, 3, 0]);
}

#[test]
fn an_open_array_is_as_long_as_its_initialiser() {
    let data = of(".global .b8 a[] = {1, 2, 3}; .global .u16 b[][2] = {{1, 2}, {3}}; .global .b8 c[];");
    let lengths: Vec<usize> = data.globals.iter().map(|g| g.bytes.len()).collect();
    assert_eq!(lengths, [3, 8, 0]);
    assert_eq!(data.globals[1].bytes, [1, 0, 2, 0, 3, 0, 0, 0]);
}

#[test]
fn values_take_the_form_of_their_type() {
    let data = of(".global .f32 a[3] = {0f3F800000, 1.5, 0d4000000000000000}; .global .s8 b = -2;\n\
         .global .f64 c = 0d3FF0000000000000; .global .v2 .u32 d = {7, 8};");
    assert_eq!(words(&data.globals[0]), [1f32, 1.5, 2.0].map(f32::to_bits));
    assert_eq!(data.globals[1].bytes, [0xfe]);
    assert_eq!(data.globals[2].bytes, 1f64.to_le_bytes());
    assert_eq!(words(&data.globals[3]), [7, 8]);
}

#[test]
fn constants_share_one_block() {
    let data = of(".const .b8 a[3] = {1, 2, 3}; .const .align 4 .u32 b = 9;");
    assert_eq!(data.constants.bytes, [1, 2, 3, 0, 9, 0, 0, 0]);
    assert_eq!(data.constant_names, [("a".to_string(), 0, 3), ("b".to_string(), 4, 4)]);
    assert_eq!(
        find_error(".const .b8 a[65536]; .const .b8 b;"),
        "k.ptx:4:33: constants up to `b` take 65537 bytes, expected at most 65536"
    );
}

#[test]
fn addresses_are_filled_in_when_they_are_known() {
    let mut data = of(".global .u32 x[4]; .const .u32 k[2] = {5, 6}; .global .texref t;\n\
         .global .u64 p[4] = {x+8, generic(k)+4, k+4, t};\n\
         .global .b8 cut[2] = {0xFF(x), 0xFF00(x)};\n\
         .func f() { ret; } .global .u64 table[1] = {f};");
    let globals = vec![0x1234_5600, 0x100, 0x200, 0x300];
    data.link(&Addresses { globals, constants: 0x4000, textures: vec![Some(3)], bound: [].into() });
    let pointers = data.globals[1].bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap()));
    assert_eq!(pointers.collect::<Vec<u64>>(), [0x1234_5608, 0x4004, 4, 3]);
    assert_eq!(data.globals[2].bytes, [0x00, 0x56]);
    assert_eq!(data.globals[3].bytes, 1u64.to_le_bytes(), "the first function");
}

#[test]
fn a_kernel_names_variables_by_relocations() {
    let text = ".global .u32 a; .global .u32 b[4]; .const .u32 c[2];\n\
        .entry k() { .reg .b64 %rd<9>; .reg .b32 %r<9>;\n\
        mov.u64 %rd1, b+4; ld.global.u32 %r1, [b+8]; ld.u32 %r2, [a]; ld.const.u32 %r3, [c+4];\n\
        mov.u64 %rd2, c; cvta.const.u64 %rd3, %rd2; ret; }";
    let mut program = source(text).kernel("k").unwrap();
    let relocation = |pc, place, target| Relocation { pc, place, target };
    assert_eq!(
        program.relocations,
        [
            relocation(0, RelocatedOperand::Source(0), Target::Global(1)),
            relocation(1, RelocatedOperand::Offset, Target::Global(1)),
            relocation(2, RelocatedOperand::Offset, Target::Global(0)),
            relocation(5, RelocatedOperand::Source(1), Target::Constants),
        ]
    );
    let globals = vec![0x100, 0x200];
    program.link(&Addresses { globals, constants: 0x300, ..Addresses::default() }).unwrap();
    assert_eq!(program.insts[0].srcs[0], Src::Imm(0x204));
    assert_eq!([1, 2, 3].map(|pc| program.insts[pc].mem().unwrap().offset), [0x208, 0x100, 4]);
    assert_eq!((program.insts[5].srcs[1], program.const_base), (Src::Imm(0x300), 0x300));
    assert!(program.relocations.is_empty());
}

#[test]
fn a_texture_reference_without_a_buffer_is_told_when_the_kernel_is_linked() {
    let text = ".global .texref t; .entry k() { .reg .f32 %f<6>;\n\
        tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f5}]; ret; }";
    let mut program = source(text).kernel("k").unwrap();
    let error = program.link(&Addresses { textures: vec![None], ..Addresses::default() }).unwrap_err();
    assert_eq!(error.to_string(), "k.ptx:5: kernel `k` reads a texture reference that no buffer is bound to");
}

#[test]
fn wrong_initialisers_are_told_with_their_place() {
    assert_eq!(
        find_error(".global .u32 a[2] = {1, 2, 3};"),
        "k.ptx:4:28: the initializer has more values than `a` has elements"
    );
    assert_eq!(find_error(".global .u64 a = nowhere;"), "k.ptx:4:18: `nowhere` has no known address");
    assert_eq!(find_error(".global .u32 a = 1.5;"), "k.ptx:4:18: expected a constant of type `.u32`");
    assert!(find_error(".global .b8 a[4294967296];").contains("expected at most 2147483648"));
}

#[test]
fn only_what_lies_in_memory_from_the_start_has_an_initial_value() {
    let refused = |text: &str| source(text).parse().unwrap_err().to_string();
    assert_eq!(refused(".shared .u32 s = 5;"), "k.ptx:4:16: `s` is `.shared`, which takes no initial value");
    assert_eq!(refused(".extern .global .u32 g = 5;"), "k.ptx:4:24: `g` is `.extern`, which takes no initial value");
    for (declaration, space) in [
        (".reg .u32 %z = 5;", ".reg"),
        (".local .u32 z[2] = {1, 2};", ".local"),
        (".shared .align 4 .b8 z[] = {1};", ".shared"),
        ("{ .param .u32 z = 5; }", ".param"),
    ] {
        let error = refused(&format!(".entry k() {{ {declaration} ret; }}"));
        assert!(error.contains(&format!("is `{space}`, which takes no initial value")), "{error}");
    }
}
