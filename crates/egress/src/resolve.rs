//! Looks names up and gives only those addresses that the rules allow, so that a connection cannot be made to
//! any other, whatever a name server says and however often it changes its mind.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::PrivateAddress;
use crate::rules::Rules;

pub(crate) struct Guarded(pub(crate) Arc<Rules>);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = self.0.clone();
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|address| rules.allows_address(&name, address.ip())).collect();
            if allowed.is_empty() {
                return Err(PrivateAddress(name).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
