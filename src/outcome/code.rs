//! The closed set of error codes (P-16).
//!
//! Owns the stable names and their one-line meanings. Adding a code is a change of the public contract. It
//! calls nobody.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $name:literal,)+) => {
        /// Why a call failed (P-16). The names are stable; programs and hosts may compare them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[doc = $meaning])+ #[serde(rename = $name)] $variant,)+
        }

        impl ErrorCode {
            /// Every code, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The one-line meaning.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($meaning),+).trim_ascii(),)+ }
            }
        }
    };
}

error_codes! {
    /// No tool of this name is visible in the scope.
    UnknownTool = "UNKNOWN_TOOL",
    /// The arguments do not fit the tool's parameters.
    ToolArgsInvalid = "TOOL_ARGS_INVALID",
    /// The arguments are larger or deeper than the limit; they were not validated.
    ToolArgsTooLarge = "TOOL_ARGS_TOO_LARGE",
    /// The tool ran, and what it returned, or what an interceptor put in its place, breaks its output contract.
    InvalidToolOutput = "INVALID_TOOL_OUTPUT",
    /// A policy or a guard refused the call.
    Denied = "DENIED",
    /// A policy blocked the result of a call that had succeeded; the effects stand.
    ResultBlocked = "RESULT_BLOCKED",
    /// The question for approval was answered with no.
    ApprovalRejected = "APPROVAL_REJECTED",
    /// The question for approval was withdrawn before it was answered.
    ApprovalCancelled = "APPROVAL_CANCELLED",
    /// Approval is needed and nobody can be asked.
    ApprovalUnavailable = "APPROVAL_UNAVAILABLE",
    /// The tool can be called from a program only.
    Collapsed = "COLLAPSED",
    /// The tool did not come to rest within its timeout.
    ToolTimeout = "TOOL_TIMEOUT",
    /// Cancelled before the tool's body started: nothing happened.
    AbortedBeforeDispatch = "ABORTED_BEFORE_DISPATCH",
    /// Cancelled after the tool's body had started: effects may have happened.
    Aborted = "ABORTED",
    /// The tool ran and reported a failure.
    ToolFailed = "TOOL_FAILED",
    /// The tool's code panicked.
    ToolPanicked = "TOOL_PANICKED",
    /// The tool is a stub in this deployment.
    ToolUnsupported = "TOOL_UNSUPPORTED",
    /// A contract between isolane's own parts was broken: a bug of the host, not of the tool or program.
    HostBug = "HOST_BUG",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P-16
    #[test]
    fn names_are_stable_and_serialise_as_themselves() {
        let names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        insta::assert_snapshot!(names.join(" "), @"UNKNOWN_TOOL TOOL_ARGS_INVALID TOOL_ARGS_TOO_LARGE INVALID_TOOL_OUTPUT DENIED RESULT_BLOCKED APPROVAL_REJECTED APPROVAL_CANCELLED APPROVAL_UNAVAILABLE COLLAPSED TOOL_TIMEOUT ABORTED_BEFORE_DISPATCH ABORTED TOOL_FAILED TOOL_PANICKED TOOL_UNSUPPORTED HOST_BUG");
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.meaning().ends_with('.'), "{code}");
        }
    }
}
