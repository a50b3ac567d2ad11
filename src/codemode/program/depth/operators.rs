//! Operators, and the one place where JavaScript cannot be read from left to right: `/`.
//!
//! Owns the count of links that operators add and the decision between division and regular
//! expression. Where the grammar alone decides and both readings differ, the scan is marked as not
//! exact; it must never guess silently.

use super::{Before, Scan, Stop};

impl Scan<'_> {
    /// Reads one operator, and counts it.
    pub(super) fn operator(&mut self, byte: u8) -> Result<(), Stop> {
        if self.is_html_comment() {
            return Err(Stop::HtmlComment { offset: self.at });
        }
        match byte {
            b'/' => {
                self.slash();
                return Ok(());
            }
            b'<' => {
                self.less_than();
                return Ok(());
            }
            b'>' => {
                self.greater_than();
                return Ok(());
            }
            b'#' => {
                // A private name: what follows is read as a word.
                self.settle(None, true);
                self.at += 1;
                self.after_dot = true;
                self.before = Before::Operator;
                return Ok(());
            }
            b'\\' => self.unclear(),
            _ => {}
        }
        let operand_ended = self.operand_ended();
        let postfix = operand_ended && !self.new_line;
        let before = self.before;
        let certain = self.certain_operand();
        self.settle(None, false);
        let level = self.level();
        level.expression += 1;
        if let Some(left) = self.angles_left(byte) {
            self.level().end_angles(left);
        }
        let (length, after) = match (byte, self.peek(1), self.peek(2)) {
            (b'=', b'>', _) => {
                let level = self.level();
                level.tries += usize::from(std::mem::take(&mut level.return_type));
                (2, Before::Operator)
            }
            (b'?', b'.', next) if !next.is_ascii_digit() => (2, Before::Operator),
            (b'?', b'?', _) | (b'&', b'&', _) | (b'|', b'|', _) | (b'*', b'*', _) => (2, Before::Operator),
            (b'?', ..) => {
                self.level().question = true;
                (1, Before::Operator)
            }
            (b':', ..) => {
                let level = self.level();
                level.return_type |= level.question && matches!(before, Before::Paren { prefix: true, .. });
                (1, Before::Operator)
            }
            (b'+', b'+', _) | (b'-', b'-', _) => (2, Before::Unclear),
            (b'!', next, _) if next != b'=' && postfix => {
                (1, if certain { Before::Operand } else { Before::Either })
            }
            (b'=' | b'!', b'=', b'=') | (b'.', b'.', b'.') => (3, Before::Operator),
            (b'=' | b'!' | b'+' | b'-' | b'*' | b'%' | b'&' | b'|' | b'^', b'=', _) => (2, Before::Operator),
            _ => (1, Before::Operator),
        };
        self.after_dot = byte == b'.' && length == 1 || (byte == b'?' && length == 2 && self.peek(1) == b'.');
        self.at += length;
        self.before = after;
        self.control_word = false;
        Ok(())
    }

    /// How many open type arguments the operator that stands here leaves open; `None` when it is one of types, too.
    fn angles_left(&mut self, byte: u8) -> Option<usize> {
        let (next, third) = (self.peek(1), self.peek(2));
        let level = self.level();
        match (byte, next) {
            (b'&', b'&' | b'=')
            | (b'|', b'|' | b'=')
            | (b'=' | b'!', b'=')
            | (b'+' | b'*' | b'%' | b'^', _)
            | (b'-', b'-' | b'=')
            | (b'?', b'?') => Some(0),
            (b'?', b'.') if !third.is_ascii_digit() => Some(0),
            // Only a conditional type has these outside of brackets.
            (b'?' | b':', _) if !level.extends => Some(0),
            // A default is part of type parameters, never of the arguments in them.
            (b'=', next) if next != b'>' && !level.angle_prefix => Some(1),
            _ => None,
        }
    }

    fn is_html_comment(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.starts_with(b"<!--") || (self.new_line && rest.starts_with(b"-->"))
    }

    fn unclear(&mut self) {
        if self.depth.exact {
            self.depth.unclear_at = self.at;
        }
        self.depth.exact = false;
    }

    fn less_than(&mut self) {
        let prefix = !self.certain_operand();
        // A shift, or type arguments of which the first is a generic function; nothing is tried twice.
        let double = !prefix && self.peek(1) == b'<';
        self.settle(None, false);
        let work = self.ahead_work;
        let level = self.level();
        if level.angles == 0 {
            level.angle_mark = (work, level.dropped);
        }
        level.expression += 1 + usize::from(double);
        level.angles += 1 + usize::from(double);
        level.angle_prefix |= prefix || double;
        level.tries += usize::from(prefix);
        self.at += 1 + usize::from(double);
        self.before = Before::Operator;
    }

    fn greater_than(&mut self) {
        self.settle(None, false);
        let level = self.level();
        level.expression += 1;
        level.angles = level.angles.saturating_sub(1);
        level.listed = level.listed.min(level.angles);
        let (work, dropped) = level.angle_mark;
        // They were type arguments, which are read once.
        if level.angles == 0 && level.dropped == dropped {
            self.ahead_work = self.ahead_work.min(work);
        }
        self.at += 1;
        self.before = Before::Unclear;
    }

    fn slash(&mut self) {
        let (regex, certain) = match self.before {
            Before::Operator | Before::Paren { control: true, .. } => (true, true),
            Before::Operand | Before::Paren { control: false, .. } => (self.new_line, !self.new_line),
            Before::Brace | Before::Either => (true, false),
            Before::Unclear => (false, false),
        };
        self.settle(None, false);
        self.level().expression += 1;
        let end = self.regex_end();
        match end {
            Some(end) if certain && regex => {
                self.at = end;
                self.before = Before::Operand;
            }
            Some(end) if !certain => {
                if self.readings_differ(end) {
                    self.unclear();
                }
                self.at = if regex || !self.readings_differ(end) { end } else { self.at + 1 };
                self.before = if regex { Before::Operand } else { Before::Unclear };
            }
            // An error: the parser gives up here.
            None if certain && regex => self.at = self.bytes.len(),
            // Without an end on its line it can only be a division.
            _ => {
                self.at += 1;
                self.before = Before::Operator;
            }
        }
    }

    /// Where a regular expression that begins here would end, after its last `/`.
    fn regex_end(&self) -> Option<usize> {
        let mut at = self.at + 1;
        let mut class = false;
        loop {
            match self.bytes.get(at)? {
                b'\\' if !matches!(self.bytes.get(at + 1), Some(b'\n' | b'\r')) => at += 1,
                b'\n' | b'\r' => return None,
                0xe2 if matches!(self.bytes.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])) => return None,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
    }

    /// Whether the text up to `end` means something else as code than as a regular expression.
    fn readings_differ(&self, end: usize) -> bool {
        let inside = self.bytes.get(self.at + 1..end.saturating_sub(1)).unwrap_or_default();
        let plain = inside.iter().all(|byte| byte.is_ascii_alphanumeric() || b" \t._,+*%-|&".contains(byte));
        !plain || matches!(self.bytes.get(end), Some(b'/' | b'*'))
    }
}
