//! The settings that are more than a number or a text: what can be chosen, and how a choice is read.

use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, Serialize, de};

/// The catalogues that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum CatalogueKind {
    /// SQLite in `data.dir`.
    Embedded,
    /// A MongoDB that nodes share.
    Mongodb,
}

/// The buses that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum BusKind {
    /// A channel inside the process: one node.
    Local,
    /// A Redis that nodes share.
    Redis,
}

impl TryFrom<String> for CatalogueKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "embedded" => Ok(Self::Embedded),
            "mongodb" => Ok(Self::Mongodb),
            _ => Err(unknown_kind(&name, &["embedded", "mongodb"])),
        }
    }
}

impl TryFrom<String> for BusKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "local" => Ok(Self::Local),
            "redis" => Ok(Self::Redis),
            _ => Err(unknown_kind(&name, &["local", "redis"])),
        }
    }
}

/// Reads an address to listen on. Host names are refused: what they resolve to may change, and may be many.
pub fn bind_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        de::Error::custom(format!(
            "must be an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080 (host names are not resolved), not {text:?}"
        ))
    })
}

fn unknown_kind(name: &str, existing: &[&str]) -> String {
    let existing = existing.join("\", \"");
    format!("must be one of \"{existing}\", not {name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_they_are_read() {
        for kind in [CatalogueKind::Embedded, CatalogueKind::Mongodb] {
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(serde_json::from_value::<CatalogueKind>(written).unwrap(), kind);
        }
        for kind in [BusKind::Local, BusKind::Redis] {
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(serde_json::from_value::<BusKind>(written).unwrap(), kind);
        }
    }

    #[test]
    fn an_unknown_kind_is_refused_naming_what_exists() {
        let refused = CatalogueKind::try_from("mongo".to_owned()).unwrap_err();
        assert_eq!(refused, r#"must be one of "embedded", "mongodb", not "mongo""#);
        assert!(BusKind::try_from("nats".to_owned()).unwrap_err().contains(r#""local", "redis""#));
    }
}
