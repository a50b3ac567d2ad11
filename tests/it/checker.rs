//! The type check of programs (CM-27).
