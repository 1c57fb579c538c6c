//! `warpsieve sweep slurm`: writes and submits a job array, each job of which performs a share of the runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use waves::atomic_file::AtomicFile;

use super::super::args::SlurmArguments;
use super::super::output::format_count;
use super::super::{Exit, output};

/// Writes the script for a sweep of `runs` runs, and submits it unless `--write-only` is given.
pub fn submit(arguments: &SlurmArguments, runs: usize) -> Result<Exit, Report> {
    let SlurmArguments { file, cache, .. } = arguments;
    let script = script_of(arguments);
    let text = text(arguments, runs)?;
    let part = AtomicFile::create(&script).into_diagnostic();
    let script = part.and_then(|part| output::keep(part, &text)).wrap_err("the script cannot be written")?;
    output::print(&format!("wrote {}\n", script.display()))?;
    if arguments.write_only {
        return Ok(Exit::Done);
    }
    let submitted = Command::new("sbatch").arg(&script).output().into_diagnostic();
    let submitted = submitted.wrap_err("sbatch cannot be run, which is needed without `--write-only`")?;
    let [said, why] =
        [submitted.stdout, submitted.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    if !submitted.status.success() {
        return Err(miette!("sbatch rejected {}: {why}", script.display()));
    }
    let [file, cache] = [file, cache].map(|path| quote(&path.display().to_string()));
    output::print(&format!("{said}\nwhen its jobs are done: warpsieve sweep gather {file} --cache {cache}\n"))?;
    Ok(Exit::Done)
}

/// Returns the path of the script that is written.
pub fn script_of(arguments: &SlurmArguments) -> PathBuf {
    arguments.script.clone().unwrap_or_else(|| arguments.file.with_extension("sbatch"))
}

fn text(arguments: &SlurmArguments, runs: usize) -> Result<String, Report> {
    let SlurmArguments { file, shards, jobs, cache, sbatch, leave_out_refused, .. } = arguments;
    let command = std::env::current_exe().into_diagnostic().wrap_err("the file of this command cannot be found")?;
    let [file, cache] = [file, cache].map(|path| absolute(path));
    let [command, file, cache] =
        [Ok(command), file, cache].map(|path| Ok::<_, Report>(quote(&path?.display().to_string())));
    let (command, file, cache) = (command?, file?, cache?);
    // There are at most as many jobs as runs; further jobs would have nothing to do.
    let shards = usize::from(*shards).min(runs.max(1));
    let name = arguments.file.file_stem().unwrap_or_default().to_string_lossy().replace(char::is_whitespace, "-");
    let given: String = sbatch.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    let leave_out = if *leave_out_refused { " --leave-out-refused" } else { "" };
    Ok(format!(
        "#!/bin/bash\n\
         # {} in {}. Results are cached: a resubmitted job continues where it stopped.\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --array=1-{shards}\n\
         #SBATCH --cpus-per-task={jobs}\n\
         {given}\
         exec {command} sweep {file} --cache {cache} --jobs {jobs} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" --quiet{leave_out}\n",
        format_count(runs as u64, "run", "runs"),
        format_count(shards as u64, "job", "jobs"),
    ))
}

fn absolute(path: &Path) -> Result<PathBuf, Report> {
    std::path::absolute(path).into_diagnostic().wrap_err_with(|| format!("{} has no absolute path", path.display()))
}

/// Quotes a text so that a shell reads it as one word.
fn quote(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_keeps_its_blanks_and_quotes() {
        assert_eq!(quote("/a/b-c.toml"), "/a/b-c.toml");
        assert_eq!(quote("my 'runs'"), r"'my '\''runs'\'''");
        assert_eq!(quote(""), "''");
    }
}
