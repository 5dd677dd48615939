//! An outgoing frame for one or many sessions. Frames of one emit can share its event data, so that a slow session does
//! not hold a copy for each of its subscriptions.

use bytes::Bytes;

/// A complete frame, cheap to clone. Most frames are one buffer. A frame with shared data is three: the head (frame
/// header and the start of the payload), the data, and the end of the payload.
#[derive(Clone, Debug)]
pub struct OutgoingFrame {
    pub head: Bytes,
    pub shared: Option<SharedData>,
}

/// Data that is shared with other frames, and the end of the payload after it.
#[derive(Clone, Debug)]
pub struct SharedData {
    pub data: Bytes,
    pub end: &'static [u8],
}

impl OutgoingFrame {
    /// The length on the wire, in bytes.
    pub fn wire_bytes(&self) -> usize {
        self.head.len() + self.shared.as_ref().map_or(0, |shared| shared.data.len() + shared.end.len())
    }
}

impl From<Bytes> for OutgoingFrame {
    fn from(frame: Bytes) -> OutgoingFrame {
        OutgoingFrame { head: frame, shared: None }
    }
}
