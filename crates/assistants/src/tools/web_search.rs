//! Searches of the web: Tavily, Brave and SearXNG, each reached at its own address and nowhere else.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ibid_core::tool::ToolError;
use ibid_core::web::{WebPage, WebRule, WebRules, WebSearch};
use ibid_core::{Corpus, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::web::Service;

/// A page is taken up to so many letters.
const LONGEST: usize = 4000;
/// A query has at most so many letters.
const LONGEST_QUERY: usize = 400;

/// The settings of web searches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebSettings {
    /// Which service is asked; none if not set.
    pub provider: Option<WebProvider>,
    /// Its address; SearXNG has none of its own.
    pub url: Option<String>,
    /// The environment variable that holds its key; `TAVILY_API_KEY` or `BRAVE_API_KEY` unless set.
    pub key_env: Option<String>,
    /// How many pages of a search are taken.
    pub results: usize,
    /// Whether questions may be sent to it: never, ask (a person, each time) or allow.
    pub rule: WebRule,
    /// The same for single corpora. Where an answer may come from several, the strictest rule holds.
    pub corpora: BTreeMap<Corpus, WebRule>,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            provider: None,
            url: None,
            key_env: None,
            results: 5,
            rule: WebRule::default(),
            corpora: BTreeMap::new(),
        }
    }
}

/// The services that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebProvider {
    /// Tavily.
    Tavily,
    /// Brave Search.
    Brave,
    /// An instance of SearXNG with the format `json` switched on.
    Searxng,
}

impl WebProvider {
    fn title(self) -> &'static str {
        match self {
            Self::Tavily => "Tavily",
            Self::Brave => "Brave Search",
            Self::Searxng => "SearXNG",
        }
    }

    fn url(self) -> Option<&'static str> {
        match self {
            Self::Tavily => Some("https://api.tavily.com/"),
            Self::Brave => Some("https://api.search.brave.com/"),
            Self::Searxng => None,
        }
    }

    fn key_env(self) -> Option<&'static str> {
        match self {
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Searxng => None,
        }
    }
}

impl WebSettings {
    /// The rules of corpora.
    pub fn rules(&self) -> WebRules {
        WebRules { default: self.rule, corpora: self.corpora.clone() }
    }

    /// The search that is set up, with the values of environment variables; none if there is none.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn build(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<OnlineSearch>, String> {
        let Some(provider) = self.provider else { return Ok(None) };
        let title = provider.title();
        let url = self.url.as_deref().or_else(|| provider.url());
        let url = url.ok_or_else(|| format!("set `tools.web.url` to the address of {title}"))?;
        let name = self.key_env.as_deref().or_else(|| provider.key_env());
        let key = match name {
            None => None,
            Some(name) => {
                let key = variable(name).filter(|key| !key.trim().is_empty());
                let key = key.ok_or_else(|| {
                    format!("{title} needs a key: put it into the environment variable {name}")
                })?;
                Some(Secret::new(&key))
            }
        };
        // The path of an instance belongs to its address.
        let url = if url.ends_with('/') { url.to_owned() } else { format!("{url}/") };
        let service = Service::at(title, &url)?;
        Ok(Some(OnlineSearch { provider, service, key, results: self.results.clamp(1, 20) }))
    }
}

/// A search of the web at a service.
pub struct OnlineSearch {
    provider: WebProvider,
    service: Service,
    key: Option<Secret>,
    results: usize,
}

#[async_trait]
impl WebSearch for OnlineSearch {
    async fn search(&self, query: &str) -> Result<Vec<WebPage>, ToolError> {
        let query: String = query.chars().take(LONGEST_QUERY).collect();
        let (count, key) =
            (self.results.to_string(), self.key.as_ref().map(Secret::reveal).unwrap_or_default());
        let found = match self.provider {
            WebProvider::Tavily => {
                let body = json!({ "query": query, "max_results": self.results });
                let bearer = format!("Bearer {key}");
                self.service.post("search", &[("authorization", &bearer)], &body).await?
            }
            WebProvider::Brave => {
                let asked = [("q", query.as_str()), ("count", &count)];
                let headers = [("x-subscription-token", key)];
                self.service.json_with("res/v1/web/search", &asked, &headers).await?
            }
            WebProvider::Searxng => self.service.json("search", &[("q", &query), ("format", "json")]).await?,
        };
        let results = match self.provider {
            WebProvider::Brave => &found["web"]["results"],
            WebProvider::Tavily | WebProvider::Searxng => &found["results"],
        };
        let results = results.as_array().ok_or_else(|| self.service.failed("its answer has no results"))?;
        let retrieved_at = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string();
        let pages = results.iter().filter_map(|result| page(result, &retrieved_at));
        Ok(pages.take(self.results).collect())
    }
}

/// A result as a page; none if it has no address that a browser opens, or says nothing.
fn page(result: &Value, retrieved_at: &str) -> Option<WebPage> {
    let text = |name: &str| result[name].as_str().map(plain).unwrap_or_default();
    let url =
        result["url"].as_str().filter(|url| url.starts_with("https://") || url.starts_with("http://"))?;
    let more = result["extra_snippets"].as_array().into_iter().flatten().filter_map(Value::as_str).map(plain);
    let said = [text("content"), text("description")].into_iter().chain(more).filter(|text| !text.is_empty());
    let said: String = said.collect::<Vec<_>>().join("\n").chars().take(LONGEST).collect();
    (!said.is_empty()).then(|| WebPage {
        url: url.to_owned(),
        title: Some(text("title")).filter(|title| !title.is_empty()).unwrap_or_else(|| url.to_owned()),
        text: said,
        retrieved_at: retrieved_at.to_owned(),
    })
}

/// A text without the tags that mark what was searched for.
fn plain(text: &str) -> String {
    text.replace("<strong>", "").replace("</strong>", "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let problem = |settings: WebSettings| settings.build(&|_| None).err().unwrap_or_default();
        let of = |provider| WebSettings { provider: Some(provider), ..WebSettings::default() };
        assert!(problem(of(WebProvider::Tavily)).contains("TAVILY_API_KEY"));
        assert!(problem(of(WebProvider::Searxng)).contains("tools.web.url"));
        assert!(WebSettings::default().build(&|_| None).unwrap().is_none());
        let key = |name: &str| (name == "BRAVE_API_KEY").then(|| "k".to_owned());
        assert!(of(WebProvider::Brave).build(&key).unwrap().is_some());
    }

    #[test]
    fn a_result_is_a_page_if_it_says_something_at_an_address() {
        let result =
            json!({ "url": "https://a.example/b", "title": "T", "description": "<strong>x</strong> y" });
        let found = page(&result, "2026-01-01T00:00:00Z").unwrap();
        assert_eq!((found.title.as_str(), found.text.as_str()), ("T", "x y"));
        assert_eq!(page(&json!({ "url": "javascript:alert(1)", "content": "x" }), ""), None);
        assert_eq!(page(&json!({ "url": "https://a.example" }), ""), None);
    }
}
