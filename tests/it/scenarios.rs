//! The scenarios of every graph, over the real index with the real documents.

use std::sync::Arc;

use crate::library::search;
use crate::scenario::play_all;
use crate::showroom;

#[tokio::test(flavor = "multi_thread")]
async fn conversational() {
    play_all("conversational", Arc::new(search().await), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agentic() {
    play_all("agentic", Arc::new(search().await), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adaptive() {
    play_all("adaptive", Arc::new(search().await), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn corrective() {
    play_all("corrective", Arc::new(search().await), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concierge() {
    play_all("concierge", showroom::search().await, Some(showroom::catalogues().await)).await;
}
