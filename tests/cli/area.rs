//! Tests the command `area`, and the figures of the command `reproduce` that compare modeled areas with
//! published ones.

use std::fs;

use serde_json::Value;

use super::warpsieve;

fn json(arguments: &[&str]) -> Value {
    let ended = warpsieve(&[&["area", "--format", "json"], arguments].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""));
    serde_json::from_str(&ended.out).unwrap()
}

fn child<'a>(block: &'a Value, name: &str) -> &'a Value {
    let children = block["children"].as_array().unwrap();
    children.iter().find(|child| child["block"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_tree_has_every_block_with_its_figures() {
    let tree = json(&[]);
    assert_eq!((tree["machine"].as_str(), tree["node_nm"].as_u64()), (Some("fermi"), Some(45)));
    let l1 = child(child(&tree, "sm3"), "l1");
    let data = l1["arrays"].as_array().unwrap().iter().find(|array| array["name"] == "data").unwrap();
    assert_eq!(
        (data["entries"].as_u64(), data["width"].as_u64(), data["bits"].as_u64()),
        (Some(128), Some(1024), Some(131_072))
    );
    assert_eq!(
        (data["kind"].as_str(), data["ports"].as_str(), data["basis"].as_str()),
        (Some("sram"), Some("2R2W"), Some("closed-form"))
    );
    assert!(l1["um2"].as_f64().unwrap() > data["um2"].as_f64().unwrap());
    assert!(tree.get("delta").is_none());
}

#[test]
fn a_design_is_compared_with_another() {
    let tree = json(&["--design", "pric", "--against", "baseline"]);
    assert_eq!((tree["delta"]["bits"].as_i64(), tree["delta"]["flops"].as_i64()), (Some(0), Some(0)));
    assert!(tree["delta"]["um2"].as_f64().unwrap() > 0.0);
    assert_eq!(child(&tree, "xbar_req")["delta"]["um2"].as_f64(), Some(0.0));
    let same = warpsieve(&["area", "--design", "baseline", "--against", "baseline"]);
    assert!(same.out.contains("no difference from baseline"), "{same:?}");
}

#[test]
fn a_smaller_node_takes_less_area() {
    let um2 = |node| json(&["--node", node])["um2"].as_f64().unwrap();
    assert!(um2("45") > um2("32") && um2("32") > um2("22"));
}

#[test]
fn two_estimates_are_the_same_bytes() {
    let once = || {
        let folder = tempfile::tempdir().unwrap();
        let svg = folder.path().join("area.svg");
        let ended = warpsieve(&["area", "--format", "csv", "--svg", svg.to_str().unwrap()]);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        (ended.out, fs::read_to_string(svg).unwrap())
    };
    let (csv, svg) = once();
    assert_eq!((&csv, &svg), (&once().0, &once().1));
    assert!(csv.starts_with("block,bits,flops,um2,um2_error,leakage_mw\nmachine,"));
    assert!(csv.contains("\nmachine.sm14.l1.tags,"));
    assert!(svg.ends_with("</svg>\n") && svg.contains("<title>machine.sm0..sm14.core"));
    assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
}

#[test]
fn each_memory_has_an_input_file_for_cacti() {
    let folder = tempfile::tempdir().unwrap();
    let ended = warpsieve(&["area", "--cacti", folder.path().to_str().unwrap(), "--node", "32"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let text = fs::read_to_string(folder.path().join("machine.sm0.l1.data.cfg")).unwrap();
    for line in ["-size (bytes) 16384", "-block size (bytes) 128", "-technology (u) 0.032", "-exclusive read port 2"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!folder.path().join("machine.sm1.l1.data.cfg").exists());
}

#[test]
fn bad_input_is_refused() {
    warpsieve(&["area", "--node", "28"]).assert_refused(&["28 nm, expected 45, 32 or 22"]);
    warpsieve(&["area", "--design", "prick"]).assert_refused(&["prick"]);
    warpsieve(&["area", "--against", "prick"]).assert_refused(&["prick"]);
}

#[test]
fn figures_about_area_pass_and_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let figures = ["anssari2012/table4.3", "area/errors", "area/schemes", "candel2018/area"];
    let ended = warpsieve(&[&["reproduce", "--output", output, "--cache", output], &figures[..]].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let table = read("anssari2012/table4.3.md");
    assert!(table.contains("6 of the 6 rows of L1 and L2"), "{table}");
    assert_eq!(read("anssari2012/table4.3.csv").lines().count(), 1 + 9 * 4);
    let errors = read("area/errors.md");
    assert!(errors.contains("a 95th percentile below 12 %. This requirement holds."), "{errors}");
    let schemes = read("area/schemes.md");
    assert!(
        schemes.contains("0 of 0 rows hold. Not counted as evidence: 5.") && schemes.contains("| decoupled "),
        "{schemes}"
    );
    let frc = read("candel2018/area.md");
    assert!(frc.contains("0 of 2 rows hold. Not counted as evidence: 2."), "{frc}");
    assert_eq!(read("candel2018/area.csv").lines().count(), 1 + 8);
}
