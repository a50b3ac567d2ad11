//! What earlier programs of a session gave that was too large to be shown whole (CM-28).
//!
//! Owns how many of such outputs are kept, and for how long. Programs read them as keys of `state`, and cannot write
//! them. It calls nobody.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// What the keys begin with.
const PREFIX: &str = "output:";

/// Most outputs of one session.
const MOST: usize = 8;

/// What they may take together, in bytes as JSON. The newest is kept whatever it takes: it is bounded by its run's limit.
const MOST_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
struct Output {
    value: Arc<Value>,
    bytes: usize,
}

/// The outputs of one session, by number.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    kept: BTreeMap<u64, Output>,
    bytes: usize,
    last: u64,
}

/// Whether a key is that of an output, there or not.
pub(super) fn is_output(key: &str) -> bool {
    key.starts_with(PREFIX)
}

fn number(key: &str) -> Option<u64> {
    let number = key.strip_prefix(PREFIX)?.parse().ok()?;
    (key_of(number) == key).then_some(number)
}

fn key_of(number: u64) -> String {
    format!("{PREFIX}{number}")
}

impl Outputs {
    /// The output of a key.
    pub(super) fn get(&self, key: &str) -> Option<Arc<Value>> {
        Some(Arc::clone(&self.kept.get(&number(key)?)?.value))
    }

    /// Keeps an output of so many bytes; its key, and the keys of those that had to go.
    pub(super) fn keep(&mut self, value: Arc<Value>, bytes: usize) -> (String, Vec<String>) {
        let new = self.last.saturating_add(1);
        self.put(new, value, bytes);
        let mut gone = Vec::new();
        while (self.kept.len() > MOST || self.bytes > MOST_BYTES)
            && let Some(oldest) = self.kept.keys().next().copied().filter(|oldest| *oldest != new)
        {
            self.remove(oldest);
            gone.push(key_of(oldest));
        }
        (key_of(new), gone)
    }

    /// What an event says of an output.
    pub(super) fn restore(&mut self, key: &str, value: Option<&Arc<Value>>) {
        let Some(number) = number(key) else { return };
        match value {
            Some(value) => self.put(number, Arc::clone(value), value.to_string().len()),
            None => self.remove(number),
        }
    }

    fn put(&mut self, number: u64, value: Arc<Value>, bytes: usize) {
        self.remove(number);
        self.kept.insert(number, Output { value, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        self.last = self.last.max(number);
    }

    fn remove(&mut self, number: u64) {
        let bytes = self.kept.remove(&number).map_or(0, |output| output.bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// CM-28
    #[test]
    fn the_oldest_outputs_go_first() {
        let mut outputs = Outputs::default();
        for n in 1..=10 {
            let (key, gone) = outputs.keep(Arc::new(json!(n)), 1);
            assert_eq!(key, format!("output:{n}"));
            assert_eq!(gone, if n > 8 { vec![format!("output:{}", n - 8)] } else { Vec::new() });
        }
        assert_eq!((outputs.get("output:2"), outputs.get("output:10").as_deref()), (None, Some(&json!(10))));
        let (_, gone) = outputs.keep(Arc::new(json!(11)), MOST_BYTES + 1);
        assert_eq!(gone.len(), 8, "the newest is kept alone");
        assert_eq!(outputs.bytes, MOST_BYTES + 1);
    }

    /// CM-28
    #[test]
    fn keys_are_written_in_one_way() {
        let mut outputs = Outputs::default();
        outputs.keep(Arc::new(json!(1)), 1);
        for key in
            ["output:01", "output:+1", "output:", "output:1 ", "output:18446744073709551616", "Output:1"]
        {
            assert_eq!(outputs.get(key), None, "{key}");
        }
    }
}
