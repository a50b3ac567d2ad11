//! Random programs against a reference model (5.3 to 5.5, L-2, L-5).
//!
//! Owns nothing of its own: `source` chooses, `program` generates, `render` writes the text, `machine` and `steps`
//! say what the program does, `model` what the lane must do, `play` has it done and `verdict` compares. Nothing here
//! needs an engine: `interpreted` stands in for one, so that a fuzzer can have the lane to itself.

pub(crate) mod interpreted;
mod machine;
mod model;
pub(crate) mod play;
mod program;
mod render;
mod source;
mod steps;
pub(crate) mod verdict;

use std::fmt;
use std::sync::Arc;

pub(crate) use model::Plan;
pub(crate) use program::{Bounds, Program};
pub(crate) use source::Source;

/// A program with all that is expected of it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) program: Arc<Program>,
    pub(crate) plan: Plan,
}

impl Case {
    /// The case that these bytes choose.
    pub(crate) fn new(bytes: &[u8], bounds: Bounds) -> Self {
        let case = Self::once(bytes, bounds);
        if case.plan.ambiguous { Self::once(bytes, Bounds { time: false, ..bounds }) } else { case }
    }

    fn once(bytes: &[u8], bounds: Bounds) -> Self {
        let mut source = Source::new(bytes);
        let program = Arc::new(Program::generate(&mut source, bounds));
        let plan = model::plan(&program, &mut source);
        Self { program, plan }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}\n{}", self.program.setting, self.program.text())?;
        for moment in &self.plan.moments {
            writeln!(f, "{moment:?}")?;
        }
        writeln!(f, "expected events {:?}, of which {} are certain", self.plan.events, self.plan.certain)?;
        writeln!(f, "expected lines {:?}\nexpected end {:?}", self.plan.logs, self.plan.ending)
    }
}
