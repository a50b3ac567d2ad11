//! Steps of JSON pointers (RFC 6901).
//!
//! Owns the two escapes that a member's name needs to stand in a pointer. It never resolves a pointer. It calls nobody.

use std::borrow::Cow;

/// A member's name as a step of a JSON pointer, without the slash before it.
pub fn pointer_step(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        // The tilde first: the other escape has one.
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P-16: problems are told with pointers that lead to their place.
    #[test]
    fn a_step_leads_to_the_member_whatever_its_name() {
        for name in ["", "a", "a/b", "~", "~1", "/~0/", "a b"] {
            let value = serde_json::json!({ name: 1 });
            let pointer = format!("/{}", pointer_step(name));
            assert_eq!(value.pointer(&pointer), Some(&serde_json::json!(1)), "{pointer}");
        }
    }
}
