//! Documents by URL: tried again, limited, and never from a host that was not named.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ibid_egress::{Egress, EgressLimits, Rules};
use ibid_knowledge::{Download, Ingestion, LoadOutcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::stage::{Where, everybody, find, ingestion, job};

/// A host that fails so often before it answers. Says where it is and counts its requests.
async fn host(failures: usize, body: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rules.txt", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let number = counted.fetch_add(1, Ordering::Relaxed);
            let mut request = [0; 2048];
            let _ = stream.read(&mut request).await;
            let answer = if number < failures {
                "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
            } else {
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                )
            };
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, asked)
}

fn downloading(ingestion: Ingestion, hosts: &[&str], limits: EgressLimits) -> Ingestion {
    let hosts: Vec<_> = hosts.iter().map(|host| host.parse().unwrap()).collect();
    let egress = Egress::new(Rules::only(hosts), limits).unwrap();
    ingestion.downloading(Download::new(egress).pausing(Duration::from_millis(5)))
}

#[tokio::test]
async fn a_document_is_fetched_again_until_it_comes_and_loaded_only_when_it_is_new() {
    let place = Where::folder();
    let store = place.open().await;
    let (url, asked) = host(2, "Importers keep their records of entry for five years.").await;
    let ingestion = downloading(ingestion(&store), &["127.0.0.1"], EgressLimits::default());
    let first = ingestion.load(job("c", &url)).await.unwrap();
    assert_eq!(first.outcome, LoadOutcome::Loaded);
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert_eq!(ingestion.load(job("c", &url)).await.unwrap().outcome, LoadOutcome::Unchanged);
    assert_eq!(find(&store, &everybody(), "records").await[0].source, url);
}

#[tokio::test]
async fn a_private_address_is_out_of_reach_unless_it_is_named() {
    let place = Where::folder();
    let store = place.open().await;
    let (url, asked) = host(0, "secret").await;
    let ingestion = downloading(ingestion(&store), &["example.org"], EgressLimits::default());
    let error = ingestion.load(job("c", &url)).await.unwrap_err();
    assert!(error.to_string().contains("may not be reached"), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_document_that_is_too_large_or_missing_is_not_tried_again() {
    let place = Where::folder();
    let store = place.open().await;
    let (url, asked) = host(0, "more than ten bytes").await;
    let small = downloading(
        ingestion(&store),
        &["127.0.0.1"],
        EgressLimits { body_bytes: 10, ..EgressLimits::default() },
    );
    let error = small.load(job("c", &url)).await.unwrap_err();
    assert!(error.to_string().contains("more than the 10 bytes"), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
