//! The kernel that the backend gives to a device, in PTX, beside what the simulated driver runs in its place: the same words, the
//! same report, and no earlier end.

use crate::ptx::{Answer, Device, Module};
use millpond::base::Draws;
use millpond::hw::{KERNEL, MODULE, STAMPS_MAX};
use millpond_simulated::Spin;
use simulated_driver::{DeviceMemory, Kernel, Parameters};

/// Where the words are that stamps are about, and where the report is.
const WORDS: u64 = 0x7f00_0020_0000;
const REPORT: u64 = 0x7f00_0000_1000;
const REPORT_WORDS: u64 = 4;

const COMPARE_BEFORE: u64 = 1;
const WRITE: u64 = 2;
const COMPARE_AFTER: u64 = 4;

/// One launch.
#[derive(Clone, Debug)]
struct Case {
    nanoseconds: u64,
    count: u64,
    /// As many as the kernel takes, those behind the count too.
    stamps: Vec<[u64; 4]>,
    /// What words hold before, by their number.
    holds: Vec<u64>,
    report: [u64; 4],
    /// What another kernel writes while this one runs.
    others: Vec<(u64, u64)>,
    /// When the timer is read first, and by how much it grows from one reading to the next.
    timer: u64,
    tick: u64,
    /// Whether the timer stands still.
    is_frozen: bool,
    /// How many ticks the clock has in a nanosecond, and where it begins.
    rate: u64,
    clock: u64,
}

/// What a launch leaves behind.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    report: Vec<u64>,
    words: Vec<u64>,
    /// How many bytes were touched where there are none.
    dropped: u64,
}

fn case(number: u64) -> Case {
    let mut draws = Draws::new(number, 30);
    let count = match draws.below(8) {
        0 => 0,
        1 => STAMPS_MAX as u64,
        2 => draws.below(4),
        _ => draws.between(0, STAMPS_MAX as u64),
    };
    let words = draws.between(1, 160);
    let holds: Vec<u64> = (0..words).map(|_| pattern(&mut draws)).collect();
    // Of stamps and of words so many in a hundred are not as expected.
    let wrong = [0, 1, 30][draws.below(3) as usize];
    let is_distinct = draws.below(2) == 0 && words >= STAMPS_MAX as u64;
    let mut now = holds.clone();
    let stamps = (0..STAMPS_MAX as u64).map(|nth| {
        let word = if is_distinct { nth } else { draws.below(words) };
        let held = &mut now[word as usize];
        // What else stands in the flags has no meaning.
        let flags = draws.below(8) | if draws.below(8) == 0 { pattern(&mut draws) << 3 } else { 0 };
        let holds = if draws.below(100) < wrong { pattern(&mut draws) } else { *held };
        let writes = if draws.below(8) == 0 { *held } else { pattern(&mut draws) };
        if flags & WRITE != 0 {
            *held = writes;
        }
        [WORDS + 8 * word, holds, writes, flags]
    });
    let stamps = stamps.collect();
    let others = if draws.below(2) == 0 { 0 } else { draws.between(1, 4) };
    let others = (0..others).map(|_| (WORDS + 8 * draws.below(words), pattern(&mut draws))).collect();
    let tick = [1, 7, 32, 1_000][draws.below(4) as usize];
    let ticks = draws.below(200);
    let nanoseconds = if draws.below(2) == 0 { tick * ticks } else { draws.between(0, tick * ticks) };
    let timer = if draws.below(4) == 0 { u64::MAX - draws.below(1_000) } else { draws.between(0, u64::MAX) };
    let report =
        if draws.below(10) == 0 { [1, 2, 3, 1] } else { [0, 8, 9, 10].map(|word| word * draws.below(2)) };
    let (is_frozen, rate, clock) = (draws.below(6) == 0, draws.between(1, 4), draws.between(0, u64::MAX));
    Case { nanoseconds, count, stamps, holds, report, others, timer, tick, is_frozen, rate, clock }
}

/// One of few, so that different words may hold the same.
fn pattern(draws: &mut Draws) -> u64 {
    0x4d50_0000_0000_0000 | draws.below(40)
}

impl Case {
    fn parameters(&self) -> Vec<Box<[u8]>> {
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        vec![bytes(&[self.nanoseconds]), bytes(&[REPORT]), bytes(&[self.count]), bytes(&self.stamps.concat())]
    }

    fn memory(&self) -> DeviceMemory {
        let mut memory = DeviceMemory::of([(REPORT, 8 * REPORT_WORDS), (WORDS, 8 * self.holds.len() as u64)]);
        for (words, start) in [(&self.report[..], REPORT), (&self.holds, WORDS)] {
            (start..).step_by(8).zip(words).for_each(|(address, word)| memory.set_u64_at(address, *word));
        }
        memory
    }

