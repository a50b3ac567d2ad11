//! Where the choices of a generated program come from.
//!
//! Owns the stream of choices that bytes make: a fuzzer's, or those of a seed. When they are at their end, every choice
//! is the first one, so fewer bytes make a smaller program. It calls nobody.

/// A stream of choices.
#[derive(Clone, Debug)]
pub(crate) struct Source<'b>(std::slice::Iter<'b, u8>);

impl<'b> Source<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes.iter())
    }

    /// One of `0..many`, which are at most 256.
    pub(crate) fn below(&mut self, many: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % many.max(1)
    }

    /// True in `times` of `of` cases, and never when there are no more bytes.
    pub(crate) fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) >= of - times
    }

    pub(crate) fn choose<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }
}
