//! Making output fit (CM-28).
//!
//! Owns what is left out of a value or of lines that are too long, and how that is said. What it makes of a value is
//! valid JSON again, and never larger than it may be; strings are cut between characters. It never decides how much
//! room there is. It calls nobody.

use serde_json::{Map, Value};

use crate::json::{estimated_size, text_of};

/// What stands in the place of what was left out begins with this, as a member's name or as text.
const LEFT_OUT: &str = "…";

/// Room for saying what was left out of one container or string.
const NOTICE: usize = 64;

/// An item gets at least so much before others are left out for it.
const LEAST: usize = 256;

/// The least room that anything is fitted to: below this, nothing is said but that something was left out.
const HARDLY: usize = NOTICE + 8;

/// A value as text for a model, in at most `room` bytes; and whether anything was left out.
///
/// Pretty-printed if that fits, else compact, else what fits of it, by items, members and characters. A string is
/// given raw, as it is everywhere else where it is all there is (CM-6). With less room than notices take, the text is cut.
pub(super) fn fit_value(value: &Value, room: usize) -> (String, bool) {
    if let Value::String(text) = value {
        return if text.len() <= room { (text.clone(), false) } else { (cut_raw(text, room), true) };
    }
    // Nothing is smaller than its compact form, and the estimate of that is never above twice its size.
    if estimated_size(value) / 2 <= room {
        let pretty = format!("{value:#}");
        if pretty.len() <= room {
            return (pretty, false);
        }
        let compact = text_of(value);
        if compact.len() <= room {
            return (compact, false);
        }
    }
    let text = text_of(&fitted(value, room));
    if text.len() <= room { (text, true) } else { (cut_raw(&text, room), true) }
}

/// Lines for a model, in at most `room` bytes with their line ends: the first ones and the last ones, and between them
/// how many were left out. Whether any was, or was cut.
pub(super) fn fit_lines(lines: &[String], room: usize) -> (Vec<String>, bool) {
    let size = |line: &String| line.len() + 1;
    if lines.iter().map(size).sum::<usize>() <= room {
        return (lines.to_vec(), false);
    }
    if room < 4 * NOTICE {
        return (vec![cut_raw(&lines.join("\n"), room.saturating_sub(1))], true);
    }
    let half = room.saturating_sub(2 * NOTICE) / 2;
    let (head, head_bytes) = whole_lines(lines.iter(), half);
    let rest = lines.get(head..).unwrap_or_default();
    let (tail, tail_bytes) = whole_lines(rest.iter().rev(), half);
    let mut fitted = lines.get(..head).unwrap_or_default().to_vec();
    let middle = rest.get(..rest.len() - tail).unwrap_or_default();
    let mut left_out = middle.len();
    // What one long line leaves no room for is not all of it.
    if let Some(first) = middle.first() {
        let left = room.saturating_sub(head_bytes + tail_bytes + 2 * NOTICE);
        if left >= LEAST {
            fitted.push(cut_raw(first, left));
            left_out -= 1;
        }
    }
    if left_out > 0 {
        fitted.push(format!("{LEFT_OUT} {left_out} of {} lines left out", lines.len()));
    }
    fitted.extend_from_slice(rest.get(rest.len() - tail..).unwrap_or_default());
    (fitted, true)
}

/// How many lines fit, and what they take.
fn whole_lines<'a>(lines: impl Iterator<Item = &'a String>, room: usize) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    for line in lines {
        if bytes + line.len() + 1 > room {
            break;
        }
        bytes += line.len() + 1;
        count += 1;
    }
    (count, bytes)
}

/// What is left of a value that takes more than `room` bytes as compact JSON: no more than that, if `room` is not less
/// than [`HARDLY`].
fn fitted(value: &Value, room: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut_quoted(text, room)),
        Value::Array(items) => Value::Array(fitted_items(items, room)),
        Value::Object(members) => Value::Object(fitted_members(members, room)),
        // No number and no word takes as much as the least room.
        other => other.clone(),
    }
}

/// What a value takes as compact JSON, exactly.
fn written(value: &Value) -> usize {
    match value {
        // The estimate is exact for them.
        Value::Null | Value::Bool(_) | Value::String(_) => estimated_size(value),
        other => text_of(other).len(),
    }
}

