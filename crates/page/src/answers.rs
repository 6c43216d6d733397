//! The answers to requests: from the latest look at the drive, and without the drive's lock.

use crate::looker::{Looker, Seen};
use crate::state::About;
use crate::{map, metrics, state};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use phelsuma_serve::device::State;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// An answer.
pub(crate) type Answer = Response<Full<Bytes>>;

/// Everything comes from here, and nothing is embedded elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The answers that never change.
const ASSETS: [(&str, &str, &str); 5] = [
    ("/", HTML, include_str!("assets/index.html")),
    ("/page.css", STYLE, include_str!("assets/page.css")),
    ("/page.js", SCRIPT, include_str!("assets/page.js")),
    ("/uPlot.js", SCRIPT, include_str!("assets/uPlot.iife.min.js")),
    ("/uPlot.css", STYLE, include_str!("assets/uPlot.min.css")),
];

/// Answers requests.
pub(crate) struct Answers {
    looker: Arc<Looker>,
    about: About,
    loopback_only: bool,
    state: Box<dyn Fn() -> State + Send + Sync>,
}

impl Answers {
    /// Of the drive that `looker` looks at, at this address; `state` says how the drive is without its lock.
    pub(crate) fn new(
        looker: Arc<Looker>,
        about: About,
        address: SocketAddr,
        state: impl Fn() -> State + Send + Sync + 'static,
    ) -> Self {
        Self { looker, about, loopback_only: address.ip().is_loopback(), state: Box::new(state) }
    }

    /// The answer to a request.
    pub(crate) async fn answer<B>(&self, request: &Request<B>) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD would be right\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        if self.loopback_only && !names_this_machine(request.headers()) {
            // A page of another site whose name was made to point here (DNS rebinding).
            return plain(
                StatusCode::FORBIDDEN,
                "this is served to localhost alone, under that name or as an address\n",
            );
        }
        let path = request.uri().path();
        if let Some((_, kind, text)) = ASSETS.iter().find(|(asset, ..)| *asset == path) {
            return answer(StatusCode::OK, kind, Bytes::from_static(text.as_bytes()));
        }
        match path {
            "/state.json" => {
                self.of_look(|seen, now| {
                    let json = state::json(&self.about, seen, now).to_string();
                    answer(StatusCode::OK, "application/json", json.into())
                })
                .await
            }
            "/metrics" => {
                self.of_look(|seen, now| {
                    answer(StatusCode::OK, metrics::CONTENT_TYPE, metrics::text(&self.about, seen, now).into())
                })
                .await
            }
            "/map" => match cells(request.uri().query()) {
                Some(cells) => self.of_look(|seen, _| self.map(seen, cells)).await,
                None => plain(StatusCode::BAD_REQUEST, "/map?cells=N would be right, with N from 1 to 65536\n"),
            },
            _ => plain(StatusCode::NOT_FOUND, "there is /, /state.json, /map and /metrics\n"),
        }
    }

    async fn of_look(&self, make: impl FnOnce(&Seen, State) -> Answer) -> Answer {
        let busy = !matches!((self.state)(), State::Serving | State::ReadOnly);
        match self.looker.seen(busy).await {
            Some(seen) => make(&seen, (self.state)()),
            None => plain(StatusCode::SERVICE_UNAVAILABLE, "the drive cannot be looked at yet\n"),
        }
    }

    fn map(&self, seen: &Seen, cells: u32) -> Answer {
        match &seen.blocks {
            Some(blocks) => {
                let map = map::map(blocks, seen.number, self.about.pages_per_block, cells);
                answer(StatusCode::OK, "application/octet-stream", map.into())
            }
            None => plain(StatusCode::NOT_FOUND, "there is nothing to be seen of this drive's blocks\n"),
        }
    }
}

/// How many cells of a map are requested.
fn cells(query: Option<&str>) -> Option<u32> {
    match query {
        None => Some(map::CELLS_DEFAULT),
        Some(query) => query.strip_prefix("cells=")?.parse().ok().filter(|cells| (1..=map::CELLS_MAX).contains(cells)),
    }
}

/// Whether a request was made to this machine by its address or as localhost, at any port.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    answer(status, TEXT, Bytes::from_static(text.as_bytes()))
}

fn answer(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_taken() {
        let taken = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            names_this_machine(&headers)
        };
        for host in ["localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:8080", "127.1.2.3:1", "[::1]", "[::1]:8080"] {
            assert!(taken(host), "{host}");
        }
        for host in
            ["example.org", "localhost.example.org:80", "10.0.0.1:80", "[::2]:80", "[::1", "", ":80", "127.0.0.1.x"]
        {
            assert!(!taken(host), "{host}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }

    #[test]
    fn a_map_has_so_many_cells_and_no_more() {
        assert_eq!(cells(None), Some(map::CELLS_DEFAULT));
        assert_eq!(cells(Some("cells=7")), Some(7));
        for wrong in ["", "cells=", "cells=0", "cells=65537", "cells=-1", "cells=9999999999", "cell=7", "cells=7&x=1"] {
            assert_eq!(cells(Some(wrong)), None, "{wrong}");
        }
    }
}
