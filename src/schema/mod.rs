//! JSON Schema: compiled once, used for every call.
//!
//! Owns the compiled form of a schema and the text of validation problems. Validation itself is the
//! `jsonschema` crate's. It never fetches a schema from anywhere. It hands type rendering to [`ir`].

mod dsl;
pub mod ir;
mod problems;
mod subset;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use dsl::{Property, PropertyKind, object};
pub use problems::{Problem, Problems};
pub use subset::{SubsetError, check_subset};

/// A schema that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The schema itself is malformed or uses something that cannot be resolved.
    #[error("the schema is not valid JSON Schema at `{pointer}`: {reason}")]
    Malformed {
        /// JSON pointer into the schema.
        pointer: String,
        /// What the validator says of it.
        reason: String,
    },
    /// The schema uses a keyword outside the author-side subset (T-7).
    #[error(transparent)]
    Subset(#[from] SubsetError),
    /// The schema is nested deeper than can be compiled.
    #[error("the schema is nested more than {limit} levels deep")]
    TooDeep {
        /// The deepest nesting that is compiled.
        limit: usize,
    },
}

/// Deepest nesting of a schema that is handed to the validator, whose compiler recurses.
pub const MAX_SCHEMA_DEPTH: usize = 512;

/// A schema with its validator, compiled once per definition (T-9). Cloning shares both.
#[derive(Clone)]
pub struct Schema {
    source: Arc<Value>,
    validator: Arc<jsonschema::Validator>,
}

impl Schema {
    /// Compiles a schema that may use all of JSON Schema 2020-12 or draft-07 (T-7).
    pub fn compile(source: Value) -> Result<Self, SchemaError> {
        if crate::json::depth_exceeds(&source, MAX_SCHEMA_DEPTH) {
            crate::json::dismantle(source);
            return Err(SchemaError::TooDeep { limit: MAX_SCHEMA_DEPTH });
        }
        let validator =
            jsonschema::options().offline().build(&source).map_err(|error| SchemaError::Malformed {
                pointer: error.instance_path().as_str().to_owned(),
                reason: error.to_string(),
            })?;
        Ok(Self { source: Arc::new(source), validator: Arc::new(validator) })
    }

    /// Compiles a schema written by a tool's author: the subset of T-7 and nothing else.
    pub fn compile_author(source: Value) -> Result<Self, SchemaError> {
        check_subset(&source)?;
        Self::compile(source)
    }

    /// The schema as JSON.
    pub fn source(&self) -> &Arc<Value> {
        &self.source
    }

    /// Checks a value; what is wrong with it comes as at most [`Problems::MAX`] problems.
    pub fn validate(&self, value: &Value) -> Result<(), Problems> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        Err(Problems::collect(&self.source, value, self.validator.iter_errors(value)))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.source).finish()
    }
}
