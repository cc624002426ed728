//! Programs in which every use of memory is ordered, each in another way: kernels find there what was written last, and hardware does
//! what the simulation does, expectations included.

use crate::command::{Ran, millpond};

/// What orders the uses, and the program.
const ORDERED: [(&str, &str); 25] = [
    (
        "copies that hold up the host (CUDA runtime API, API synchronization behavior)",
        "host_buffer h 1MiB pageable
stream a, b non_blocking
x = malloc 1MiB
a: k(x)
a: copy h from x
b: k(x)
b: copy h from x
a: k(x)
sync a
sync b
free x",
    ),
    (
        "the legacy default stream, which waits for blocking ones and is waited for with them",
        "stream a, b
x = malloc 1MiB
legacy: k(x)
a: k(x)
sync legacy
b: k(x)
sync legacy
a: k(x)
sync legacy
free x",
    ),
    (
        "a memset that begins within a word",
        "stream a
x = malloc 1MiB
a: k(x)
a: memset x[4B..100B]
a: look(x)
sync a
free x",
    ),
    (
        "a copy that begins within a word",
        "stream a
x = malloc 1MiB
y = malloc 1MiB
a: k(x)
a: k(y)
a: copy x[4B..104B] from y[4B..104B]
a: look(x)
sync a
free x
free y",
    ),
    (
        "a signal that a kernel waits for",
        "stream a, b non_blocking
x = malloc 1MiB
a: short() until go
a: k(x)
b: k(x)
sync b
signal go
sync a
a: k(x)
sync a
free x",
    ),
    (
        "events in the middle of a stream",
        "stream a, b, c non_blocking
event e, f, g
x = malloc 1MiB
a: k(x)
a: record e
c: wait e
c: record f
c: long()
sync f
b: k(x)
b: record e
c: wait e
c: record g
c: long()
sync g
a: k(x)
sync a
sync b
sync c
free x",
    ),
    (
        "signals that functions in streams give (CUDA driver API, cuLaunchHostFunc)",
        "stream a, b non_blocking
x = malloc 1MiB
a: k(x)
a: host signal first
await first
b: k(x)
b: host signal second
await second
a: k(x)
sync a
free x",
    ),
    (
        "a synchronise of a device with the default stream of another thread",
        "stream a, b non_blocking
x = malloc 1MiB
thread other {
  per_thread: k(x)
  signal started
  sleep 5us
  a: short()
}
await started
sync device
b: k(x)
sync b
join other
sync a
free x",
    ),
    (
        "the same, while that stream goes on",
        "stream a non_blocking
x = malloc 1MiB
thread other {
  per_thread: k(x)
  signal started
  await go
  per_thread: long()
}
await started
sync device
signal go
a: k(x)
sync a
join other
free x",
    ),
    (
        "a synchronise of a device, which is no barrier",
        "stream a, b
legacy: short()
thread other {
  await started
  sleep 10us
  b: short() as aside
}
a: long() as held
signal started
sync device
join other
expect aside starts < end held",
    ),
    (
        "a synchronise of a stream that is destroyed meanwhile",
        "stream a non_blocking
x = malloc 1MiB
thread other {
  await started
  sleep 5us
  destroy a
}
a: k(x)
signal started
sync a
join other
free x",
    ),
    (
        "a poll of a stream that is destroyed meanwhile",
        "stream a non_blocking
x = malloc 1MiB
thread other {
  await started
  sleep 5us
  destroy a
}
a: k(x)
signal started
poll a until done
join other
free x",
    ),
    (
        "a wait with nothing behind it, of which an expectation asks",
        "stream a, b non_blocking
event done
a: long() as first
a: record done
b: wait done as released
sync b
expect released ends >= end first
expect released ends >= 90us",
    ),
    (
        "what gave the signals that functions in streams have waited for",
        "stream o, a, b, c, d non_blocking
o: x = alloc 1MiB
sync o
a: k(x)
a: host signal first
sleep 50us
query o
sleep 50us
query o
b: host await first
b: k(x)
b: host signal second
sleep 50us
query o
sleep 50us
query o
c: host await second
sync a
sync c
d: look(x)
sync device
o: free x",
    ),
    (
        "a synchronise of a blocking stream with the legacy default stream behind it",
        "stream b
stream n non_blocking
x = malloc 1MiB
b: k(x)
legacy: host await go
thread other {
  sleep 1us
  query n
}
sync b
n: k(x)
sync n
signal go
join other
sync device
free x",
    ),
    (
        "the same, while that stream goes on",
        "stream b
stream n non_blocking
x = malloc 1MiB
b: k(x)
legacy: host await go
thread other {
  sleep 2us
  b: short()
}
sync b
n: k(x)
sync n
signal go
join other
sync device
free x",
    ),
    (
        "a poll of a blocking stream with the legacy default stream behind it",
        "stream b
stream n non_blocking
x = malloc 1MiB
b: k(x)
legacy: host await go
thread other {
  sleep 1us
  query n
}
poll b until done
n: k(x)
sync n
signal go
join other
sync device
free x",
    ),
    (
        "a synchronise of a stream that does not wait for younger work",
        "stream b
stream n non_blocking
x = malloc 1MiB
b: k(x)
legacy: long() as later
thread other {
  sleep 1us
  query n
}
sync b
n: k(x) as next
join other
sync device
free x
expect next starts < end later",
    ),
    (
        "a synchronise of a device with a stream that was destroyed, while another one goes on",
        "stream c, d non_blocking
x = malloc 1MiB
create stream b non_blocking
b: k(x) as first
destroy b
thread other {
  sleep 2us
  c: short()
}
sync device
d: k(x) as second
join other
sync device
free x
expect second starts >= end first",
    ),
    (
        "a poll of the legacy default stream with a stream that was destroyed",
        "stream d non_blocking
x = malloc 1MiB
create stream b
b: k(x) as first
destroy b
poll legacy until done
d: k(x) as second
sync device
free x
expect second starts >= end first",
    ),
    (
        "a synchronise of a device while a stream is created",
        "stream a non_blocking
x = malloc 1MiB
a: k(x)
thread other {
  sleep 2us
  create stream n non_blocking
  n: host await go
  signal put
  await go
  sync n
}
sync device
await put
signal go
join other
a: k(x)
sync a
free x",
    ),
    (
        "a synchronise of the legacy default stream, long after a blocking stream was destroyed",
        "pool p { release_threshold = max }
stream n non_blocking
create stream b
destroy b
thread other {
  sleep 1us
  query n
}
n: x = alloc 64MiB from p
n: free x
sync n
legacy: short()
set p.release_threshold = 0
sync legacy
expect p.reserved == 64MiB
join other",
    ),
    (
        "an event that is recorded again while it is waited for",
        "stream a, b non_blocking
event e
x = malloc 1MiB
a: k(x)
a: record e
thread other {
  sleep 1us
  b: host await go
  b: record e
}
sync e
a: k(x)
sync a
signal go
join other
sync device
free x",
    ),
    (
        "a copy that fails, and has copied nothing",
        "device gpu0
device gpu1
pool p on gpu0
stream a on gpu0
stream b on gpu1
host_buffer h 1MiB pageable
a: x = alloc 1MiB from p
a: k(x)
a: copy h from x
a: k(x)
sync a
b: copy x from h fails invalid_value
sync b
a: look(x)
sync a
a: free x
sync a",
    ),
    (
        "memory of a pool that was destroyed, which another device does not reach",
        "device gpu0
device gpu1
pool p on gpu0
stream a on gpu0
stream b on gpu1
a: x = alloc 1MiB from p
sync a
destroy p
b: k(x) fails illegal_address
a: free x
sync a",
    ),
];

