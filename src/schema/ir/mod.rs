//! The intermediate form of a schema, from which types are rendered.
