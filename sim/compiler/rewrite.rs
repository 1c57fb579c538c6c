//! # Cache operators of a PTX text
//! Finds the loads of global memory in a PTX text and replaces their cache operators (xie2013 section 3).
//! Only the operators change: all other bytes, including comments and line ends, stay the same.
//!
//! The operator of a plain `ld.global` can be replaced, or added if there is none. A load with `.cs` or `.lu`
//! goes through the L1. If it is to be cached, it therefore keeps its operator, which also says how soon its
//! line may be evicted. Other loads must stay unchanged, either because the PTX ISA allows no operator on
//! them, or because the program relies on their order or coherence.

use std::fmt;

use ptx::ast::{Instruction, Name, Span, Statement};
use ptx::{PtxError, Source};
use serde::Serialize;

/// Cache operator of a load: selects whether the load goes through the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// `.ca`: cached in the L1. A load with `.cs` or `.lu` keeps its operator instead.
    Ca,
    /// `.cg`: bypasses the L1 and is cached in the L2.
    Cg,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ca => ".ca",
            Self::Cg => ".cg",
        })
    }
}

/// Cache operators of the PTX ISA that `.cg` can replace.
const OPERATORS: [&str; 5] = ["ca", "cg", "cs", "lu", "cv"];

/// Cache operators with which a load is cached in the L1, so that `.ca` does not replace them. They also
/// request an early eviction of the line.
const CACHED: [&str; 2] = [".cs", ".lu"];

/// Returns the reason why a load with this modifier must keep its cache operator, or `None` if the operator
/// can be replaced.
fn keeps(modifier: &str) -> Option<&'static str> {
    match modifier {
        "volatile" => Some("it is volatile"),
        "mmio" => Some("it reads a device"),
        "relaxed" | "acquire" => Some("it is ordered"),
        "nc" => Some("it uses the read-only path"),
        _ if modifier.contains("::evict_") || modifier.ends_with("::no_allocate") => {
            Some("it has an eviction priority, which excludes an operator")
        }
        _ => None,
    }
}

/// Static load of global memory in a PTX text. Loads are numbered in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticLoad {
    /// Name of the kernel or function that contains the load.
    pub function: String,
    /// Line of the load, counted from 1.
    pub line: u32,
    /// Column of the opcode in its line, in bytes, counted from 1. The instructions lowered from this load
    /// have the same source line and column.
    pub column: u32,
    /// Text of the load instruction, without its guard predicate.
    pub text: String,
    /// Reason why the load must keep its cache operator; `None` if the operator can be replaced.
    pub fixed: Option<&'static str>,
    place: OperatorPosition,
}

/// Position of a load instruction in the text, and of its cache operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OperatorPosition {
    /// Span of the whole instruction.
    instruction: Span,
    /// Span of the cache operator. If the load has none, this is an empty span at the place where an operator
    /// can be inserted.
    operator: Span,
}

/// Returns the loads of global memory, in the order of the text.
///
/// # Errors
/// Returns an error if the text is not valid PTX.
pub fn loads(source: &Source) -> Result<Vec<StaticLoad>, PtxError> {
    let module = source.parse()?;
    let line_ends = source.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let lines: Vec<u32> = std::iter::once(0).chain(line_ends.map(|(at, _)| at as u32 + 1)).collect();
    let mut found = Vec::new();
    for function in &module.functions {
        let instructions = function.body.iter().filter_map(|statement| match statement {
            Statement::Instruction(inst) => Some(inst),
            _ => None,
        });
        found.extend(instructions.filter_map(|inst| StaticLoad::new(source, &lines, function.name.text, inst)));
    }
    Ok(found)
}

