//! Renders the TypeScript declarations of the tools that a scope may see.
