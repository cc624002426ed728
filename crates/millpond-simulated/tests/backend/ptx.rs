//! An interpreter of PTX, of as much as the backend's module uses, for one thread. It knows nothing of what the kernel is for, and
//! refuses whatever else stands in a text, with its line.
//!
//! Fences and `volatile` order nothing here, since one thread runs at a time.
//!
//! Source: PTX ISA, "Directives", "State Spaces", "Kernel Function Parameters", "Instruction Set" and "Special Registers".

use std::collections::BTreeMap;

/// Who runs on for so many instructions does not end.
const STEPS_MAX: usize = 1_000_000;

/// What a kernel sees of its device.
pub(crate) trait Device {
    fn load(&mut self, address: u64) -> u64;
    fn store(&mut self, address: u64, value: u64);
    /// The global timer, in nanoseconds.
    fn timer(&mut self) -> u64;
    /// The clock of the processor, in its ticks.
    fn clock(&mut self) -> u64;
}

/// What is wrong with a text or with a run, with the line where it is.
pub(crate) type Answer<T> = Result<T, String>;

/// A parameter of the entry: where it begins among them, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    from: u64,
    pub(crate) size: u64,
}

/// A module with one entry.
#[derive(Debug)]
pub(crate) struct Module {
    /// As in `.version 6.0`.
    pub(crate) version: (u32, u32),
    /// As in `.target sm_50`.
    pub(crate) target: u32,
    pub(crate) address_size: u32,
    pub(crate) entry: String,
    pub(crate) parameters: Vec<Parameter>,
    code: Vec<Line>,
    registers: usize,
    predicates: usize,
}

/// An instruction with its place in the text, and with the predicate that it hangs on, and what that must be.
#[derive(Debug)]
struct Line {
    number: usize,
    guard: Option<(usize, bool)>,
    does: Instruction,
}

/// What an instruction reads.
#[derive(Clone, Copy, Debug)]
enum Value {
    Register(usize),
    Number(u64),
}

/// The contents of a register, or a place among the parameters, and so many bytes more.
#[derive(Clone, Copy, Debug)]
struct Address(Value, u64);

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Move(usize, Value),
    Timer(usize),
    Clock(usize),
    Compute(fn(u64, u64) -> u64, usize, Value, Value),
    Compare(fn(&u64, &u64) -> bool, usize, Value, Value),
    Select(usize, Value, Value, usize),
    Branch(usize),
    LoadParameter(usize, Address),
    Load(usize, Address),
    Store(Address, Value),
    Fence,
    Return,
}

/// What the parts of an entry are called.
#[derive(Debug, Default)]
struct Names<'t> {
    parameters: Vec<Parameter>,
    /// Those of 64 bits, and the predicates, each with its number.
    registers: BTreeMap<&'t str, usize>,
    predicates: BTreeMap<&'t str, usize>,
    /// The instruction behind each label.
    labels: BTreeMap<&'t str, usize>,
}

impl Module {
    /// Reads a text.
    pub(crate) fn read(text: &str) -> Answer<Self> {
        let mut lines = text.lines().zip(1..).map(|(line, number)| {
            let code = line.split_once("//").map_or(line, |(code, _)| code);
            (number, code.trim())
        });
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty());
        let (mut version, mut target, mut address_size) = (None, None, None);
        let entry = loop {
            let (number, line) = lines.next().ok_or("it has no entry")?;
            let what = line.split_once(' ').unwrap_or((line, ""));
            match what {
                (".version", value) => version = value.split_once('.').and_then(both),
                (".target", value) => target = value.strip_prefix("sm_").and_then(|value| value.parse().ok()),
                (".address_size", value) => address_size = value.parse().ok(),
                (".visible", rest) => {
                    let name = rest.strip_prefix(".entry ").and_then(|name| name.strip_suffix('('));
                    break name.filter(|name| is_name(name)).ok_or_else(|| unknown(number, line))?;
                }
                _ => return Err(unknown(number, line)),
            }
        };
        let mut names = Names::default();
        loop {
            match lines.next().ok_or("its parameters have no end")? {
                (_, ")") => break,
                (number, line) => names.add_parameter(line).ok_or_else(|| unknown(number, line))?,
            }
        }
        let body: Vec<(usize, &str)> = lines.collect();
        let [(_, "{"), body @ .., (_, "}")] = &body[..] else { return Err("its body has no end".to_owned()) };
        let code = names.code(body)?;
        Ok(Self {
            version: version.ok_or("it has no version")?,
            target: target.ok_or("it has no target")?,
            address_size: address_size.ok_or("it has no size of addresses")?,
            entry: entry.to_owned(),
            code,
            registers: names.registers.len(),
            predicates: names.predicates.len(),
            parameters: names.parameters,
        })
    }
}

