//! `warpsieve reproduce`: measures what a paper shows and writes it down beside the paper's own figures.

mod anssari2012;
mod candel2018;
mod errors;
mod frc_area;
mod khairy2015;
mod li2015;
mod schemes_area;
mod suite;
mod summary;
mod table43;
mod xie2013;

use std::path::{Path, PathBuf};

use miette::Report;

use super::args::{Figure, ReproduceArguments};
use super::compare::worse;
use super::list::kernels_folder;
use super::{Exit, crash, interrupt, output};
use crate::reproduce::Halt;
use crate::reproduce::judge::{Class, Row};
use crate::reproduce::page::Page;
use crate::reproduce::runs::Runner;
use crate::reproduce::store::Store;

/// On the simulator of li2015 and khairy2015, GPGPU-Sim 3.2 with the GTX 480, a load asks for the parts of a
/// line that its warp needs, down to 32 bytes; only a miss in the L1 fetches the whole line. So what goes
/// past the L1 asks for the sectors that it touches.
const SECTORS: &str = "l1.bypass_sectors=32";

/// What a figure is drawn from.
struct Desk {
    /// The folder of the kernels.
    kernels: PathBuf,
    /// Whether the small sizes are used.
    is_quick: bool,
    is_quiet: bool,
    runner: Runner,
}

impl Desk {
    /// The launch file of a kernel: of the small size, or `size`.
    fn launch(&self, kernel: &str, size: &str) -> PathBuf {
        let size = if self.is_quick { "small" } else { size };
        self.kernels.join(kernel).join(format!("{size}.toml"))
    }
}

pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<Exit, Report> {
    let kernels = kernels_folder()?;
    let folder = arguments.output.clone().unwrap_or_else(|| kernels.with_file_name("docs").join("results"));
    if arguments.summary {
        return summary::summary(&folder, arguments.quick, arguments.format);
    }
    let interrupt = interrupt::listen()?;
    let store = Store::new(arguments.cache.as_deref())?;
    let runner = Runner::new(store, arguments.jobs.unwrap_or(0), arguments.quiet, interrupt)?;
    let desk = Desk { kernels, is_quick: arguments.quick, is_quiet: arguments.quiet, runner };
    let asked = &arguments.figures;
    let mut exit = Exit::Done;
    for &(figure, draw) in FIGURES {
        if asked.is_empty() || asked.iter().any(|asked| asked.covers(figure)) {
            exit = worse(exit, drawn(draw, &desk, &folder)?);
        }
        if let Exit::Interrupted(_) = exit {
            break;
        }
    }
    Ok(exit)
}

/// Draws a figure and writes it, or says on stderr why not.
fn drawn(draw: Draw, desk: &Desk, folder: &Path) -> Result<Exit, Report> {
    let page = match crash::caught(|| draw(desk)) {
        Ok(Ok(page)) => page,
        Ok(Err(Halt::Input(report))) => return Err(report),
        Ok(Err(Halt::Interrupted(signal))) => {
            output::complain("interrupted; what was measured so far is kept");
            return Ok(Exit::Interrupted(signal as u8));
        }
        Ok(Err(Halt::Failed(why))) | Err(why) => {
            output::complain(&why);
            return Ok(Exit::CheckFailed);
        }
    };
    for path in page.write(folder)? {
        output::print(&format!("wrote {}\n", path.display()))?;
    }
    // What follows from the paper's text alone must come out; what depends on kernels and inputs is a finding.
    let holds = page.rows.iter().all(|row| row.passed || row.class != Class::Exact);
    Ok(if holds { Exit::Done } else { Exit::CheckFailed })
}

/// A row that does not hold says why.
fn explained(row: Row, why: impl FnOnce() -> String) -> Row {
    if row.passed { row } else { row.because(&why()) }
}

type Draw = fn(&Desk) -> Result<Page, Halt>;

/// Each figure and what draws it.
const FIGURES: &[(Figure, Draw)] = &[
    (Figure::Suite, suite::suite),
    (Figure::Li2015Table1, li2015::table1),
    (Figure::Li2015Fig2, li2015::fig2),
    (Figure::Li2015Fig3, li2015::fig3),
    (Figure::Li2015Fig4, li2015::fig4),
    (Figure::Li2015Fig5, li2015::fig5),
    (Figure::Li2015Fig8, li2015::fig8),
    (Figure::Li2015Fig9, li2015::fig9),
    (Figure::Li2015Fig10, li2015::fig10),
    (Figure::Li2015Fig11, li2015::fig11),
    (Figure::Li2015Fig12, li2015::fig12),
    (Figure::Li2015Fig13, li2015::fig13),
    (Figure::Li2015Fig14, li2015::fig14),
    (Figure::Li2015Fig15, li2015::fig15),
    (Figure::Li2015Contention, li2015::contention),
    (Figure::Li2015Cost, li2015::cost),
    (Figure::Khairy2015Fig2, khairy2015::fig2),
    (Figure::Khairy2015Fig3, khairy2015::fig3),
    (Figure::Khairy2015Fig4, khairy2015::fig4),
    (Figure::Khairy2015Fig5, |_| khairy2015::fig5()),
    (Figure::Khairy2015Fig6, |_| khairy2015::fig6()),
    (Figure::Khairy2015Fig8, khairy2015::fig8),
    (Figure::Khairy2015Fig9, khairy2015::fig9),
    (Figure::Khairy2015Fig10, khairy2015::fig10),
    (Figure::Khairy2015Fig11, khairy2015::fig11),
    (Figure::Khairy2015Fig12, khairy2015::fig12),
    (Figure::Khairy2015Table3, khairy2015::table3),
    (Figure::Khairy2015Counters, |_| khairy2015::counters()),
    (Figure::Candel2018Fig2, candel2018::fig2),
    (Figure::Candel2018Fig4, candel2018::fig4),
    (Figure::Candel2018Fig5, candel2018::fig5),
    (Figure::Candel2018Fig6, candel2018::fig6),
    (Figure::Candel2018Fig7, candel2018::fig7),
    (Figure::Xie2013Fig2, xie2013::fig2),
    (Figure::Xie2013Fig4, |_| xie2013::fig4()),
    (Figure::Xie2013Fig5, xie2013::fig5),
    (Figure::Xie2013Mrq, xie2013::mrq),
    (Figure::Xie2013Profiles, xie2013::profiles),
    (Figure::Xie2013Efficiency, xie2013::efficiency),
    (Figure::Xie2013Listings, |_| xie2013::listings()),
    (Figure::AnssariTable43, |_| table43::table43()),
    (Figure::AnssariFig4, anssari2012::fig4),
    (Figure::AnssariTimed, anssari2012::timed),
    (Figure::AnssariTable41, |_| anssari2012::table41()),
    (Figure::AnssariTable42, anssari2012::table42),
    (Figure::Candel2018Area, |_| frc_area::area()),
    (Figure::AreaErrors, |_| errors::errors()),
    (Figure::AreaSchemes, |_| schemes_area::schemes()),
];
