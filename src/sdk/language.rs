//! The languages that programs may be written in.
//!
//! Owns their names, as they are given on a command line and printed. It renders nothing.

/// A language of an SDK.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SdkLanguage {
    /// TypeScript, `ts`. SDK-3.
    #[default]
    TypeScript,
    /// Python, `python`. SDK-7.
    Python,
}

impl SdkLanguage {
    /// The name, as it is given and printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "ts",
            Self::Python => "python",
        }
    }
}
