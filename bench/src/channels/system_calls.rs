//! The system calls of processes for a while, counted by `strace`, and which of them touch the files of a channel.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::home::Running;
use crate::setting::Setting;

/// What a process asked of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All that it asked.
    pub all: usize,
    /// How often it asked for names in the channel's folder.
    pub listed: usize,
    /// How many files of the channel it opened.
    pub opened: usize,
    /// How many bytes of them it read.
    pub bytes: usize,
}

/// Watches all these processes, each with the folder of its channel, at the same time; `None` if that cannot be done.
pub fn count(
    setting: &Setting,
    processes: &[(u32, PathBuf)],
    duration: Duration,
) -> anyhow::Result<Option<Vec<Calls>>> {
    let place = setting.fresh_folder()?;
    let mut watching = Vec::new();
    for (process, channel) in processes {
        let log = place.join(process.to_string());
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-qq", "-s", "8", "-p", &process.to_string(), "-o"]).arg(&log);
        let Ok(child) = strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else { return Ok(None) };
        watching.push((Running(child), log, channel));
    }
    std::thread::sleep(duration);
    let mut counted = Vec::new();
    for (mut strace, log, channel) in watching {
        // Interrupted, it lets go of the process and ends by itself.
        Command::new("kill").args(["-INT", &strace.0.id().to_string()]).status()?;
        strace.0.wait()?;
        let calls = read(BufReader::new(File::open(&log)?), channel)?;
        if calls.all == 0 {
            return Ok(None);
        }
        counted.push(calls);
    }
    Ok(Some(counted))
}

fn read(log: impl BufRead, channel: &Path) -> anyhow::Result<Calls> {
    let (folder, within) = (format!("<{}>", channel.display()), format!("<{}/", channel.display()));
    let mut calls = Calls::default();
    for line in log.lines() {
        let line = line?;
        // The number of the thread, and what it asked. What was resumed was counted when it began.
        let Some((name, rest)) = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').split_once('(')
        else {
            continue;
        };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        calls.all += 1;
        match name {
            "getdents64" if rest.contains(&folder) => calls.listed += 1,
            "openat" if rest.contains(&folder) && rest.contains(".json\"") => calls.opened += 1,
            "read" | "pread64" if rest.contains(&within) => {
                let result = rest.rsplit_once(" = ").and_then(|(_, result)| result.trim().parse::<usize>().ok());
                calls.bytes += result.unwrap_or(1);
            }
            _ => {}
        }
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_touches_the_files_of_the_channel_counts_as_reading_them() {
        let log = "\
7 epoll_wait(4<anon_inode:[eventpoll]>, [], 1024, 1500) = 0
8 openat(9</a/channels/dev>, \".\", O_RDONLY) = 11</a/channels/dev>
8 getdents64(11</a/channels/dev>, 0x7f /* 3 entries */, 32768) = 96
8 openat(9</a/channels/dev>, \"msg-1.json\", O_RDONLY|O_NOFOLLOW) = 12</a/channels/dev/msg-1.json>
8 read(12</a/channels/dev/msg-1.json>, \"{\"..., 4096) = 600
8 read(12</a/channels/dev/msg-1.json>, \"\", 4096) = 0
7 pread64(5</home/postrider.db>, \"\"..., 4096, 0) = 4096
7 futex(0x1, FUTEX_WAIT_PRIVATE, 1, NULL <unfinished ...>
7 <... futex resumed>) = 0
7 +++ exited with 0 +++
";
        let calls = read(log.as_bytes(), Path::new("/a/channels/dev")).unwrap();
        assert_eq!(calls, Calls { all: 8, listed: 1, opened: 1, bytes: 600 });
    }
}
