//! Bytes to frames and back.
//!
//! Owns the length and the kind of a frame. It never takes more memory than bytes have come, whatever a length says,
//! and never looks into a payload.

use super::Violation;

/// What stands before a payload: the length of the rest, and the kind.
const HEAD: usize = 5;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it is.
    pub kind: u8,
    /// What it carries.
    pub payload: &'a [u8],
}

/// Bytes that came, cut into frames.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Where the first byte is that no frame was made of.
    at: usize,
}

/// A buffer that has grown beyond this is let go of when it is empty.
const KEPT_BYTES: usize = 256 * 1024;

impl Frames {
    /// Takes bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            if self.bytes.capacity() > KEPT_BYTES {
                self.bytes = Vec::new();
            }
        } else if self.at > KEPT_BYTES {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame; nothing while it is still coming.
    ///
    /// # Errors
    /// [`Violation::TooLong`] for a frame with a payload of more than `most` bytes, as soon as its length is known, and
    /// [`Violation::Malformed`] for one without a kind.
    pub fn next(&mut self, most: usize) -> Result<Option<Frame<'_>>, Violation> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some(payload) = length.checked_sub(1) else {
            return Err(Violation::Malformed { kind: "any", reason: "it has no kind".to_owned() });
        };
        if payload > most {
            return Err(Violation::TooLong { bytes: payload, most });
        }
        let Some((&kind, payload)) = rest.get(..length).and_then(<[u8]>::split_first) else {
            return Ok(None);
        };
        self.at += HEAD + payload.len();
        Ok(Some(Frame { kind, payload }))
    }

    /// The kind of the next frame, once it is there whole.
    pub fn whole_kind(&self) -> Option<u8> {
        let (length, rest) = self.bytes.get(self.at..)?.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        rest.get(..length)?.first().copied()
    }

    /// Whether a frame has begun and not ended.
    pub fn is_partial(&self) -> bool {
        self.at < self.bytes.len()
    }
}

/// Appends a frame whose payload `write` appends.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, kind]);
    write(out);
    // What is sent is bounded far below this by the limits of a run.
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    if let Some(head) = out.get_mut(start..start + 4) {
        head.copy_from_slice(&length.to_le_bytes());
    }
}
