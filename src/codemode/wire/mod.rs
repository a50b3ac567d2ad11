//! A run in another process: what the two sides say to each other.
//!
//! Owns the frames, the messages in them, and the host's side of the conversation. It knows neither sockets nor
//! processes: bytes come in and bytes go out. Whatever the other side sends is hostile until it is shown to be in
//! order (E-4): one frame that is not ends the conversation. It calls the lane and the session's state.
//!
//! A frame is a length (4 bytes, little endian, of what follows), a kind (1 byte) and a payload. Both sides are of one
//! version: the handshake sees to that.

mod conversation;
mod frames;
mod message;
#[cfg(test)]
mod tests;

pub use conversation::{Conversation, Said};
pub use frames::{Frame, Frames};
pub use message::{Begin, Finish, KeptReply, KeptRequest, MaybeOwned, Outcome, ToChild, ToHost};

/// Changes whenever two versions would not understand each other.
pub const PROTOCOL: u32 = 1;

/// The other side did not keep to the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A frame is longer than anything that may come.
    #[error("a frame of {bytes} bytes came, and the longest that may is {most}")]
    TooLong {
        /// What the frame says that it takes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A frame of a kind that there is not.
    #[error("a frame of the unknown kind {0} came")]
    UnknownKind(u8),
    /// A frame whose payload is not what its kind has.
    #[error("a frame `{kind}` came that cannot be read: {reason}")]
    Malformed {
        /// The kind, by name.
        kind: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A frame that has no place here.
    #[error("a frame `{0}` came at the wrong time")]
    OutOfPlace(&'static str),
    /// What the other side was to hold itself did not hold.
    #[error("{0} was exceeded, which the other side should have stopped")]
    Limit(&'static str),
    /// A call of a tool that is not among those that were offered.
    #[error("a call came of tool {0}, which is not there")]
    NoSuchTool(u32),
    /// A call with a number that is not its own.
    #[error("a call came with number {given} in the place of {expected}")]
    Misnumbered {
        /// The number that came.
        given: u64,
        /// The number that it has.
        expected: u64,
    },
}
