//! A scenario file from its bytes to its outcome: what `run`, `test` and the test harness have in common.

use super::backend::Played;
use super::outside::{self, Complaint, Status};
use super::{Place, diagnostics, snapshots};
use crate::base::{Diagnostic, StmtId, nearest};
use crate::engine::Ending;
use crate::explore::exhaustive::{self, Astray, Witness};
use crate::explore::fix::{self, Fix, Limits, Search};
use crate::explore::proof::{self, Proof};
use crate::explore::recover::Recovery;
use crate::explore::{self, Choices, Schedule, Strategy};
use crate::oracle::{Accounting, Answer, Expectations, Finding, Recording, Searched, Settled, Verdict};
use crate::profile::Profile;
use crate::report::{
    Closing, Compared, Failing, Lines, Notation, Options, Origin, Sarif, Snapshots, States, Text, Told,
    explained, remedy, shown,
};
use crate::scenario::Program;
use crate::trace::{Detail, Event, Failure, Nothing, Severity, Sink};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A run of at most so many statements is recorded, to explain what was found in it or to compare it with another one.
pub(super) const RECORDED_MAX: u64 = 1_000_000;

/// A search that decides lines about all timings goes so far, where nothing says otherwise.
const PROOF_LIMIT: u64 = 1_000_000;

/// Fixes are looked for so many findings.
const FIXED_MAX: usize = 8;

/// A scenario file that was read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its path, as it was given.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Where its snapshot lies, and what it is called there.
    pub place: Place,
    /// The folder of snapshots, where it is not the usual one.
    snapshots: Option<PathBuf>,
    /// The file of a profile, where it is not the embedded one.
    profile: Option<(String, Profile)>,
    /// The choices of the run, where none are drawn.
    choices: Option<Witness>,
    /// The run on hardware, where it was made there.
    played: Option<Played>,
    /// How far a search may go that decides lines about all timings.
    limit: u64,
}

/// What a run depends on, beside the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The seed.
    pub seed: u64,
    /// How the report is to look.
    pub options: Options,
    /// What is done about the snapshots that were accepted.
    pub accepted: Accepted,
    /// Whether it is tried what helps.
    pub remedies: Remedies,
}

/// Whether a run is followed by others that try what helps: a fix of what was found, and what lets failed allocations succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedies {
    /// Nothing is tried.
    Ignored,
    /// The report says what helps.
    Tried,
}

/// What a run does about the snapshots that were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// They are not looked at.
    Ignored,
    /// The snapshots of the run must be equal to them.
    Compared,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The snapshots, compared with the accepted ones.
    pub compared: Compared,
    /// The text of the snapshots, for a scenario that has any.
    pub snapshots: Option<String>,
    /// The report for people; empty where it was not asked for.
    pub report: String,
    /// What fails.
    pub failures: Vec<Failing>,
}

impl Outcome {
    /// Whether everything holds.
    pub fn holds(&self) -> bool {
        self.verdict.holds() && !self.compared.fails()
    }

    /// How a command that runs it ends.
    pub fn status(&self) -> Status {
        match () {
            () if self.verdict.fails() || self.compared.fails() => Status::Fails,
            () if self.verdict.undecided() > 0 => Status::Impossible,
            () => Status::Holds,
        }
    }
}

impl Scenario {
    /// Reads a file; `-` is standard input, which has no snapshots to be compared with.
    ///
    /// # Errors
    ///
    /// A file that is missing, a folder, not UTF-8, or unreadable.
    pub fn read(path: &Path) -> Result<Self, Complaint> {
        let text = outside::read(path)?;
        Ok(Self::of_text(path.to_owned(), text))
    }

    /// A scenario that is in no file; `path` is what it is called.
    pub fn of_text(path: PathBuf, text: String) -> Self {
        let place = Place::of(&path);
        Self {
            path,
            text,
            place,
            snapshots: None,
            profile: None,
            choices: None,
            played: None,
            limit: PROOF_LIMIT,
        }
    }

