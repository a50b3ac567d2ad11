//! Code Mode: from the text of a program to its outcome.

pub mod program;
