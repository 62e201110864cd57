//! Lists of pages: sitemaps, lists of sitemaps, and feeds in RSS and Atom.

use roxmltree::{Document, Node};
use url::Url;

/// What a list has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageList {
    /// Other lists.
    Lists(Vec<Url>),
    /// Pages: all that there are.
    Pages(Vec<Page>),
    /// Pages that are new.
    Feed(Vec<Page>),
}

/// A page, and when the list says that it changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) changed: String,
}

impl PageList {
    /// Reads a list that stands at an address.
    pub(super) fn parse(text: &str, at: &Url) -> Result<Self, String> {
        // Without entities of its own: they could grow without end.
        let document = Document::parse(text).map_err(|error| {
            format!("it is neither a sitemap nor a feed ({error}); name the address of the sitemap")
        })?;
        let root = document.root_element();
        let below = |name: &'static str| {
            root.descendants().filter(move |node| node.is_element() && node.tag_name().name() == name)
        };
        match root.tag_name().name() {
            "sitemapindex" => Ok(Self::Lists(
                below("sitemap").filter_map(|node| at.join(&text_of(node, "loc")?).ok()).collect(),
            )),
            "urlset" => {
                Ok(Self::Pages(below("url").filter_map(|node| page(node, at, "loc", &["lastmod"])).collect()))
            }
            "rss" | "RDF" => {
                let pages = below("item").filter_map(|node| page(node, at, "link", &["pubDate", "date"]));
                Ok(Self::Feed(pages.collect()))
            }
            "feed" => Ok(Self::Feed(below("entry").filter_map(|node| atom_page(node, at)).collect())),
            other => {
                Err(format!("`{other}` is neither a sitemap nor a feed; name the address of the sitemap"))
            }
        }
    }
}

fn page(node: Node<'_, '_>, at: &Url, link: &str, changed: &[&str]) -> Option<Page> {
    let url = at.join(&text_of(node, link)?).ok()?;
    let changed = changed.iter().find_map(|name| text_of(node, name)).unwrap_or_default();
    Some(Page { url, changed: one_line(&changed) })
}

fn atom_page(node: Node<'_, '_>, at: &Url) -> Option<Page> {
    let is_page = |link: &Node<'_, '_>| {
        link.tag_name().name() == "link" && link.attribute("rel").is_none_or(|rel| rel == "alternate")
    };
    let url = at.join(node.children().find(is_page)?.attribute("href")?).ok()?;
    Some(Page { url, changed: one_line(&text_of(node, "updated").unwrap_or_default()) })
}

fn text_of(node: Node<'_, '_>, name: &str) -> Option<String> {
    let child = node.children().find(|child| child.is_element() && child.tag_name().name() == name)?;
    let text: String = child.children().filter_map(|part| part.text()).collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// It becomes a part of a mark.
fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PageList, String> {
        PageList::parse(text, &Url::parse("https://example.com/lists/a.xml").unwrap())
    }

    fn page(url: &str, changed: &str) -> Page {
        Page { url: Url::parse(url).unwrap(), changed: changed.to_owned() }
    }

    #[test]
    fn sitemaps_and_feeds_are_read() {
        let sitemap = r#"<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
            <url><loc> https://example.com/a?x=1&amp;y=2 </loc><lastmod>2026-01-02</lastmod></url>
            <url><loc>https://example.com/b</loc></url><url><lastmod>2026</lastmod></url></urlset>"#;
        let pages =
            vec![page("https://example.com/a?x=1&y=2", "2026-01-02"), page("https://example.com/b", "")];
        assert_eq!(parse(sitemap), Ok(PageList::Pages(pages)));
        let index = "<sitemapindex><sitemap><loc>/b.xml.gz</loc></sitemap></sitemapindex>";
        let lists = vec![Url::parse("https://example.com/b.xml.gz").unwrap()];
        assert_eq!(parse(index), Ok(PageList::Lists(lists)));
        let rss = "<rss><channel><link>https://example.com/</link><item><link>https://example.com/n</link>\
            <pubDate>Mon</pubDate></item></channel></rss>";
        assert_eq!(parse(rss), Ok(PageList::Feed(vec![page("https://example.com/n", "Mon")])));
        let atom = r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry><link rel="self" href="/no"/>
            <link href="/yes"/><updated>2026</updated></entry></feed>"#;
        assert_eq!(parse(atom), Ok(PageList::Feed(vec![page("https://example.com/yes", "2026")])));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "<html></html>", "no list", "<urlset><url>"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let bomb = r#"<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><urlset><url><loc>&c;</loc></url></urlset>"#;
        assert!(parse(bomb).is_err());
    }
}
