//! When calls that transfer memory return: a table, by the kinds of memory.
//!
//! Rules: CUDA runtime API, "API synchronization behavior".

use super::Memory;

/// When the call of a copy or a memset returns to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Once the operation is in its stream.
    AtOnce,
    /// Once everything before the operation is complete.
    OnceStarted,
    /// Once the operation is complete.
    OnceComplete,
}

impl Returns {
    /// Of a copy; `blocking`: of `cudaMemcpy` rather than `cudaMemcpyAsync`.
    pub fn of_copy(blocking: bool, to: Memory, from: Memory) -> Self {
        use Memory::{Device, HostPool, Managed, Pageable, Pinned};
        match (blocking, to, from) {
            (_, to, from) if to.is_host() && from.is_host() => Self::OnceComplete,
            (true, Managed(_), _) | (true, _, Managed(_)) => Self::OnceComplete,
            (true, Device(_), Device(_)) => Self::AtOnce,
            // What is in pageable memory is staged after a synchronise of the stream; the rest may not have happened yet.
            (true, Device(_), Pageable(_)) => Self::OnceStarted,
            (true, Device(_), Pinned(_) | HostPool(_)) => Self::OnceComplete,
            (true, Pinned(_) | HostPool(_) | Pageable(_), _) => Self::OnceComplete,
            (false, Pageable(_), Device(_) | Managed(_)) => Self::OnceComplete,
            (false, ..) => Self::AtOnce,
        }
    }

    /// Of a memset; `blocking`: of `cudaMemset` rather than `cudaMemsetAsync`.
    pub fn of_memset(blocking: bool, at: Memory) -> Self {
        match at {
            Memory::Pinned(_) | Memory::HostPool(_) | Memory::Managed(_) if blocking => Self::OnceComplete,
            _ => Self::AtOnce,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::HostBufferId;
    use crate::trace::AllocId;

    /// The table of the document, one row a kind of memory.
    #[test]
    fn copies_return_as_documented() {
        use Returns::{AtOnce, OnceComplete, OnceStarted};
        let device = Memory::Device(AllocId { slot: 0, serial: 1 });
        let pinned = Memory::Pinned(HostBufferId::new(0));
        let pageable = Memory::Pageable(HostBufferId::new(1));
        let managed = Memory::Managed(AllocId { slot: 1, serial: 2 });
        for (to, from, blocking, asynchronous) in [
            (device, pageable, OnceStarted, AtOnce),
            (device, pinned, OnceComplete, AtOnce),
            (device, device, AtOnce, AtOnce),
            (pinned, device, OnceComplete, AtOnce),
            (pageable, device, OnceComplete, OnceComplete),
            (pageable, pinned, OnceComplete, OnceComplete),
            (pinned, pinned, OnceComplete, OnceComplete),
            (managed, device, OnceComplete, AtOnce),
            (pageable, managed, OnceComplete, OnceComplete),
        ] {
            assert_eq!(Returns::of_copy(true, to, from), blocking, "{to:?} {from:?}");
            assert_eq!(Returns::of_copy(false, to, from), asynchronous, "{to:?} {from:?}");
        }
        for (at, blocking) in [(device, AtOnce), (pinned, OnceComplete), (managed, OnceComplete)] {
            assert_eq!(Returns::of_memset(true, at), blocking, "{at:?}");
            assert_eq!(Returns::of_memset(false, at), AtOnce, "{at:?}");
        }
    }
}
