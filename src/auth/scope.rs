//! The scopes of an API token: the permissions of its application.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use thiserror::Error;

/// A permission of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Scope {
    /// Its clients may open sessions.
    Connect = 1,
    /// It may emit events.
    Emit = 2,
    /// It may use the administration routes.
    Admin = 4,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 3] = [Scope::Connect, Scope::Emit, Scope::Admin];

    /// The scope's name in a token.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Connect => "connect",
            Scope::Emit => "emit",
            Scope::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The text is not a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a scope is one of connect, emit, admin")]
pub struct ScopeError;

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(ScopeError)
    }
}

/// A set of scopes in one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// Whether the set has the scope.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope as u8 != 0
    }

    /// The scopes in the set.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Scopes(scopes.into_iter().fold(0, |bits, scope| bits | scope as u8))
    }
}

/// Reads an array of strings. Unknown scopes belong to another system and are ignored.
impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Strings;

        impl<'de> Visitor<'de> for Strings {
            type Value = Scopes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array of strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut strings: A) -> Result<Scopes, A::Error> {
                let mut scopes = Scopes::default();
                while let Some(string) = strings.next_element::<String>()? {
                    if let Ok(scope) = string.parse::<Scope>() {
                        scopes.0 |= scope as u8;
                    }
                }
                Ok(scopes)
            }
        }

        deserializer.deserialize_seq(Strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_the_scopes_that_were_collected() {
        let scopes: Scopes = [Scope::Emit, Scope::Admin].into_iter().collect();
        assert!(scopes.contains(Scope::Emit) && !scopes.contains(Scope::Connect));
        assert_eq!(scopes.iter().collect::<Vec<_>>(), [Scope::Emit, Scope::Admin]);
        assert_eq!(Scopes::default().iter().count(), 0);
    }

    #[test]
    fn only_an_array_of_strings_is_read() {
        let read = |json| serde_json::from_str::<Scopes>(json).ok();
        assert_eq!(read("[]"), Some(Scopes::default()));
        assert_eq!(read(r#"["\u0065mit","mine","emit"]"#), Some([Scope::Emit].into_iter().collect()));
        for bad in [r#""emit""#, "null", r#"["emit",1]"#, r#"["emit",null]"#, r#"{"emit":1}"#, r#"[["emit"]]"#] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
