//! `warpsieve reproduce`: measures the figures of a paper and writes them next to the published ones.

mod summary;

use std::path::Path;

use miette::{Report, miette};
use papers::judge::Class;
use papers::page::Page;
use papers::picture::Width;
use papers::runs::Runner;
use papers::store::Store;
use papers::{Figure, FigureError, Session, figures};
use warpsieve::crash;
use warpsieve::kernels::kernels_folder;

use super::args::ReproduceArguments;
use super::report::{self, figures as report_figures};
use super::sweep::runs::worst_exit;
use super::{Exit, interrupt, output};

pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<Exit, Report> {
    let kernels = kernels_folder()?;
    let folder = match &arguments.output {
        Some(folder) => folder.clone(),
        // If the command is called outside of a source tree, the kernels are those of the source folder from
        // which this program was built. In this case, nothing may be written to the source folder.
        None if kernels.is_absolute() && !arguments.summary => {
            return Err(miette!(
                "there is no folder `kernels` in this folder or above, expected `--output` with a folder"
            ));
        }
        None => kernels.with_file_name("docs").join("results"),
    };
    if arguments.summary {
        return summary::summary(&folder, arguments.quick, arguments.format);
    }
    let interrupt = interrupt::signal_cell();
    let store = Store::new(arguments.cache.as_deref())?;
    let runner = Runner::new(store, arguments.jobs.unwrap_or(0), arguments.quiet, interrupt)?;
    let session = Session { kernels, is_quick: arguments.quick, is_quiet: arguments.quiet, runner };
    let asked = &arguments.figures;
    let report = arguments.report.as_deref().map(report::open).transpose()?;
    let printed = arguments.pdf.map(Width::from);
    let (mut exit, mut pages) = (Exit::Done, Vec::new());
    for figure in figures() {
        if asked.is_empty() || asked.iter().any(|asked| figure.is_selected_by(asked)) {
            let (ended, page) = drawn(figure, &session, &folder, printed)?;
            exit = worst_exit(exit, ended);
            pages.extend(page);
        }
        if let Exit::Interrupted(_) = exit {
            break;
        }
    }
    if let Some(report) = report.filter(|_| !pages.is_empty()) {
        let path = report::keep(report, &report_figures::page(&pages))?;
        output::print(&format!("wrote {}\n", path.display()))?;
    }
    Ok(exit)
}

/// Measures a figure, draws it and writes its files, or reports the failure on stderr.
fn drawn(
    figure: &Figure,
    session: &Session,
    folder: &Path,
    printed: Option<Width>,
) -> Result<(Exit, Option<Page>), Report> {
    let page = match crash::catch_panic(|| (figure.draw)(session)) {
        Ok(Ok(page)) => page,
        Ok(Err(FigureError::Input(report))) => return Err(report),
        Ok(Err(FigureError::Interrupted(signal))) => {
            output::print_error("interrupted; the completed measurements are cached");
            return Ok((Exit::Interrupted(signal as u8), None));
        }
        Ok(Err(FigureError::Failed(why))) | Err(why) => {
            output::print_error(&why);
            return Ok((Exit::CheckFailed, None));
        }
    };
    for path in page.write(folder, printed)? {
        output::print(&format!("wrote {}\n", path.display()))?;
    }
    // Comparisons of class `Exact` depend only on the paper's text, so it is an error if one fails. All other
    // comparisons depend on kernels and inputs, and their failures are findings.
    let holds = page.rows.iter().all(|row| row.passed || row.class != Class::Exact);
    Ok((if holds { Exit::Done } else { Exit::CheckFailed }, Some(page)))
}
