//! What a model must be told beside logs and result (CM-6, CM-21, CM-25).
//!
//! Owns the one-line notes: recoveries, calls that nobody awaited, values that were dropped. It never changes an
//! outcome. It calls nobody.

use serde_json::Value;

use crate::codemode::lane::LaneReport;
use crate::ids::ToolName;
use crate::outcome::{RunFailure, SubCallReport, SubCallState};

/// Most calls that one note names.
const NAMED: usize = 10;

/// Most characters of a failure's message that a note repeats; the message itself is in the list of sub-calls.
const SHOWN_CHARS: usize = 200;

/// Every note of a run, in the order in which they matter, after `notes` of the runtime.
pub(super) fn collect(
    result: &Result<Option<Value>, RunFailure>,
    logs: &[String],
    lane: &LaneReport,
    forwarded_blocks: usize,
    mut notes: Vec<String>,
) -> Vec<String> {
    notes.extend(without_outcome(&lane.sub_calls, result.is_ok()));
    if matches!(result, Ok(None)) && logs.is_empty() {
        notes.extend(dropped_values(lane));
    }
    notes.extend(left_out(lane.blocks_left_out, forwarded_blocks));
    notes
}

/// A program that came to its end did not await them; one that was ended may well have.
fn without_outcome(calls: &[SubCallReport], finished: bool) -> Option<String> {
    let left: Vec<_> = calls.iter().filter(|call| !call.delivered).collect();
    if left.is_empty() {
        return None;
    }
    let (named, unnamed) = name(&left);
    let more = if unnamed > 0 { format!(", and {unnamed} more") } else { String::new() };
    let (count, were, them) = match left.len() {
        1 => ("1 tool call".to_owned(), "was", "it"),
        many => (format!("{many} tool calls"), "were", "them"),
    };
    if !finished {
        return Some(format!("the program had no outcome yet of {count} when the run ended: {named}{more}"));
    }
    Some(format!(
        "{count} {were} not awaited when the program ended: {named}{more}. Write `await` before the call, or await \
         {them} with Promise.all"
    ))
}

/// Calls with what became of them, those of which the same is to be said as one; and how many are not named.
fn name(calls: &[&SubCallReport]) -> (String, usize) {
    let mut groups: Vec<(&ToolName, String, usize)> = Vec::new();
    let mut unnamed = 0;
    for call in calls {
        let said = describe(call);
        let same = |(tool, of_others, _): &&mut (&ToolName, String, usize)| {
            **tool == call.tool && *of_others == said
        };
        if let Some((_, _, count)) = groups.iter_mut().find(same) {
            *count += 1;
        } else if groups.len() < NAMED {
            groups.push((&call.tool, said, 1));
        } else {
            unnamed += 1;
        }
    }
    let named = groups.iter().map(|(tool, said, count)| match count {
        1 => format!("{tool} ({said})"),
        many => format!("{tool} ({many} times: {said})"),
    });
    (named.collect::<Vec<_>>().join(", "), unnamed)
}

fn describe(call: &SubCallReport) -> String {
    match (call.state, call.code) {
        (SubCallState::Finished, _) => "it had finished".to_owned(),
        (SubCallState::NotStarted, _) => "never started, nothing happened".to_owned(),
        (SubCallState::Aborted, _) => "aborted after it had started, effects may have happened".to_owned(),
        (SubCallState::Failed, Some(code)) => {
            let message = call.message.as_deref().unwrap_or_default();
            let line: String = message.lines().next().unwrap_or_default().chars().take(SHOWN_CHARS).collect();
            format!("failed with {code}: {line}")
        }
        (SubCallState::Failed | SubCallState::Unknown, _) => "outcome unknown".to_owned(),
    }
}

fn dropped_values(lane: &LaneReport) -> Option<String> {
    const ADVICE: &str =
        "because nothing was printed or returned. Print with console.log(...) or `return` what you need";
    let finished = lane.sub_calls.iter().filter(|call| call.state == SubCallState::Finished).count();
    match (lane.started, finished) {
        (0, _) => None,
        (1, 1) => Some(format!("1 tool call ran and its value was dropped, {ADVICE}")),
        (1, _) => {
            Some(format!("1 tool call started and did not succeed, which shows nowhere else, {ADVICE}"))
        }
        (started, 0) => Some(format!(
            "{started} tool calls started and none succeeded, which shows nowhere else, {ADVICE}"
        )),
        (started, finished) if usize::try_from(started) == Ok(finished) => {
            Some(format!("{started} tool calls ran and their values were dropped, {ADVICE}"))
        }
        (started, finished) => Some(format!(
            "{started} tool calls started, {finished} of them succeeded, and their values were dropped, {ADVICE}"
        )),
    }
}

