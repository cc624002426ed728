//! Where the memory of a pool is, and how it can be shared.

use super::check::Checker;
use super::codes;
use crate::base::{Diagnostic, Span};
use crate::syntax::ast::{self, ExpressionKind, Setting, SettingValue};
use crate::trace::{HandleType, Location, PoolSetup};

impl Checker<'_> {
    /// What stands after `on`; without it the only device.
    pub(super) fn location(&mut self, pool: &ast::Pool) -> Option<Location> {
        match &pool.location {
            None => self.device(None, pool.name.span).map(Location::Device),
            Some(location) => self.location_of(location, pool.name.span),
        }
    }

    pub(super) fn location_of(&mut self, location: &ast::Location, named: Span) -> Option<Location> {
        match location {
            ast::Location::Device(device) => self.device(Some(device), named).map(Location::Device),
            ast::Location::Host => Some(Location::Host),
            ast::Location::HostNumaCurrent => Some(Location::HostNumaCurrent),
            ast::Location::HostNuma(node) => {
                let number = self.constant_count(node)?;
                let known = u32::try_from(number).ok();
                if known.is_none() {
                    let label = "expected the number of a node, such as 0";
                    self.error(codes::VALUE_OUT_OF_RANGE, "there is no such node", node.span, label);
                }
                known.map(Location::HostNuma)
            }
        }
    }

    /// `handle = posix_fd`
    pub(super) fn handle_type(&mut self, setting: &Setting) -> Option<HandleType> {
        let word = match &setting.value {
            SettingValue::Expression(value) => match &value.kind {
                ExpressionKind::Path(path) => match path.segments.as_slice() {
                    [ast::Segment { name, index: None }] => Some(name),
                    _ => None,
                },
                _ => None,
            },
            SettingValue::List { .. } => None,
        };
        let Some(word) = word else {
            let span = match &setting.value {
                SettingValue::Expression(value) => value.span,
                SettingValue::List { span, .. } => *span,
            };
            let label = "expected `none`, `posix_fd` or `fabric`";
            self.error(codes::UNKNOWN_SETTING, "`handle` takes a type of handles", span, label);
            return None;
        };
        let known = HandleType::ALL.map(|handle| (handle.name(), handle));
        self.word(word, codes::UNKNOWN_SETTING, "type of handles called", known)
    }

    /// Whether a pool can be there from the start. A `create pool` fails instead.
    pub(super) fn is_possible(&mut self, pool: &ast::Pool, setup: &PoolSetup) -> bool {
        let Some(contradiction) = setup.contradiction() else { return true };
        let message = format!("there is no such pool as `{}`", pool.name.text);
        let diagnostic =
            Diagnostic::error(codes::IMPOSSIBLE_POOL, message, pool.name.span, contradiction.to_owned());
        let seen = "to see that it fails, write `create pool .. fails invalid_value`";
        self.tell(match setup.location {
            Location::HostNumaCurrent => {
                let name = &pool.name.text;
                diagnostic.help(format!("name the node: `pool {name} on host_numa 0`")).note(seen)
            }
            _ => diagnostic.help(seen),
        });
        false
    }
}
