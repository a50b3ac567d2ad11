//! placeholder
mod layers;
pub use layers::{Layer, LayerReport, LayerState};
pub(in crate::engine) fn before_threads(_host: u32) -> Vec<LayerReport> {
    Vec::new()
}
pub(in crate::engine) fn after_start() -> Vec<LayerReport> {
    Vec::new()
}
