//! Consumers of events.

use super::Event;

/// Facts that cost something to find out; they are looked up only for a sink that wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Events at all.
    Events,
    /// Pool figures after each call that changed them, and the account of a failed allocation.
    States,
    /// Why classes could not serve an allocation.
    Refusals,
    /// What the engine sees ordered before operations, and what a host saw complete when a pool grew, for an opinion of its own.
    Order,
    /// The pictures that `snapshot` statements ask for.
    Pictures,
}

/// A consumer of events, fed one by one. It may keep what it needs and should not keep more.
pub trait Sink {
    /// Whether it wants this detail. Asked often; must be cheap and always give the same answer.
    fn wants(&self, detail: Detail) -> bool;
    /// Takes the next event.
    fn event(&mut self, event: &Event<'_>);
}

/// The sink that wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Sink for Nothing {
    fn wants(&self, _: Detail) -> bool {
        false
    }
    fn event(&mut self, _: &Event<'_>) {}
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn wants(&self, detail: Detail) -> bool {
        (**self).wants(detail)
    }
    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        (**self).event(event);
    }
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn wants(&self, detail: Detail) -> bool {
        self.0.wants(detail) || self.1.wants(detail)
    }
    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }
}
