//! The arguments of the standard library's harness, as far as this program has a use for them.
//!
//! Owns which probes are meant. What it does not know it passes over, as a runner may give it. It calls nobody.

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// List the probes and try none.
    pub(crate) list: bool,
    /// Only what is ignored by default: nothing here is.
    ignored: bool,
    /// A name must be the whole name.
    exact: bool,
    names: Vec<String>,
    skipped: Vec<String>,
}

/// Options with a value behind them.
const WITH_VALUE: &[&str] = &["--format", "--test-threads", "--color", "--logfile", "--shuffle-seed", "-Z"];

impl Arguments {
    pub(crate) fn read(words: &[&str]) -> Self {
        let mut arguments = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--list" => arguments.list = true,
                "--ignored" => arguments.ignored = true,
                "--exact" => arguments.exact = true,
                "--skip" => arguments.skipped.extend(words.next().map(|name| (*name).to_owned())),
                option if WITH_VALUE.contains(&option) => drop(words.next()),
                option if option.starts_with('-') => {}
                name => arguments.names.push(name.to_owned()),
            }
        }
        arguments
    }

    /// Whether a probe is meant.
    pub(crate) fn mean(&self, name: &str) -> bool {
        let fits = |wanted: &String| if self.exact { name == wanted } else { name.contains(wanted.as_str()) };
        !self.ignored
            && (self.names.is_empty() || self.names.iter().any(fits))
            && !self.skipped.iter().any(fits)
    }
}
