use super::*;

/// Returns the mutants of a text, each as its mutation operator, the original code and the mutated code.
fn mutants(text: &str) -> Vec<String> {
    let found = find(text).unwrap().mutants;
    found.iter().map(|m| format!("{}: {} -> {}", m.operator.name(), m.original, m.mutated)).collect()
}

/// Returns the mutants inside a function body. The return type of the function has no replacement values.
fn inside(body: &str) -> Vec<String> {
    let all = mutants(&format!("fn f(&self) -> Kind {{ {body} }}"));
    all.into_iter().filter(|mutant| !mutant.starts_with("function")).collect()
}

#[test]
fn statements_and_assignments_are_deleted_but_not_what_returns_declares_or_checks() {
    assert_eq!(
        inside("let x = 1; self.go(); x += 1; self.y = x; assert!(x); return x;"),
        [
            "statement deleted: self.go(); -> (nothing)",
            "statement deleted: x += 1; -> (nothing)",
            "statement deleted: self.y = x; -> (nothing)"
        ]
    );
    assert_eq!(inside("match x { A => self.y = 1, _ => {} }"), ["statement deleted: self.y = 1 -> (nothing)"]);
}

#[test]
fn conditions_are_negated_but_not_those_that_bind() {
    assert_eq!(inside("if self.busy() { A } else { B }"), ["condition negated: self.busy() -> !(self.busy())"]);
    assert_eq!(inside("while busy { }"), ["condition negated: busy -> !(busy)"]);
    assert_eq!(inside("match x { A if busy => B, _ => C }"), ["condition negated: busy -> !(busy)"]);
    assert_eq!(inside("if let Some(x) = y && x { A } else { B }"), [""; 0]);
    // For this code, negating the condition and replacing the comparison operator give the same mutant, which
    // must be listed only once.
    assert_eq!(inside("if a == b { A } else { B }"), ["condition negated: a == b -> !(a == b)"]);
}

#[test]
fn operators_are_swapped_with_their_neighbours() {
    for (from, to) in [("<", "<="), (">=", ">"), ("==", "!="), ("!=", "==")] {
        assert_eq!(inside(&format!("g(a {from} b)")), [format!("comparison shifted: a {from} b -> a {to} b")]);
    }
    for (from, to) in [("+", "-"), ("-", "+"), ("<<", ">>"), ("&&", "||"), ("||", "&&"), ("&", "|"), ("|", "&")] {
        assert_eq!(inside(&format!("g(a {from} b)")), [format!("arithmetic swapped: a {from} b -> a {to} b")]);
    }
    assert_eq!(inside("g(a * b, a ^ b)"), [""; 0]);
}

#[test]
fn functions_return_at_once() {
    let function = |text: &str| {
        let all = mutants(text);
        let only = all.iter().filter_map(|mutant| mutant.strip_prefix("function replaced: "));
        only.map(|mutant| mutant.rsplit_once(" -> ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(function("fn f() -> bool { g() }"), ["true", "false"]);
    assert_eq!(function("fn f() -> bool { false }"), ["true"]);
    assert_eq!(function("fn f() -> u32 { g() }"), ["0", "1"]);
    assert_eq!(function("fn f() -> Option<u32> { g() }"), ["None"]);
    assert_eq!(function("fn f() { g(); h(); }"), ["()"]);
    // Deleting the only statement of a function has the same effect as returning at once, so there is no
    // mutant that returns at once.
    assert_eq!(function("fn f() { g(); }"), [""; 0]);
    assert_eq!(function("fn f() -> Kind { g() }"), [""; 0]);
}

#[test]
fn tests_constants_and_what_only_complains_are_left_alone() {
    for text in [
        "#[cfg(test)] mod tests { fn f() { g(); h(); } }",
        "#[cfg(test)] fn f() { g(); h(); }",
        "#[test] fn f() { g(); h(); }",
        "const fn f() -> u32 { 1 + 2 }",
        "const A: u32 = 1 + 2; static B: u32 = 1 + 2; enum E { A = 1 + 2 }",
        "impl A { const B: u32 = 1 + 2; } trait T { const B: u32 = 1 + 2; }",
        "struct S { a: [u8; 1 + 2] }",
        "#[cold] fn f() { g(); h(); }",
        "fn f() -> ! { g(); h() }",
    ] {
        assert_eq!(mutants(text), [""; 0], "{text}");
    }
    assert_eq!(inside("let a: [u8; N + 1] = [0; N + 1]; g::<{ N + 1 }>(a)"), [""; 0]);
}

#[test]
fn a_mutant_knows_its_function_trait_and_place() {
    let text = "impl Block for Lsu {\n    fn eval(&mut self) -> Kind {\n        \"é\"; self.go();\n    }\n}";
    let found = find(text).unwrap().mutants;
    let last = found.last().unwrap();
    assert_eq!((last.function.as_str(), last.of_trait.as_str()), ("eval", "Block"));
    assert_eq!((last.line, last.column), (3, 14));
    assert_eq!(&text[last.place.clone()], "self.go();");
}

#[test]
fn files_of_tests_are_named() {
    let found = find("#[cfg(test)] mod tests; mod a; #[cfg(test)] #[path = \"b.rs\"] mod c;").unwrap();
    assert_eq!(found.test_modules, [("tests".to_owned(), None), ("c".to_owned(), Some("b.rs".to_owned()))]);
}
