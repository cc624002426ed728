//! Work on many things by several threads, with the results in the order of the things.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often `idle` is asked while there is no result.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many threads this machine runs at once.
pub(super) fn available() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Does the `work` on each of the items, and hands the results to `each` in their order. While nothing is to be handed on,
/// `idle` is called from time to time, with the number of results so far.
///
/// # Errors
///
/// The first error of `each`; no further work is begun after it.
pub(super) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    jobs: NonZeroUsize,
    work: impl Fn(&T) -> R + Sync,
    mut each: impl FnMut(R) -> Result<(), E>,
    mut idle: impl FnMut(usize),
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.get().min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    // Whoever asked may have given up after an error.
                    let Some(item) = items.get(nth) else { return };
                    if sender.send((nth, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut handed = 0;
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok((nth, result)) => {
                    waiting.insert(nth, result);
                    while let Some(result) = waiting.remove(&handed) {
                        handed += 1;
                        if let Err(error) = each(result) {
                            next.store(items.len(), Ordering::Relaxed);
                            return Err(error);
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            idle(handed + waiting.len());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_first() {
        let items: Vec<u64> = (0..50).collect();
        for jobs in [1, 3, 64] {
            let mut results = Vec::new();
            let work = |item: &u64| {
                thread::sleep(Duration::from_micros((item * 37) % 11 * 100));
                *item
            };
            let each = |item| -> Result<(), ()> {
                results.push(item);
                Ok(())
            };
            let jobs = NonZeroUsize::new(jobs).expect("there is one");
            assert_eq!(in_order(&items, jobs, work, each, |_| {}), Ok(()));
            assert_eq!(results, items);
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<usize> = (0..100_000).collect();
        let done = AtomicUsize::new(0);
        let work = |item: &usize| {
            done.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_micros(50));
            *item
        };
        let two = NonZeroUsize::new(2).expect("there is one");
        let result =
            in_order(&items, two, work, |item| if item == 3 { Err("three") } else { Ok(()) }, |_| {});
        assert_eq!(result, Err("three"));
        assert!(done.into_inner() < items.len());
    }
}
