//! Writes the area estimate as CSV, one row per hardware block of the machine.

use miette::{IntoDiagnostic, Report};

use warpsieve::estimate::{Block, Delta};

pub(super) fn csv(tree: &Block) -> Result<String, Report> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut head = vec!["block", "bits", "flops", "um2", "um2_error", "leakage_mw"];
    if tree.delta.is_some() {
        head.extend(["delta_bits", "delta_flops", "delta_um2", "delta_um2_error", "delta_leakage_mw"]);
    }
    writer.write_record(&head).into_diagnostic()?;
    let mut rows = Vec::new();
    tree.walk(&mut |path, block| {
        let Block { bits, flops, um2, um2_error, leakage_mw, delta, .. } = block;
        let mut row = vec![path.to_owned(), bits.to_string(), flops.to_string()];
        row.extend([um2, um2_error, leakage_mw].map(f64::to_string));
        if let Some(Delta { bits, flops, um2, um2_error, leakage_mw }) = delta {
            row.extend([bits.to_string(), flops.to_string()]);
            row.extend([um2, um2_error, leakage_mw].map(f64::to_string));
        }
        rows.push(row);
    });
    for row in rows {
        writer.write_record(row).into_diagnostic()?;
    }
    String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
}
