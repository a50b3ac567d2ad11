//! The rules of the lane, one test each.
