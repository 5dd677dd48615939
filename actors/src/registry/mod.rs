//! Who subscribes to what on this node.

pub mod index;
