//! Literals and comments: text of a program in which brackets and operators mean nothing.
//!
//! Owns where numbers, strings, templates and comments end. It must end them exactly where the parser
//! does, errors included; `${` hands back to the scan of code.

use super::{Before, Scan, Stop};

/// Reading a number takes time that grows with the square of its length.
const MAX_DIGITS: usize = 4096;

impl Scan<'_> {
    pub(super) fn number(&mut self) -> Result<(), Stop> {
        self.settle(None, true);
        let start = self.at;
        let mut dots = 0;
        while matches!(self.peek(0), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.') {
            if self.peek(0) == b'.' {
                dots += 1;
                if dots > 1 {
                    break;
                }
                if !self.peek(1).is_ascii_digit() {
                    self.at += 1;
                    break;
                }
            }
            self.at += 1;
        }
        self.before = Before::Operand;
        if self.at - start > MAX_DIGITS {
            return Err(Stop::TooMuch { offset: start, what: "digits in one number", limit: MAX_DIGITS });
        }
        Ok(())
    }

    pub(super) fn string(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            self.at += 1;
            match byte {
                b'\\' => {
                    self.at += if self.peek(0) == b'\r' && self.peek(1) == b'\n' { 2 } else { 1 };
                }
                b'\n' | b'\r' => {
                    // An error, after which the parser goes on with the next line.
                    self.new_line = true;
                    return;
                }
                _ if byte == quote => return,
                _ => {}
            }
        }
    }

    /// The text of a template up to its end or the next `${`.
    pub(super) fn template(&mut self) -> Result<(), Stop> {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 2,
                (b'`', _) => {
                    self.at += 1;
                    self.before = Before::Operand;
                    self.new_line = false;
                    return Ok(());
                }
                (b'$', b'{') => {
                    self.at += 1;
                    return self.push(b'`', false, false);
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    pub(super) fn line_comment(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1), self.peek(2)) {
                (b'\n' | b'\r', ..) | (0xe2, 0x80, 0xa8 | 0xa9) => return,
                _ => self.at += 1,
            }
        }
    }

    pub(super) fn block_comment(&mut self) {
        self.at += 2;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1), self.peek(2)) {
                (b'*', b'/', _) => {
                    self.at += 2;
                    return;
                }
                (b'\n' | b'\r', ..) | (0xe2, 0x80, 0xa8 | 0xa9) => {
                    self.new_line = true;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }
}
