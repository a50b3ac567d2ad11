//! File tools under one root.
