//! What a `create` line says, and the blocks that the lines of calls open.

use super::{Body, Call, CallKind, Name, Outcome, OutcomeKind, Path, Pool, Settings, StreamKind};

/// `create stream s reusing old`
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// What is created.
    pub resource: Created,
    /// What was destroyed and leaves it its handle.
    pub reusing: Option<Path>,
}

/// What is created, and under which name.
#[derive(Clone, Debug, PartialEq)]
pub enum Created {
    /// `stream s on gpu1 non_blocking priority -1`
    Stream {
        /// Its name.
        name: Name,
        /// The device after `on`.
        device: Option<Name>,
        /// How it stands to the legacy default stream.
        kind: Option<StreamKind>,
        /// The number after `priority`.
        priority: Option<Name>,
    },
    /// `event e on gpu1 { interprocess }`
    Event {
        /// Its name.
        name: Name,
        /// The device after `on`.
        device: Option<Name>,
        /// Whether other processes can open it.
        interprocess: bool,
    },
    /// `pool p on gpu0 { .. }`
    Pool(Pool),
}

impl Created {
    /// The name.
    pub fn name(&self) -> &Name {
        match self {
            Created::Stream { name, .. } | Created::Event { name, .. } | Created::Pool(Pool { name, .. }) => {
                name
            }
        }
    }

    /// The settings of a pool.
    pub fn settings(&self) -> Option<&Settings> {
        match self {
            Created::Pool(pool) => Some(&pool.settings),
            Created::Stream { .. } | Created::Event { .. } => None,
        }
    }
}

impl Call {
    /// The block of its `else`.
    pub fn handler(&self) -> Option<&Body> {
        match &self.outcome {
            Some(Outcome { kind: OutcomeKind::Else(body), .. }) => Some(body),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn handler_mut(&mut self) -> Option<&mut Body> {
        match &mut self.outcome {
            Some(Outcome { kind: OutcomeKind::Else(body), .. }) => Some(body),
            _ => None,
        }
    }

    /// The block that its line opens: that of its `else`, or the settings of a pool that it creates.
    pub fn body(&self) -> Option<&Body> {
        match &self.kind {
            CallKind::Create(Create {
                resource: Created::Pool(Pool { settings: Settings::Block(body), .. }),
                ..
            }) => Some(body),
            _ => self.handler(),
        }
    }

    /// Puts lines into that block.
    pub(in crate::syntax) fn fill(&mut self, lines: Body) {
        if let CallKind::Create(Create { resource: Created::Pool(pool), .. }) = &mut self.kind
            && let Settings::Block(body) = &mut pool.settings
        {
            *body = lines;
        } else if let Some(Outcome { kind: OutcomeKind::Else(body), .. }) = &mut self.outcome {
            *body = lines;
        }
    }
}
