//! Many runs of one program: what a run needs is built once, and put back to the start for each.
//!
//! Once warm, a run asks for memory only where it goes further than those before it.

use super::run::{Ending, Limits, Places};
use super::{Chooser, Machine, Seeded, Timeline};
use crate::base::reuse_on_clone;
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::model::oxicuda::Oxicuda;
use crate::scenario::Program;
use crate::trace::{Model, Nothing, Sink};

/// Runs a program on its model in virtual time, again and again.
#[derive(Debug)]
pub struct Runner<'p>(&'p Program, Stages);

#[derive(Debug)]
enum Stages {
    Cuda(Box<Stage<Cuda, Seeded>>),
    Oxicuda(Box<Stage<Oxicuda, Seeded>>),
}

impl<'p> Runner<'p> {
    /// Before the first run.
    pub fn new(program: &'p Program) -> Self {
        let (setup, chooser) = (&program.setup, Seeded::new(program, 0));
        let stages = match setup.model {
            Model::Cuda => Stages::Cuda(Stage::new(program, Cuda::new(setup), chooser)),
            Model::Oxicuda => Stages::Oxicuda(Stage::new(program, Oxicuda::new(setup), chooser)),
        };
        Self(program, stages)
    }

    /// One run, which tells the sink what [`super::run`] would tell it.
    pub fn run<S: Sink>(&mut self, seed: u64, sink: S) -> Ending {
        match &mut self.1 {
            Stages::Cuda(stage) => stage.run(self.0, seed, sink),
            Stages::Oxicuda(stage) => stage.run(self.0, seed, sink),
        }
    }
}

/// What a run changes, as it is before the first call and as the latest run has left it.
#[derive(Debug)]
pub(super) struct Stage<A, C> {
    start: Scene<A, C>,
    /// Taken while a run uses it.
    now: Option<Scene<A, C>>,
}

#[derive(Debug)]
struct Scene<A, C> {
    machine: Machine<A, Timeline, C, Nothing>,
    places: Places,
}

reuse_on_clone!(Scene[A: Allocator; C: Chooser, Clone] { machine, places });

impl<A: Allocator, C: Chooser + Clone> Stage<A, C> {
    pub(super) fn new(program: &Program, model: A, chooser: C) -> Box<Self> {
        let timeline = Timeline::new(program.setup.streams.len());
        let machine = Machine::new(&program.setup, model, timeline, chooser, Nothing);
        Box::new(Self { start: Scene { machine, places: Places::new(program) }, now: None })
    }

    /// Puts everything back to the start and plays a run.
    pub(super) fn play<S: Sink>(
        &mut self,
        sink: S,
        run: impl FnOnce(&mut Machine<A, Timeline, C, S>, &mut Places) -> Ending,
    ) -> Ending {
        let mut now = self.now.take().unwrap_or_else(|| self.start.clone());
        now.clone_from(&self.start);
        let Scene { machine, mut places } = now;
        let mut machine = machine.with_sink(sink);
        let ending = run(&mut machine, &mut places);
        self.now = Some(Scene { machine: machine.with_sink(Nothing), places });
        ending
    }
}

impl<A: Allocator> Stage<A, Seeded> {
    fn run<S: Sink>(&mut self, program: &Program, seed: u64, sink: S) -> Ending {
        self.play(sink, |machine, places| {
            machine.chooser.reseed(seed);
            places.run(program, machine, Limits::default())
        })
    }
}
