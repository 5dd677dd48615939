//! `carillon_build_info`: which program runs.

use super::names::BUILD_INFO;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// The source revision, if the build was given one: a build from an archive cannot find it out.
const REVISION: Option<&str> = option_env!("CARILLON_REVISION");

/// Registers the metric. Its value is always 1.
pub fn register(registry: &mut Registry) {
    let (name, help) = BUILD_INFO;
    registry.register(name, help, Info::new(labels(REVISION)));
}

fn labels(revision: Option<&'static str>) -> Vec<(&'static str, &'static str)> {
    let version = [("version", env!("CARGO_PKG_VERSION")), ("rustc", env!("CARILLON_RUSTC"))];
    let revision = revision.filter(|revision| !revision.is_empty());
    version.into_iter().chain(revision.map(|revision| ("revision", revision))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_is_a_label_only_if_the_build_was_given_one() {
        let names = |revision| labels(revision).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(None), ["version", "rustc"]);
        assert_eq!(names(Some("")), ["version", "rustc"]);
        assert_eq!(names(Some("0a1b2c3")), ["version", "rustc", "revision"]);
        assert!(labels(None).iter().all(|(_, value)| value.split('.').count() == 3), "{:?}", labels(None));
    }
}
