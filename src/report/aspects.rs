//! What a run came to, as data, for reports of many runs.

use crate::base::StmtId;
use crate::explore::campaign::{Aspect, Standing};
use crate::oracle::Role;
use crate::scenario::Program;
use crate::trace::Policy;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct AspectPart<'a> {
    what: &'a str,
    line: u32,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<Vec<OtherPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Vec<&'a str>>,
}

#[derive(Serialize)]
struct OtherPart<'a> {
    role: &'a str,
    line: Option<u32>,
}

impl Standing {
    const fn name(self) -> &'static str {
        match self {
            Standing::Fails => "fails",
            Standing::Told => "told",
            Standing::Expected => "expected",
        }
    }
}

pub(super) fn aspect_part<'a>(program: &'a Program, aspect: &'a Aspect) -> AspectPart<'a> {
    let (line, text) = line(program, aspect.stmt());
    let plain = |what| AspectPart { what, line, text, code: None, standing: None, others: None, by: None };
    match aspect {
        Aspect::Stopped(_) => plain("stopped"),
        Aspect::Missed(_) => plain("missed"),
        Aspect::Mismatch(_) => plain("mismatch"),
        Aspect::NotReached(_) => plain("not_reached"),
        Aspect::Finding { kind, others, standing, .. } => {
            let others = others.iter().map(|(role, stmt)| other(program, *role, *stmt));
            AspectPart {
                code: Some(kind.name()),
                standing: Some(standing.name()),
                others: Some(others.collect()),
                ..plain("finding")
            }
        }
        Aspect::Failed { failure, standing, .. } => {
            AspectPart { code: Some(failure.name()), standing: Some(standing.name()), ..plain("failed") }
        }
        Aspect::Served(_, classes) => {
            AspectPart { by: Some(classes.iter().map(Policy::name).collect()), ..plain("served") }
        }
    }
}

fn other<'a>(program: &Program, role: Role, stmt: Option<StmtId>) -> OtherPart<'a> {
    OtherPart { role: role.name(), line: stmt.map(|stmt| line(program, stmt).0) }
}

/// Where a statement stands, and its text.
fn line(program: &Program, stmt: StmtId) -> (u32, &str) {
    let statement = &program.statements[stmt];
    (statement.line, &statement.text)
}
