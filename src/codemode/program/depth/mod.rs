//! How deep a text can drive the parser, found before it is parsed.
//!
//! Owns one linear pass, without recursion, that bounds from above what a recursive parser, its
//! syntax tree and the visitors of that tree need: brackets in brackets, operators in a row, and the
//! few constructs that make a TypeScript parser try twice. It must never count too little: where it
//! cannot tell a regular expression from a division it says so (`exact`), and `stack` then assumes
//! the worst. It does not judge whether a text is a program.

mod literals;
mod operators;
#[cfg(test)]
mod tests;
mod words;

use words::{Word, classify};

use super::position::is_line_end;

/// Operators, keywords and calls in a row, over all open brackets.
pub(super) const MAX_CHAIN: usize = 4096;
/// `<` signs without their `>` may all be open as type arguments, and each makes the parser read ahead. This is for the
/// bytes that are read with such signs open, each times their number, and times the square of those among them that
/// stand in each other: the parser reads again what it has read for those around.
const MAX_AHEAD_WORK: usize = 4 << 20;
/// Text size times two to the power of the tries in each other.
const MAX_RETRIED_BYTES: usize = 16 << 20;

/// An upper bound of the depth of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Depth {
    /// Brackets within brackets.
    pub(super) brackets: usize,
    /// Links of the longest chain over all open brackets.
    pub(super) chain: usize,
    /// Where the longest chain ends.
    pub(super) chain_at: usize,
    /// Whether every character was understood as the parser will.
    pub(super) exact: bool,
    /// Where that ceased.
    pub(super) unclear_at: usize,
}

/// Why a text is not even given to the parser, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// More of something than the limit.
    TooMuch { offset: usize, what: &'static str, limit: usize },
    /// `<!--`, or `-->` at the start of a line: a comment in some modes, operators in others.
    HtmlComment { offset: usize },
}

/// What stands before the present character, as far as it decides how to read `/`, `<` and line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing, an operator or an opening bracket: an operand comes next.
    Operator,
    /// A name, a literal, `]`.
    Operand,
    /// A word that may be a keyword (an operand comes next) or a name.
    Either,
    Paren {
        control: bool,
        prefix: bool,
    },
    Brace,
    /// `>`, `++`, `--`, or the end of what may have been a regular expression.
    Unclear,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the bracket")]
struct Level {
    close: u8,
    control: bool,
    prefix: bool,
    /// Links of the levels around, and their tries.
    outer: usize,
    outer_tries: usize,
    statement: usize,
    expression: usize,
    closed: usize,
    deepest: usize,
    /// `<` that may be the beginning of type arguments which are still open.
    angles: usize,
    /// Those of them that a comma follows: what comes stands beside them.
    listed: usize,
    /// Those of the levels around.
    outer_angles: usize,
    /// Those that were given up so far, in the levels within as well.
    dropped: usize,
    /// What had been counted when the first of them was opened: work, and those given up.
    angle_mark: (usize, usize),
    /// One of them may begin type parameters of their own, which have defaults.
    angle_prefix: bool,
    /// A conditional type may be open: `?` and `:` are part of it.
    extends: bool,
    tries: usize,
    question: bool,
    return_type: bool,
}

impl Level {
    fn links(&self) -> usize {
        self.statement + self.expression + self.closed
    }

    fn end_expression(&mut self) {
        self.expression = 0;
        self.closed = 0;
        self.tries = 0;
        self.question = false;
        self.return_type = false;
    }

    fn end_statement(&mut self) {
        self.end_expression();
        self.statement = 0;
        self.end_angles(0);
        self.extends = false;
    }

    /// What was read is no part of a type: the parser has given up on all type arguments but the outer ones.
    fn end_angles(&mut self, left: usize) {
        self.dropped += self.angles.saturating_sub(left);
        self.angles = self.angles.min(left);
        self.listed = self.listed.min(left);
        self.angle_prefix &= left > 0;
    }
}

