//! The scenarios of every graph, over the real index with the real documents.

use std::sync::Arc;

use crate::library::search;
use crate::scenario::play_all;

#[tokio::test(flavor = "multi_thread")]
async fn conversational() {
    play_all("conversational", Arc::new(search().await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agentic() {
    play_all("agentic", Arc::new(search().await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adaptive() {
    play_all("adaptive", Arc::new(search().await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn corrective() {
    play_all("corrective", Arc::new(search().await)).await;
}
