//! Parameters of kernels that go, with the buffers that stand for them where the kernel is launched.

use super::hunt::Hunt;
use crate::base::Edit;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{CallKind, Operation, Statement};

/// Takes out each parameter that can go.
pub(super) fn drop(hunt: &mut Hunt<'_, '_>) {
    let mut nth = 0;
    while let Some(count) = parameters(hunt, nth) {
        for parameter in (0..count).rev() {
            let edits = without(hunt, nth, parameter);
            hunt.attempt(&edits);
        }
        nth += 1;
    }
}

/// How many parameters a statement declares; `None`: there is no such statement.
fn parameters(hunt: &Hunt<'_, '_>, nth: usize) -> Option<usize> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    Some(match sites.all.get(nth)?.statement() {
        Some(Statement::Kernel(kernel)) => kernel.parameters.len(),
        _ => 0,
    })
}

fn without(hunt: &Hunt<'_, '_>, nth: usize, parameter: usize) -> Vec<Edit> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let Some(Statement::Kernel(declared)) = sites.all.get(nth).and_then(Site::statement) else {
        return Vec::new();
    };
    let edit = |site: &Site<'_>| {
        let mut statement = site.statement()?.clone();
        match &mut statement {
            Statement::Kernel(kernel) if kernel.name == declared.name => {
                (parameter < kernel.parameters.len()).then(|| kernel.parameters.remove(parameter))?;
            }
            Statement::Call(call) => match &mut call.kind {
                CallKind::Queued { operation: Operation::Launch { kernel, arguments, .. }, .. }
                    if kernel.text == declared.name.text =>
                {
                    (parameter < arguments.len()).then(|| arguments.remove(parameter))?;
                }
                _ => return None,
            },
            _ => return None,
        }
        Some(Edit { span: site.item.span, text: statement.to_string() })
    };
    sites.all.iter().filter_map(edit).collect()
}
