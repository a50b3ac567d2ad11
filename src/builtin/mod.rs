//! Tools that ship with isolane, written through the public definition API only.
//!
//! Owns one module per family of tools. A tool here gets nothing that a host's own tool does not get, and none
//! is registered by itself: the host makes the tools and registers those that it wants. It calls `tool`.

pub mod files;
