//! Typed identifiers.
//!
//! Owns the names by which calls, sessions, scopes and tools are known, how a program spells them, and the parent
//! token of nested calls. It never interprets what an identifier stands for. It calls nobody.

mod nearest;
pub(crate) mod spelling;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use nearest::{SUGGESTIONS, nearest, nearest_few, words_of};
pub use spelling::{is_steering, tool_reference};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps `text` as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The identifier's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), &*self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

text_id! {
    /// One call of a tool. A call from a program is named `<parent>:code:<n>` (L-2).
    CallId
}
text_id! {
    /// One conversation of an agent; the ledger's `seq` is gapless within it (L-1).
    SessionId
}
text_id! {
    /// One agent scope of the registry.
    ScopeId
}
text_id! {
    /// A tool's registered name. Any text that [`crate::registry`] accepts, an identifier or not.
    ToolName
}

impl CallId {
    /// The id of the `n`-th sub-call of this call, counted from 1 in submission order (L-2).
    pub fn sub_call(&self, n: u64) -> Self {
        Self::new(format!("{}:code:{n}", self.0))
    }

    /// The number of a sub-call among those of its program; nothing for a call that is none.
    pub fn sub_number(&self) -> Option<u64> {
        let (_, n) = self.0.rsplit_once(":code:")?;
        n.parse().ok()
    }
}

/// Proof that a call was made from inside another one (CM-4).
///
/// Its presence is the only criterion for "not called by the model directly". It can be made only by this
/// crate, holds no text that a program or an argument could carry, and is never serialised.
#[derive(Clone, Debug)]
pub struct ParentToken {
    root: CallId,
    parent: CallId,
}

impl ParentToken {
    pub(crate) fn new(root: CallId, parent: CallId) -> Self {
        Self { root, parent }
    }

    /// The outermost call, the one that the model made.
    pub fn root(&self) -> &CallId {
        &self.root
    }

    /// The call whose program made this one.
    pub fn parent(&self) -> &CallId {
        &self.parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L-2
    #[test]
    fn sub_calls_are_named_after_their_parent_and_number() {
        assert_eq!(CallId::from("call-7").sub_call(3).as_str(), "call-7:code:3");
        assert_eq!(CallId::from("a:code:1").sub_call(2).as_str(), "a:code:1:code:2");
        for (call, n) in
            [("call-7:code:3", Some(3)), ("a:code:1:code:2", Some(2)), ("call-7", None), ("a:code:x", None)]
        {
            assert_eq!(CallId::from(call).sub_number(), n, "{call}");
        }
    }
}