    fn others_write(&self, memory: &mut DeviceMemory) {
        self.others.iter().for_each(|(address, value)| memory.set_u64_at(*address, *value));
    }

    fn left(&self, mut memory: DeviceMemory) -> Left {
        let mut words =
            |start: u64, count: u64| (0..count).map(|nth| memory.u64_at(start + 8 * nth)).collect();
        let (report, words) = (words(REPORT, REPORT_WORDS), words(WORDS, self.holds.len() as u64));
        Left { report, words, dropped: memory.dropped() }
    }

    /// By what the simulated driver runs.
    fn spun(&self) -> Left {
        let parameters = Parameters::new(self.parameters(), [1; 3], [1; 3]);
        assert_eq!(Spin.takes(&parameters), self.nanoseconds);
        let mut memory = self.memory();
        Spin.starts(&parameters, &mut memory);
        self.others_write(&mut memory);
        Spin.ends(&parameters, &mut memory);
        self.left(memory)
    }

    /// By the module. The kernel has run for the stated time, and has then gone on at once; by a clock of four ticks a nanosecond where
    /// the timer stands still.
    fn run(&self, module: &Module) -> Answer<Left> {
        let mut launch = Launch { case: self, memory: self.memory(), read: 0 };
        module.run(&self.parameters(), &mut launch)?;
        let Launch { memory, read, .. } = launch;
        let passed = |reads: u64| reads.saturating_sub(1) * self.tick;
        let is_over = |reads: u64| match self.is_frozen && self.nanoseconds > 0 {
            true => passed(reads) * self.rate > 4 * self.nanoseconds,
            false => passed(reads) >= self.nanoseconds,
        };
        if !is_over(read) || read > 2 && is_over(read - 1) {
            return Err(format!("it runs for {} ns of {}", passed(read), self.nanoseconds));
        }
        Ok(self.left(memory))
    }

    fn differs(&self, module: &Module) -> Option<String> {
        let spun = self.spun();
        match self.run(module) {
            Ok(left) => (left != spun).then(|| format!("it leaves {left:x?} and not {spun:x?}")),
            Err(said) => Some(said),
        }
    }
}

/// The kernel on a device where another one writes meanwhile.
struct Launch<'c> {
    case: &'c Case,
    memory: DeviceMemory,
    /// How often the timer was read.
    read: u64,
}

impl Device for Launch<'_> {
    fn load(&mut self, address: u64) -> u64 {
        self.memory.u64_at(address)
    }

    fn store(&mut self, address: u64, value: u64) {
        self.memory.set_u64_at(address, value);
    }

    fn timer(&mut self) -> u64 {
        // Once the kernel waits, it has begun, and it has not ended.
        if self.read == 1 {
            self.case.others_write(&mut self.memory);
        }
        self.read += 1;
        match self.case.is_frozen {
            true => self.case.timer,
            false => self.case.timer.wrapping_add((self.read - 1) * self.case.tick),
        }
    }

    fn clock(&mut self) -> u64 {
        self.case.clock.wrapping_add(self.read.saturating_sub(1) * self.case.tick * self.case.rate)
    }
}

fn read(text: &str) -> Module {
    Module::read(text).unwrap_or_else(|said| panic!("{said}"))
}

#[test]
fn the_module_does_what_the_simulated_driver_runs() {
    let is_full = std::env::var_os("MILLPOND_FULL").is_some_and(|value| value == "1");
    let module = read(MODULE);
    // Nothing reported, before, after, and what was there already; and the flags of stamps.
    let (mut reports, mut flags) = ([0; 4], [0; 8]);
    let count = if is_full { 100_000 } else { 2_000 };
    for number in 0..count {
        let case = case(number);
        assert_eq!(case.differs(&module), None, "{number}: {case:x?}");
        let kind = match case.spun().report[..] {
            _ if case.report[0] != 0 => 3,
            [0, ..] => 0,
            [1, _, _, late] => 1 + late as usize,
            ref other => panic!("{number}: {other:?}"),
        };
        reports[kind] += 1;
        for [.., of_stamp] in &case.stamps[..case.count as usize] {
            flags[(of_stamp & (COMPARE_BEFORE | WRITE | COMPARE_AFTER)) as usize] += 1;
        }
    }
    println!("{count} launches; reported nothing, before, after, earlier: {reports:?}; flags: {flags:?}");
    assert!(reports.iter().all(|kind| kind * 20 > count), "{reports:?}");
    assert!(flags.iter().all(|kind| *kind > count), "{flags:?}");
}

