//! The nearest name to a misspelt one.
//!
//! Owns the one measure of likeness that every "did you mean" uses. It looks at bounded text only, so that an
//! absurdly long name costs nothing. It calls nobody.

/// Names longer than this are compared by their beginning.
const COMPARED_CHARS: usize = 64;

/// The candidate most like `name`; nothing when none is like it.
///
/// The same letters in another case or with other separators count as nearest of all; after that comes edit
/// distance (up to a third of the length), with a whole word of a longer name (`read` for `read_file`) as the
/// weakest likeness. Ties go to the longer common beginning, then to the first in byte order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    if folded.is_empty() {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = fold(candidate);
            let distance = distance(&folded, &other, name, candidate)?;
            let common = folded.chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
            Some((distance, COMPARED_CHARS - common, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|letter| letter.is_alphanumeric())
        .take(COMPARED_CHARS)
        .map(|letter| letter.to_lowercase().next().unwrap_or(letter))
        .collect()
}

fn distance(folded: &str, other: &str, name: &str, candidate: &str) -> Option<usize> {
    if other.is_empty() {
        return None;
    }
    let allowed = (folded.chars().count() / 3).max(1);
    let edits = strsim::osa_distance(folded, other);
    // One letter for another is no likeness: names of one or two letters must share some.
    if edits <= allowed && edits < other.chars().count() {
        Some(edits)
    } else if folded.len() >= 3 && (is_word_of(name, candidate) || is_word_of(candidate, name)) {
        Some(COMPARED_CHARS + edits)
    } else {
        None
    }
}

fn is_word_of(word: &str, name: &str) -> bool {
    words_of(name).iter().any(|part| part.eq_ignore_ascii_case(word))
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
}
