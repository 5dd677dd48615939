//! The two text formats of `/metrics`, and which one a client gets.

use actix_web::http::header::{Accept, Quality};

/// A text format of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text 0.0.4, which every scraper and `promtool` read.
    Prometheus,
    /// OpenMetrics text 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The media type of an answer in this format.
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => prometheus_client::encoding::prometheus_text::CONTENT_TYPE,
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format for a request with this `Accept` header (RFC 9110 §12.5.1).
    ///
    /// OpenMetrics is for clients that ask for it by name and prefer it, or like it as much as Prometheus text. All
    /// others get Prometheus text, also those that accept neither: a scraper gets more from it than from a 406.
    pub fn accepted_by(accept: &Accept) -> Format {
        let open_metrics = quality(accept, "application", "openmetrics-text", "1.0.0", IS_NAMED);
        let prometheus = quality(accept, "text", "plain", "0.0.4", 0).unwrap_or(Quality::ZERO);
        match open_metrics {
            Some(quality) if quality > Quality::ZERO && quality >= prometheus => Format::OpenMetrics,
            _ => Format::Prometheus,
        }
    }
}

/// The precedence of a media range that names the type, with or without parameters.
const IS_NAMED: usize = 2;

/// The quality that the most specific matching media range gives a type, among ranges of at least a precedence.
fn quality(accept: &Accept, kind: &str, subtype: &str, version: &str, least: usize) -> Option<Quality> {
    let matching = accept.iter().filter_map(|item| {
        let range = &item.item;
        // How specific the range is. Without a version it matches every version.
        let precedence = match (range.type_().as_str(), range.subtype().as_str(), range.get_param("version")) {
            ("*", "*", _) => 0,
            (of, "*", _) if of == kind => 1,
            (of, sub, None) if of == kind && sub == subtype => IS_NAMED,
            (of, sub, Some(asked)) if of == kind && sub == subtype && asked == version => IS_NAMED + 1,
            _ => return None,
        };
        Some((precedence, item.quality))
    });
    let candidates = matching.filter(|(precedence, _)| *precedence >= least);
    candidates.max_by_key(|(precedence, _)| *precedence).map(|(_, quality)| quality)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::Header as _;
    use actix_web::test::TestRequest;

    fn chosen(accept: &str) -> Format {
        let request = TestRequest::default().insert_header(("Accept", accept)).to_http_request();
        Format::accepted_by(&Accept::parse(&request).expect("a header"))
    }

    #[test]
    fn openmetrics_is_for_clients_that_name_it_and_do_not_prefer_prometheus_text() {
        for accept in [
            "application/openmetrics-text",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "application/openmetrics-text, text/plain",
            "application/openmetrics-text;q=0.5, text/plain;q=0.5",
            "text/plain;q=0.2, application/openmetrics-text;q=0.3",
            "application/openmetrics-text;version=1.0.0;q=0.9, text/*;q=0.3, */*;q=0.1",
            // What Prometheus 3 sends.
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
             application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
             text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
        ] {
            assert_eq!(chosen(accept), Format::OpenMetrics, "{accept}");
        }
    }

    #[test]
    fn all_other_clients_get_prometheus_text() {
        for accept in [
            "",
            "*/*",
            "text/plain",
            "text/*",
            "application/*",
            "text/html, application/json;q=0.9, */*;q=0.8",
            "text/plain, application/openmetrics-text;q=0.9",
            "application/openmetrics-text;q=0.5, */*",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0, text/plain;q=0",
            "application/openmetrics-text; version=0.0.1",
            "application/openmetrics-text;q=x",
            "no media type",
            "application/json",
        ] {
            assert_eq!(chosen(accept), Format::Prometheus, "{accept}");
        }
    }

    #[test]
    fn the_most_specific_range_decides() {
        assert_eq!(chosen("text/*, text/plain;q=0.1, application/openmetrics-text;q=0.5"), Format::OpenMetrics);
        assert_eq!(chosen("text/*;q=0.1, text/plain, application/openmetrics-text;q=0.5"), Format::Prometheus);
        let versions =
            "application/openmetrics-text;q=0.9, application/openmetrics-text;version=1.0.0;q=0.1, text/plain;q=0.5";
        assert_eq!(chosen(versions), Format::Prometheus);
    }
}
