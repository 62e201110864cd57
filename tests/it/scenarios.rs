//! The scenarios of every graph, over the real index with the real documents.

use std::sync::Arc;

use crate::library::search;
use crate::scenario::play_all;

#[tokio::test(flavor = "multi_thread")]
async fn conversational() {
    if let Some(index) = search().await {
        play_all("conversational", Arc::new(index)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agentic() {
    if let Some(index) = search().await {
        play_all("agentic", Arc::new(index)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn adaptive() {
    if let Some(index) = search().await {
        play_all("adaptive", Arc::new(index)).await;
    }
}
