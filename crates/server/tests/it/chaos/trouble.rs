//! What goes wrong: every five seconds a process is killed, sleeps past its lease, loses its connections to the database or cannot
//! reach it for longer than the lease, and twice the primary is lost.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use ibid_testkit::{RealPostgresPair, WeakLink};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::LEASE;
use super::node::{Nodes, Woken};

const BETWEEN: Duration = Duration::from_secs(5);
/// When the primary is lost, as shares of the time.
const FAILOVERS: [f64; 2] = [0.35, 0.7];

/// How much went wrong.
#[derive(Default)]
pub(super) struct Troubles {
    kills: usize,
    /// Processes that were put to sleep.
    pub(super) woken: Vec<Woken>,
    cuts: usize,
    holds: usize,
    failovers: usize,
}

/// How one process reaches the primary and the standby.
pub(super) struct Line([WeakLink; 2]);

impl Line {
    pub(super) async fn to(database: &RealPostgresPair) -> Self {
        let [primary, standby] = database.ports();
        Self([WeakLink::to(primary).await, WeakLink::to(standby).await])
    }

    /// Where the database is for this process.
    pub(super) fn url(&self, database: &RealPostgresPair) -> String {
        database.url_through(&self.0.each_ref().map(WeakLink::port))
    }

    fn cut(&self) {
        self.0.iter().for_each(WeakLink::cut);
    }

    fn hold(&self, is_held: bool) {
        self.0.iter().for_each(|link| link.hold(is_held));
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, woken, cuts, holds, failovers } = self;
        let sleeps = woken.len();
        write!(
            formatter,
            "{kills} processes killed, {sleeps} put to sleep, {cuts} cut off, {holds} held up, {failovers} primaries lost"
        )
    }
}

/// Makes trouble for a time.
pub(super) fn make(
    nodes: &Nodes,
    lines: &[Line],
    mut database: RealPostgresPair,
    time: Duration,
) -> (Troubles, RealPostgresPair) {
    let (began, mut random, mut troubles) = (Instant::now(), StdRng::seed_from_u64(26), Troubles::default());
    let mut number = 0;
    loop {
        std::thread::sleep(BETWEEN);
        if began.elapsed() + BETWEEN > time {
            return (troubles, database);
        }
        let lost = FAILOVERS.get(troubles.failovers);
        if lost.is_some_and(|share| began.elapsed() > time.mul_f64(*share)) {
            database.fail_over();
            troubles.failovers += 1;
            continue;
        }
        let victim = random.random_range(0..nodes.count());
        number += 1;
        match number % 4 {
            0 => {
                nodes.kill(victim);
                troubles.kills += 1;
            }
            1 => {
                let process = nodes.sleep(victim, LEASE * 3 / 2);
                let woken = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                troubles.woken.push(Woken { process, at: woken.as_nanos() });
            }
            2 => {
                lines[victim].cut();
                troubles.cuts += 1;
            }
            _ => {
                lines[victim].hold(true);
                std::thread::sleep(LEASE * 3 / 2);
                lines[victim].hold(false);
                troubles.holds += 1;
            }
        }
    }
}