fn both((one, other): (&str, &str)) -> Option<(u32, u32)> {
    Some((one.parse().ok()?, other.parse().ok()?))
}

fn unknown(number: usize, line: &str) -> String {
    format!("line {number}: `{line}` is not known")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl<'t> Names<'t> {
    /// `.param .u64 name,` or `.param .align 8 .b8 name[64]`.
    fn add_parameter(&mut self, line: &str) -> Option<()> {
        let line = line.strip_suffix(',').unwrap_or(line);
        let (name, size) = match line.split(' ').collect::<Vec<_>>()[..] {
            [".param", ".u64", name] => (name, 8),
            [".param", ".align", "8", ".b8", array] => {
                let (name, size) = array.strip_suffix(']')?.split_once('[')?;
                (name, size.parse().ok()?)
            }
            _ => return None,
        };
        let is_new = is_name(name) && self.parameters.iter().all(|other| other.name != name);
        let end = self.parameters.last().map_or(0, |last| last.from + last.size);
        let from = end.next_multiple_of(8);
        self.parameters.push(Parameter { name: name.to_owned(), from, size });
        is_new.then_some(())
    }

    /// `.reg .pred %a, %b`.
    fn add_registers(&mut self, line: &'t str) -> Option<()> {
        let (kind, list) = line.strip_prefix(".reg ")?.split_once(' ')?;
        for name in list.split(", ") {
            let is_new = is_name(name.strip_prefix('%')?)
                && !self.registers.contains_key(name)
                && !self.predicates.contains_key(name);
            let of_kind = match kind {
                ".b64" => &mut self.registers,
                ".pred" => &mut self.predicates,
                _ => return None,
            };
            let number = of_kind.len();
            is_new.then(|| of_kind.insert(name, number))?;
        }
        Some(())
    }

    fn code(&mut self, body: &[(usize, &'t str)]) -> Answer<Vec<Line>> {
        let mut code = Vec::new();
        for (number, line) in body {
            let is_known = match (line.strip_suffix(':'), line.strip_suffix(';')) {
                (Some(label), _) => is_name(label) && self.labels.insert(label, code.len()).is_none(),
                (None, Some(declared)) if declared.starts_with(".reg ") => {
                    self.add_registers(declared).is_some()
                }
                (None, Some(instruction)) => {
                    code.push((*number, *line, instruction));
                    true
                }
                (None, None) => false,
            };
            is_known.then_some(()).ok_or_else(|| unknown(*number, line))?;
        }
        let read =
            |(number, line, instruction)| self.line(number, instruction).ok_or_else(|| unknown(number, line));
        code.into_iter().map(read).collect()
    }

    fn line(&self, number: usize, instruction: &str) -> Option<Line> {
        let (guard, rest) = match instruction.strip_prefix('@') {
            None => (None, instruction),
            Some(guarded) => {
                let (guard, rest) = guarded.split_once(' ')?;
                let name = guard.strip_prefix('!').unwrap_or(guard);
                (Some((self.predicate(name)?, name == guard)), rest)
            }
        };
        let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let operands: Vec<&str> = operands.split(", ").filter(|operand| !operand.is_empty()).collect();
        Some(Line { number, guard, does: self.instruction(name, &operands)? })
    }

    fn instruction(&self, name: &str, operands: &[&str]) -> Option<Instruction> {
        let known = match (name, operands) {
            ("mov.u64", [to, "%globaltimer"]) => Instruction::Timer(self.register(to)?),
            ("mov.u64", [to, "%clock64"]) => Instruction::Clock(self.register(to)?),
            ("mov.u64" | "mov.b64", [to, from]) => {
                let value = self.value(from).or_else(|| self.parameter(from));
                Instruction::Move(self.register(to)?, value?)
            }
            ("selp.b64", [to, one, other, predicate]) => {
                let predicate = self.predicate(predicate)?;
                Instruction::Select(self.register(to)?, self.value(one)?, self.value(other)?, predicate)
            }
            ("bra", [label]) => Instruction::Branch(*self.labels.get(label)?),
            ("ld.param.u64", [to, from]) => {
                Instruction::LoadParameter(self.register(to)?, self.address(from, true)?)
            }
            ("ld.volatile.global.u64", [to, from]) => {
                Instruction::Load(self.register(to)?, self.address(from, false)?)
            }
            ("st.volatile.global.u64", [to, from]) => {
                Instruction::Store(self.address(to, false)?, self.value(from)?)
            }
            ("membar.gl" | "membar.sys", []) => Instruction::Fence,
            ("ret", []) => Instruction::Return,
            (name, [to, one, other]) => match (computes(name), compares(name)) {
                (Some(compute), _) => {
                    Instruction::Compute(compute, self.register(to)?, self.value(one)?, self.value(other)?)
                }
                (None, compare) => {
                    Instruction::Compare(compare?, self.predicate(to)?, self.value(one)?, self.value(other)?)
                }
            },
            _ => return None,
        };
        Some(known)
    }

    fn register(&self, name: &str) -> Option<usize> {
        self.registers.get(name).copied()
    }

    fn predicate(&self, name: &str) -> Option<usize> {
        self.predicates.get(name).copied()
    }

    fn value(&self, text: &str) -> Option<Value> {
        match text.parse() {
            Ok(number) => Some(Value::Number(number)),
            Err(_) => self.register(text).map(Value::Register),
        }
    }

    fn parameter(&self, name: &str) -> Option<Value> {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
        parameter.map(|parameter| Value::Number(parameter.from))
    }

    /// `[%register]` or `[%register + 8]`; of a parameter `[name]` too.
    fn address(&self, text: &str, is_parameter: bool) -> Option<Address> {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let (base, more) = inner.split_once(" + ").unwrap_or((inner, "0"));
        let named = || self.parameter(base).filter(|_| is_parameter);
        let base = self.register(base).map(Value::Register).or_else(named)?;
        Some(Address(base, more.parse().ok()?))
    }
}

fn computes(name: &str) -> Option<fn(u64, u64) -> u64> {
    match name {
        "add.u64" => Some(u64::wrapping_add),
        "sub.u64" => Some(u64::wrapping_sub),
        "and.b64" => Some(|one, other| one & other),
        // Shifts by more than there are bits give 0.
        "shl.b64" => Some(|one, by| u32::try_from(by).ok().and_then(|by| one.checked_shl(by)).unwrap_or(0)),
        _ => None,
    }
}

fn compares(name: &str) -> Option<fn(&u64, &u64) -> bool> {
    match name {
        "setp.eq.u64" => Some(u64::eq),
        "setp.ne.u64" => Some(u64::ne),
        "setp.lt.u64" => Some(u64::lt),
        "setp.le.u64" => Some(u64::le),
        "setp.gt.u64" => Some(u64::gt),
        "setp.ge.u64" => Some(u64::ge),
        _ => None,
    }
}

/// A thread on its way; what nothing has written yet holds nothing.
struct Thread {
    registers: Vec<Option<u64>>,
    predicates: Vec<Option<bool>>,
}

impl Thread {
    fn value(&self, value: Value) -> Option<u64> {
        match value {
            Value::Number(number) => Some(number),
            Value::Register(register) => self.registers[register],
        }
    }

    /// An address of 8 bytes, which is a multiple of that.
    fn address(&self, Address(base, more): Address) -> Option<u64> {
        let address = self.value(base)?.wrapping_add(more);
        address.is_multiple_of(8).then_some(address)
    }
}

impl Module {
    /// Runs the entry in one thread.
    pub(crate) fn run(&self, parameters: &[Box<[u8]>], device: &mut dyn Device) -> Answer<()> {
        let sizes: Vec<u64> = parameters.iter().map(|bytes| bytes.len() as u64).collect();
        let declared: Vec<u64> = self.parameters.iter().map(|parameter| parameter.size).collect();
        if sizes != declared {
            return Err(format!("the parameters have {sizes:?} bytes and not {declared:?}"));
        }
        let mut passed = Vec::new();
        for (parameter, bytes) in self.parameters.iter().zip(parameters) {
            passed.resize(parameter.from as usize, 0);
            passed.extend_from_slice(bytes);
        }
        let mut thread =
            Thread { registers: vec![None; self.registers], predicates: vec![None; self.predicates] };
        let mut at = 0;
        for _ in 0..STEPS_MAX {
            let line = self.code.get(at).ok_or("it runs off its end")?;
            let next = thread.step(line, at, &passed, device);
            match next.ok_or_else(|| format!("line {}: it reads what is not there", line.number))? {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
        Err(format!("line {}: it does not end", self.code[at].number))
    }
}

impl Thread {
    /// The place of the next instruction, behind a return nothing. `None`: this one reads what is not there.
    fn step(
        &mut self,
        line: &Line,
        at: usize,
        passed: &[u8],
        device: &mut dyn Device,
    ) -> Option<Option<usize>> {
        if let Some((predicate, wanted)) = line.guard
            && self.predicates[predicate]? != wanted
        {
            return Some(Some(at + 1));
        }
        match line.does {
            Instruction::Branch(to) => return Some(Some(to)),
            Instruction::Return => return Some(None),
            Instruction::Fence => {}
            Instruction::Move(to, from) => self.registers[to] = Some(self.value(from)?),
            Instruction::Timer(to) => self.registers[to] = Some(device.timer()),
            Instruction::Clock(to) => self.registers[to] = Some(device.clock()),
            Instruction::Compute(compute, to, one, other) => {
                self.registers[to] = Some(compute(self.value(one)?, self.value(other)?));
            }
            Instruction::Compare(compare, to, one, other) => {
                self.predicates[to] = Some(compare(&self.value(one)?, &self.value(other)?));
            }
            Instruction::Select(to, one, other, predicate) => {
                let (one, other) = (self.value(one)?, self.value(other)?);
                self.registers[to] = Some(if self.predicates[predicate]? { one } else { other });
            }
            Instruction::LoadParameter(to, from) => {
                let from = usize::try_from(self.address(from)?).ok()?;
                let bytes = passed.get(from..)?.first_chunk()?;
                self.registers[to] = Some(u64::from_le_bytes(*bytes));
            }
            Instruction::Load(to, from) => self.registers[to] = Some(device.load(self.address(from)?)),
            Instruction::Store(to, from) => device.store(self.address(to)?, self.value(from)?),
        }
        Some(Some(at + 1))
    }
}

/// Memory and a clock that are not there.
struct Nothing;

impl Device for Nothing {
    fn clock(&mut self) -> u64 {
        78
    }

    fn load(&mut self, _: u64) -> u64 {
        0
    }

    fn store(&mut self, _: u64, _: u64) {}

    fn timer(&mut self) -> u64 {
        0
    }
}

/// A module with this body.
fn module(body: &str) -> String {
    format!(
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry one(\n.param .u64 a,\n.param .align 8 .b8 b[16]\n)\n\
         {{\n.reg .pred %p;\n.reg .b64 %x, %y;\n{body}\n}}\n"
    )
}

#[test]
fn what_is_not_known_is_named_with_its_line() {
    for line in [
        "mov.u32 %x, 1;",
        "mov.u64 %z, 1;",
        "mov.u64 %x, c;",
        "mov.u64 %p, 1;",
        "mov.u64 %x, 1",
        "setp.lt.s64 %p, %x, %y;",
        "setp.lt.u64 %x, %x, %y;",
        "@%x ret;",
        "bra NOWHERE;",
        "ld.global.u64 %x, [%y];",
        "ld.param.u64 %x, [c];",
        "ld.volatile.global.u64 %x, [a];",
        "ld.volatile.global.u64 %x, [8];",
        "st.volatile.global.u64 [%x - 8], %y;",
        "add.u64 %x, %y;",
        "mov.u64 %x, %laneid;",
        ".reg .b32 %z;",
        ".reg .b64 %x;",
        ".shared .b8 c[4];",
    ] {
        let text = module(&format!("{line}\nret;"));
        let said = Module::read(&text).map(|_| ()).expect_err(line);
        assert_eq!(said, format!("line 11: `{line}` is not known"));
    }
    for (line, said) in [
        ("add.u64 %x, %y, 1;", "line 11: it reads what is not there"),
        ("@!%p ret;", "line 11: it reads what is not there"),
        ("mov.b64 %x, b;\nld.param.u64 %y, [%x + 16];", "line 12: it reads what is not there"),
        ("mov.u64 %x, 4;\nst.volatile.global.u64 [%x], %x;", "line 12: it reads what is not there"),
        ("mov.u64 %x, 4;", "it runs off its end"),
        ("ON:\nbra ON;", "line 12: it does not end"),
    ] {
        let parameters = [vec![0; 8].into(), vec![0; 16].into()];
        let ran = Module::read(&module(line)).and_then(|module| module.run(&parameters, &mut Nothing));
        assert!(ran.as_ref().expect_err(line).starts_with(said), "{line}: {ran:?}");
    }
    let read = Module::read(&module("ret;")).expect("it is right");
    assert_eq!((read.version, read.target, read.address_size, &read.entry[..]), ((6, 0), 50, 64, "one"));
    assert!(read.run(&[vec![0; 8].into()], &mut Nothing).is_err());
}

/// What each instruction gives, as the PTX ISA says it.
#[test]
fn instructions_compute() {
    struct Stored(Vec<u64>);
    impl Device for Stored {
        fn clock(&mut self) -> u64 {
            78
        }

        fn load(&mut self, address: u64) -> u64 {
            address + 1
        }
        fn store(&mut self, address: u64, value: u64) {
            self.0.extend([address, value]);
        }
        fn timer(&mut self) -> u64 {
            77
        }
    }
    let parameters = [5_u64.to_le_bytes().to_vec().into(), (0..16).collect::<Vec<u8>>().into()];
    for (code, expected) in [
        ("mov.u64 %x, 7;", 7),
        ("mov.u64 %x, %globaltimer;", 77),
        ("mov.u64 %x, %clock64;", 78),
        ("ld.param.u64 %x, [a];", 5),
        ("mov.b64 %y, b;\nadd.u64 %y, %y, 4;\nld.param.u64 %x, [%y + 4];", 0x0f0e_0d0c_0b0a_0908),
        ("mov.u64 %y, 16;\nld.volatile.global.u64 %x, [%y + 8];", 25),
        ("mov.u64 %y, 18446744073709551615;\nadd.u64 %x, %y, 3;", 2),
        ("mov.u64 %y, 1;\nsub.u64 %x, %y, 3;", u64::MAX - 1),
        ("mov.u64 %y, 3;\nshl.b64 %x, %y, 5;", 96),
        ("mov.u64 %y, 3;\nshl.b64 %x, %y, 64;", 0),
        ("mov.u64 %y, 12;\nand.b64 %x, %y, 6;", 4),
        ("mov.u64 %y, 3;\nsetp.lt.u64 %p, %y, 4;\nselp.b64 %x, 1, 2, %p;", 1),
        ("mov.u64 %y, 4;\nsetp.lt.u64 %p, %y, 4;\nselp.b64 %x, 1, 2, %p;", 2),
        ("mov.u64 %y, 4;\nsetp.ge.u64 %p, %y, 4;\nselp.b64 %x, 1, 2, %p;", 1),
        ("mov.u64 %x, 1;\nsetp.eq.u64 %p, %x, 1;\n@%p bra ON;\nmov.u64 %x, 2;\nON:", 1),
        ("mov.u64 %x, 1;\nsetp.ne.u64 %p, %x, 1;\n@%p bra ON;\nmov.u64 %x, 2;\nON:", 2),
        ("mov.u64 %x, 1;\nsetp.eq.u64 %p, %x, 1;\n@!%p bra ON;\nmov.u64 %x, 2;\nON:", 2),
    ] {
        let text = module(&format!(
            "{code}\nmov.u64 %y, 8;\nst.volatile.global.u64 [%y + 8], %x;\nmembar.sys;\nret;"
        ));
        let mut stored = Stored(Vec::new());
        let ran = Module::read(&text).and_then(|module| module.run(&parameters, &mut stored));
        assert_eq!((ran, stored.0), (Ok(()), vec![16, expected]), "{code}");
    }
}
