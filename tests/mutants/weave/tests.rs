use super::*;
use crate::operators::find;

/// Returns the text with all its mutants inserted. For brevity, the switch of mutant n is written as `ON(n)`.
fn woven(text: &str) -> String {
    let mutants = find(text).unwrap().mutants;
    let numbered: Vec<_> = (1..).zip(&mutants).collect();
    weave(text, &numbered).text.replace("crate::__mutant::on", "ON")
}

#[test]
fn each_operator_gets_its_switch() {
    assert_eq!(woven("fn f() { go(); }"), "fn f() { if !ON(1) { go(); } }");
    assert_eq!(woven("fn f() -> K { if a { b } else { c } }"), "fn f() -> K { if ((a) != ON(1)) { b } else { c } }");
    assert_eq!(woven("fn f() -> K { g(a < b) }"), "fn f() -> K { g((if ON(1) { a <= b } else { a < b })) }");
    assert_eq!(
        woven("fn f() -> bool { g() }"),
        "fn f() -> bool { if ON(1) { return true; } if ON(2) { return false; } g() }"
    );
}

#[test]
fn mutants_inside_others_are_woven_where_those_are_off() {
    assert_eq!(
        woven("fn f() -> K { x = a + b; y }"),
        "fn f() -> K { if !ON(1) { x = (if ON(2) { a - b } else { a + b }); } y }"
    );
    assert_eq!(
        woven("fn f() -> K { if a < b { c } else { d } }"),
        "fn f() -> K { if (((if ON(2) { a <= b } else { a < b })) != ON(1)) { c } else { d } }"
    );
    assert_eq!(
        woven("fn f() -> K { g(a + b - c) }"),
        "fn f() -> K { g((if ON(1) { a + b + c } else { (if ON(2) { a - b } else { a + b }) - c })) }"
    );
}

#[test]
fn what_is_woven_is_rust_and_its_mutants_are_found_by_place() {
    let text = "fn f(&mut self) -> bool { if self.a < 1 && b { self.go(); } while x | y == 3 { z += 1; } self.d > e }";
    let mutants = find(text).unwrap().mutants;
    let numbered: Vec<_> = (1..).zip(&mutants).collect();
    let woven = weave(text, &numbered);
    syn::parse_str::<syn::ImplItemFn>(&woven.text).unwrap();
    assert_eq!(woven.regions.len(), mutants.len());
    let at = woven.text.find("self.go()").unwrap();
    let [number] = woven.at(&(at..at + 4))[..] else { panic!("one mutant") };
    assert_eq!(mutants[number as usize - 1].original, "self.go();");
    assert_eq!(woven.at(&(0..woven.text.len())).len(), mutants.len());
    assert!(woven.at(&(0..2)).is_empty());
}
