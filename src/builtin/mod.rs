//! Tools that ship with isolane, written through the public definition API only.

pub mod files;
