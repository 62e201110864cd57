//! The API that OpenAI's clients speak: one assistant is one model.

mod ask;
mod chat;
mod models;
mod responses;
mod wire;

use axum::Router;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new().merge(models::routes()).merge(chat::routes()).merge(responses::routes())
}
