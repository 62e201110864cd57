//! A web site, by its sitemap, or a feed. Only pages of the host are taken that its `robots.txt` allows, one after the other, and only
//! those that may have changed.

mod pages;
mod robots;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use ibid_egress::{Egress, EgressLimits, Host, Response, Rules};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use url::Url;

use crate::{Error, Fetched, Listing, SourceEntry, SourceLimits, SourceLocation};
use pages::{Page, PageList};
use robots::Robots;

/// A site may have so many pages, in so many lists.
const MOST_PAGES: usize = 1_000_000;
const MOST_LISTS: usize = 1_000;
/// A list has at most so many bytes.
const LARGEST_LIST: u64 = 50 << 20;
const LARGEST_ROBOTS: usize = 500 << 10;
/// So long a site rests between two requests, if it does not say itself, and at most.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Where sites keep their list of pages unless they say otherwise.
const SITEMAP: &str = "/sitemap.xml";

/// A site.
pub(crate) struct Site {
    start: Url,
    egress: Egress,
    limits: SourceLimits,
    robots: Mutex<Robots>,
    /// When the next request may be sent.
    next: AsyncMutex<Instant>,
}

impl Site {
    pub(crate) fn at(location: &SourceLocation, limits: SourceLimits) -> Result<Self, Error> {
        let invalid = |why: String| Error::Location { location: location.address().to_owned(), why };
        let start = Url::parse(location.address()).map_err(|error| invalid(error.to_string()))?;
        let host = Host::of_service(&start).map_err(|error| invalid(error.to_string()))?;
        let egress = Egress::new(
            Rules::only([host]),
            EgressLimits { body_bytes: limits.largest.max(LARGEST_LIST), ..EgressLimits::default() },
        )?;
        let (robots, next) = (Mutex::default(), AsyncMutex::new(Instant::now()));
        Ok(Self { start, egress: egress.untraced(), limits, robots, next })
    }

    pub(crate) async fn list(&self) -> Result<Listing, Error> {
        let robots = self.ask_robots().await?;
        let mut left = if self.start.path().len() > 1 || robots.sitemaps().is_empty() {
            let start = if self.start.path().len() > 1 { self.start.clone() } else { self.at_path(SITEMAP) };
            vec![start]
        } else {
            robots.sitemaps().iter().filter_map(|url| Url::parse(url).ok()).collect()
        };
        *self.robots.lock().unwrap_or_else(PoisonError::into_inner) = robots.clone();
        left.retain(|url| self.is_here(url));
        let (mut pages, mut lists, mut is_partial) = (BTreeMap::new(), 0, false);
        while let Some(url) = left.pop() {
            lists += 1;
            if lists > MOST_LISTS || pages.len() > MOST_PAGES {
                return Err(self.failed(&url, "the site has more pages than are taken".to_owned()));
            }
            match self.list_at(&url).await? {
                PageList::Lists(more) => left.extend(more.into_iter().filter(|url| self.is_here(url))),
                PageList::Pages(found) => pages.extend(self.allowed(found, &robots)),
                PageList::Feed(found) => {
                    is_partial = true;
                    pages.extend(self.allowed(found, &robots));
                }
            }
        }
        let entries = pages.into_iter().map(|(path, mark)| SourceEntry { path, mark, bytes: None }).collect();
        Ok(Listing { entries, is_partial, problem: None })
    }

    /// Those of this host that may be read.
    fn allowed(&self, pages: Vec<Page>, robots: &Robots) -> impl Iterator<Item = (String, String)> {
        let taken = |page: &Page| self.is_here(&page.url) && robots.allows(&path_of(page.url.as_str()));
        let pages: Vec<Page> = pages.into_iter().filter(taken).collect();
        pages.into_iter().map(|mut page| {
            page.url.set_fragment(None);
            (page.url.into(), page.changed)
        })
    }

    fn is_here(&self, url: &Url) -> bool {
        (url.scheme(), url.host(), url.port_or_known_default())
            == (self.start.scheme(), self.start.host(), self.start.port_or_known_default())
    }

    async fn list_at(&self, url: &Url) -> Result<PageList, Error> {
        let response = self.get(url.as_str(), None).await?;
        if response.status() != StatusCode::OK {
            return Err(self.failed(url, format!("the site answered {}", response.status())));
        }
        let body = response.bytes().await?;
        let text = unpacked(&body).map_err(|why| self.failed(url, why))?;
        PageList::parse(&text, url).map_err(|why| self.failed(url, why))
    }

