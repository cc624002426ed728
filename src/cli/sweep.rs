//! `millpond run --set`: one scenario with other values, side by side.
//!
//! The values are written into the text, which is then read and checked like any other.

use super::outside::{self, Complaint, Output, Status};
use super::{Scenario, Settings, diagnostics, run::Format};
use crate::base::{Diagnostic, Edit, Severity, Span};
use crate::edit::{self, Assignment};
use crate::profile::Profile;
use crate::report::{Notation, Sweep, SweepRow, Tally};
use crate::scenario::{Levels, Program, model_named};
use crate::trace::Model;
use std::io::{self, Write};

/// So many combinations of values are run.
const ROWS_MAX: usize = 1_000;

/// What the arguments ask for.
pub(super) struct Values {
    /// The name of the argument.
    argument: &'static str,
    assignments: Vec<Assignment>,
}

/// A combination: for each assignment, which of its values.
pub(super) type Choice = Vec<usize>;

/// The scenario with a combination of values.
pub(super) struct Changed {
    pub(super) scenario: Scenario,
    pub(super) program: Program,
    /// What was written into the text, one assignment after the other.
    pub(super) edits: Vec<Vec<Edit>>,
}

impl Values {
    /// Reads the arguments of this name; `None` for mistakes that were shown.
    pub(super) fn read(argument: &'static str, values: &[String]) -> Result<Option<Self>, Complaint> {
        let mut assignments: Vec<Assignment> = Vec::new();
        for value in values {
            match edit::read_assignment(value) {
                Ok(assignment) => assignments.push(assignment),
                Err(diagnostic) => {
                    show(argument, value, &diagnostic);
                    return Ok(None);
                }
            }
        }
        for (nth, assignment) in assignments.iter().enumerate() {
            if assignments[..nth].iter().any(|before| before.name() == assignment.name()) {
                let name = assignment.name();
                return Err(Complaint::wrong(format!(
                    "{argument} gives values to `{name}` twice: write them behind one another, `{name}=V,V`"
                )));
            }
        }
        let rows = assignments.iter().map(|assignment| assignment.values.len());
        let rows = rows.fold(1usize, usize::saturating_mul);
        if rows > ROWS_MAX {
            return Err(Complaint::wrong(format!(
                "{argument} asks for {rows} combinations of values, and {ROWS_MAX} are the most"
            )));
        }
        Ok(Some(Self { argument, assignments }))
    }

    /// All combinations; the last name changes fastest.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let mut choices = vec![Choice::new()];
        for assignment in &self.assignments {
            let longer = choices.iter().flat_map(|choice| {
                (0..assignment.values.len()).map(|nth| choice.iter().copied().chain([nth]).collect())
            });
            choices = longer.collect();
        }
        choices
    }

    /// The scenario with a combination of values; `None` for mistakes that were shown.
    pub(super) fn scenario(
        &self,
        scenario: &Scenario,
        choice: &Choice,
        sweeping: &Sweeping<'_>,
    ) -> Result<Option<Changed>, Complaint> {
        let (mut scenario, mut model) = (scenario.clone(), sweeping.model);
        let mut text = scenario.text.clone();
        let mut written: Vec<(usize, Span)> = Vec::new();
        let mut all_edits = Vec::new();
        for (nth, assignment) in self.assignments.iter().enumerate() {
            let (file, _) = crate::syntax::parse(&text);
            match edit::assign(&file, &text, &Profile::SETTINGS, assignment, choice[nth]) {
                Ok((edits, place)) => {
                    written.iter_mut().for_each(|(_, span)| *span = edit::moved(*span, &edits));
                    written.extend(place.map(|span| (nth, span)));
                    text = edit::apply(&text, &edits);
                    all_edits.push(edits);
                }
                Err(_) if assignment.name() == "model" => {
                    match model_named(assignment.value(choice[nth]), assignment.values[choice[nth]]) {
                        Ok(other) => model = Some(other),
                        Err(diagnostic) => {
                            show(self.argument, &assignment.text, &diagnostic);
                            return Ok(None);
                        }
                    }
                }
                Err(_) if assignment.name() == "profile" => {
                    match scenario.with_profile(assignment.value(choice[nth]).as_ref()) {
                        Ok(other) => scenario = other,
                        Err(complaint) => return Err(complaint),
                    }
                }
                Err(diagnostic) => {
                    show(self.argument, &assignment.text, &diagnostic);
                    return Ok(None);
                }
            }
        }
        let changed = scenario.with_text(text);
        match changed.load_all() {
            // The names of variants do not depend on values.
            Ok((programs, _)) => {
                let mut programs = programs.into_iter();
                let program = programs.find(|program| program.variant.as_deref() == sweeping.variant);
                Ok(program.map(|program| {
                    let program = sweeping.asked_for(program, model);
                    Changed { scenario: changed, program, edits: all_edits }
                }))
            }
            Err(diagnostics) => {
                self.explain(&changed, choice, &written, &diagnostics);
                Ok(None)
            }
        }
    }

    /// Mistakes of a combination: those of a value at the value, others in the text that it makes.
    fn explain(&self, changed: &Scenario, choice: &Choice, written: &[(usize, Span)], found: &[Diagnostic]) {
        let errors: Vec<&Diagnostic> = found.iter().filter(|d| d.severity == Severity::Error).collect();
        for (nth, span) in written {
            let assignment = &self.assignments[*nth];
            let place = assignment.values[choice[*nth]];
            let is_inside = |d: &&&Diagnostic| {
                span.start <= d.primary.span.start && d.primary.span.end <= span.end.max(span.start + 1)
            };
            if let Some(diagnostic) = errors.iter().find(is_inside) {
                let moved = |at: Span| {
                    let shift = |byte: u32| (byte.clamp(span.start, span.end) - span.start) + place.start;
                    Span::new(shift(at.start), shift(at.end))
                };
                let mut diagnostic = (*diagnostic).clone();
                diagnostic.primary.span = moved(diagnostic.primary.span);
                diagnostic.secondary.clear();
                if let Some(help) = &mut diagnostic.help {
                    help.edits.retain(|edit| span.start <= edit.span.start && edit.span.end <= span.end);
                    help.edits.iter_mut().for_each(|edit| edit.span = moved(edit.span));
                }
                return show(self.argument, &assignment.text, &diagnostic);
            }
        }
        let values = self.assignments.iter().zip(choice);
        let values: Vec<String> =
            values.map(|(to, nth)| format!("{}={}", to.name(), to.value(*nth))).collect();
        let path = format!("{} with {}", changed.shown(), values.join(" "));
        let colour = outside::colour(&io::stderr());
        outside::print_error(&diagnostics::render(&path, &changed.text, found, colour));
    }
}

