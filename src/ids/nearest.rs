//! The nearest name to a misspelt one.
//!
//! Owns the one measure of likeness that every "did you mean" uses. It looks at bounded text only, so that an
//! absurdly long name costs nothing. It calls nobody.

/// Names longer than this are compared by their beginning.
const COMPARED_CHARS: usize = 64;

/// The candidate most like `name`; nothing when none is like it. Ties go to the first in byte order.
///
/// The same letters in another case or with other separators count as nearest of all; after that come edit
/// distance (up to a third of the length) and one name holding the other.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    if folded.is_empty() {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&folded, &fold(candidate))?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|letter| letter.is_alphanumeric())
        .take(COMPARED_CHARS)
        .flat_map(char::to_lowercase)
        .collect()
}

fn distance(name: &str, candidate: &str) -> Option<usize> {
    if candidate.is_empty() {
        return None;
    }
    let edits = strsim::damerau_levenshtein(name, candidate);
    let shorter = name.len().min(candidate.len());
    if edits <= name.len().max(candidate.len()).div_ceil(3) {
        Some(edits)
    } else if shorter >= 3 && (name.contains(candidate) || candidate.contains(name)) {
        // Holding the other name is a weaker sign than any number of edits that passed above.
        Some(COMPARED_CHARS + edits)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    ///
    #[test]
    fn likeness_prefers_spelling_over_containment() {
        let names = ["read", "read_file", "write", "getUser"];
        assert_eq!(nearest("raed", names), Some("read"));
        assert_eq!(nearest("readFile", names), Some("read_file"));
        assert_eq!(nearest("get-user", names), Some("getUser"));
        assert_eq!(nearest("file", names), Some("read_file"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest("", names), None);
    }
}
