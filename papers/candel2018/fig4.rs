//! candel2018 Figure 4: operations per cycle (OPC).

use super::{
    APPS, App, FRC_4, FRC_64, FRCS, L2S, LARGER, Plot, Session, app, compared_configs, list_numbers, measure, most,
};
use crate::FigureError;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;

/// Maximum relative gain in OPC that is regarded as no gain.
const SAME: f64 = 0.05;
/// Relative gain in OPC that the paper reports for most applications.
const GAIN: f64 = 0.25;
/// Minimum fraction of an application's highest OPC (operations per cycle) at which an OPC is regarded as
/// saturated.
const SATURATED: f64 = 0.95;

pub(in super::super) fn fig4(session: &Session) -> Result<Page, FigureError> {
    let apps = measure(session)?;
    let relative = |name: &str| app(&apps, name).relative_opc();
    let mut rows = Vec::new();
    let mut claim = |class, what: &str, ours: &str, published: &str, passed| {
        rows.push(ComparisonRow::claim(class, what, ours, published, passed));
    };
    let (count, is_most) = most(&apps, |app| app.best_gain() > GAIN);
    claim(Class::Factor, "OPC gain above 25 % with an FRC", &count, "most", is_most);
    let (count, is_most) = most(&apps, |app| {
        let opc = app.relative_opc();
        opc[FRC_64] >= SATURATED * FRCS.map(|l2| opc[l2]).fold(0.0, f64::max)
    });
    claim(Class::Sign, "nearly the highest OPC with 64 lines", &count, "almost all", is_most);
    let (count, is_most) = most(&apps, |app| LARGER.iter().all(|&l2| app.opc[FRC_64] >= app.opc[l2]));
    claim(Class::Ordering, "64 lines compared with larger L2s", &count, "higher in most", is_most);
    for name in ["FastWalshTransform", "MersenneTwister", "DCT"] {
        let opc = relative(name);
        let steps = [FRC_4, FRC_64].map(|l2| (L2S[l2].0, opc[l2]));
        let passed = opc[FRC_64] > opc[FRC_4] && opc[FRC_4] > 1.0 - SAME && opc[FRC_64] > 1.0 + SAME;
        claim(Class::Ordering, name, &list_numbers(steps), "rises in small steps", passed);
    }
    let opc = relative("MatrixMultiplication");
    let best = FRCS.map(|l2| opc[l2]).fold(0.0, f64::max);
    let passed = opc[FRC_4] > 1.0 + SAME && best - opc[FRC_4] <= SAME;
    let steps = list_numbers([(L2S[FRC_4].0, opc[FRC_4]), ("best", best)]);
    claim(Class::Ordering, "MatrixMultiplication", &steps, "full gain from 4 lines on", passed);
    for name in ["BinomialOption", "URNG"] {
        let far = relative(name).map(|opc| (opc - 1.0).abs()).into_iter().fold(0.0, f64::max);
        claim(Class::Sign, name, &format!("within {:.1} %", 100.0 * far), "the same with all L2s", far <= SAME);
    }
    let gains: Vec<_> = APPS.map(|(name, ..)| (name, 1.0 + app(&apps, name).best_gain())).into();
    let chart = Chart::relative("candel2018, Figure 4: operations per cycle", "OPC, relative to 128 KB");
    let plot = Plot { figure: "candel2018/fig4", chart, l2s: compared_configs(), of: App::relative_opc };
    let about = format!(
        "Scalar operations per cycle (OPC): an instruction counts once per active lane. The paper reports up to 2.5\n\
         times the baseline for FastWalshTransform and MersenneTwister. Such gains depend on the inputs and the\n\
         memory system of the paper. Our highest OPC with an FRC, relative to 128 KB:\n\
         {}.",
        list_numbers(gains)
    );
    plot.page(session, &apps, &about, rows)
}
