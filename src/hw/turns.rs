//! In which order the host threads of a program make their calls, and in which order calls that wait return: as it was in another
//! run of the same program. Data only: who waits for its turn, waits elsewhere.

use crate::base::{HostId, StmtId};

/// What a host thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It makes the call of this statement.
    Calls(HostId, StmtId),
    /// Its call returns, which has waited.
    Returns(HostId),
}

impl Turn {
    fn host(self) -> HostId {
        match self {
            Turn::Calls(host, _) | Turn::Returns(host) => host,
        }
    }
}

/// The turns of a run.
#[derive(Debug, Default)]
pub(super) struct Turns {
    list: Vec<Turn>,
    /// How many of them are over.
    over: usize,
}

impl Turns {
    pub(super) fn new(list: Vec<Turn>) -> Self {
        Self { list, over: 0 }
    }

    /// Whether the turns are over, or there were none: everybody goes on as it comes.
    #[cfg(test)]
    pub(super) fn are_over(&self) -> bool {
        self.over >= self.list.len()
    }

    /// Whether a thread may make its next call.
    pub(super) fn may_call(&self, host: HostId) -> bool {
        // One that has no turn left has more to do than the list says.
        self.next().is_none_or(|next| next.host() == host) || self.next_of(host).is_none()
    }

    /// Whether the call of a thread may return.
    pub(super) fn may_return(&self, host: HostId) -> bool {
        self.next() == Some(Turn::Returns(host)) || self.next_of(host) != Some(Turn::Returns(host))
    }

    /// A thread has made a call. Another one than the list has means that the run goes its own way from here on.
    pub(super) fn called(&mut self, host: HostId, stmt: StmtId) {
        match self.next() {
            Some(next) if next == Turn::Calls(host, stmt) => self.over += 1,
            Some(next) if next.host() == host => self.give_up(),
            Some(_) | None => {}
        }
    }

    /// The call of a thread has returned.
    pub(super) fn returned(&mut self, host: HostId) {
        if self.next() == Some(Turn::Returns(host)) {
            self.over += 1;
        }
    }

    /// From here on everybody goes on as it comes.
    pub(super) fn give_up(&mut self) {
        self.over = self.list.len();
    }

    fn next(&self) -> Option<Turn> {
        self.list.get(self.over).copied()
    }

    fn next_of(&self, host: HostId) -> Option<Turn> {
        self.list.get(self.over..)?.iter().find(|turn| turn.host() == host).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let [main, child] = [0, 1].map(HostId::new);
        let [first, second] = [0, 1].map(StmtId::new);
        let list = vec![
            Turn::Calls(main, first),
            Turn::Calls(child, first),
            Turn::Returns(main),
            Turn::Calls(main, second),
            Turn::Calls(child, second),
        ];
        let mut turns = Turns::new(list.clone());
        assert_eq!((turns.may_call(main), turns.may_call(child)), (true, false));
        turns.called(main, first);
        assert_eq!((turns.may_return(main), turns.may_call(child)), (false, true));
        turns.called(child, first);
        assert_eq!(
            (turns.may_return(main), turns.may_call(child), turns.may_return(child)),
            (true, false, true)
        );
        turns.returned(main);
        turns.called(main, second);
        assert_eq!((turns.may_call(main), turns.may_call(child), turns.are_over()), (true, true, false));
        turns.called(child, second);
        assert!(turns.are_over());
        // Another call than the list has.
        let mut turns = Turns::new(list);
        turns.called(main, second);
        assert!(turns.are_over());
    }
}