const KERNELS: &str = "kernel k(x: write) takes 10us
kernel look(x: read) takes 10us
kernel short() takes 1us
kernel long() takes 100us
";

/// Two names of one process for the memory of another one, in one launch.
const TWO_NAMES: &str = "pool p on gpu0 { handle = posix_fd }
event ready { interprocess }
stream s
kernel fill(x: write) takes 10us
s: x = alloc 4KiB from p
s: fill(x)
s: record ready
sync s
export p as hp
export x as hx
export ready as hr
process child {
  stream s on gpu0
  kernel both(x: write, y: read_write) takes 10us
  q = import hp on gpu0
  y = import hx from q
  z = import hx from q
  r = import hr
  s: wait r
  s: both(y, z)
  sync s
  s: free y
  s: free z
  sync s
}
join child
s: free x
sync s
";

fn is_sound(what: &str, program: &str) {
    for seed in ["0", "1", "2"] {
        let simulated = millpond(&["run", "-", "--seed", seed], program, &[]);
        assert_eq!(simulated.status, 0, "{what}: {}{}", simulated.out, simulated.err);
        let Ran { status, out, err } =
            millpond(&["run", "-", "--seed", seed, "--backend", "cuda"], program, &[]);
        assert_eq!((status, out.contains("error")), (0, false), "{what}: {out}{err}");
        let Ran { status, out, err } =
            millpond(&["compare", "-", "--seed", seed, "--backend", "cuda"], program, &[]);
        assert_eq!((status, out.contains("no difference")), (0, true), "{what}: {out}{err}");
    }
}