    /// The same, with its snapshot in another folder.
    #[must_use]
    pub fn with_snapshots_in(self, folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return self };
        let place = self.place.with_snapshots_in(folder);
        Self { place, snapshots: Some(folder.to_owned()), ..self }
    }

    /// The same, on the device and driver of a profile: the name of an embedded one, or a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is no profile.
    pub fn with_profile(self, path: &Path) -> Result<Self, Complaint> {
        let name = path.display().to_string();
        if let Some(profile) = Profile::named(&name) {
            return Ok(Self { profile: Some((name, profile)), ..self });
        }
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name && !path.exists() {
            let names: Vec<&str> = Profile::names().collect();
            let known = format!("there are {}; any other is a file", names.join(", "));
            return Err(Complaint::wrong(match nearest(&name, names) {
                Some(near) => format!("there is no profile `{name}`: did you mean `{near}`? {known}"),
                None => format!("there is no profile `{name}`: {known}"),
            }));
        }
        if path.is_dir() {
            return Err(Complaint::wrong(format!("{name} is a directory, not a profile: name a file in it")));
        }
        let profile = Profile::read(&outside::read(path)?)
            .map_err(|error| Complaint::wrong(format!("{name} is no profile: {error}")))?;
        Ok(Self { profile: Some((name, profile)), ..self })
    }

    /// The same, with the choices of its run, which is then one without times.
    #[must_use]
    pub(super) fn with_choices(self, choices: Witness) -> Self {
        Self { choices: Some(choices), ..self }
    }

    /// The same, with its run, which was made on hardware.
    #[must_use]
    pub(super) fn with_played(self, played: Played) -> Self {
        Self { played: Some(played), ..self }
    }

    /// The same, with another limit on the search that decides lines about all timings: so many calls, and so many states.
    #[must_use]
    pub fn with_limit(self, limit: Option<u64>) -> Self {
        Self { limit: limit.unwrap_or(PROOF_LIMIT), ..self }
    }

    /// Whether its run is one without times.
    pub(super) fn is_untimed(&self) -> bool {
        self.choices.is_some()
    }

    /// The same file with another text.
    #[must_use]
    pub(super) fn with_text(&self, text: String) -> Self {
        Self { text, ..self.clone() }
    }

    /// The command that makes the snapshot of a run the accepted one.
    pub fn accept(&self) -> String {
        let folder =
            self.snapshots.as_deref().map(|folder| format!("--snapshots {} ", outside::quoted(folder)));
        format!("millpond test --bless {}{}", folder.unwrap_or_default(), outside::quoted(&self.path))
    }

    /// The program, or the mistakes that stand in its way; warnings come with a program.
    ///
    /// # Errors
    ///
    /// The mistakes.
    pub fn load(&self) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
        self.load_all().map(|(mut programs, warnings)| (programs.swap_remove(0), warnings))
    }

    /// The program as it stands and its variants, or the mistakes that stand in the way of any.
    ///
    /// # Errors
    ///
    /// The mistakes.
    pub fn load_all(&self) -> Result<(Vec<Program>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let embedded = Profile::default();
        let profile = self.profile.as_ref().map_or(&embedded, |(_, profile)| profile);
        match crate::load_all(&self.text, profile) {
            (programs, diagnostics) if programs.is_empty() => Err(diagnostics),
            loaded => Ok(loaded),
        }
    }

    /// The programs as [`Scenario::load_all`] has them, for who does not tell of warnings; mistakes are printed.
    pub(super) fn programs(&self) -> Option<Vec<Program>> {
        match self.load_all() {
            Ok((programs, _)) => Some(programs),
            Err(diagnostics) => {
                let colour = outside::colour(&std::io::stderr());
                outside::print_error(&self.rendered(&diagnostics, colour));
                None
            }
        }
    }

    /// Of the programs of this scenario, a variant, or the one that stands there.
    ///
    /// # Errors
    ///
    /// There is no variant of that name.
    pub fn chosen(&self, mut programs: Vec<Program>, variant: Option<&str>) -> Result<Program, Complaint> {
        if let Some(at) = programs.iter().position(|program| program.variant.as_deref() == variant) {
            return Ok(programs.swap_remove(at));
        }
        let (file, wanted) = (self.shown(), variant.unwrap_or_default());
        let known: Vec<&str> = programs.iter().filter_map(|program| program.variant.as_deref()).collect();
        Err(Complaint::wrong(match (nearest(wanted, known.iter().copied()), known.as_slice()) {
            (_, []) => format!("{file} has no variants"),
            (Some(near), _) => format!("{file} has no variant `{wanted}`: did you mean `{near}`?"),
            (None, known) => format!("{file} has no variant `{wanted}`, it has {}", known.join(", ")),
        }))
    }

    /// The snapshots of all these programs of the scenario, as one file has them.
    ///
    /// # Errors
    ///
    /// None: accepted snapshots are not looked at.
    pub fn snapshots(&self, programs: &[Program], settings: &Settings) -> Result<Option<String>, Complaint> {
        let settings = Settings { accepted: Accepted::Ignored, ..*settings };
        let mut texts = Vec::new();
        for program in programs {
            texts.extend(self.outcome(program, &settings)?.snapshots);
        }
        Ok(snapshots::joined(texts.iter().map(String::as_str)))
    }

    /// What the file is called in reports.
    pub(super) fn shown(&self) -> String {
        match outside::is_standard_input(&self.path) {
            true => "<stdin>".to_owned(),
            false => self.path.display().to_string(),
        }
    }

    /// Mistakes as people read them; the file is called by the path that was given.
    pub fn rendered(&self, diagnostics: &[Diagnostic], colour: bool) -> String {
        diagnostics::render(&self.shown(), &self.text, diagnostics, colour)
    }

    /// Mistakes as a snapshot has them: without colours, and the file is called the same from wherever it is read.
    pub fn rejection(&self, diagnostics: &[Diagnostic]) -> String {
        diagnostics::render(&self.place.name, &self.text, diagnostics, false)
    }

    /// The profile, with its name where it is part of the program.
    pub(super) fn profile(&self) -> (Option<&str>, Profile) {
        match &self.profile {
            Some((name, profile)) => (
                Some(name.as_str()).filter(|name| Profile::names().any(|known| known == *name)),
                profile.clone(),
            ),
            None => (Profile::names().next(), Profile::default()),
        }
    }

    /// The schedule of a run.
    pub(super) fn schedule(&self, program: &Program, choices: Choices) -> Schedule {
        let (name, profile) = self.profile();
        Schedule::new(program, &self.text, (name, &profile), choices)
    }

    pub(super) fn origin(&self, program: &Program, seed: u64) -> Origin {
        let (path, model) = (self.shown(), program.setup.model.name().to_owned());
        let profile = self.profile.as_ref().map_or("default", |(name, _)| name).to_owned();
        let (setup, untimed) = (&program.setup, self.choices.is_some());
        let (jitter, strategy) = (setup.jitter, Strategy::of(program));
        let hardware = self.played.as_ref().map(|played| played.on.clone());
        Origin { path, model, profile, seed, untimed, jitter, strategy, hardware }
    }

    /// Runs, without any report.
    ///
    /// # Errors
    ///
    /// A snapshot file that cannot be read or written.
    pub fn outcome(&self, program: &Program, settings: &Settings) -> Result<Outcome, Complaint> {
        self.judge(program, settings, &mut Nothing).map(|(outcome, _)| outcome)
    }

    /// Runs, with a report for people.
    ///
    /// # Errors
    ///
    /// A snapshot file that cannot be read or written.
    pub fn run(&self, program: &Program, settings: &Settings) -> Result<Outcome, Complaint> {
        let mut text = Text::new(program, self.origin(program, settings.seed), settings.options);
        let (mut outcome, ending) = self.judge(program, settings, &mut text)?;
        let compared = outcome.compared.clone();
        let verdict = &outcome.verdict;
        let told = self.told_with_fixes(program, settings, verdict, shown(verdict));
        let explained = diagnostics::found(
            &self.shown(),
            &self.text,
            &explained(program, &told),
            settings.options.colour,
        );
        let recovery = self.recovery(program, settings, verdict);
        let closing = Closing {
            end: ending.at,
            verdict,
            explained,
            recovery: &recovery,
            compared,
            accept: self.accept(),
        };
        outcome.report = text.finish(&closing);
        Ok(outcome)
    }

    /// Runs, with a line an event to a writer. The inner result is that of the writer.
    ///
    /// # Errors
    ///
    /// A snapshot file that cannot be read or written.
    pub fn run_as_lines<W: Write>(
        &self,
        program: &Program,
        settings: &Settings,
        notation: Notation,
        out: W,
    ) -> Result<(Outcome, std::io::Result<W>), Complaint> {
        let mut lines = Lines::new(program, &self.origin(program, settings.seed), notation, out);
        let (outcome, ending) = self.judge(program, settings, &mut lines)?;
        let told = self.told(program, settings.seed, outcome.verdict.findings.iter().collect());
        let recovery = self.recovery(program, settings, &outcome.verdict);
        let written = lines.finish(ending.at, &outcome.verdict, &told, &recovery, &outcome.compared);
        Ok((outcome, written))
    }

    /// Runs, with the states of the pools as CSV to a writer. The inner result is that of the writer.
    ///
    /// # Errors
    ///
    /// A snapshot file that cannot be read or written.
    pub fn run_as_csv<W: Write>(
        &self,
        program: &Program,
        settings: &Settings,
        out: W,
    ) -> Result<(Outcome, std::io::Result<W>), Complaint> {
        let mut states = States::new(program, &self.origin(program, settings.seed), out);
        let (outcome, _) = self.judge(program, settings, &mut states)?;
        Ok((outcome, states.finish()))
    }

    /// Runs, with the findings and what else fails as SARIF.
    ///
    /// # Errors
    ///
    /// A snapshot file that cannot be read or written.
    pub fn run_as_sarif(
        &self,
        program: &Program,
        settings: &Settings,
    ) -> Result<(Outcome, String), Complaint> {
        let (outcome, _) = self.judge(program, settings, &mut Nothing)?;
        let verdict = &outcome.verdict;
        let sarif = Sarif {
            program,
            text: &self.text,
            origin: self.origin(program, settings.seed),
            told: self.told_with_fixes(program, settings, verdict, verdict.findings.iter().collect()),
            failures: &outcome.failures,
            met: &verdict.met,
            open: verdict.open(),
            status: outcome.status() as u8,
        };
        let document = sarif.document();
        Ok((outcome, document))
    }

    /// What a second run tells about findings.
    fn told<'a>(&self, program: &Program, seed: u64, findings: Vec<&'a Finding>) -> Vec<Told<'a>> {
        let mut told: Vec<Told<'a>> = findings.into_iter().map(Told::new).collect();
        let is_any_missing = told.iter().any(|told| told.finding.missing.is_some());
        if is_any_missing && program.length <= RECORDED_MAX {
            let mut recording = Recording::new(&program.setup);
            match &self.choices {
                Some(choices) => followed(exhaustive::follow(program, choices, &mut recording)),
                None => crate::engine::run(program, seed, &mut recording),
            };
            for told in &mut told {
                told.explanation = told.finding.missing.and_then(|missing| recording.explain(&missing));
            }
        }
        told
    }

    /// The same, with the fixes that were tried.
    fn told_with_fixes<'a>(
        &self,
        program: &Program,
        settings: &Settings,
        verdict: &'a Verdict,
        findings: Vec<&'a Finding>,
    ) -> Vec<Told<'a>> {
        let mut told = self.told(program, settings.seed, findings);
        // What is only in vain is not worth the runs.
        let is_worth_it = |finding: &Finding| {
            finding.counts() && (finding.severity == Severity::Error || finding.missing.is_some())
        };
        let is_any = told.iter().any(|told| is_worth_it(told.finding));
        if !is_any || self.tries_nothing(settings) {
            return told;
        }
        let fixes = self.fixes(program, settings.seed);
        for told in &mut told {
            let nth = verdict.findings.iter().position(|finding| std::ptr::eq(finding, told.finding));
            let fix = fixes.iter().find(|fix| nth.is_some_and(|nth| fix.removes.contains(&nth)));
            told.fix = fix.map(|fix| remedy(fix, &program.names, &super::fix::apply(&self.path, false)));
        }
        told
    }

    /// What is tried are other texts, of which choices say nothing.
    fn tries_nothing(&self, settings: &Settings) -> bool {
        settings.remedies == Remedies::Ignored || self.choices.is_some() || self.played.is_some()
    }

    /// The program of another text, with the variant, the model, the choices and the levels that a program has.
    fn edited(&self, text: &str, like: &Program) -> Option<Program> {
        let (programs, _) = self.with_text(text.to_owned()).load_all().ok()?;
        let edited = programs.into_iter().find(|program| program.variant == like.variant)?;
        let edited = super::with_jitter(super::on_model(edited, Some(like.setup.model)), like.setup.jitter);
        let edited = Strategy::of(like).applied(edited);
        Some(Program { levels: like.levels.clone(), ..edited })
    }

    /// The fixes of the first findings of a program that no line expects.
    fn fixes(&self, program: &Program, seed: u64) -> Vec<Fix> {
        let read = |text: &str| self.edited(text, program);
        let search = Search { read: &read, seed, limits: Limits::default() };
        let suggested = fix::suggest(&self.text, &search, FIXED_MAX);
        suggested.map(|suggested| suggested.fixes).unwrap_or_default()
    }

    /// What would have made the allocations succeed that failed for want of memory.
    fn recovery(&self, program: &Program, settings: &Settings, verdict: &Verdict) -> Recovery {
        let failed = verdict.failed.iter().filter(|failed| failed.failure == Failure::OutOfMemory);
        let failed: Vec<(StmtId, bool)> = failed.map(|failed| (failed.stmt, failed.expected)).collect();
        if failed.is_empty() || self.tries_nothing(settings) {
            return Recovery::default();
        }
        let load = |text: &str| self.edited(text, program);
        crate::explore::recover::recover(&self.text, program, settings.seed, &failed, &load)
    }

    fn judge(
        &self,
        program: &Program,
        settings: &Settings,
        report: &mut impl Sink,
    ) -> Result<(Outcome, Ending), Complaint> {
        let mut snapshots = Snapshots::new(program);
        let (mut verdict, ending) = self.verdict(program, settings, &mut (&mut snapshots, report));
        if self.choices.is_none() && self.played.is_none() {
            self.settle(program, &mut verdict);
        }
        let snapshots = snapshots.finish();
        let compared = match &snapshots {
            None => Compared::None,
            Some(_) if settings.accepted == Accepted::Ignored => Compared::None,
            Some(_) if outside::is_standard_input(&self.path) => Compared::None,
            Some(text) => self.place.compare_part(text, program.variant.as_deref())?,
        };
        let failures = crate::report::failures(program, &verdict, &compared);
        Ok((Outcome { verdict, compared, snapshots, report: String::new(), failures }, ending))
    }

    /// Decides the lines that speak of all timings.
    fn settle(&self, program: &Program, verdict: &mut Verdict) {
        let limits = exhaustive::Limits { nodes: self.limit, states: self.limit };
        let Some(Proof { lines, coverage }) = proof::prove(program, limits, &|_| true) else { return };
        let schedule = self.schedule(program, Choices::Untimed(Witness::default()));
        let mut is_any_open = false;
        for (id, line) in lines {
            is_any_open |= line.answer == Answer::Undecided;
            let run =
                line.witness.map(|witness| schedule.with_choices(Choices::Untimed(witness)).to_string());
            let settled = Settled { answer: line.answer, first: line.first, schedule: run };
            verdict.expectations[id].settled = Some(settled);
        }
        let file = self.profile.as_ref().filter(|_| schedule.profile.is_none());
        let profile = file.map(|(name, _)| format!(" --profile {}", outside::quoted(Path::new(name))));
        verdict.searched = Some(Searched {
            calls: coverage.nodes,
            stopped: is_any_open.then(|| crate::report::stopped(&coverage, limits)),
            shown_with: format!("{}{}", outside::quoted(&self.path), profile.unwrap_or_default()),
        });
    }

    /// Runs and judges; snapshots are not looked at.
    pub(super) fn verdict(
        &self,
        program: &Program,
        settings: &Settings,
        report: &mut impl Sink,
    ) -> (Verdict, Ending) {
        if let Some(played) = &self.played {
            let mut judge = Expectations::of_hardware(program, &played.silent, &played.met);
            played.events.replay(&mut (&mut judge, report));
            let verdict = judge.finish(played.broken.clone());
            return (verdict, Ending { at: played.end, stop: None });
        }
        let mut books = Checked(cfg!(debug_assertions).then(|| Accounting::new(&program.setup)));
        let sink = (&mut books, report);
        let judged = match &self.choices {
            Some(choices) => followed(explore::judged_untimed(program, choices, sink)),
            None => explore::judged(program, settings.seed, sink),
        };
        let violations = books.0.as_ref().map_or(&[][..], Accounting::violations);
        assert!(violations.is_empty(), "the books do not add up, which is a bug of millpond: {violations:?}");
        judged
    }
}

/// Whoever gives choices has followed them before.
fn followed<R>(result: Result<R, Astray>) -> R {
    result.expect("the choices are those of a run of this program")
}

/// A sink that may be switched off.
#[derive(Debug)]
struct Checked(Option<Accounting>);

impl Sink for Checked {
    fn wants(&self, detail: Detail) -> bool {
        self.0.as_ref().is_some_and(|sink| sink.wants(detail))
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some(sink) = &mut self.0 {
            sink.event(event);
        }
    }
}
