//! From what a model wrote to a script that V8 can run, with positions that stay exact.
