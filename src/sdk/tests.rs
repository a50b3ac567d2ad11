//! Behaviour of the renderer.