/// A mistake in an argument.
fn show(argument: &str, value: &str, diagnostic: &Diagnostic) {
    let colour = outside::colour(&io::stderr());
    outside::print_error(&diagnostics::render(argument, value, std::slice::from_ref(diagnostic), colour));
}

/// What every combination has in common.
pub(super) struct Sweeping<'a> {
    pub(super) settings: Settings,
    /// The variant that is run.
    pub(super) variant: Option<&'a str>,
    /// The model, where it is not the one that the text states.
    pub(super) model: Option<Model>,
    /// By how many percents constant durations vary.
    pub(super) jitter: u8,
    /// What arguments say about findings.
    pub(super) levels: Levels,
}

impl Sweeping<'_> {
    /// A program as the arguments want it.
    fn asked_for(&self, program: Program, model: Option<Model>) -> Program {
        let program = super::with_jitter(super::on_model(program, model), self.jitter);
        super::with_levels(program, &self.levels)
    }
}

/// Runs every combination and writes the table.
pub(super) fn run(
    scenario: &Scenario,
    values: &Values,
    sweeping: &Sweeping<'_>,
    format: Format,
    output: Option<&std::path::Path>,
) -> Result<Status, Complaint> {
    if format == Format::Sarif {
        return Err(Complaint::wrong(
            "--format sarif is about the findings of one run, and --set makes many: give one of the two"
                .to_owned(),
        ));
    }
    let (mut title, mut origin) = (String::new(), None);
    let mut rows: Vec<SweepRow> = Vec::new();
    for choice in values.choices() {
        let Some(Changed { scenario: changed, program, .. }) =
            values.scenario(scenario, &choice, sweeping)?
        else {
            return Ok(Status::Wrong);
        };
        let mut tally = Tally::new(&program);
        let (verdict, ending) = changed.verdict(&program, &sweeping.settings, &mut tally);
        let written = values.assignments.iter().zip(&choice);
        let written = written.map(|(assignment, nth)| assignment.value(*nth).to_owned()).collect();
        origin = origin.or_else(|| Some(scenario.origin(&program, sweeping.settings.seed)));
        rows.push(tally.row(&program, written, ending.at, &verdict));
        title = match &program.variant {
            Some(variant) => format!("{} (variant {variant})", program.title).trim_start().to_owned(),
            None => program.title,
        };
    }
    let names = values.assignments.iter().map(|assignment| assignment.name().to_owned()).collect();
    let Some(origin) = origin else { return Err(Complaint::wrong("--set gives no values".to_owned())) };
    let sweep = Sweep { title, origin, names, rows };
    let mut output = Output::open(output)?;
    let written = match format {
        Format::Text => output.write_all(sweep.text(sweeping.settings.options.width).as_bytes()),
        Format::Json => sweep.write(Notation::Json, &mut output).map(drop),
        Format::Ron => sweep.write(Notation::Ron, &mut output).map(drop),
        Format::Csv => sweep.write_csv(&mut output).map(drop),
        Format::Sarif => unreachable!("it was refused before"),
    };
    if let Err(error) = written {
        output.give_up();
        return Err(Complaint::wrong(format!("cannot write the table: {error}")));
    }
    output.close()?;
    let is_wrong = sweep.rows.iter().any(SweepRow::is_wrong);
    Ok(if is_wrong { Status::Fails } else { Status::Holds })
}
