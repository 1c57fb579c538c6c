//! Runs a parameter sweep as a job array on a real Slurm cluster. The controller, node and authentication
//! daemon of the cluster run on this computer in one folder.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{CommandResult, root};

/// Maximum time for which the test waits for any event.
const PATIENCE: Duration = Duration::from_secs(120);

/// Processes of a Slurm cluster. They are ended when this value is dropped.
struct Cluster {
    folder: tempfile::TempDir,
    programs: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            let _ = Command::new("kill").arg(program.id().to_string()).status();
            let _ = program.wait();
        }
    }
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Self { folder, programs: Vec::new() };
        let at = cluster.folder.path().display().to_string();
        let host = output(Command::new("hostname").arg("-s"));
        let user = output(Command::new("id").arg("-un"));
        // The test finds two free ports, which are most likely still free when the daemons open them.
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [controller, node] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
        drop(listeners);
        fs::create_dir_all(format!("{at}/state")).unwrap();
        fs::create_dir_all(format!("{at}/spool")).unwrap();
        fs::write(format!("{at}/key"), [7; 64]).unwrap();
        cluster.run("chmod", &["600", &format!("{at}/key")]);
        cluster.run("chmod", &["711", &at]);
        let socket = format!("{at}/munge.socket");
        let conf = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\nSlurmdPort={node}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={socket}\nCredType=cred/munge\n\
             StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool\nSlurmctldPidFile={at}/c.pid\nSlurmdPidFile={at}/d.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nJobAcctGatherType=jobacct_gather/none\n\
             ReturnToService=2\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSchedulerParameters=sched_interval=1\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n\
             PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(format!("{at}/slurm.conf"), conf).unwrap();
        let files =
            ["socket=munge.socket", "pid-file=munge.pid", "key-file=key", "log-file=munge.log", "seed-file=seed"];
        let files = files.map(|file| format!("--{}", file.replacen('=', &format!("={at}/"), 1)));
        let files = files.each_ref().map(String::as_str);
        cluster.begin("munged", &[&["--foreground", "--force"], &files[..]].concat());
        wait_for("munged", || Path::new(&socket).exists());
        let conf = format!("{at}/slurm.conf");
        cluster.begin("slurmctld", &["-D", "-f", &conf]);
        cluster.begin("slurmd", &["-D", "-f", &conf, "-N", &host]);
        wait_for("an idle node", || output(cluster.command("sinfo").args(["-h", "-o", "%t"])) == "idle");
        cluster
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf")).env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        assert!(self.command(program).args(arguments).status().unwrap().success(), "{program}");
    }

    fn begin(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program);
        let log = fs::File::create(self.folder.path().join(format!("{program}.out"))).unwrap();
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.programs.push(command.spawn().unwrap());
    }
}

#[track_caller]
fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(Duration::from_millis(100));
    }
}

#[test]
#[cfg_attr(not(has_slurm), ignore = "slurmctld, slurmd or munged is not installed")]
fn a_job_array_makes_all_runs_and_what_it_keeps_is_gathered() {
    let cluster = Cluster::start();
    let kernels = root().join("kernels").canonicalize().unwrap();
    let text =
        format!("launch = '{}/vadd/small'\ndesign = ['baseline', 'pric']\nset.l1.ways = [2, 4]\n", kernels.display());
    fs::write(cluster.folder.path().join("s.toml"), text).unwrap();
    let warpsieve = |words: &str| {
        let mut command = cluster.command(assert_cmd::cargo::cargo_bin!("warpsieve").to_str().unwrap());
        CommandResult::of(command.args(words.split_whitespace()))
    };
    let submitted = warpsieve("sweep slurm s.toml --shards 3 --cache kept --sbatch=--output=%a.log");
    assert_eq!(submitted.status, Some(0), "{submitted:?}");
    assert!(submitted.out.contains("Submitted batch job 1\n"), "{submitted:?}");
    assert!(
        submitted.out.ends_with("when its jobs are done: warpsieve sweep gather s.toml --cache kept\n"),
        "{submitted:?}"
    );
    wait_for("the end of the jobs", || output(cluster.command("squeue").arg("-h")).is_empty());
    let gathered = warpsieve("sweep gather s.toml --cache kept --csv gathered.csv");
    assert_eq!(gathered.status, Some(0), "{gathered:?}");
    assert_eq!(warpsieve("sweep s.toml --cache alone --csv alone.csv").status, Some(0));
    let read = |name: &str| fs::read_to_string(cluster.folder.path().join(name)).unwrap();
    assert_eq!(read("gathered.csv"), read("alone.csv"));
    // The log of each job lists the runs of its shard of the sweep.
    assert_eq!([1, 2, 3].map(|shard| read(&format!("{shard}.log")).lines().count()), [3, 2, 2]);
    // If `sbatch` rejects the job script, the `warpsieve` command must fail too.
    let refused = warpsieve("sweep slurm s.toml --shards 3 --cache kept --sbatch=--partition=none");
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("sbatch rejected s.sbatch: ") && refused.err.contains("invalid partition"),
        "{refused:?}"
    );
}

#[test]
fn an_option_of_more_than_one_line_is_refused() {
    let slurm = ["sweep", "slurm", "s.toml", "--shards", "2", "--cache", "kept", "--write-only"];
    super::warpsieve(&[&slurm[..], &["--sbatch", "--x=\n rm"]].concat())
        .assert_refused(&["'--sbatch <OPTION>'", "it has the control character `\\n`, expected one line"]);
}