fn left_out(blocks: u64, limit: usize) -> Option<String> {
    let blocks = match blocks {
        0 => return None,
        1 => "1 image or other block of a tool's result was".to_owned(),
        more => format!("{more} images or other blocks of tools' results were"),
    };
    let most = if limit == 0 { String::new() } else { format!(" beyond the first {limit}") };
    Some(format!("{blocks} left out{most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{ErrorCode, RunFailureKind};

    fn call(n: u64, state: SubCallState, code: Option<ErrorCode>, delivered: bool) -> SubCallReport {
        SubCallReport {
            id: crate::ids::CallId::from("c").sub_call(n),
            tool: "write".into(),
            state,
            code,
            message: code.map(|_| "disk full\nmore".to_owned()),
            delivered,
        }
    }

    fn lane(sub_calls: Vec<SubCallReport>) -> LaneReport {
        let started = sub_calls.iter().filter(|call| call.state != SubCallState::NotStarted).count();
        LaneReport { sub_calls, started: u64::try_from(started).unwrap(), ..LaneReport::default() }
    }

    fn notes(result: &Result<Option<Value>, RunFailure>, lane: &LaneReport) -> String {
        collect(result, &[], lane, 8, vec!["from the engine".to_owned()]).join("\n")
    }

    /// CM-21
    #[test]
    fn calls_that_nobody_awaited_are_named_with_their_state() {
        use SubCallState::{Aborted, Failed, Finished, NotStarted, Unknown};
        let calls = vec![
            call(1, Finished, None, true),
            call(2, Failed, Some(ErrorCode::ToolFailed), false),
            call(3, Finished, None, false),
            call(4, Aborted, Some(ErrorCode::Aborted), false),
            call(5, NotStarted, None, false),
            call(6, Unknown, Some(ErrorCode::HostBug), false),
        ];
        insta::assert_snapshot!(notes(&Ok(Some(Value::Null)), &lane(calls)), @r"
        from the engine
        5 tool calls were not awaited when the program ended: write (failed with TOOL_FAILED: disk full), write (it had finished), write (aborted after it had started, effects may have happened), write (never started, nothing happened), write (outcome unknown). Write `await` before the call, or await them with Promise.all
        ");
    }

    /// CM-21
    #[test]
    fn one_call_that_nobody_awaited_is_spoken_of_as_one_and_many_are_cut() {
        let one = vec![call(1, SubCallState::NotStarted, None, false)];
        insta::assert_snapshot!(notes(&Ok(Some(Value::Null)), &lane(one)), @r"
        from the engine
        1 tool call was not awaited when the program ended: write (never started, nothing happened). Write `await` before the call, or await it with Promise.all
        ");
        let calls = || (1..=12).map(|n| call(n, SubCallState::NotStarted, None, false));
        let alike = notes(&Ok(Some(Value::Null)), &lane(calls().collect()));
        assert!(alike.contains(": write (12 times: never started, nothing happened). Write"), "{alike}");
        let named =
            |call: SubCallReport| SubCallReport { tool: ToolName::new(format!("write {}", call.id)), ..call };
        let note = notes(&Ok(Some(Value::Null)), &lane(calls().map(named).collect()));
        assert_eq!(
            (note.matches(" (never").count(), note.contains("), and 2 more. Write")),
            (10, true),
            "{note}"
        );
    }

    /// CM-21, CM-31: nobody knows whether a program that was ended would have awaited them.
    #[test]
    fn a_run_that_failed_says_which_outcomes_did_not_arrive() {
        let failure = Err(RunFailure::new(RunFailureKind::WallTimeout, "no"));
        let calls = vec![
            call(1, SubCallState::Finished, None, true),
            call(2, SubCallState::Aborted, Some(ErrorCode::Aborted), false),
        ];
        insta::assert_snapshot!(notes(&failure, &lane(calls)), @r"
        from the engine
        the program had no outcome yet of 1 tool call when the run ended: write (aborted after it had started, effects may have happened)
        ");
    }

    /// CM-6
    #[test]
    fn values_that_nobody_printed_are_counted() {
        use SubCallState::{Failed, Finished};
        let finished = |count| (1..=count).map(|n| call(n, Finished, None, true)).collect::<Vec<_>>();
        let failed = |count| {
            (1..=count).map(|n| call(n, Failed, Some(ErrorCode::ToolFailed), true)).collect::<Vec<_>>()
        };
        let mixed = [finished(2), failed(1)].concat();
        let all = [Vec::new(), finished(1), finished(3), mixed, failed(1), failed(2)];
        let said: Vec<_> = all.into_iter().map(|calls| notes(&Ok(None), &lane(calls))).collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        from the engine
        from the engine
        1 tool call ran and its value was dropped, because nothing was printed or returned. Print with console.log(...) or `return` what you need
        from the engine
        3 tool calls ran and their values were dropped, because nothing was printed or returned. Print with console.log(...) or `return` what you need
        from the engine
        3 tool calls started, 2 of them succeeded, and their values were dropped, because nothing was printed or returned. Print with console.log(...) or `return` what you need
        from the engine
        1 tool call started and did not succeed, which shows nowhere else, because nothing was printed or returned. Print with console.log(...) or `return` what you need
        from the engine
        2 tool calls started and none succeeded, which shows nowhere else, because nothing was printed or returned. Print with console.log(...) or `return` what you need
        ");
        let failure = Err(RunFailure::new(RunFailureKind::Exception, "no"));
        assert_eq!(notes(&failure, &lane(finished(1))), "from the engine");
    }

    /// CM-12
    #[test]
    fn blocks_that_were_left_out_are_counted() {
        let said: Vec<_> =
            [(1, 8), (5, 8), (2, 0)].map(|(blocks, limit)| left_out(blocks, limit).unwrap()).into();
        insta::assert_snapshot!(said.join("\n"), @r"
        1 image or other block of a tool's result was left out beyond the first 8
        5 images or other blocks of tools' results were left out beyond the first 8
        2 images or other blocks of tools' results were left out
        ");
        assert_eq!(left_out(0, 8), None);
    }
}
