//! `GET /`: the product's name, its version and a link to the try page.

use super::AppState;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

/// The page for browsers, up to its list of links.
const PAGE_START: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Carillon</title>\n",
    "<meta name=\"viewport\" content=\"width=device-width\"></head>\n<body>\n<h1>Carillon ",
    env!("CARGO_PKG_VERSION"),
    "</h1>\n<p>This is a real-time broker. Backends emit events over HTTP. Clients receive them over a WebSocket.</p>\n",
    "<ul>\n",
);
const TRY_LINK: &str = "<li><a href=\"/try\">Try it in the browser</a></li>\n";
const PAGE_END: &str = concat!(
    "<li><a href=\"/readyz\">Readiness</a> and <a href=\"/metrics\">metrics</a> of this node</li>\n",
    "<li>Documentation: the folder <code>docs</code> of the source code, which begins with ",
    "<code>docs/README.md</code></li>\n</ul>\n</body>\n</html>\n",
);

/// `GET /`: an HTML page for browsers, JSON for other clients.
pub async fn product(request: HttpRequest, app_state: web::Data<AppState>) -> HttpResponse {
    let has_try_page = app_state.settings().http.try_page;
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mut response = HttpResponse::Ok();
    response.insert_header((header::VARY, "Accept"));
    if accept.contains("text/html") {
        let link = if has_try_page { TRY_LINK } else { "" };
        return response
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"))
            .body([PAGE_START, link, PAGE_END].concat());
    }
    let mut product = json!({"name": "Carillon", "version": env!("CARGO_PKG_VERSION")});
    if has_try_page {
        product["tryPage"] = "/try".into();
    }
    response.json(product)
}
