//! What a fuzzer tries of this crate: hosts and addresses as anybody may write them.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Url;

use crate::address::is_public;
use crate::rules::{Host, Rules};

/// Reads hosts from the first line and addresses from the others, and holds the rules against a reading of their own.
///
/// # Panics
/// Panics where a rule allows what it must not.
pub fn host_rules(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.lines();
    let hosts: Vec<Host> =
        lines.next().unwrap_or_default().split(' ').filter_map(|host| host.parse().ok()).collect();
    for host in &hosts {
        let shown = host.to_string();
        assert_eq!(shown.parse::<Host>().ok().as_ref(), Some(host), "{shown} must be read as it is shown");
    }
    let shown: Vec<String> = hosts.iter().map(Host::to_string).collect();
    let named = Rules::only(hosts);
    for url in lines.take(20).filter_map(|line| Url::parse(line).ok()) {
        let address = address_of(&url);
        let is_plain =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        if named.check(&url).is_ok() {
            assert!(is_plain, "{url}");
            assert!(shown.iter().any(|host| is_named(host, &url)), "{url} by {shown:?}");
        }
        if Rules::public().check(&url).is_ok() {
            assert!(is_plain && address.is_none_or(is_public), "{url}");
        }
        assert!(Rules::default().check(&url).is_err(), "{url}");
        if let (Some(name), Some(address)) = (url.domain(), address_in(text)) {
            let allowed = named.allows_address(name, address);
            let own_name = shown.iter().any(|host| is_named(host, &url) || leads_to(host, name));
            let own_address = shown.iter().any(|host| has_address(host, address));
            assert!(!allowed || own_name || own_address, "{name} at {address} by {shown:?}");
            let is_inside = name == "localhost" || own_address;
            assert!(!allowed || is_inside || is_public(address), "{name} at {address} by {shown:?}");
        }
    }
}

fn address_of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        url::Host::Domain(_) => None,
        url::Host::Ipv4(address) => Some(address.into()),
        url::Host::Ipv6(address) => Some(address.into()),
    }
}

/// An address that stands anywhere in a text, for names to lead to.
fn address_in(text: &str) -> Option<IpAddr> {
    text.split([' ', '\n', '/', '[', ']']).find_map(|word| word.parse().ok())
}

/// Whether a host as it is shown names an address, told from its letters.
fn is_named(host: &str, url: &Url) -> bool {
    let port = url.port_or_known_default().map(|port| format!(":{port}"));
    let with_port = port.and_then(|port| host.strip_suffix(&port).map(str::to_owned));
    [Some(host.to_owned()), with_port].into_iter().flatten().any(|host| match address_of(url) {
        Some(address) => has_address(&host, address),
        None => url.domain().is_some_and(|name| leads_to(&host, name)),
    })
}

fn leads_to(host: &str, name: &str) -> bool {
    let bare = host.rsplit_once(':').map_or(host, |(bare, _)| bare);
    let is_below = |parent: &str| name.ends_with(&format!(".{parent}"));
    host == name
        || bare == name
        || [host, bare].iter().any(|host| host.strip_prefix("*.").is_some_and(is_below))
}

fn has_address(host: &str, address: IpAddr) -> bool {
    let bare = host.trim_start_matches('[').split(']').next().unwrap_or_default();
    let without_port = host.rsplit_once(':').map_or(host, |(bare, _)| bare);
    [host, bare, without_port].iter().any(|host| {
        host.parse::<IpAddr>().is_ok_and(|own| own == address)
            || host.parse::<IpNet>().is_ok_and(|net| net.contains(&address))
    })
}