fn fitted_items(items: &[Value], room: usize) -> Vec<Value> {
    // The brackets, and a comma for each.
    let sizes: Vec<usize> = items.iter().map(|item| written(item) + 1).collect();
    let for_items = room.saturating_sub(2 + NOTICE);
    let mut left = for_items;
    let mut kept = Vec::new();
    let share = share(&sizes, for_items);
    for (item, size) in items.iter().zip(&sizes) {
        // Where all have room, each has its share; where not, the first ones are kept whole as far as they are small.
        let most = share.unwrap_or_else(|| (left / 4).max(LEAST)).min(left);
        if *size > most && (most < HARDLY || share.is_none() && left < LEAST) {
            break;
        }
        let item = if *size <= most { item.clone() } else { fitted(item, most - 1) };
        let Some(rest) = left.checked_sub(written(&item) + 1) else { break };
        left = rest;
        kept.push(item);
    }
    let left_out = items.len() - kept.len();
    if left_out > 0 {
        kept.push(Value::String(format!("{LEFT_OUT} {left_out} of {} items left out", items.len())));
    }
    kept
}

fn fitted_members(members: &Map<String, Value>, room: usize) -> Map<String, Value> {
    let name = |key: &String| estimated_size(&Value::String(key.clone())) + 2;
    let sizes: Vec<usize> = members.iter().map(|(key, value)| name(key) + written(value)).collect();
    let for_members = room.saturating_sub(2 + NOTICE);
    let mut left = for_members;
    let mut kept = Map::new();
    let share = share(&sizes, for_members);
    for ((key, value), size) in members.iter().zip(&sizes) {
        let most = share.unwrap_or_else(|| (left / 4).max(LEAST)).min(left);
        let for_value = most.saturating_sub(name(key));
        if *size > most && for_value < HARDLY {
            // A name that leaves no room; what comes after it may have some.
            continue;
        }
        let value = if *size <= most { value.clone() } else { fitted(value, for_value) };
        let Some(rest) = left.checked_sub(name(key) + written(&value)) else { continue };
        left = rest;
        kept.insert(key.clone(), value);
    }
    let left_out = members.len() - kept.len();
    if left_out > 0 {
        let notice = format!("{left_out} of {} members left out", members.len());
        // A member of that name is left out itself, and counted.
        kept.insert(LEFT_OUT.to_owned(), Value::String(notice));
    }
    kept
}

/// What each may take so that all have room: small ones leave theirs to the others. Nothing when that is too little.
fn share(sizes: &[usize], room: usize) -> Option<usize> {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (index, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index);
        if *size > share {
            return (share >= LEAST).then_some(share);
        }
        left -= size;
    }
    // All fit as they are.
    Some(room)
}

/// The beginning of a text, and how much of it that is; as JSON at most `room` bytes.
fn cut_quoted(text: &str, room: usize) -> String {
    let for_text = room.saturating_sub(2 + NOTICE);
    let mut bytes = 0;
    let end = text.char_indices().find_map(|(index, letter)| {
        bytes += estimated_size(&Value::String(letter.to_string())) - 2;
        (bytes > for_text).then_some(index)
    });
    noted(text, end.unwrap_or(text.len()))
}

/// The beginning of a text, and how much of it that is; at most `room` bytes.
fn cut_raw(text: &str, room: usize) -> String {
    let cut = noted(text, text.floor_char_boundary(room.saturating_sub(NOTICE)));
    if cut.len() <= room {
        cut
    } else {
        cut.get(..cut.floor_char_boundary(room)).unwrap_or_default().to_owned()
    }
}

