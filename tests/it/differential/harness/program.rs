//! Random programs: their tree, how one is generated, and what they may do.
//!
//! Owns the generator. It never decides what a program leads to: `machine` says what the program does and `model` what
//! the lane does. It calls the source of choices; the text is made by `render`.

use std::sync::Arc;

use super::source::Source;

/// The scripted tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolKind {
    /// Parallel.
    Par,
    /// Parallel as well.
    Other,
    /// Exclusive.
    Alone,
    /// Parallel, with a timeout.
    Timed,
    /// Parallel, and a policy denies every call of it.
    Denied,
    /// Exclusive, and a policy denies every call of it.
    DeniedAlone,
    /// There is none of that name.
    Unknown,
}

impl ToolKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Par => "par",
            Self::Other => "other",
            Self::Alone => "alone",
            Self::Timed => "timed",
            Self::Denied => "denied",
            Self::DeniedAlone => "deniedAlone",
            Self::Unknown => "nothing",
        }
    }
}

/// What a call is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    Right,
    /// A value that the tool's schema refuses.
    Invalid,
    /// A value that JSON cannot hold: nothing is dispatched.
    NoJson,
}

/// A place of the program where a tool is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) id: u32,
    pub(crate) tool: ToolKind,
    pub(crate) given: Given,
}

/// What several promises are awaited with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combinator {
    All,
    AllSettled,
    Race,
    Any,
}

/// One of several promises.
#[derive(Clone, Debug)]
pub(crate) enum Branch {
    Call(Site),
    /// An asynchronous closure that is called at once.
    Closure(Block),
}

/// The statements of one function, or of a part of it.
pub(crate) type Block = Arc<Vec<Stmt>>;

#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    /// Awaits a call and prints its value.
    Await(Site),
    /// Calls and goes on; nobody awaits it.
    Loose(Site),
    /// Calls and goes on; a failure is caught and printed.
    Caught(Site),
    /// Calls, does something else, and awaits the call then.
    Later(Site, Block),
    /// Awaits several promises, with a number for the line that it prints.
    Combine(u32, Combinator, Vec<Branch>),
    /// The same of one closure for each element of a list.
    Map(u32, Combinator, usize, Block),
    Try {
        id: u32,
        body: Block,
        catch: Option<Block>,
        finally: Option<Block>,
    },
    Loop(usize, Block),
    /// Awaits a function of the program.
    Helper(usize),
    /// Awaits a timer of a millisecond.
    Sleep(u32),
    /// Awaits something that is there.
    Tick,
    Throw(u32),
    Return(u32),
    /// Awaits a promise that nothing settles.
    Never,
}

/// How a run of the program is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) max_parallel: usize,
    /// Outcomes come in submission order.
    pub(crate) in_order: bool,
    /// Calls that the program may make.
    pub(crate) calls: u64,
    /// The run may end by its wall limit, which takes real time.
    pub(crate) wall: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) helpers: Vec<Block>,
    pub(crate) main: Block,
    pub(crate) setting: Setting,
}

/// What programs may be like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// About how many statements.
    pub(crate) size: usize,
    /// Timers, and limits of real time: for runs with a clock of their own.
    pub(crate) time: bool,
}

/// Most calls that a program can want to make, loops included: what loops multiply is bounded by this.
const MOST_CALLS: u64 = 60;

struct Generator<'s, 'b> {
    source: &'s mut Source<'b>,
    left: usize,
    next: u32,
    helpers: usize,
    sleeps: bool,
    /// How often the statements that are made now may run.
    times: usize,
}

