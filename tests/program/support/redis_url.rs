//! Parses the address of a Redis without TLS.

/// The parts of `redis://user:password@host:port/database`.
#[derive(Debug, PartialEq, Eq)]
pub struct RedisUrl<'a> {
    /// User and password, if there is a password.
    pub login: Option<(&'a str, &'a str)>,
    /// Host and port.
    pub host: String,
    pub database: &'a str,
}

impl RedisUrl<'_> {
    /// Parses an address. User and password are not percent-decoded.
    pub fn read(url: &str) -> RedisUrl<'_> {
        let rest = url.strip_prefix("redis://").expect("tests take a Redis without TLS: redis://");
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
        let login = login.map(|login| login.split_once(':').expect("user:password"));
        let login = login.map(|(user, password)| (if user.is_empty() { "default" } else { user }, password));
        let (host, database) = place.split_once('/').unwrap_or((place, ""));
        let host = if host.contains(':') { host.to_owned() } else { format!("{host}:6379") };
        RedisUrl { login, host, database: if database.is_empty() { "0" } else { database } }
    }
}

#[test]
fn a_redis_address_is_parsed_with_and_without_its_optional_parts() {
    let read = |url| {
        let RedisUrl { login, host, database } = RedisUrl::read(url);
        (login, host, database.to_owned())
    };
    assert_eq!(read("redis://a"), (None, "a:6379".to_owned(), "0".to_owned()));
    assert_eq!(read("redis://:p@a:1/"), (Some(("default", "p")), "a:1".to_owned(), "0".to_owned()));
    assert_eq!(read("redis://u:p@q@a:1/3"), (Some(("u", "p@q")), "a:1".to_owned(), "3".to_owned()));
}