/// Bounds the depth of `text`.
pub(super) fn measure(text: &str, max_brackets: usize) -> Result<Depth, Stop> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        at: 0,
        before: Before::Operator,
        new_line: true,
        ended: false,
        after_dot: false,
        control_word: false,
        last_words: [Word::Name; 2],
        levels: vec![Level::default()],
        depth: Depth { exact: true, ..Depth::default() },
        ahead_work: 0,
        checked: 0,
        max_brackets,
    };
    scan.run()?;
    Ok(scan.depth)
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about what was read last")]
struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    before: Before,
    /// A line ended since the last token.
    new_line: bool,
    /// The last token was `;`.
    ended: bool,
    after_dot: bool,
    /// The last word was `if`, `while`, `for` or `with`.
    control_word: bool,
    last_words: [Word; 2],
    levels: Vec<Level>,
    depth: Depth,
    /// What counts towards [`MAX_AHEAD_WORK`], up to `checked`.
    ahead_work: usize,
    checked: usize,
    max_brackets: usize,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The white space outside ASCII that stands here.
    fn wide_space(&self) -> Option<char> {
        let character = self.text.get(self.at..)?.chars().next()?;
        (!character.is_ascii() && (character.is_whitespace() || character == '\u{feff}')).then_some(character)
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "the lines above keep the stack from being empty")]
        &mut self.levels[last]
    }

    /// Whether an operand ended here in every reading.
    fn certain_operand(&self) -> bool {
        matches!(self.before, Before::Operand | Before::Paren { control: false, .. })
    }

    /// Whether an operand may have ended here.
    fn operand_ended(&self) -> bool {
        !matches!(self.before, Before::Operator)
    }

    fn run(&mut self) -> Result<(), Stop> {
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            match byte {
                b'\n' | b'\r' => {
                    self.new_line = true;
                    self.at += 1;
                }
                b' ' | b'\t' | 0x0b | 0x0c => self.at += 1,
                0x80.. if self.wide_space().is_some() => {
                    let space = self.wide_space().unwrap_or(' ');
                    self.new_line |= is_line_end(space);
                    self.at += space.len_utf8();
                }
                b'/' if self.peek(1) == b'/' => self.line_comment(),
                b'/' if self.peek(1) == b'*' => self.block_comment(),
                _ => {
                    self.token(byte)?;
                    self.check()?;
                }
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Stop> {
        let at = self.at;
        let length = self.bytes.len();
        let level = self.level();
        level.deepest = level.deepest.max(level.links());
        let links = level.outer + level.links();
        let tries = level.outer_tries + level.tries;
        let open = level.outer_angles + level.angles;
        let nested = open.saturating_sub(level.listed);
        let read = at.saturating_sub(std::mem::replace(&mut self.checked, at));
        self.ahead_work = self
            .ahead_work
            .saturating_add(read.saturating_mul(open.saturating_add(nested.saturating_mul(nested))));
        if links > self.depth.chain {
            self.depth.chain = links;
            self.depth.chain_at = at.saturating_sub(1);
        }
        let too_deep = |what, limit| Err(Stop::TooMuch { offset: at.saturating_sub(1), what, limit });
        if links > MAX_CHAIN {
            return too_deep("operators in a row", MAX_CHAIN);
        }
        if self.ahead_work > MAX_AHEAD_WORK {
            return too_deep("`<` without their `>` at the same time", open.saturating_sub(1));
        }
        if tries > 2
            && length.checked_shl(u32::try_from(tries).unwrap_or(99)).is_none_or(|n| n > MAX_RETRIED_BYTES)
            || tries > 24
        {
            return too_deep("type assertions, generic arrows or typed arrows in each other", tries - 1);
        }
        Ok(())
    }

    /// The end of a statement is noticed at the token after it, because `else` and `while` go on.
    fn settle(&mut self, word: Option<Word>, literal: bool) {
        let goes_on = word.is_some_and(Word::continues);
        let starts = literal || word.is_some();
        let asi = self.new_line && self.certain_operand();
        if !goes_on && (self.ended || (starts && (asi || self.before == Before::Brace))) {
            self.level().end_statement();
        }
        self.ended = false;
        self.new_line = false;
    }

    fn token(&mut self, byte: u8) -> Result<(), Stop> {
        let after_dot = std::mem::take(&mut self.after_dot);
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(after_dot),
            b'0'..=b'9' => return self.number(),
            b'.' if self.peek(1).is_ascii_digit() && !self.operand_ended() => return self.number(),
            b'"' | b'\'' => {
                self.settle(None, true);
                self.string(byte);
                self.before = Before::Operand;
            }
            b'`' => {
                let tagged = self.operand_ended();
                self.settle(None, false);
                self.level().expression += usize::from(tagged);
                self.at += 1;
                return self.template();
            }
            b'(' | b'[' | b'{' => return self.open(byte),
            b')' | b']' | b'}' => return self.close(byte),
            b';' => {
                self.level().end_expression();
                self.ended = true;
                self.before = Before::Operator;
                self.at += 1;
            }
            b',' => {
                let level = self.level();
                level.listed = level.angles;
                if level.angles == 0 {
                    level.end_expression();
                }
                self.before = Before::Operator;
                self.at += 1;
            }
            _ => return self.operator(byte),
        }
        Ok(())
    }

    fn word(&mut self, after_dot: bool) {
        let start = self.at;
        loop {
            match self.peek(0) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' => self.at += 1,
                0x80.. if self.wide_space().is_none() => self.at += 1,
                _ => break,
            }
        }
        let text = self.bytes.get(start..self.at).unwrap_or_default();
        let word = if after_dot { Word::Name } else { classify(text) };
        let follows_word = matches!(self.before, Before::Operand | Before::Either) && !self.new_line;
        self.settle(Some(word), false);
        let infers = self.last_words[0] == Word::Infer && word == Word::Extends;
        let level = self.level();
        level.statement += usize::from(word.is_statement());
        level.expression += usize::from(word.is_prefix() || follows_word);
        level.tries += usize::from(infers);
        level.extends |= word == Word::Extends;
        // `for await (` is a head as well.
        self.control_word = word.is_control() || (word == Word::Await && self.control_word);
        self.last_words = [self.last_words[1], word];
        self.before = match word {
            _ if word.is_certain_prefix() => Before::Operator,
            Word::Name => Before::Operand,
            _ => Before::Either,
        };
    }

    fn open(&mut self, byte: u8) -> Result<(), Stop> {
        let control = byte == b'(' && self.control_word;
        let prefix = !self.certain_operand() || self.last_words[1] == Word::Async;
        let continues = self.operand_ended();
        self.settle(None, false);
        self.level().expression += usize::from(continues);
        let close = match byte {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        self.push(close, control, prefix)
    }

    fn push(&mut self, close: u8, control: bool, prefix: bool) -> Result<(), Stop> {
        self.at += 1;
        if self.levels.len() > self.max_brackets {
            let what = "brackets in brackets";
            return Err(Stop::TooMuch { offset: self.at - 1, what, limit: self.max_brackets });
        }
        let level = self.level();
        let outer = level.outer + level.links() + 1;
        let outer_tries = level.outer_tries + level.tries;
        let outer_angles = level.outer_angles + level.angles;
        let inner = Level { close, control, prefix, outer, outer_tries, outer_angles, ..Level::default() };
        self.levels.push(inner);
        self.depth.brackets = self.depth.brackets.max(self.levels.len() - 1);
        self.before = Before::Operator;
        self.control_word = false;
        self.new_line = false;
        self.ended = false;
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Result<(), Stop> {
        let template = byte == b'}' && self.level().close == b'`';
        if self.levels.len() < 2 || (self.level().close != byte && !template) {
            // The parser gives up here.
            self.at = self.bytes.len();
            return Ok(());
        }
        let inner = self.levels.pop().unwrap_or_default();
        let level = self.level();
        level.dropped += inner.dropped + inner.angles;
        level.closed = level.closed.max(inner.deepest + 1);
        self.at += 1;
        self.ended = false;
        self.new_line = false;
        self.control_word = false;
        self.last_words = [Word::Name; 2];
        self.before = match byte {
            b')' => Before::Paren { control: inner.control, prefix: inner.prefix },
            b'}' => Before::Brace,
            _ => Before::Operand,
        };
        if template { self.template() } else { self.check() }
    }
}