    /// What the site lets programs read. One that has no rules allows everything; one that cannot tell them, nothing.
    async fn ask_robots(&self) -> Result<Robots, Error> {
        let url = self.at_path("/robots.txt");
        let response = self.get(url.as_str(), None).await?;
        match response.status() {
            StatusCode::OK => Ok(Robots::parse(&response.beginning(LARGEST_ROBOTS).await)),
            status if status.is_client_error() => Ok(Robots::default()),
            status => Err(self.failed(&url, format!("the site answered {status}, so nothing is read of it"))),
        }
    }

    pub(crate) async fn fetch(&self, entry: &SourceEntry, known: Option<&str>) -> Result<Fetched, Error> {
        let known = known.map(Mark::read);
        let response = self.get(&entry.path, known.as_ref()).await?;
        let mark = Mark::of(&entry.mark, &response);
        match response.status() {
            StatusCode::NOT_MODIFIED => {
                let before = known.unwrap_or_default();
                Ok(Fetched::Unchanged { mark: Mark { listed: entry.mark.clone(), ..before }.write() })
            }
            StatusCode::OK => match response.bytes().await {
                Ok(bytes) if bytes.len() as u64 > self.limits.largest => Ok(Fetched::TooLarge),
                Ok(bytes) => Ok(Fetched::Content { bytes, mark: mark.write() }),
                Err(ibid_egress::Error::TooLarge { .. }) => Ok(Fetched::TooLarge),
                Err(error) => Err(error.into()),
            },
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Fetched::Gone),
            status => {
                Err(Error::Site { url: entry.path.clone(), why: format!("the site answered {status}") })
            }
        }
    }

    /// Asks when it is time to, and says what is known already.
    async fn get(&self, url: &str, known: Option<&Mark>) -> Result<Response, Error> {
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        let mut request = Request::get(url);
        if let Some(tag) = known.map(|known| &known.tag).filter(|tag| !tag.is_empty()) {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        if let Some(changed) = known.map(|known| &known.changed).filter(|changed| !changed.is_empty()) {
            request = request.header(header::IF_MODIFIED_SINCE, changed);
        }
        let request = request
            .body(Bytes::new())
            .map_err(|error| Error::Site { url: url.to_owned(), why: error.to_string() })?;
        let response = self.egress.send(request).await;
        let pause = self.robots.lock().unwrap_or_else(PoisonError::into_inner).pause();
        *next = Instant::now() + pause.unwrap_or(PAUSE).min(LONGEST_PAUSE);
        Ok(response?)
    }

    fn at_path(&self, path: &str) -> Url {
        let mut url = self.start.clone();
        url.set_path(path);
        url.set_query(None);
        url
    }

    fn failed(&self, url: &Url, why: String) -> Error {
        Error::Site { url: url.to_string(), why }
    }
}

/// What is known of a page: when the list says that it changed, and what the site said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Mark {
    listed: String,
    tag: String,
    changed: String,
}

impl Mark {
    fn of(listed: &str, response: &Response) -> Self {
        let said = |name| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Self { listed: listed.to_owned(), tag: said(header::ETAG), changed: said(header::LAST_MODIFIED) }
    }

    fn read(text: &str) -> Self {
        let mut parts = text.split('\t').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Self { listed: next(), tag: next(), changed: next() }
    }

    fn write(&self) -> String {
        format!("{}\t{}\t{}", self.listed, self.tag, self.changed)
    }
}

/// Whether a page is as it was: only a list that says when it changed can tell.
pub(crate) fn is_same(entry: &SourceEntry, mark: &str) -> bool {
    !entry.mark.is_empty() && Mark::read(mark).listed == entry.mark
}

/// The path of a page, for patterns.
pub(crate) fn path_of(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) => match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        },
        Err(_) => url.to_owned(),
    }
}

/// A list as text, also one that is packed.
fn unpacked(body: &[u8]) -> Result<String, String> {
    let text = if body.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        let unpacked = flate2::read::GzDecoder::new(body).take(LARGEST_LIST + 1).read_to_end(&mut text);
        unpacked.map_err(|error| format!("it cannot be unpacked: {error}"))?;
        if text.len() as u64 > LARGEST_LIST {
            return Err("it unpacks to too much".to_owned());
        }
        text
    } else {
        body.to_vec()
    };
    String::from_utf8(text).map_err(|_| "it is not in UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_date_in_the_list_has_to_be_asked_for() {
        let entry = |mark: &str| SourceEntry { path: "/".to_owned(), mark: mark.to_owned(), bytes: None };
        let mark = Mark { listed: "2026-01-01".to_owned(), tag: "\"a\"".to_owned(), changed: String::new() };
        assert_eq!(Mark::read(&mark.write()), mark);
        assert!(is_same(&entry("2026-01-01"), &mark.write()));
        assert!(!is_same(&entry("2026-01-02"), &mark.write()));
        assert!(!is_same(&entry(""), "\t\"a\"\t"));
    }
}
