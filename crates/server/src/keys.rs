//! Keys that are made, listed and deleted while the server runs.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::SystemTime;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ibid_core::{AccessRole, Corpus, KeyName, Label, Scope, Secret};
use ibid_engine::ApiKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{KEY_PREFIX, key_expiry, key_hash};
use crate::api::{Api, operation};
use crate::audit::AuditDetail;
use crate::http::{Caller, Json, Problem};
use crate::state::ServerState;
use crate::threads::stamp;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Keys", summary, AccessRole::Admin);
    api.get("/keys", list, on("Keys of the tenant that were made at this server").gives::<Vec<KeyView>>())
        .post("/keys", create, on("Make a key, which is told once").takes::<NewKey>().gives::<CreatedKey>())
        .delete("/keys/{key}", delete, on("Delete a key; nobody gets in with it any more").nothing())
}

/// A key, without the key itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Key")]
struct KeyView {
    name: String,
    role: AccessRole,
    /// The corpora that its holder sees; null for all.
    corpora: Option<Vec<String>>,
    /// The labels that its holder has.
    labels: Vec<String>,
    /// How many requests it may make in a minute, if it has a limit of its own.
    per_minute: Option<NonZeroU32>,
    /// Who made it.
    created_by: String,
    created_at: String,
    /// When it ends; null if it does not.
    expires_at: Option<String>,
}

/// A key that was just made.
#[derive(Serialize, JsonSchema)]
struct CreatedKey {
    /// The key itself. Nobody is told it again.
    key: String,
    #[serde(flatten)]
    about: KeyView,
}

/// A key to be made. It sees and may do no more than whoever makes it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "KeyCreate")]
struct NewKey {
    /// What it is called; no two of a tenant have one name.
    name: KeyName,
    /// What its holder may do: reader unless said otherwise.
    #[serde(default)]
    role: AccessRole,
    /// The corpora that its holder sees; all that its maker sees unless said otherwise.
    #[serde(default)]
    corpora: Option<BTreeSet<Corpus>>,
    /// The labels that its holder has; none unless said otherwise.
    #[serde(default)]
    labels: BTreeSet<Label>,
    /// How many requests it may make in a minute.
    #[serde(default)]
    per_minute: Option<NonZeroU32>,
    /// In how many days it ends; never unless said otherwise, and with the key that made it at the latest.
    #[serde(default)]
    expires_days: Option<NonZeroU32>,
}

impl NewKey {
    /// What its holder sees, which must not be more than its maker does.
    fn scope(&self, caller: &Caller) -> Result<Scope, Problem> {
        let (own, labels) = (&caller.scope, &self.labels);
        let corpora = self.corpora.clone().or_else(|| own.corpora().cloned());
        // Whoever runs the server holds no labels and may give every one.
        let is_covered = own.caller().is_none() || own.covers(corpora.as_ref(), labels);
        if !is_covered {
            let detail =
                "a key sees no more than whoever makes it: leave out corpora and labels that you do not have";
            return Err(Problem::forbidden(detail));
        }
        let scope = Scope::of(own.tenant().clone()).holding(labels.iter().cloned());
        Ok(match corpora {
            Some(corpora) => scope.within(corpora),
            None => scope,
        })
    }
}

fn view(key: ApiKey) -> KeyView {
    let corpora = key.scope.corpora().map(|corpora| corpora.iter().map(ToString::to_string).collect());
    KeyView {
        corpora,
        labels: key.scope.labels().iter().map(ToString::to_string).collect(),
        name: key.name,
        role: key.role,
        per_minute: key.per_minute,
        created_by: key.created_by,
        created_at: stamp(key.created),
        expires_at: key.expires.map(stamp),
    }
}

async fn list(State(app): State<ServerState>, caller: Caller) -> Result<axum::Json<Vec<KeyView>>, Problem> {
    let keys = app.engine().api_keys(&caller.scope).await?;
    Ok(axum::Json(keys.into_iter().map(view).collect()))
}

async fn create(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<NewKey>,
) -> Result<(Extension<AuditDetail>, axum::Json<CreatedKey>), Problem> {
    let name = asked.name.as_str();
    if app.app().settings().serve.keys.contains_key(name) {
        return Err(Problem::conflict(format!("the configuration has a key `{name}`; choose another name")));
    }
    let (key, created) = (Secret::random(KEY_PREFIX), SystemTime::now());
    // A key ends with the one that made it, and is no faster.
    let days = asked.expires_days.map(|days| key_expiry(created, days));
    let expires = days.into_iter().chain(caller.expires).min();
    let per_minute = asked.per_minute.into_iter().chain(caller.per_minute).min();
    let about = ApiKey {
        scope: asked.scope(&caller)?,
        name: asked.name.to_string(),
        role: asked.role,
        per_minute,
        created_by: caller.name.to_string(),
        created,
        expires,
    };
    app.engine().add_api_key(key_hash(key.reveal()), about.clone()).await?;
    let detail = Extension(AuditDetail(format!("{} as {}", about.name, about.role)));
    Ok((detail, axum::Json(CreatedKey { key: key.reveal().to_owned(), about: view(about) })))
}

async fn delete(
    State(app): State<ServerState>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<StatusCode, Problem> {
    app.engine().delete_api_key(&caller.scope, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}
