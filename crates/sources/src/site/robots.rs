//! What a site lets programs read, by RFC 9309: the group that names ibid, else the one for everybody; of several rules that fit a path,
//! the longest counts, and of two alike the one that allows.

use std::time::Duration;

/// As ibid calls itself.
const NAME: &str = "ibid";
/// More rules are not read.
const MOST_RULES: usize = 10_000;

/// The rules of a site.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Robots {
    /// Patterns, and whether what they fit may be read.
    rules: Vec<(String, bool)>,
    pause: Option<Duration>,
    sitemaps: Vec<String>,
}

#[derive(Default)]
struct Group {
    rules: Vec<(String, bool)>,
    pause: Option<Duration>,
}

impl Robots {
    pub(super) fn parse(text: &str) -> Self {
        let (mut own, mut general, mut sitemaps) = (None, None, Vec::new());
        // Whom the group that is read now is for, and whether its rules have begun.
        let (mut for_own, mut for_general, mut in_rules) = (false, false, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            match name.as_str() {
                "user-agent" => {
                    if in_rules {
                        (for_own, for_general, in_rules) = (false, false, false);
                    }
                    if value == "*" {
                        for_general = true;
                        general.get_or_insert_with(Group::default);
                    } else if value.eq_ignore_ascii_case(NAME) {
                        for_own = true;
                        own.get_or_insert_with(Group::default);
                    }
                }
                "sitemap" => sitemaps.push(value.to_owned()),
                "allow" | "disallow" | "crawl-delay" => {
                    in_rules = true;
                    let groups = [(for_own, &mut own), (for_general, &mut general)];
                    for group in
                        groups.into_iter().filter_map(|(is_for, group)| group.as_mut().filter(|_| is_for))
                    {
                        group.add(&name, value);
                    }
                }
                _ => {}
            }
        }
        let Group { rules, pause } = own.or(general).unwrap_or_default();
        Self { rules, pause, sitemaps }
    }

    /// Whether a path may be read, with what follows its question mark.
    pub(super) fn allows(&self, path: &str) -> bool {
        let fitting = self.rules.iter().filter(|(pattern, _)| fits(pattern, path));
        fitting.max_by_key(|(pattern, allow)| (pattern.len(), *allow)).is_none_or(|(_, allow)| *allow)
    }

    /// How long to wait between two requests.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.pause
    }

    /// Where its lists of pages are.
    pub(super) fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

impl Group {
    fn add(&mut self, name: &str, value: &str) {
        if name == "crawl-delay" {
            let seconds = value.parse::<f64>().ok().filter(|seconds| (0.0..3600.0).contains(seconds));
            self.pause = seconds.map(Duration::from_secs_f64);
        } else if !value.is_empty() && self.rules.len() < MOST_RULES {
            self.rules.push((value.to_owned(), name == "allow"));
        }
    }
}

/// Whether a pattern fits the beginning of a path: a star is anything, a dollar at its end is the end.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, whole) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        let found = if is_last && whole {
            rest.ends_with(part).then(|| rest.len() - part.len())
        } else {
            rest.find(part)
        };
        match found {
            Some(start) => rest = &rest[start + part.len()..],
            None => return false,
        }
    }
    !whole || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_of_the_right_group_counts() {
        let robots = Robots::parse(
            "# hello\nUser-agent: *\nDisallow: /\n\nUser-Agent: other\nUser-agent: IBID\nDisallow: /private # no\n\
             Allow: /private/open\nDisallow: /*.cgi$\nDisallow:\nCrawl-delay: 2\nSitemap: https://example.com/s.xml\n",
        );
        for (path, allowed) in [
            ("/", true),
            ("/private/a", false),
            ("/private/open/a", true),
            ("/a.cgi", false),
            ("/a.cgi?x", true),
            ("/a/b.cgi", false),
        ] {
            assert_eq!(robots.allows(path), allowed, "{path}");
        }
        assert_eq!(robots.pause(), Some(Duration::from_secs(2)));
        assert_eq!(robots.sitemaps(), ["https://example.com/s.xml"]);
    }

    #[test]
    fn who_is_not_named_follows_the_rules_for_everybody() {
        let robots =
            Robots::parse("User-agent: google\nDisallow: /\nUser-agent: *\nDisallow: /a\nAllow: /a\n");
        assert!(robots.allows("/a") && robots.allows("/b"));
        assert!(!Robots::parse("User-agent: *\nDisallow: /\n").allows("/x"));
        assert!(Robots::parse("").allows("/x"));
    }
}
