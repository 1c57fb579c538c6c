//! Tests of traces that must be rejected, with the position of the error.

use std::io::Cursor;
use std::path::Path;

use miette::Diagnostic;

use super::super::list::KernelsList;
use super::super::{KernelTrace, Limits};
use super::{open, read, volta};

#[track_caller]
fn find_error(text: &str) -> String {
    read(text).map(|(ctas, _)| ctas).unwrap_err().to_string()
}

/// Returns the error message for an instruction line, without the file name and the line number.
#[track_caller]
fn instruction(line: &str) -> String {
    let message = find_error(&volta(line));
    message.strip_prefix("t.traceg:16:").unwrap_or_else(|| panic!("{message}")).to_owned()
}

#[test]
fn words_of_an_instruction_are_refused_at_their_column() {
    assert_eq!(
        instruction("00g0 ffffffff 0 EXIT 0 0 0"),
        "1: found `00g0`, expected the PC, a hexadecimal number of at most 8 digits"
    );
    assert_eq!(
        instruction("0000 1ffffffff 0 EXIT 0 0 0"),
        "6: found `1ffffffff`, expected the active mask, a hexadecimal number of at most 8 digits"
    );
    assert_eq!(
        instruction("0000 ffffffff 1 Q4 MOV 0 0 0"),
        "17: found `Q4`, expected a register, R, UR, P or UP and a number from 0 to 255"
    );
    assert_eq!(
        instruction("0000 ffffffff 0 EXIT 11 0 0"),
        "22: found `11`, expected the number of source registers, a decimal number from 0 to 10"
    );
    assert_eq!(
        instruction("0000 ffffffff 1 R2 LDG.E 1 R4 4 3 0x0 4 0"),
        "33: found `3`, expected an address mode, 0 (list), 1 (base and stride) or 2 (base and distances)"
    );
    assert_eq!(instruction("0000 ffffffff 0 EXIT 0 0 0 9"), "28: found `9`, expected the end of the line");
    assert_eq!(instruction("0000 ffffffff 0 EXIT 0"), "23: the line ends, expected the access width");
}

#[test]
fn an_unknown_opcode_is_named_with_its_architecture_and_a_near_one() {
    let error = read(&volta("0000 ffffffff 1 R2 LDGG.E.64 1 R4 8 1 0x0 8 0")).map(|(ctas, _)| ctas).unwrap_err();
    assert_eq!(error.to_string(), "t.traceg:16:20: found `LDGG.E.64`, expected an opcode of Volta");
    assert_eq!(error.help().unwrap().to_string(), "did you mean `LDG`?");
    let other = read(&volta("0000 ffffffff 1 R2 XMAD 1 R4 0 0")).map(|(ctas, _)| ctas).unwrap_err();
    let help = other.help().unwrap().to_string();
    assert_eq!(help, "`XMAD` is an opcode of another architecture: is `-binary version` in the header right?");
}

#[test]
fn addresses_beyond_64_bits_are_refused() {
    assert_eq!(
        instruction("0000 00000003 1 R2 LDG.E 1 R4 4 1 0xfffffffffffffffc 4 0"),
        "54: found `4`, expected a stride that keeps lane 1 within 64 address bits"
    );
    assert_eq!(
        instruction("0000 00000003 1 R2 LDG.E 1 R4 4 2 0x10 -32 0"),
        "40: found `-32`, expected a distance that keeps lane 1 within 64 address bits"
    );
}

#[test]
fn a_warp_with_fewer_or_more_lines_than_it_says_is_refused() {
    let exit = "0000 ffffffff 0 EXIT 0 0 0";
    let fewer = volta(exit).replace("insts = 1", "insts = 2");
    assert_eq!(find_error(&fewer), "t.traceg:18:1: warp 0 ends after 1 of its 2 instructions");
    let more = volta(exit).replace("insts = 1", "insts = 0");
    assert_eq!(find_error(&more), format!("t.traceg:16:1: found `{exit}`, expected `warp = ` and a number"));
}

#[test]
fn a_file_that_ends_within_a_cta_is_refused() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0").replace("#END_TB\n", "");
    assert_eq!(find_error(&text), "t.traceg:18:1: the file ends within a CTA, expected `warp = w` or `#END_TB`");
}