impl Program {
    /// Makes a program of the next choices.
    pub(crate) fn generate(source: &mut Source<'_>, bounds: Bounds) -> Self {
        let max_parallel = source.choose(&[10, 1, 2, 3]);
        let in_order = source.chance(1, 4);
        let calls = if source.chance(1, 10) { 3 } else { MOST_CALLS };
        let wall = bounds.time && source.chance(1, 100);
        let mut generator =
            Generator { source, left: bounds.size, next: 0, helpers: 0, sleeps: false, times: 1 };
        let mut helpers = Vec::new();
        for _ in 0..generator.source.below(3) {
            helpers.push(generator.block(2, 3));
            generator.helpers = helpers.len();
        }
        generator.sleeps = bounds.time;
        let mut main = Vec::new();
        while generator.left > 0 && main.len() < 12 {
            main.push(generator.stmt(3));
        }
        Self { helpers, main: Arc::new(main), setting: Setting { max_parallel, in_order, calls, wall } }
    }
}

impl Generator<'_, '_> {
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn site(&mut self) -> Site {
        use ToolKind::{Alone, Denied, DeniedAlone, Other, Par, Timed, Unknown};
        let tools = [
            Par,
            Par,
            Par,
            Other,
            Other,
            Alone,
            Alone,
            Timed,
            Par,
            Other,
            Denied,
            DeniedAlone,
            Par,
            Timed,
            Unknown,
            Alone,
        ];
        let tool = self.source.choose(&tools);
        let given = match self.source.below(16) {
            15 => Given::NoJson,
            14 => Given::Invalid,
            _ => Given::Right,
        };
        Site { id: self.id(), tool, given }
    }

    fn combinator(&mut self) -> Combinator {
        self.source.choose(&[Combinator::All, Combinator::AllSettled, Combinator::Race, Combinator::Any])
    }

    fn block(&mut self, most: usize, depth: usize) -> Block {
        let many = 1 + self.source.below(most);
        Arc::new((0..many).map(|_| self.stmt(depth)).collect())
    }

    /// A block of a function that runs beside others: at most one timer waits at any time.
    fn beside(&mut self, depth: usize) -> Block {
        let sleeps = std::mem::take(&mut self.sleeps);
        let block = self.block(3, depth);
        self.sleeps = sleeps;
        block
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        self.left = self.left.saturating_sub(1);
        let deep = depth > 0 && self.left > 0;
        match self.source.below(40) {
            9..=12 if deep => {
                let many = 1 + self.source.below(4);
                let branches = (0..many).map(|_| self.branch(depth - 1)).collect();
                Stmt::Combine(self.id(), self.combinator(), branches)
            }
            13..=15 if deep && self.times <= 4 => {
                let many = 1 + self.source.below(4);
                let before = self.times;
                self.times *= many;
                let body = self.beside(depth - 1);
                self.times = before;
                Stmt::Map(self.id(), self.combinator(), many, body)
            }
            16..=20 if deep => self.attempt(depth),
            21..=22 if deep && self.times <= 4 => {
                let many = 2 + self.source.below(2);
                let before = self.times;
                self.times *= many;
                let body = self.block(2, depth - 1);
                self.times = before;
                Stmt::Loop(many, body)
            }
            23..=25 if self.helpers > 0 => Stmt::Helper(self.source.below(self.helpers)),
            26..=27 if deep => Stmt::Later(self.site(), self.block(2, depth - 1)),
            28..=29 => Stmt::Caught(self.site()),
            30..=31 => Stmt::Loose(self.site()),
            32..=33 if self.sleeps => Stmt::Sleep(self.id()),
            34 => Stmt::Tick,
            35 => Stmt::Throw(self.id()),
            36 => Stmt::Return(self.id()),
            37 if self.source.chance(1, 4) => Stmt::Never,
            _ => Stmt::Await(self.site()),
        }
    }

    fn branch(&mut self, depth: usize) -> Branch {
        if self.source.chance(1, 2) { Branch::Closure(self.beside(depth)) } else { Branch::Call(self.site()) }
    }

    fn attempt(&mut self, depth: usize) -> Stmt {
        let id = self.id();
        let body = self.block(3, depth - 1);
        let (catches, finishes) = self.source.choose(&[(true, false), (true, true), (false, true)]);
        let catch = catches.then(|| self.block(2, depth - 1));
        let finally = finishes.then(|| self.block(2, depth - 1));
        Stmt::Try { id, body, catch, finally }
    }
}