fn noted(text: &str, end: usize) -> String {
    let kept = text.get(..end).unwrap_or_default();
    let left_out = text.len() - kept.len();
    format!("{kept}{LEFT_OUT} {left_out} of {} bytes left out", text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(value: &Value, room: usize) -> Value {
        let (text, left_out) = fit_value(value, room);
        assert!(text.len() <= room && left_out, "{} of {room}", text.len());
        serde_json::from_str(&text).unwrap()
    }

    /// CM-28
    #[test]
    fn what_fits_is_given_whole() {
        let value = json!({"a": [1, 2]});
        assert_eq!(fit_value(&value, 1000), ("{\n  \"a\": [\n    1,\n    2\n  ]\n}".to_owned(), false));
        assert_eq!(fit_value(&value, 12), ("{\"a\":[1,2]}".to_owned(), false));
        assert_eq!(fit_value(&json!("raw \"text\""), 10), ("raw \"text\"".to_owned(), false));
    }

    /// CM-28
    #[test]
    fn items_that_do_not_fit_are_counted() {
        let rows: Vec<Value> = (0..400).map(|id| json!({"id": id, "name": "n".repeat(80)})).collect();
        let read = read(&json!(rows), 10_000);
        let items = read.as_array().unwrap();
        assert_eq!(items[..items.len() - 1], rows[..items.len() - 1]);
        assert_eq!(items.last().unwrap(), &json!(format!("… {} of 400 items left out", 401 - items.len())));
        assert!(items.len() > 90, "{}", items.len());
    }

    /// CM-28
    #[test]
    fn one_large_part_does_not_push_the_others_out() {
        let value = json!({
            "first": 1, "text": "é".repeat(100_000), "rows": (0..10_000).collect::<Vec<_>>(), "last": [true, null],
        });
        let read = read(&value, 4_000);
        assert_eq!((&read["first"], &read["last"]), (&json!(1), &json!([true, null])));
        assert!(read["text"].as_str().unwrap().ends_with("of 200000 bytes left out"));
        let rows = read["rows"].as_array().unwrap();
        assert_eq!(rows[..3], [json!(0), json!(1), json!(2)]);
        assert!(rows.last().unwrap().as_str().unwrap().ends_with("of 10000 items left out"));
        assert!(rows.len() > 200, "{}", rows.len());
    }

    /// CM-28
    #[test]
    fn members_that_do_not_fit_are_counted() {
        let members: Map<String, Value> =
            (0..5_000).map(|n| (format!("key{n:04}"), json!("v".repeat(40)))).collect();
        let read = read(&Value::Object(members), 5_000);
        let left = read["…"].as_str().unwrap().to_owned();
        assert_eq!(left, format!("{} of 5000 members left out", 5_001 - read.as_object().unwrap().len()));
    }

    /// CM-28
    #[test]
    fn the_first_and_the_last_lines_stay() {
        let lines: Vec<String> = (0..1_000).map(|n| format!("line {n:04}")).collect();
        let (fitted, left_out) = fit_lines(&lines, 1_000);
        assert!(left_out && fitted.iter().map(|line| line.len() + 1).sum::<usize>() <= 1_000);
        assert_eq!(
            (fitted.first().unwrap().as_str(), fitted.last().unwrap().as_str()),
            ("line 0000", "line 0999")
        );
        assert!(fitted.contains(&format!("… {} of 1000 lines left out", 1_001 - fitted.len())));
        assert_eq!(fit_lines(&lines, 100_000), (lines, false));
        let (fitted, _) = fit_lines(&["x".repeat(10_000)], 1_000);
        assert!(fitted[0].starts_with("xxx") && fitted[0].ends_with("of 10000 bytes left out"), "{fitted:?}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,300}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 200, 30, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..30)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// CM-28
        #[test]
        fn nothing_is_larger_than_it_may_be_and_all_is_json(value in any_json(), room in 0..6_000_usize) {
            let (text, left_out) = fit_value(&value, room);
            prop_assert!(text.len() <= room, "{} of {}", text.len(), room);
            if !value.is_string() && room >= 400 {
                let read: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(left_out, read != value);
            }
        }

        /// CM-28
        #[test]
        fn lines_take_no_more_than_they_may(
            lines in prop::collection::vec("\\PC{0,200}", 0..60), room in 0..4_000_usize,
        ) {
            let (fitted, left_out) = fit_lines(&lines, room);
            prop_assert!(fitted.iter().map(|line| line.len() + 1).sum::<usize>() <= room.max(1));
            prop_assert_eq!(left_out, fitted != lines);
        }
    }
}