/// Returns the PTX text with the given cache operators, one entry per load. A load whose entry is `None`
/// stays as it is, and so does a load with `.cs` or `.lu` whose entry is `.ca`.
///
/// # Errors
/// Returns an error if the text is not valid PTX, if there is not one entry for each load, or if a load must
/// keep its operator.
pub fn rewrite(source: &Source, operators: &[Option<Operator>]) -> Result<String, PtxError> {
    let loads = loads(source)?;
    if loads.len() != operators.len() {
        let message = format!("{} decisions, expected {}: one for each load", operators.len(), loads.len());
        return Err(PtxError::new(source, Span::default(), "here", message));
    }
    let mut text = String::with_capacity(source.text.len() + 3 * loads.len());
    let mut copied = 0;
    for (load, operator) in loads.iter().zip(operators) {
        let Some(operator) = operator else { continue };
        let OperatorPosition { instruction, operator: Span { start, end } } = load.place;
        if let Some(why) = load.fixed {
            let message = format!("this load cannot be given `{operator}`: {why}");
            return Err(PtxError::new(source, instruction, "stays unchanged", message));
        }
        let old = &source.text[start as usize..end as usize];
        if *operator == Operator::Ca && CACHED.contains(&old) {
            continue;
        }
        text.push_str(&source.text[copied..start as usize]);
        text.push_str(&operator.to_string());
        copied = end as usize;
    }
    text.push_str(&source.text[copied..]);
    Ok(text)
}