#[test]
fn the_module_is_what_launches_are_made_for() {
    let module = read(MODULE);
    assert_eq!(module.entry, KERNEL);
    let sizes: Vec<u64> = module.parameters.iter().map(|parameter| parameter.size).collect();
    assert_eq!(sizes, [8, 8, 8, STAMPS_MAX as u64 * 32]);
    // The parameters of a kernel have 4,352 bytes at most before version 8.1 (PTX ISA, ".param").
    assert!(sizes.iter().sum::<u64>() <= 4_352);
    // The global timer is there since version 3.1 and sm_30 (PTX ISA, "Special Registers").
    assert!(module.version >= (6, 0) && module.target >= 30, "{:?} {}", module.version, module.target);
    assert_eq!(module.address_size, 64);
}

/// How many launches have to notice a change of the module between them.
const NOTICING: u64 = 400;

fn is_noticed(text: &str) -> bool {
    // A text that cannot be read would be refused for another reason.
    let module = read(text);
    (0..NOTICING).any(|number| case(number).differs(&module).is_some())
}

/// Changes of one instruction each, with what they break.
const CHANGES: &[(&str, &str, &str)] = &[
    ("nothing is written", "    st.volatile.global.u64 [%at], %writes;\n", ""),
    ("it compares after as before", "selp.b64 %flag, 1, 4, %off;", "selp.b64 %flag, 4, 1, %off;"),
    (
        "it writes by another flag",
        "2;\n    setp.eq.u64 %off, %flag, %zero;\n    @%off bra WRITTEN",
        "1;\n    setp.eq.u64 %off, %flag, %zero;\n    @%off bra WRITTEN",
    ),
    ("stamps are of 16 bytes", "shl.b64 %stamp, %i, 5;", "shl.b64 %stamp, %i, 4;"),
    ("the report has what was found elsewhere", "[%report + 16], %found;", "[%report + 24], %found;"),
    ("the report says before", "[%report + 24], %late;", "[%report + 24], %zero;"),
    ("the report has what was expected", "[%report + 16], %found;", "[%report + 16], %holds;"),
    ("the report is marked elsewhere", "[%report], %flag;", "[%report + 8], %flag;"),
    ("the last one is reported", "setp.ne.u64 %off, %flag, %zero;", "setp.ne.u64 %off, %zero, %zero;"),
    ("one stamp too many", "setp.ge.u64 %done, %i, %count;", "setp.gt.u64 %done, %i, %count;"),
    ("the first stamp is left out", "mov.u64 %i, 0;", "mov.u64 %i, 1;"),
    ("what is found is right", "setp.eq.u64 %same, %found, %holds;", "setp.ne.u64 %same, %found, %holds;"),
    ("it waits once more", "setp.lt.u64 %off, %now, %length;", "setp.le.u64 %off, %now, %length;"),
    ("it does not wait", "setp.lt.u64 %off, %now, %length;", "setp.gt.u64 %off, %now, %length;"),
    ("it waits for a time of the day", "sub.u64 %now, %now, %start;", "sub.u64 %now, %now, %zero;"),
    ("it never ends", "mov.u64 %late, 1;", "mov.u64 %late, 0;"),
    ("it expects what was there after a write", "mov.u64 %holds, %writes;", "mov.u64 %holds, %holds;"),
    ("it begins late", "mov.u64 %late, 0;", "mov.u64 %late, 1;"),
    ("it writes what it expects", "[%stamp + 16];", "[%stamp + 8];"),
    ("it looks elsewhere", "ld.param.u64 %at, [%stamp];", "ld.param.u64 %at, [%stamp + 32];"),
];

#[test]
fn a_change_of_the_module_is_noticed() {
    for (what, from, to) in CHANGES {
        assert_eq!(MODULE.matches(from).count(), 1, "{what}: {from}");
        assert!(is_noticed(&MODULE.replace(from, to)), "{what}");
    }
}

/// Each of its instructions is needed, but for fences, which order nothing where one thread runs at a time.
#[test]
fn an_instruction_that_is_left_out_is_noticed() {
    let lines: Vec<&str> = MODULE.lines().collect();
    let is_instruction = |line: &str| {
        let line = line.trim();
        line.ends_with(';') && !line.starts_with(".reg") && !line.starts_with("membar")
    };
    let mut count = 0;
    for (nth, line) in lines.iter().enumerate().filter(|(_, line)| is_instruction(line)) {
        let text = [&lines[..nth], &lines[nth + 1..]].concat().join("\n");
        assert!(is_noticed(&text), "line {}: {line}", nth + 1);
        count += 1;
    }
    assert!(count > 40, "{count}");
}
