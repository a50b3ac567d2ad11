//! Hints: what a wrong name or a wrong text may have meant.
//!
//! Owns the search for the nearest sibling name and the nearest text. It must never do more than bounded
//! work: hints are for errors, and an error must not cost more than the call it ends.

use std::os::fd::BorrowedFd;

use rustix::fs::{Dir, Mode, openat};

use super::beneath::DIR;
use super::error::NearText;

/// Names looked at for a hint.
const MAX_NAMES: usize = 4_096;
/// Lines of the searched text that are compared with a file's lines.
const MAX_LINES: usize = 400;
/// Lines of a file that are compared.
const MAX_FILE_LINES: usize = 200_000;
/// Line comparisons made for a hint.
const MAX_COMPARISONS: usize = 2_000_000;
/// Names less similar than this are not worth a hint.
const MIN_LIKENESS: f64 = 0.6;

/// The name in `dir` that is nearest to `name`.
pub(super) fn sibling(dir: BorrowedFd<'_>, name: &str) -> Option<String> {
    let readable = openat(dir, ".", DIR, Mode::empty()).ok()?;
    let entries = Dir::new(readable).ok()?;
    let wanted = name.to_lowercase();
    let mut best: Option<(f64, String)> = None;
    for entry in entries.take(MAX_NAMES) {
        let entry = entry.ok()?;
        let Ok(candidate) = entry.file_name().to_str() else { continue };
        if candidate == "." || candidate == ".." {
            continue;
        }
        let likeness = strsim::normalized_damerau_levenshtein(&wanted, &candidate.to_lowercase());
        // Ties go to the smaller name, so that the hint does not depend on the directory's order.
        let better = best.as_ref().is_none_or(|(most, chosen)| {
            likeness > *most || (likeness >= *most && candidate < chosen.as_str())
        });
        if likeness >= MIN_LIKENESS && better {
            best = Some((likeness, candidate.to_owned()));
        }
    }
    best.map(|(_, name)| name)
}

/// What in `text` comes nearest to `wanted`, which does not occur in it.
pub(super) fn text(text: &str, wanted: &str) -> NearText {
    let as_lf = wanted.replace("\r\n", "\n");
    if text.contains(&as_lf) {
        return NearText::FileHasLf;
    }
    if text.contains(&as_lf.replace('\n', "\r\n")) {
        return NearText::FileHasCrlf;
    }
    if let Some(bare) = without_numbers(wanted)
        && text.contains(&bare)
    {
        return NearText::LineNumbers;
    }
    similar_lines(text, wanted)
}

/// `text` without a line number and a tab at the start of every line, if every line has them.
fn without_numbers(text: &str) -> Option<String> {
    let lines = text.split('\n').map(|line| {
        if line.trim().is_empty() {
            return Some("");
        }
        let (number, rest) = line.split_once('\t')?;
        number.trim().parse::<u64>().ok().map(|_| rest)
    });
    lines.collect::<Option<Vec<_>>>().map(|lines| lines.join("\n")).filter(|bare| !bare.is_empty())
}

fn similar_lines(text: &str, wanted: &str) -> NearText {
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = wanted.trim().lines().take(MAX_LINES + 1).map(squeeze).collect();
    let Some(first) = wanted.first().filter(|line| !line.is_empty()) else { return NearText::Nothing };
    if wanted.len() > MAX_LINES {
        return NearText::Nothing;
    }
    let lines: Vec<String> = text.lines().take(MAX_FILE_LINES).map(squeeze).collect();
    let mut budget = MAX_COMPARISONS;
    let mut first_line = None;
    for (start, window) in lines.windows(wanted.len()).enumerate() {
        let same = window.iter().zip(&wanted).take_while(|(have, want)| have == want).count();
        if same == wanted.len() {
            return NearText::WhiteSpace { first: number(start), last: number(start + wanted.len() - 1) };
        }
        let Some(left) = budget.checked_sub(same + 1) else { break };
        budget = left;
    }
    if wanted.len() > 1 {
        first_line = lines.iter().position(|line| line == first);
    }
    first_line.map_or(NearText::Nothing, |line| NearText::FirstLine { line: number(line) })
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1)
}
