//! The door against a real listener: what gets out, what does not, and what is allowed to come back.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that fails says so")]

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::Request;
use ibid_egress::{Egress, EgressLimits, Error, Host, Rules};

/// A server that answers by path. It is also reachable by the name `localhost`.
async fn serve() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().fallback(answer).with_state(port);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    port
}

async fn answer(State(port): State<u16>, uri: Uri) -> Response {
    let to = |place: String| {
        Response::builder().status(302).header("location", place).body(Body::empty()).unwrap()
    };
    match uri.path() {
        "/large" => Response::new(Body::from(vec![b'x'; 2000])),
        "/endless" => Response::new(Body::from_stream(stream::repeat_with(|| {
            Ok::<_, std::io::Error>(Bytes::from("xxxxxxxx"))
        }))),
        "/silent" => std::future::pending().await,
        "/stalls" => Response::new(Body::from_stream(slow_words(1).chain(stream::pending()))),
        "/trickles" => Response::new(Body::from_stream(slow_words(5))),
        "/to-name" => to(format!("http://localhost:{port}/")),
        "/to-address" => to("http://127.0.0.2:1/".to_owned()),
        "/to-file" => to("file:///etc/passwd".to_owned()),
        "/round" => to("/round".to_owned()),
        "/here" => to("/".to_owned()),
        _ => Response::new(Body::from("hello")),
    }
}

/// A word every 100 ms.
fn slow_words(count: usize) -> impl Stream<Item = std::io::Result<Bytes>> {
    stream::iter(0..count).then(|_| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(Bytes::from("word "))
    })
}

fn limits() -> EgressLimits {
    EgressLimits { silence: Duration::from_millis(200), body_bytes: 1000, ..EgressLimits::default() }
}

fn only(host: &str) -> Rules {
    Rules::only([host.parse::<Host>().unwrap()])
}

async fn get(rules: Rules, url: &str) -> Result<Bytes, Error> {
    let request = Request::get(url).body(Bytes::new()).unwrap();
    Egress::new(rules, limits()).unwrap().send(request).await?.bytes().await
}

#[tokio::test]
async fn a_named_host_is_reached_and_no_other() {
    let port = serve().await;
    let url = format!("http://127.0.0.1:{port}/");
    assert_eq!(get(only(&format!("127.0.0.1:{port}")), &url).await.unwrap(), "hello");
    assert_eq!(get(only("127.0.0.1"), &format!("{url}here")).await.unwrap(), "hello");
    for rules in [only("127.0.0.1:1"), only("example.com"), Rules::public(), Rules::default()] {
        assert!(matches!(get(rules, &url).await, Err(Error::Refused { .. })));
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_when_it_is_looked_up() {
    let port = serve().await;
    let url = format!("http://localhost:{port}/");
    let error = get(Rules::public(), &url).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { reason, .. } if reason.contains("private")), "{error}");
    assert_eq!(get(only("localhost"), &url).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_redirect_goes_only_where_a_request_could_have_gone() {
    let port = serve().await;
    for path in ["to-name", "to-address", "round"] {
        let error = get(only("127.0.0.1"), &format!("http://127.0.0.1:{port}/{path}")).await.unwrap_err();
        assert!(matches!(&error, Error::Refused { .. }), "{path}: {error}");
    }
    let file = get(only("127.0.0.1"), &format!("http://127.0.0.1:{port}/to-file")).await.unwrap();
    assert!(file.is_empty(), "what is not spoken is not followed");
    // A named address does not open its other ports to names that lead there.
    let inside = Rules::public().and([format!("127.0.0.1:{port}").parse().unwrap()]);
    let error = get(inside, &format!("http://127.0.0.1:{port}/to-name")).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { reason, .. } if reason.contains("private")), "{error}");
}

#[tokio::test]
async fn an_answer_has_a_limit_of_size_and_of_silence() {
    let port = serve().await;
    for path in ["large", "endless"] {
        let error = get(only("127.0.0.1"), &format!("http://127.0.0.1:{port}/{path}")).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 1000, .. }), "{path}: {error}");
    }
    for path in ["silent", "stalls"] {
        let began = Instant::now();
        let error = get(only("127.0.0.1"), &format!("http://127.0.0.1:{port}/{path}")).await.unwrap_err();
        assert!(matches!(error, Error::Slow { .. }), "{path}: {error}");
        assert!(began.elapsed() < Duration::from_secs(2));
    }
    let words = get(only("127.0.0.1"), &format!("http://127.0.0.1:{port}/trickles")).await.unwrap();
    assert_eq!(words, "word ".repeat(5), "whoever goes on speaking may take as long as it takes");
}

#[tokio::test]
async fn an_error_tells_the_host_and_nothing_else_of_the_address() {
    let url = "http://127.0.0.1:1/path?key=sk-very-secret";
    for rules in [only("127.0.0.1"), Rules::public()] {
        let error = get(rules, url).await.unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(told.contains("127.0.0.1") && !told.contains("sk-very-secret"), "{told}");
    }
}
