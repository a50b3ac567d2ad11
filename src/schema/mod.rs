//! JSON Schema: what the runtime reads out of it.
//!
//! Never names a tool, a language or the text of an SDK.

pub mod ir;
