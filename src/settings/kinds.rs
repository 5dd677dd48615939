//! Settings with a type of their own: choices between names, and the address to listen on.

use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, Serialize, de};

/// Defines a setting whose value is one of a few names.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase", try_from = "String")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(name: String) -> Result<Self, String> {
                match name.as_str() {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(unknown_choice(&name, &[$($text),*])),
                }
            }
        }
    };
}

choice! {
    /// Where projects and keys are stored.
    CatalogueKind {
        /// SQLite in `data.dir`.
        Embedded = "embedded",
        /// A MongoDB that nodes share.
        Mongodb = "mongodb",
    }
}

choice! {
    /// How emits reach the nodes.
    BusKind {
        /// A channel inside the process: one node.
        Local = "local",
        /// A Redis that nodes share.
        Redis = "redis",
    }
}

choice! {
    /// The format of a log line.
    LogFormat {
        /// For people: time, level, target, message, `key=value`.
        Text = "text",
        /// For machines: one JSON object per line.
        Json = "json",
    }
}

choice! {
    /// The least severe level that is logged.
    LogLevel {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

/// Reads an address to listen on. Host names are refused, because they can resolve to several and changing addresses.
pub fn bind_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        de::Error::custom(format!(
            "must be an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080 (host names are not resolved), not {text:?}"
        ))
    })
}

fn unknown_choice(name: &str, existing: &[&str]) -> String {
    let existing = existing.join("\", \"");
    format!("must be one of \"{existing}\", not {name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_with_the_name_it_is_read_from() {
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
    fn the_error_for_an_unknown_kind_lists_the_known_ones() {
        let refused = CatalogueKind::try_from("mongo".to_owned()).unwrap_err();
        assert_eq!(refused, r#"must be one of "embedded", "mongodb", not "mongo""#);
        assert!(BusKind::try_from("nats".to_owned()).unwrap_err().contains(r#""local", "redis""#));
    }
}
