//! What is said of each layer of the sandbox (E-4).
//!
//! Owns the names of the layers and the report on each, as data for a host and as text for people. It puts no layer on,
//! and calls nobody.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A layer of the sandbox of a child (E-4), in the order in which they are reported. As data, the name in small letters
/// with hyphens, such as `no-new-privileges`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// No program that the process starts has more rights than the process itself.
    NoNewPrivileges,
    /// No core is dumped, and no process of the same user traces this one or reads its memory.
    NotDumpable,
    /// The kernel kills the process when the thread that started it ends.
    DiesWithHost,
    /// No descriptor but 0, 1 and 2.
    Descriptors,
    /// No environment variable, and no text of one in memory.
    Environment,
    /// No core, no file that grows, no descriptor and no process more.
    Limits,
    /// The kernel's second layer over files, the network, and signals to others.
    Landlock,
    /// Only the system calls that a run needs.
    Seccomp,
}

impl Layer {
    /// Every layer, in the order in which they are reported.
    pub const ALL: [Self; 8] = [
        Self::NoNewPrivileges,
        Self::NotDumpable,
        Self::DiesWithHost,
        Self::Descriptors,
        Self::Environment,
        Self::Limits,
        Self::Landlock,
        Self::Seccomp,
    ];

    /// The name, as it is in data and in text: `no-new-privileges`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoNewPrivileges => "no-new-privileges",
            Self::NotDumpable => "not-dumpable",
            Self::DiesWithHost => "dies-with-host",
            Self::Descriptors => "descriptors",
            Self::Environment => "environment",
            Self::Limits => "limits",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether a layer holds. As data, `"state": "on"`, or `"state": "off"` with a `"reason"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub enum LayerState {
    /// It holds until the process ends.
    On,
    /// The system has it, and it could not be put on, or not whole. With the reason.
    Off(String),
    /// The system does not have it. With the reason.
    Unavailable(String),
}

impl LayerState {
    /// Whether the layer holds.
    pub fn is_on(&self) -> bool {
        matches!(self, Self::On)
    }
}

impl fmt::Display for LayerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Off(reason) => write!(f, "off: {reason}"),
            Self::Unavailable(reason) => write!(f, "unavailable: {reason}"),
        }
    }
}

/// What is said of one layer: `landlock: on (ABI 7)`. As data, one flat object:
/// `{"layer": "landlock", "state": "on", "note": "ABI 7"}`.
///
/// A report that came from a child is as little to be trusted as any other frame of it, once a program has run there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerReport {
    /// The layer.
    pub layer: Layer,
    /// Whether it holds.
    #[serde(flatten)]
    pub state: LayerState,
    /// More on a layer that holds, such as the version of it that the kernel has. Absent when there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl LayerReport {
    pub(super) fn new(layer: Layer, state: LayerState) -> Self {
        Self { layer, state, note: None }
    }
}

impl fmt::Display for LayerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layer, self.state)?;
        match &self.note {
            Some(note) => write!(f, " ({note})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(state: LayerState, note: Option<&str>) -> LayerReport {
        LayerReport { layer: Layer::Landlock, state, note: note.map(str::to_owned) }
    }

    /// E-4: one line for people, with the reason of what does not hold.
    #[test]
    fn a_report_is_a_line_of_text() {
        let told = [
            report(LayerState::On, None),
            report(LayerState::On, Some("ABI 7")),
            report(LayerState::Off("the kernel says: no".to_owned()), None),
            report(LayerState::Unavailable("only Linux has it".to_owned()), None),
        ]
        .map(|report| report.to_string());
        assert_eq!(
            told,
            [
                "landlock: on",
                "landlock: on (ABI 7)",
                "landlock: off: the kernel says: no",
                "landlock: unavailable: only Linux has it",
            ]
        );
        assert_eq!(format!("{:>10}|{:<10}|", Layer::Limits, Layer::Seccomp), "    limits|seccomp   |");
    }

    /// E-4: the names in data are stable, and what is written is read back.
    #[test]
    fn a_report_is_one_flat_object() {
        let whole = report(LayerState::On, Some("ABI 7"));
        let lost = report(LayerState::Off("why".to_owned()), None);
        assert_eq!(
            json!([whole, lost]),
            json!([
                {"layer": "landlock", "state": "on", "note": "ABI 7"},
                {"layer": "landlock", "state": "off", "reason": "why"},
            ])
        );
        let read: Vec<LayerReport> = serde_json::from_value(json!([whole, lost])).unwrap();
        assert_eq!(read, [whole, lost]);
    }

    /// E-4
    #[test]
    fn every_layer_has_one_name_in_text_and_in_data_and_they_are_in_order() {
        for layer in Layer::ALL {
            assert_eq!(json!(layer), json!(layer.name()));
        }
        assert!(Layer::ALL.is_sorted());
    }
}
