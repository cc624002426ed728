//! Who may touch the memory of whom: peers of devices, `grant` and `revoke`, and what is expected of them.

use super::check::Checker;
use super::names::{Kind, Meaning};
use super::{Action, Demand, Expect, Formula, Instruction, codes};
use crate::base::{DeviceId, Diagnostic, Span, StmtId};
use crate::syntax::ast::{self, Path, SettingValue};
use crate::trace::{Reach, Reading};

impl Checker<'_> {
    /// The devices after `peers`. They may be declared below, so that they are looked up at the end.
    pub(super) fn peer_names(&mut self, setting: &ast::Setting) -> Vec<ast::Name> {
        match &setting.value {
            SettingValue::List { words, .. } => words.clone(),
            SettingValue::Expression(value) => {
                let label = "expected a list such as `[gpu1, gpu2]`";
                let message = "`peers` takes a list of devices";
                let written = self.text[value.span.range()].trim_end();
                let span = Span::new(value.span.start, value.span.start + written.len() as u32);
                let diagnostic = Diagnostic::error(codes::WRONG_UNIT, message, span, label);
                let list = format!("[{written}]");
                self.tell(match value.kind {
                    ast::ExpressionKind::Path(_) => diagnostic.fix("write a list", span, list),
                    _ => diagnostic,
                });
                Vec::new()
            }
        }
    }

    /// Each of two peers reaches the memory of the other one, whichever of the two says so.
    pub(super) fn peers(&mut self) {
        for (device, name) in std::mem::take(&mut self.peers) {
            let Some(Meaning::Device(peer)) = self.resolve(&name, &[Kind::Device]) else { continue };
            if peer == device {
                let message = format!("`{}` is no peer of its own", name.text);
                let diagnostic =
                    Diagnostic::error(codes::WRONG_KIND, message, name.span, "expected another device");
                self.tell(diagnostic.help("a device reaches its own memory always"));
            }
            self.setup.devices[device].peers.set(peer, true);
            self.setup.devices[peer].peers.set(device, true);
        }
    }

    /// `grant p to gpu1 read`
    pub(super) fn grant(&mut self, grant: &ast::Grant) -> Option<Action> {
        let reach = grant.access.map_or(Reach::ReadWrite, reach_of);
        self.set_access(&grant.pool, &grant.device, reach)
    }

    /// `revoke p from gpu1`
    pub(super) fn revoke(&mut self, pool: &Path, device: &ast::Name) -> Option<Action> {
        self.set_access(pool, device, Reach::None)
    }

    fn set_access(&mut self, pool: &Path, device: &ast::Name, reach: Reach) -> Option<Action> {
        let (pool, device) = (self.pool(pool), self.known_device(device));
        Some(Action::Grant { pool: pool?, device: device?, reach })
    }

    fn known_device(&mut self, name: &ast::Name) -> Option<DeviceId> {
        match self.resolve(name, &[Kind::Device])? {
            Meaning::Device(device) => Some(device),
            _ => None,
        }
    }

    /// `expect gpu1 reaches p read`, `expect gpu1 not reaches gpu0`
    pub(super) fn reaches(
        &mut self,
        stmt: StmtId,
        subject: &Path,
        object: &Path,
        access: Option<ast::Access>,
        not: bool,
    ) {
        let device = match self.only_segment(subject, Kind::Device) {
            Some(segment) => self.no_index(segment).and_then(|()| self.known_device(&segment.name)),
            None => None,
        };
        let object = self.reachable(object);
        let Some((device, object)) = device.zip(object) else { return };
        let reading = match object {
            Meaning::Device(of) => Reading::Peer(device, of),
            Meaning::Pool(pool) => Reading::Access(pool, device),
            _ => return,
        };
        let register = self.register();
        self.code.push(Instruction::Call { stmt, action: Action::Peek { reading, register } });
        let demand = Demand::Reaches { not, reach: access.map(reach_of) };
        let expect = self.expects.push(Expect::new(stmt, demand));
        let (left, right) = (Formula::Register(register), Formula::Constant(0));
        self.code.push(Instruction::Call { stmt, action: Action::Compare { expect, left, right } });
    }

    /// A pool or a device.
    fn reachable(&mut self, path: &Path) -> Option<Meaning> {
        let [segment] = path.segments.as_slice() else { return self.pool(path).map(Meaning::Pool) };
        self.no_index(segment)?;
        self.resolve(&segment.name, &[Kind::Pool, Kind::Device])
    }
}

const fn reach_of(access: ast::Access) -> Reach {
    match access {
        ast::Access::Read => Reach::Read,
        ast::Access::Write | ast::Access::ReadWrite => Reach::ReadWrite,
    }
}