impl StaticLoad {
    fn new(source: &Source, lines: &[u32], function: &str, inst: &Instruction<'_>) -> Option<Self> {
        let modifier = |wanted: &[&str]| inst.modifiers.iter().find(|m| wanted.contains(&m.text));
        let space = modifier(&["global"]).filter(|_| inst.opcode.text == "ld")?;
        let behind = |name: &Name<'_>| Span { start: name.span.end, end: name.span.end };
        let Span { start, end } = inst.span;
        let line = lines.partition_point(|&first| first <= start);
        Some(Self {
            function: function.to_owned(),
            line: line as u32,
            column: start - lines[line - 1] + 1,
            text: source.text[start as usize..end as usize].to_owned(),
            fixed: inst.modifiers.iter().find_map(|m| keeps(m.text)),
            place: OperatorPosition {
                instruction: inst.span,
                operator: modifier(&OPERATORS).map_or(behind(space), |name| name.span),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(body: &str) -> Source {
        let head = ".version 7.0\n.target sm_35\n.address_size 64\n.entry k(.param .u64 p) {\n";
        let registers = ".reg .pred %p<3>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n";
        Source::new("k.ptx", &format!("{head}{registers}{body}\nret;\n}}\n"))
    }

    /// Returns the instructions `body` after their loads were given the cache operators `operators`.
    fn rewritten(body: &str, operators: &[Option<Operator>]) -> String {
        let text = rewrite(&source(body), operators).unwrap();
        let (before, after) = (source("").text.len() - "\nret;\n}\n".len(), "\nret;\n}\n".len());
        text[before..text.len() - after].to_owned()
    }

    const CA: Option<Operator> = Some(Operator::Ca);
    const CG: Option<Operator> = Some(Operator::Cg);

    #[test]
    fn operators_are_put_behind_the_space_and_all_else_stays() {
        let body = "ld.global.f32 \t%f2, [%rd7+0];\nst.shared.f32 [%rd4+0], %f2; // kept\n.loc 14 82 0\n\
                    ld.global.f32 %f3, [%rd3+0];\r\nst.shared.f32 [%rd5+0], %f3;";
        let expected = "ld.global.cg.f32 \t%f2, [%rd7+0];\nst.shared.f32 [%rd4+0], %f2; // kept\n.loc 14 82 0\n\
                        ld.global.ca.f32 %f3, [%rd3+0];\r\nst.shared.f32 [%rd5+0], %f3;";
        assert_eq!(rewritten(body, &[CG, CA]), expected);
    }

    #[test]
    fn an_operator_that_is_there_is_replaced() {
        let body = "ld.global.ca.f32 %f1, [%rd1]; ld.global.cs.f32 %f1, [%rd1]; ld.global.lu.f32 %f1, [%rd1]; \
                    ld.global.cv.f32 %f1, [%rd1]; ld.global.cg.f32 %f1, [%rd1];";
        let text = rewritten(body, &[CG, CG, CA, CA, None]);
        let operators: Vec<_> = text.split("ld.global").skip(1).map(|rest| &rest[..3]).collect();
        assert_eq!(operators, [".cg", ".cg", ".lu", ".ca", ".cg"]);
    }

    #[test]
    fn a_load_that_is_evicted_early_keeps_its_operator_unless_it_is_to_bypass_the_l1() {
        let body = "ld.global.cs.f32 %f1, [%rd1];\nld.global /* a */ .lu.f32 %f2, [%rd1];\nld.global.f32 %f3, [%rd1];";
        assert_eq!(rewritten(body, &[CA, CA, None]), body);
        assert_eq!(rewritten(body, &[CA, CA, CA]), body.replace("ld.global.f32", "ld.global.ca.f32"));
        let bypassing =
            "ld.global.cg.f32 %f1, [%rd1];\nld.global /* a */ .cg.f32 %f2, [%rd1];\nld.global.f32 %f3, [%rd1];";
        assert_eq!(rewritten(body, &[CG, CG, None]), bypassing);
    }

    #[test]
    fn guards_labels_and_comments_within_an_instruction_are_kept() {
        let body = "L1: @!%p1 ld /* a */ .global /* b */ .v2.f32 {%f1, %f2}, [%rd1];";
        let expected = "L1: @!%p1 ld /* a */ .global.cg /* b */ .v2.f32 {%f1, %f2}, [%rd1];";
        assert_eq!(rewritten(body, &[CG]), expected);
    }

    #[test]
    fn words_in_comments_and_loads_of_other_spaces_are_no_loads() {
        let body = "// ld.global.f32 %f1, [%rd1];\nld.shared.f32 %f1, [%rd1]; ld.f32 %f1, [%rd1]; \
                    atom.global.add.f32 %f1, [%rd1], %f2; st.global.f32 [%rd1], %f1;";
        assert_eq!(loads(&source(body)).unwrap(), []);
    }

    #[test]
    fn loads_come_with_their_place_and_text() {
        let found = loads(&source("\t@%p1 ld.weak.global.f32 %f1, [%rd1];\n ld.global.f32 %f2, [%rd1];")).unwrap();
        let found: Vec<_> = found.iter().map(|l| (&*l.function, l.line, l.column, &*l.text, l.fixed)).collect();
        let expected =
            [("k", 6, 7, "ld.weak.global.f32 %f1, [%rd1]", None), ("k", 7, 2, "ld.global.f32 %f2, [%rd1]", None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_load_that_can_have_no_operator_is_refused_with_its_place_and_stays_without_a_decision() {
        let forms = [
            ("ld.volatile.global.f32", "it is volatile"),
            ("ld.relaxed.sys.global.f32", "it is ordered"),
            ("ld.acquire.gpu.global.f32", "it is ordered"),
            ("ld.global.nc.f32", "it uses the read-only path"),
            ("ld.global.L1::evict_last.f32", "it has an eviction priority, which excludes an operator"),
            ("ld.global.L1::no_allocate.f32", "it has an eviction priority, which excludes an operator"),
        ];
        for (form, why) in forms {
            let body = format!("{form} %f1, [%rd1];");
            let refused = rewrite(&source(&body), &[CG]).unwrap_err().to_string();
            assert_eq!(refused, format!("k.ptx:6:1: this load cannot be given `.cg`: {why}"));
            assert_eq!(rewritten(&body, &[None]), body);
        }
    }

    #[test]
    fn decisions_for_other_loads_and_texts_that_are_no_ptx_are_refused() {
        let refused = rewrite(&source("ld.global.f32 %f1, [%rd1];"), &[]).unwrap_err();
        assert!(refused.message().contains("0 decisions, expected 1"), "{refused}");
        let refused = rewrite(&source("ld.global.f32 %f1 [%rd1];"), &[CG]).unwrap_err();
        assert_eq!(refused.line(), 6);
    }
}
