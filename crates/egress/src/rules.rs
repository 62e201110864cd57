//! Where requests may go.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use url::Url;

use crate::address::is_public;
use crate::error::{Error, InvalidHost};

/// A host, or several, by name or by address, perhaps on one port only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    which: Which,
    port: Option<u16>,
    /// Whether a name may lead to a private address.
    inside: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Name(String),
    Below(String),
    Addresses(IpNet),
}

impl Host {
    /// The host and port of a service that somebody set up, such as a provider. It may have a private address.
    ///
    /// # Errors
    /// Fails when the address has no host.
    pub fn of_service(url: &Url) -> Result<Self, InvalidHost> {
        Ok(Self { inside: true, ..Self::of(url)? })
    }

    /// The host and port that an address leads to.
    ///
    /// # Errors
    /// Fails when the address has no host.
    pub fn of(url: &Url) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(url.scheme().to_owned());
        let which = match url.host().ok_or_else(invalid)? {
            url::Host::Domain(name) => Which::Name(name.to_owned()),
            url::Host::Ipv4(address) => Which::Addresses(IpNet::from(IpAddr::V4(address))),
            url::Host::Ipv6(address) => Which::Addresses(IpNet::from(IpAddr::V6(address))),
        };
        Ok(Self::new(which, Some(url.port_or_known_default().ok_or_else(invalid)?)))
    }

    fn new(which: Which, port: Option<u16>) -> Self {
        let inside = matches!(&which, Which::Name(name) if name == "localhost");
        Self { which, port, inside }
    }

    fn is_name(&self, name: &str) -> bool {
        match &self.which {
            Which::Name(own) => own == name,
            Which::Below(parent) => {
                name.strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            Which::Addresses(_) => false,
        }
    }

    fn has_address(&self, address: IpAddr) -> bool {
        matches!(&self.which, Which::Addresses(net) if net.contains(&address))
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        if let Ok(net) = text.parse::<IpNet>() {
            return Ok(Self::new(Which::Addresses(net), None));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::new(Which::Addresses(address.into()), None));
        }
        let (below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        // Whatever the web takes for a host and a port, and nothing besides.
        let url = Url::parse(&format!("http://{rest}/")).map_err(|_| invalid())?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() || rest.contains(['/', '*']) {
            return Err(invalid());
        }
        let port = rest.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let which = match url.host().ok_or_else(invalid)? {
            url::Host::Domain(name) if below => Which::Below(name.to_owned()),
            url::Host::Domain(name) => Which::Name(name.to_owned()),
            _ if below => return Err(invalid()),
            url::Host::Ipv4(address) => Which::Addresses(IpNet::from(IpAddr::V4(address))),
            url::Host::Ipv6(address) => Which::Addresses(IpNet::from(IpAddr::V6(address))),
        };
        Ok(Self::new(which, port))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::Name(name) => formatter.write_str(name)?,
            Which::Below(parent) => write!(formatter, "*.{parent}")?,
            Which::Addresses(net) if net.prefix_len() == net.max_prefix_len() => match net.addr() {
                // Without brackets the port would be read as a part of the address.
                IpAddr::V6(address) if self.port.is_some() => write!(formatter, "[{address}]")?,
                address => write!(formatter, "{address}")?,
            },
            Which::Addresses(net) => write!(formatter, "{net}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

/// Where requests may go. A name leads to public addresses only, unless it is that of a service, or the address or its
/// network is named, too: whoever runs a name server could lead a name anywhere.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    named: Vec<Host>,
    public: bool,
}

impl Rules {
    /// Only to these hosts.
    pub fn only(named: impl IntoIterator<Item = Host>) -> Self {
        Self { named: named.into_iter().collect(), public: false }
    }

    /// To every host with a public address.
    pub fn public() -> Self {
        Self { named: Vec::new(), public: true }
    }

    /// To these hosts as well.
    #[must_use]
    pub fn and(mut self, named: impl IntoIterator<Item = Host>) -> Self {
        self.named.extend(named);
        self
    }

    /// Whether a request may be sent there, as far as the address as written can tell.
    ///
    /// # Errors
    /// Fails with the rule that forbids it.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Error> {
        let host = url.host_str().unwrap_or_default();
        let refuse = |reason: &str| Err(Error::Refused { host: host.to_owned(), reason: reason.to_owned() });
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("only http and https are spoken");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("an address must not carry a name or password");
        }
        let Some(port) = url.port_or_known_default() else { return refuse("there is no port") };
        let (names_it, public) = match url.host() {
            None => return refuse("there is no host"),
            // Its addresses are checked when they are looked up.
            Some(url::Host::Domain(name)) => (self.names(name, port), true),
            Some(url::Host::Ipv4(address)) => {
                (self.names_address(address.into(), port), is_public(address.into()))
            }
            Some(url::Host::Ipv6(address)) => {
                (self.names_address(address.into(), port), is_public(address.into()))
            }
        };
        match names_it {
            Some(true) => Ok(()),
            Some(false) => refuse("it is allowed on another port only"),
            None if !self.public => refuse("it is not one of the hosts that are allowed"),
            None if !public => refuse("its address is private; name it to allow that"),
            None => Ok(()),
        }
    }

    /// Whether a connection may be made to an address that a name leads to. The port is not known here.
    pub(crate) fn allows_address(&self, name: &str, address: IpAddr) -> bool {
        // An address that is named with a port counts for a name with that port.
        let fits = |host: &Host| {
            host.port.is_none() || self.named.iter().any(|own| own.is_name(name) && own.port == host.port)
        };
        let names_it = |host: &Host| {
            (host.is_name(name) && (host.inside || is_public(address)))
                || (host.has_address(address) && fits(host))
        };
        self.named.iter().any(names_it) || (self.public && is_public(address))
    }

    /// Whether a name is named, and if so, with this port.
    fn names(&self, name: &str, port: u16) -> Option<bool> {
        Self::with_port(self.named.iter().filter(|host| host.is_name(name)), port)
    }

    fn names_address(&self, address: IpAddr, port: u16) -> Option<bool> {
        Self::with_port(self.named.iter().filter(|host| host.has_address(address)), port)
    }

    fn with_port<'a>(hosts: impl Iterator<Item = &'a Host>, port: u16) -> Option<bool> {
        hosts.map(|host| host.has_port(port)).reduce(|one, other| one || other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &Rules, url: &str) -> bool {
        rules.check(&Url::parse(url).unwrap()).is_ok()
    }

    fn host(text: &str) -> Host {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_are_read_and_shown() {
        for text in [
            "example.com",
            "*.example.com",
            "example.com:8080",
            "10.0.0.0/8",
            "127.0.0.1:9",
            "::1",
            "[::1]:80",
        ] {
            assert_eq!(host(text).to_string(), text);
        }
        for text in
            ["", "http://example.com", "a b", "example.com/path", "*.10.0.0.1", "user@example.com", "a*"]
        {
            assert!(text.parse::<Host>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_named_hosts_are_reached() {
        let rules = Rules::only([host("api.example.com"), host("*.example.org"), host("127.0.0.1:8080")]);
        for url in ["https://api.example.com/v1", "https://a.b.example.org", "http://127.0.0.1:8080/"] {
            assert!(check(&rules, url), "{url}");
        }
        let refused = [
            "https://example.com",
            "https://api.example.com.evil.net",
            "https://example.org",
            "https://evilexample.org",
            "http://127.0.0.1:8081/",
            "http://127.0.0.2:8080/",
            "http://8.8.8.8/",
            "ftp://api.example.com/",
            "https://name:word@api.example.com/",
        ];
        for url in refused {
            assert!(!check(&rules, url), "{url}");
        }
    }

    #[test]
    fn private_addresses_are_refused_however_they_are_written() {
        let rules = Rules::public();
        assert!(check(&rules, "https://example.com/") && check(&rules, "https://8.8.8.8/"));
        let refused = [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest/meta-data",
            "http://192.168.0.1/",
        ];
        for url in refused {
            assert!(!check(&rules, url), "{url}");
        }
        let named = Rules::public().and([host("10.0.0.0/8"), host("inside:8080")]);
        assert!(check(&named, "http://10.1.2.3/") && check(&named, "http://inside:8080/"));
        assert!(!check(&named, "http://inside:9090/"), "a port that is not named must not come along");
    }

    #[test]
    fn a_named_host_has_a_private_address_only_if_that_is_named_too() {
        let (near, far): (IpAddr, IpAddr) = ("10.1.2.3".parse().unwrap(), "8.8.8.8".parse().unwrap());
        let url = Url::parse("https://docs.example.com/").unwrap();
        for named in [host("docs.example.com"), host("*.example.com"), Host::of(&url).unwrap()] {
            let rules = Rules::only([named.clone()]);
            assert!(rules.allows_address("docs.example.com", far), "{named}");
            assert!(!rules.allows_address("docs.example.com", near), "{named}");
            assert!(rules.and([host("10.0.0.0/8")]).allows_address("docs.example.com", near), "{named}");
        }
        let with_port =
            Rules::only([host("docs.example.com:443"), host("10.1.2.3:443"), host("10.1.2.4:80")]);
        assert!(with_port.allows_address("docs.example.com", near));
        assert!(!with_port.allows_address("docs.example.com", "10.1.2.4".parse().unwrap()));
        let service = Rules::only([Host::of_service(&url).unwrap()]);
        assert!(service.allows_address("docs.example.com", near));
        assert!(!service.allows_address("other.example.com", near));
        let own: IpAddr = "127.0.0.1".parse().unwrap();
        assert!(Rules::only([host("localhost:80")]).allows_address("localhost", own));
    }
}