#[test]
fn warps_that_the_block_does_not_have_are_refused() {
    let exit = "0000 ffffffff 0 EXIT 0 0 0";
    let beyond = volta(exit).replace("warp = 0", "warp = 1");
    assert_eq!(find_error(&beyond), "t.traceg:14:1: warp 1 is in a CTA of 1 warp, numbered from 0");
    let twice = volta(exit).replace("#END_TB", "warp = 0\ninsts = 0\n#END_TB");
    assert_eq!(find_error(&twice), "t.traceg:18:1: warp 0 appears twice in this CTA");
}

#[test]
fn a_header_without_its_shapes_is_refused() {
    let text = volta("0000 ffffffff 0 EXIT 0 0 0");
    let message = |text: &str| open(text).unwrap_err().to_string();
    assert_eq!(
        message(&text.replace("-grid dim", "-grit dim")),
        "t.traceg:8:1: the header ends without `-grid dim = (x,y,z)`"
    );
    assert_eq!(
        message(&text.replace("(32,1,1)", "(32,0,1)")),
        "t.traceg:4:14: found `(32,0,1)`, expected a shape such as (4,1,1), each number 1 or more"
    );
    assert_eq!(
        message(&text.replace("(32,1,1)", "(32,64,1)")),
        "t.traceg:4:14: block dim is (32,64,1): a CTA has at most 1024 threads"
    );
    assert_eq!(message("hello\n"), "t.traceg:1:1: found `hello`, expected `-key = value` or `#traces format`");
    assert_eq!(message(""), "t.traceg:1:1: the file ends, expected `-key = value` or `#traces format`");
}

#[test]
fn an_error_is_the_last_that_a_reader_says() {
    let mut kernel = open(&volta("oops")).unwrap();
    assert!(kernel.next_cta().is_err());
    assert_eq!(kernel.next_cta().unwrap(), None);
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let text = volta(&"f".repeat(5000));
    let limits = Limits { line_bytes: 1000, ..Limits::default() };
    let mut kernel = KernelTrace::new(Cursor::new(text.into_bytes()), "t.traceg", limits).unwrap();
    let message = kernel.next_cta().unwrap_err().to_string();
    assert_eq!(message, "t.traceg:16:1: the line has more than 1000 bytes");
}

#[test]
fn a_cta_that_outgrows_its_limit_is_refused() {
    let text = volta(&"0000 ffffffff 0 NOP 0 0 0\n".repeat(200_000));
    let limits = Limits { cta_bytes: 1 << 20, ..Limits::default() };
    let mut kernel = KernelTrace::new(Cursor::new(text.into_bytes()), "t.traceg", limits).unwrap();
    let message = kernel.next_cta().unwrap_err().to_string();
    assert_eq!(message, "t.traceg:87397:1: CTA (0,0,0) takes more than 1 MiB of memory");
}

#[test]
fn the_report_shows_the_line_and_where_in_it() {
    let line = format!("0000 ffffffff 1 R2 LDG.E 1 R4 4 0 {} oops 0", ["0x00007f0000000000"; 31].join(" "));
    let report = miette::Report::new(read(&volta(&line)).map(|(ctas, _)| ctas).unwrap_err());
    let mut text = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::none()).with_links(false);
    handler.render_report(&mut text, report.as_ref()).unwrap();
    assert!(text.contains("[t.traceg:16:624]"), "{text}");
    let shown = text.lines().find(|line| line.contains("oops 0")).unwrap();
    assert!(shown.starts_with(" 16 | ... 00 0x00007f"), "{text}");
    assert!(shown.len() < 100, "{text}");
}

#[test]
fn a_copy_without_size_is_refused_in_a_list() {
    let refused = |text: &'static str| {
        let mut list = KernelsList::new(Box::new(Cursor::new(text)), "l.g", Path::new(""));
        list.next_command().unwrap_err().to_string()
    };
    assert_eq!(refused("MemcpyHtoD,0x10"), "l.g:1:1: `MemcpyHtoD,0x10` is not MemcpyHtoD,ADDRESS,BYTES");
    assert_eq!(refused("\nMemcpyHtoD,0x10,many"), "l.g:2:17: found `many`, expected a number of bytes");
}