#[test]
fn programs_in_order_have_no_overlap_and_no_difference() {
    for (what, program) in ORDERED {
        is_sound(what, &format!("{KERNELS}{program}\n"));
    }
    is_sound("two names", TWO_NAMES);
}

/// More operations than the simulated driver has events for: what is not known is not judged.
#[test]
fn times_that_no_device_has_told_are_not_judged() {
    let program = format!(
        "{KERNELS}stream a\nrepeat i in 0..600 {{\n  a: short()\n}}\na: short() as late\nsync a\nexpect late ends >= 600us\n"
    );
    let Ran { status, out, err } = millpond(&["run", "-", "--backend", "cuda"], &program, &[]);
    assert_eq!((status, out.contains("open")), (0, true), "{out}{err}");
}

/// Operations that take no time have one where the program asks for it.
#[test]
fn what_takes_no_time_has_a_time_where_it_is_asked_for() {
    let program = format!(
        "{KERNELS}stream a
stream b
event e
a: short() as first
a: record e as recorded
b: wait e as waited
b: x = alloc 1MiB as made
b: free x as freed
sync b
expect first ends <= end recorded
expect recorded ends <= end waited
expect waited ends <= end made
expect made ends <= end freed
expect made starts >= 1us
"
    );
    let Ran { status, out, err } = millpond(&["run", "-", "--backend", "cuda"], &program, &[]);
    assert_eq!(
        (status, out.contains("holds: 5 expectations"), out.contains("open")),
        (0, true, false),
        "{out}{err}"
    );
}

/// Once waits are given up, what they have held up runs without any order: nothing of that is told of the program.
#[test]
fn what_runs_after_a_deadlock_is_not_judged() {
    let program = format!(
        "{KERNELS}stream a, b, c non_blocking
x = malloc 1MiB
c: long() as before
a: host await first
a: k(x) as held
b: host await second
b: k(x)
sync a
signal first
signal second
sync b
expect finding deadlock
expect held ends >= 0us
expect before ends >= 100us
"
    );
    let Ran { status, out, err } = millpond(&["run", "-", "--backend", "cuda"], &program, &[]);
    assert_eq!((status, out.contains("overlap")), (0, false), "{out}{err}");
    for (line, is) in [("held ends", "open: such a run does not tell"), ("before ends >= 100us", "holds")] {
        let told = out.lines().find(|told| told.contains(line)).unwrap_or_default();
        assert!(told.trim_end().ends_with(is), "{line}: {out}");
    }
}
