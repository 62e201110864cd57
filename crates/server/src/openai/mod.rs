//! The API that OpenAI's clients speak: one assistant is one model.

mod ask;
mod chat;
mod models;
mod responses;
mod wire;

use crate::api::Api;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    api.and(models::routes).and(chat::routes).and(responses::routes)
}
