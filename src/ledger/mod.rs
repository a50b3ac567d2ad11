//! The ledger: what happened in a session, in order, for good.
//!
//! Owns the events, their numbering, the side path on which they travel, and the stores (L-1 to L-8). It is a leaf:
//! stages put records in and it calls none of them. Nothing that it does may change what a tool or a program sees;
//! a store that is slow holds recorders back, a store that fails stops recording and nothing else.
//!
//! A recorder reserves a [`Slot`], goes on with its work, and records into it; the event gets the next `seq` at that
//! moment, and a thread of the ledger's own writes it. The format is documented in `docs/ledger.md`.

mod depth;
mod event;
mod handle;
mod open;
mod queue;
mod record;
mod redact;
mod restore;
mod slot;
mod store;
#[cfg(test)]
mod tests;
mod transcript;
mod writer;

pub use depth::{MAX_VALUE_DEPTH, is_too_deep};
pub(crate) use depth::{bound_content, bound_value};
pub use event::{EventBody, FORMAT_SCHEMA, FORMAT_VERSION, LedgerEvent};
pub use handle::{Ledger, LedgerError, LedgerOptions, SessionLedgers};
pub use open::unsettled;
pub use record::{
    ApprovalAsked, ApprovalDecided, ApprovalDecision, ApprovalPolicy, ApprovalPolicySet, CodeDispatch,
    CodeDispatchStart, PresetChosen, RunEnd, RunEnding, RunStart, SandboxMode, SandboxModeSet, Settled,
    StatePut, ToolCall, ToolResult,
};
pub use redact::{Redactor, SensitiveArguments, same_arguments};
pub use slot::Slot;
#[cfg(test)]
pub(crate) use store::WatchedStore;
pub use store::{
    EventReader, FsyncPolicy, JsonLinesStore, LedgerReader, LedgerStore, MemoryStore, OpenedLedger,
    SequenceError, SharedStore, StoreError, StoreWarning, open_ledger, read_events, read_ledger,
};
#[cfg(feature = "sqlite")]
pub use store::{SqliteReader, SqliteStore, read_sqlite};
pub use transcript::{Message, MessageCall, derive_messages};
