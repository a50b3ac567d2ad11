//! The nearest name to a misspelt one.
//!
//! Owns the one measure of likeness that every "did you mean" uses. It looks at the beginning of a name only, and
//! compares letter by letter only what may be near, so that neither an absurdly long name nor a long list of
//! candidates costs much. It calls nobody.

/// Names are looked at as far as this, in bytes.
const LOOKED_AT: usize = 256;

/// Letters of it that are compared.
const COMPARED_CHARS: usize = 64;

/// Most names that one message suggests.
pub const SUGGESTIONS: usize = 3;

/// A name as it is compared.
struct Folded<'a> {
    name: &'a str,
    letters: String,
    count: usize,
}

/// The candidate most like `name`; nothing when none is like it.
///
/// The same letters in another case or with other separators count as nearest of all; after that comes edit
/// distance (up to a third of the length), with a whole word of a longer name (`read` for `read_file`) as the
/// weakest likeness. Ties go to the longer common beginning, then to the first in byte order. Of long names only the
/// beginning counts.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = Folded::of(name)?;
    let words = words_of(name.name);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = Folded::of(candidate)?;
            let distance = distance(&name, &words, &other)?;
            let common = name.letters.chars().zip(other.letters.chars()).take_while(|(one, two)| one == two);
            Some((distance, COMPARED_CHARS - common.count(), candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// The candidates most like `name`, the nearest first; `most` of them at most.
pub fn nearest_few<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let mut left: Vec<&str> = candidates.into_iter().collect();
    let mut found = Vec::new();
    while found.len() < most
        && let Some(best) = nearest(name, left.iter().copied())
    {
        left.retain(|candidate| *candidate != best);
        found.push(best);
    }
    found
}

impl<'a> Folded<'a> {
    /// Nothing for a name without letters.
    fn of(name: &'a str) -> Option<Self> {
        let name = name.get(..name.floor_char_boundary(LOOKED_AT)).unwrap_or_default();
        let letters: String = name
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .take(COMPARED_CHARS)
            .map(|letter| letter.to_lowercase().next().unwrap_or(letter))
            .collect();
        let count = letters.chars().count();
        (count > 0).then_some(Self { name, letters, count })
    }
}

fn distance(name: &Folded<'_>, words: &[&str], other: &Folded<'_>) -> Option<usize> {
    let allowed = (name.count / 3).max(1);
    let edits = || strsim::osa_distance(&name.letters, &other.letters);
    // Every letter that one has more than the other is an edit.
    if name.count.abs_diff(other.count) <= allowed {
        let edits = edits();
        // One letter for another is no likeness: names of one or two letters must share some.
        if edits <= allowed && edits < other.count {
            return Some(edits);
        }
    }
    let is_one_of = |words: &[&str], word: &str| words.iter().any(|part| part.eq_ignore_ascii_case(word));
    // A word is never longer than the name that it is in.
    let is_word = name.letters.len() >= 3
        && (is_one_of(words, other.name)
            || (name.name.len() <= other.name.len() && is_one_of(&words_of(other.name), name.name)));
    is_word.then(|| COMPARED_CHARS + edits())
}

/// The words of a name: `readFile`, `read_file` and `read-file` have two.
pub fn words_of(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut before) = (0, '_');
    for (at, letter) in name.char_indices() {
        let border = !letter.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase());
        if border {
            words.push(name.get(start..at).unwrap_or_default());
            start = if letter.is_alphanumeric() { at } else { at + letter.len_utf8() };
        }
        before = letter;
    }
    words.push(name.get(start..).unwrap_or_default());
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a name is made of, however it is spelled.
    #[test]
    fn words_end_at_separators_and_humps() {
        assert_eq!(words_of("readFile_now-v2"), ["read", "File", "now", "v2"]);
        assert_eq!(words_of("__é.a"), ["é", "a"]);
    }

    ///
    #[test]
    fn likeness_prefers_spelling_over_containment() {
        let names = ["read", "read_file", "write", "getUser"];
        assert_eq!(nearest("raed", names), Some("read"));
        assert_eq!(nearest("readFile", names), Some("read_file"));
        assert_eq!(nearest("get-user", names), Some("getUser"));
        assert_eq!(nearest("file", names), Some("read_file"));
        assert_eq!(nearest("ad", ["a.b", "add"]), Some("add"));
        assert_eq!(nearest("read_many_files", ["list", "read"]), Some("read"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("", names), None);
    }

    /// a name of a megabyte is looked at no further than any other, against however many tools.
    #[test]
    fn a_long_name_costs_no_more_than_its_beginning() {
        let long = format!("read_fil{}", "_x".repeat(1 << 19));
        let names: Vec<_> = (0..20_000).map(|n| format!("tool_{n}_{}", "-".repeat(500))).collect();
        let folded = Folded::of(&long).unwrap();
        assert_eq!((folded.name.len(), folded.count), (LOOKED_AT, COMPARED_CHARS));
        assert_eq!(nearest(&long, names.iter().map(String::as_str)), None);
        assert_eq!(nearest("read_file", [long.as_str(), "readfile"]), Some("readfile"));
        assert_eq!(nearest(&"ä".repeat(LOOKED_AT), ["a"]), None);
    }
}
