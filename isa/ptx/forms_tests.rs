use super::super::ast::Span;
use super::*;

/// Classifies an instruction that is given as text, without operands.
fn verdict(text: &str) -> Verdict {
    let mut words = text.split('.').map(|text| Name { text, span: Span::default() });
    let opcode = words.next().unwrap();
    // The text is split at dots. For example, `L2::128B` gives one modifier, but `b8x16.b6x16_p32` gives two.
    classify(opcode.text, &words.collect::<Vec<_>>())
}

#[test]
fn what_ptx_has_is_told_from_what_it_has_not() {
    use Verdict::{Modelled, NoForm, NoModifier, NoName};
    let cases = [
        ("add.s32", Modelled),
        ("add.f32.rn.ftz", Modelled),
        ("add.rn.f32x2", Modelled),
        ("ad.s32", NoName),
        ("add.s33", NoModifier(0)),
        ("add.rn.f32.staurate", NoModifier(2)),
        ("add.sat.u32", NoForm),
        ("add.global.u32", NoForm),
        ("add.rn.rz.f32", NoForm),
        ("ld.global.cs.L2::128B.u32", Modelled),
        ("ld.global.L1::evict_last.L2::evict_first.nc.u32", Modelled),
        ("ld.global.cs.L1::evict_last.u32", NoForm),
        ("st.global.cs.L1::evict_last.u32", NoForm),
        ("add", NoForm),
        ("add.f32.f64", NoForm),
        ("cvt.f32.f32.rni", Modelled),
        ("cvt.rn.f16x2.f32", Modelled),
        ("cvt.rn.f16x2.f16x2", NoForm),
        ("atom.global.add.noftz.bf16x2", Modelled),
        ("atom.add.f16", NoForm),
        ("mma.sync.aligned.f32.f16.f16.f32.m16n8k16.row.col", Modelled),
        ("tex.2d.v4.f32.s32", Modelled),
        ("ldmatrix.shared.sync.aligned.m8n8.x4.b16.trans", Modelled),
        ("ret", Modelled),
    ];
    for (text, expected) in cases {
        assert_eq!(verdict(text), expected, "{text}");
    }
}

#[test]
fn forms_that_are_not_modelled_say_what_to_use_instead() {
    let cases = [
        ("red.global.v4.f32.add", "instead: one `red` for each element, or code for `-arch=sm_80`"),
        ("ld.global.v8.f32", "instead: two vectors of 16 bytes, or code for `-arch=sm_90`"),
        ("ld.global.v4.f64", "instead: two vectors of 16 bytes, or code for `-arch=sm_90`"),
        ("wgmma.fence.sync.aligned", "instead: `mma.sync`, or code for `-arch=sm_80`"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "code for `-arch=sm_90` does without it"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64", "instead: `cp.async` of sm_80, or code for `-arch=sm_80`"),
        ("wmma.load.a.sync.aligned.m16n16k16.row.s8", "instead: `.f16` factors, or code for `-arch=sm_70`"),
        ("sust.p.2d.b32.trap", "instead: `sust.b` with the bytes of the texel"),
        ("vmad.u32.u32.u32", "instead: `mad`"),
    ];
    for (text, expected) in cases {
        match verdict(text) {
            Verdict::NotModelled(advice) => assert_eq!(advice.to_string(), expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_typo_finds_the_word_that_was_meant() {
    assert_eq!(closest_name("ad"), Some("add"));
    assert_eq!(closest_name("mvo"), Some("mov"));
    assert_eq!(closest_name("ldmatirx"), Some("ldmatrix"));
    assert_eq!(closest_name("frobnicate"), None);
    assert_eq!(closest_modifier("ld", "globl"), Some("global"));
    assert_eq!(closest_modifier("ld", "L2::182B"), Some("L2::128B"));
    assert_eq!(closest_modifier("add", "saturate"), None);
}

/// An instruction with the first modifier of each group of a form must match the form, whatever the order of
/// the modifiers.
#[test]
fn every_form_of_the_table_fits_itself_in_any_order() {
    for line in lines() {
        let opcode = line.split_whitespace().next().unwrap().trim_start_matches('-');
        for form in forms(opcode) {
            let groups: Vec<Group> = form.groups().filter(|group| group.0 != "*").collect();
            let mut words = Vec::new();
            for group in &groups {
                let word = group.words().next().unwrap();
                assert!(!word.is_empty() && !word.starts_with('$'), "{opcode}: `{}`", group.0);
                words.push(word.replace('#', "16"));
            }
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            assert!(form.fits(&words), "{opcode} {}", form.groups);
            words.reverse();
            assert!(form.fits(&words), "{opcode} {}", form.groups);
        }
    }
}

#[test]
fn a_great_many_modifiers_are_refused_at_once() {
    let names = vec![Name { text: "s32", span: Span::default() }; 100_000];
    assert_eq!(classify("add", &names), Verdict::NoForm);
    assert_eq!(classify("tcgen05", &names), Verdict::NoForm);
}
