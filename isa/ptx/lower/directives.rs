//! Performance directives of a kernel: limits on its launches, and hints to the compiler.

use super::super::ast::{Directive, Function};
use super::super::{PtxError, Source};
use isa::program::LaunchLimits;

/// Maximum number of values by which a directive states the shape of a CTA or cluster: the extents in x, y
/// and z.
const AXES: usize = 3;

/// Reads the directives of a kernel. Returns the launch limits, the maximum number of registers per thread,
/// and the minimum number of CTAs per SM.
pub(super) fn read(
    source: &Source,
    function: &Function<'_>,
) -> Result<(LaunchLimits, Option<u32>, Option<u32>), PtxError> {
    let find = |name: &str| function.directives.iter().find(|directive| directive.name.text == name);
    let shape = |name| find(name).map(|directive| extents(source, directive)).transpose();
    let number = |name| find(name).map(|directive| Ok(extents(source, directive)?[0])).transpose();
    if let (Some(_), Some(second)) = (find("reqntid"), find("maxntid")) {
        let message = format!("kernel `{}` has both `.reqntid` and `.maxntid`", function.name.text);
        let error = PtxError::new(source, second.name.span, "one of the two", message);
        return Err(error.with_help("a CTA shape is either required or limited"));
    }
    let limits = LaunchLimits {
        required_block: shape("reqntid")?,
        largest_block: shape("maxntid")?,
        cluster: shape("reqnctapercluster")?,
    };
    Ok((limits, number("maxnreg")?, number("minnctapersm")?))
}

/// Returns the shape in x, y and z that a directive gives; missing values are 1.
fn extents(source: &Source, directive: &Directive<'_>) -> Result<[u32; AXES], PtxError> {
    let Directive { name, values } = directive;
    let mut extents = [1; AXES];
    let fits = (1..=AXES).contains(&values.len());
    let numbers = values.iter().map(|&value| u32::try_from(value).ok().filter(|&value| value > 0));
    match numbers.collect::<Option<Vec<u32>>>().filter(|_| fits) {
        Some(numbers) => {
            extents[..numbers.len()].copy_from_slice(&numbers);
            Ok(extents)
        }
        None => {
            let message = format!("`.{}` has the numbers {values:?}, expected 1 to 3 from 1 to 2^32 - 1", name.text);
            Err(PtxError::new(source, name.span, "this directive", message))
        }
    }
}
