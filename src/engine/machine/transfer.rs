//! Copies and memsets: an operation of a stream, and when its call returns to the host.
//!
//! Rules: CUDA runtime API, "API synchronization behavior". A call that waits sees what it has waited for, which orders the
//! host's later submissions after it; it proves nothing to the allocator and gives no memory back.

use super::{Caller, Machine};
use crate::base::{Nanos, StreamId};
use crate::engine::{Chooser, Progress};
use crate::model::Allocator;
use crate::order::{Effect, Runs};
use crate::trace::{Failure, Law, Reply, Returns, Sink, Target};
use std::task::Poll;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn transfer(
        &mut self,
        caller: Caller,
        stream: StreamId,
        takes: &Law,
        returns: Returns,
    ) -> Poll<Result<Reply, Failure>> {
        let (target, host) = (Target::Stream(stream), caller.host);
        let since = match self.threads.hosts[host].blocked {
            Some(_) => self.progress.now(),
            None => {
                // What is in the stream before the copy, or with it.
                if returns == Returns::OnceStarted {
                    self.order.target(target, &mut self.threads.hosts[host].target);
                }
                let runs = Runs::For(self.chooser.duration(caller.stmt, takes));
                self.submit(caller, stream, runs, Effect::None);
                if returns == Returns::OnceComplete {
                    self.order.target(target, &mut self.threads.hosts[host].target);
                }
                Nanos::ZERO
            }
        };
        if returns == Returns::AtOnce {
            self.pays(caller, self.costs.submit);
            return Poll::Ready(Ok(Reply::Done));
        }
        if !self.wait(caller, target, None, since) {
            return Poll::Pending;
        }
        self.see(caller);
        Poll::Ready(Ok(Reply::Done))
    }
}
