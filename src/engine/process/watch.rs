//! What a child takes of the machine, as the kernel counts it (E-6).
//!
//! Owns the look at its resident size and its processor time. It believes nothing that the child says. It calls the
//! system alone.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The kernel's files on one process.
pub(super) struct Watch {
    statm: File,
    stat: File,
}

/// What a process took, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Bytes in memory, shared ones as well.
    pub(super) resident: usize,
    /// Processor time of all its threads.
    pub(super) processor: Duration,
}

impl Watch {
    /// Of a child that is not waited for yet; nothing where the kernel does not tell.
    pub(super) fn open(pid: u32) -> Option<Self> {
        let open = |name| File::open(format!("/proc/{pid}/{name}")).ok();
        Some(Self { statm: open("statm")?, stat: open("stat")? })
    }

    /// What it takes now; nothing once it has ended.
    pub(super) fn look(&self) -> Option<Taken> {
        let (mut statm, mut stat) = ([0; 128], [0; 1024]);
        let statm = text(&self.statm, &mut statm)?;
        let stat = text(&self.stat, &mut stat)?;
        Some(Taken { resident: resident(statm)?, processor: processor(stat)? })
    }
}

fn text<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
    let bytes = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(buffer.get(..bytes)?).ok()
}

/// The second number of `statm`: pages in memory.
fn resident(statm: &str) -> Option<usize> {
    let pages: usize = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size()))
}

/// Fields 14 and 15 of `stat`, in ticks; the name in field 2 may have spaces and brackets.
fn processor(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()?.saturating_add(ticks()?);
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_millis(ticks.saturating_mul(1000) / per_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E-6
    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(resident("5000 1200 300 1 0 900 0\n"), Some(1200 * rustix::param::page_size()));
        let stat = "77 (a) b (c) S 1 1 1 0 -1 4194304 10 0 0 0 150 50 0 0 20 0 4 0 12345 1000 200";
        let per_second = rustix::param::clock_ticks_per_second();
        assert_eq!(processor(stat), Some(Duration::from_millis(200 * 1000 / per_second)));
        for torn in ["", "1", "x y", "77 (a"] {
            assert_eq!((resident(torn), processor(torn)), (None, None), "{torn}");
        }
    }

    /// E-6: of this very process.
    #[test]
    fn a_process_is_looked_at() {
        let watch = Watch::open(std::process::id()).unwrap();
        assert!(watch.look().unwrap().resident > 1 << 20);
        assert!(Watch::open(u32::MAX).is_none());
    }
}
