//! Memory outside of pools: `malloc`, plain `free`, and the figures of devices.

use super::check::Checker;
use super::names::{Kind, Meaning};
use super::{Action, Unit, codes};
use crate::base::{DeviceId, Diagnostic};
use crate::syntax::ast::{self, Path};
use crate::trace::{DeviceFigure, Reading};

impl Checker<'_> {
    pub(super) fn malloc(&mut self, malloc: &ast::Malloc) -> Option<Action> {
        let buffer = self.allocated(&malloc.buffer);
        let size = self.runtime_value(&malloc.size, Unit::Bytes);
        let device = self.usual_device(malloc.device.as_ref());
        Some(Action::Malloc { device: device?, size: size?, managed: malloc.managed, buffer: buffer? })
    }

    pub(super) fn reserve(&mut self, size: &ast::Expression, device: Option<&ast::Name>) -> Option<Action> {
        let size = self.runtime_value(size, Unit::Bytes);
        let device = self.usual_device(device).map(|device| self.setup.physical(device));
        Some(Action::Reserve { device: device?, size: size? })
    }

    /// The device that is named; else the first one, as in CUDA, where it is the current one of a thread that says nothing.
    fn usual_device(&mut self, name: Option<&ast::Name>) -> Option<DeviceId> {
        let Some(name) = name else { return self.first_device() };
        match self.resolve(name, &[Kind::Device])? {
            Meaning::Device(device) => Some(device),
            _ => None,
        }
    }

    pub(super) fn plain_free(&mut self, path: &Path) -> Option<Action> {
        self.buffer(path).map(Action::PlainFree)
    }

    /// `gpu0.free`; `None` for what is not about a device, `Some(None)` for a mistake that is told.
    pub(super) fn device_figure(&mut self, path: &Path) -> Option<Option<Reading>> {
        let [device, figure] = path.segments.as_slice() else { return None };
        let binding = self.table.get(&device.name.text)?;
        let (Kind::Device, meaning) = (binding.kind, binding.meaning.clone()) else { return None };
        let Some(Meaning::Device(id)) = meaning else { return Some(None) };
        if ["pool", "current_pool"].contains(&figure.name.text.as_str()) {
            let message = "a pool is no value, but can be compared";
            let diagnostic = Diagnostic::error(codes::UNKNOWN_ATTRIBUTE, message, figure.name.span, "");
            let help = format!("write `expect {}.pool == POOL`, with its name on the left", device.name.text);
            self.tell(diagnostic.help(help));
            return Some(None);
        }
        let whole = self.no_index(device).and(self.no_index(figure));
        let known = DeviceFigure::ALL.map(|figure| (figure.name(), figure));
        let word = self.word(&figure.name, codes::UNKNOWN_ATTRIBUTE, "figure of a device called", known);
        Some(whole.and(word).map(|figure| Reading::Device(self.setup.physical(id), figure)))
    }
}
