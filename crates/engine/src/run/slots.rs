//! Slots for runs that are worked on at once. Tenants take turns, so that whoever submits much waits for themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ibid_core::Tenant;
use tokio::sync::oneshot;

/// So many runs are worked on at once; the others wait.
pub(crate) struct TenantSlots(Mutex<Slots>);

struct Slots {
    free: usize,
    /// The runs that wait, by tenant; the tenant whose turn is next comes first.
    waiting: VecDeque<(Tenant, VecDeque<oneshot::Sender<TenantSlot>>)>,
}

/// A slot, until it is dropped.
pub(crate) struct TenantSlot(Option<Arc<TenantSlots>>);

impl TenantSlots {
    /// So many at once.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Slots { free: most.max(1), waiting: VecDeque::new() })))
    }

    /// Waits until a tenant's turn comes. Whoever stops waiting keeps nobody waiting.
    pub(crate) async fn wait(self: Arc<Self>, tenant: &Tenant) -> Option<TenantSlot> {
        let turn = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if slots.free > 0 {
                slots.free -= 1;
                drop(slots);
                return Some(TenantSlot(Some(self)));
            }
            let (sender, turn) = oneshot::channel();
            match slots.waiting.iter_mut().find(|(waiting, _)| waiting == tenant) {
                Some((_, own)) => own.push_back(sender),
                None => slots.waiting.push_back((tenant.clone(), VecDeque::from([sender]))),
            }
            turn
        };
        turn.await.ok()
    }

    /// The run whose turn it is; if none waits, a slot is free.
    fn next(&self) -> Option<oneshot::Sender<TenantSlot>> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = slots.waiting.pop_front().and_then(|(tenant, mut own)| {
            let next = own.pop_front();
            if !own.is_empty() {
                slots.waiting.push_back((tenant, own));
            }
            next
        });
        if next.is_none() {
            slots.free += 1;
        }
        next
    }
}

impl Drop for TenantSlot {
    fn drop(&mut self) {
        let Some(slots) = self.0.take() else { return };
        while let Some(next) = slots.next() {
            match next.send(Self(Some(Arc::clone(&slots)))) {
                Ok(()) => return,
                // It does not wait any more; the slot goes to the next.
                Err(mut slot) => drop(slot.0.take()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn tenant(name: &str) -> Tenant {
        name.parse().unwrap()
    }

    #[test]
    fn tenants_take_turns_however_much_one_submits() {
        let slots = TenantSlots::new(1);
        let mut first = Arc::clone(&slots).wait(&tenant("much")).now_or_never().flatten();
        assert!(first.is_some(), "a free slot is taken at once");
        let tenants = [tenant("much"), tenant("much"), tenant("much"), tenant("little")];
        let mut waiting: Vec<_> =
            tenants.iter().map(|tenant| Box::pin(Arc::clone(&slots).wait(tenant))).collect();
        assert!(waiting.iter_mut().all(|wait| wait.as_mut().now_or_never().is_none()));
        let mut order = Vec::new();
        for _ in 0..4 {
            first.take();
            let next = (0..4).find_map(|number| Some((number, waiting[number].as_mut().now_or_never()?)));
            let (number, slot) = next.unwrap();
            waiting[number] = Box::pin(Arc::clone(&slots).wait(&tenants[0]));
            first = slot;
            order.push(number);
        }
        assert_eq!(order, [0, 3, 1, 2]);
    }

    #[test]
    fn who_stops_waiting_keeps_nobody_waiting() {
        let slots = TenantSlots::new(1);
        let first = Arc::clone(&slots).wait(&tenant("a")).now_or_never().flatten();
        for _ in 0..100_000 {
            assert!(Arc::clone(&slots).wait(&tenant("a")).now_or_never().is_none());
        }
        drop(first);
        assert!(Arc::clone(&slots).wait(&tenant("b")).now_or_never().flatten().is_some());
    }
}
