//! What goes wrong: every five seconds a process is killed or sleeps past its lease, and twice the primary is lost.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use ibid_testkit::RealPostgresPair;
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
    failovers: usize,
}

impl fmt::Display for Troubles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, woken, failovers } = self;
        let sleeps = woken.len();
        write!(formatter, "{kills} processes killed, {sleeps} put to sleep, {failovers} primaries lost")
    }
}

/// Makes trouble for a time.
pub(super) fn make(
    nodes: &Nodes,
    mut database: RealPostgresPair,
    time: Duration,
) -> (Troubles, RealPostgresPair) {
    let (began, mut random, mut troubles) = (Instant::now(), StdRng::seed_from_u64(26), Troubles::default());
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
        if random.random_bool(0.5) {
            nodes.kill(victim);
            troubles.kills += 1;
        } else {
            let process = nodes.sleep(victim, LEASE * 3 / 2);
            let woken = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            troubles.woken.push(Woken { process, at: woken.as_nanos() });
        }
    }
}
