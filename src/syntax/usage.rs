//! How statements are written, for who wrote something else: the usual forms, and words of other notations.
//!
//! To it all of these are words. What they do is decided elsewhere.

/// The words that begin a statement, in the order of the language reference, each with a line that has it.
pub(super) const STATEMENTS: &[(&str, &str)] = &[
    ("millpond", "millpond 1"),
    ("scenario", "scenario \"TITLE\""),
    ("model", "model oxicuda"),
    ("profile", "profile { remap = off }"),
    ("device", "device NAME { memory = 80GiB }"),
    ("pool", "pool NAME on DEVICE { release_threshold = max }"),
    ("stream", "stream NAME, NAME[4]"),
    ("event", "event NAME, NAME[4]"),
    ("process", "process NAME {"),
    ("host_buffer", "host_buffer NAME 1MiB pinned"),
    ("view", "view NAME = BUFFER[0..4KiB]"),
    ("kernel", "kernel NAME(x: read, y: write) takes 10us"),
    ("collective", "collective NAME of 2 takes 50us"),
    ("let", "let NAME = VALUE"),
    ("repeat", "repeat i in 0..10 {"),
    ("thread", "thread NAME {"),
    ("graph", "graph NAME {"),
    ("variant", "variant NAME {"),
    ("async", "async NAME = host_write BUFFER"),
    ("sync", "sync STREAM"),
    ("query", "query STREAM"),
    ("poll", "poll STREAM until done"),
    ("sleep", "sleep 1ms"),
    ("trim", "trim POOL to SIZE"),
    ("set", "set POOL.ATTRIBUTE = VALUE"),
    ("export", "export POOL as NAME"),
    ("grant", "grant POOL to DEVICE"),
    ("revoke", "revoke POOL from DEVICE"),
    ("reset", "reset POOL.used_high"),
    ("create", "create stream NAME"),
    ("destroy", "destroy NAME"),
    ("upload", "upload NAME on STREAM"),
    ("signal", "signal NAME"),
    ("await", "await SIGNAL"),
    ("join", "join THREAD"),
    ("barrier", "barrier NAME of 2"),
    ("free", "free NAME"),
    ("reserve", "reserve 2GiB outside"),
    ("copy", "copy TARGET from SOURCE"),
    ("memset", "memset BUFFER"),
    ("read", "read BUFFER"),
    ("write", "write BUFFER"),
    ("expect", "expect POOL.used == 64MiB"),
    ("allow", "allow leak on NAME"),
    ("snapshot", "snapshot \"NAME\""),
];

/// Further lines of words above.
const FURTHER: &[(&str, &str)] = &[("reset", "reset DEVICE")];

/// The words of operations, which stand behind a stream, each with a line that has it.
pub(super) const OPERATIONS: &[(&str, &str)] = &[
    ("alloc", "STREAM: NAME = alloc SIZE"),
    ("free", "STREAM: free NAME"),
    ("record", "STREAM: record EVENT"),
    ("wait", "STREAM: wait EVENT"),
    ("copy", "STREAM: copy TARGET from SOURCE"),
    ("memset", "STREAM: memset BUFFER"),
    ("host", "STREAM: host await SIGNAL"),
    ("launch", "STREAM: launch NAME"),
];

/// What a call of the host gives a name to, each with a line that has it.
const NAMED: &[(&str, &str)] = &[
    ("malloc", "NAME = malloc SIZE"),
    ("import", "NAME = import NAME on DEVICE"),
    ("instantiate", "NAME = instantiate GRAPH"),
];

/// Statements that have several forms: the first word, a word of the form, and a line of it.
const FORMS: &[(&str, &str, &str)] = &[
    ("trim", "graph_pool", "trim gpu0.graph_pool"),
    ("reset", "device", "reset DEVICE"),
    ("stream", "priority", "stream NAME priority -1"),
    ("event", "on", "event NAME on DEVICE"),
    ("event", "interprocess", "event NAME { interprocess }"),
    ("let", "elapsed", "let NAME = elapsed EVENT to EVENT"),
    ("expect", "finding", "expect finding freed_before_importer on NAME at LABEL"),
    ("expect", "findings", "expect no findings"),
    ("expect", "leaks", "expect no leaks"),
    ("expect", "always", "expect always POOL.reserved_high <= 256MiB"),
    ("expect", "sometimes", "expect sometimes out_of_memory"),
    ("expect", "never", "expect never use_after_free"),
    ("expect", "ready", "expect NAME ready on STREAM"),
    ("expect", "depends", "expect NAME depends on timing"),
    ("expect", "reaches", "expect DEVICE reaches POOL"),
    ("expect", "waits", "expect NAME waits for free NAME"),
    ("expect", "reuses", "expect NAME reuses NAME"),
    ("expect", "fails", "expect NAME fails out_of_memory"),
    ("expect", "starts", "expect NAME starts >= end NAME"),
    ("expect", "ends", "expect NAME ends < 10us"),
];

const LAUNCH: &str = "STREAM: KERNEL(BUFFER)";

/// Words that people bring along, in small letters, without `_` and without `cuda` before them. Behind them stands the word
/// of this language that means it, or a line with it.
const FOREIGN: &[(&[&str], &str)] = &[
    (
        &[
            "mallocasync",
            "mallocfrompoolasync",
            "allocasync",
            "allocate",
            "new",
            "buffer",
            "graphaddmemallocnode",
        ],
        "alloc",
    ),
    (&["freeasync", "dealloc", "deallocate", "delete", "drop", "graphaddmemfreenode"], "free"),
    (&["mallocmanaged"], "NAME = malloc SIZE"),
    (&["memcpyasync", "memcpy"], "copy"),
    (&["memsetasync"], "memset"),
    (&["mallochost", "hostalloc"], "host_buffer"),
    (&["launchhostfunc"], "host"),
    (&["eventrecord", "recordevent"], "record"),
    (&["streamwaitevent", "waitevent", "eventwait", "streamwait"], "wait"),
    (&["streamsynchronize", "streamsync", "syncstream", "synchronize", "synchronise"], "sync"),
    (&["eventsynchronize", "eventsync", "syncevent"], "sync EVENT"),
    (&["devicesynchronize", "devicesync", "syncdevice"], "sync device"),
    (&["streamquery", "eventquery", "querystream", "queryevent"], "query"),
    (&["eventelapsedtime", "elapsedtime", "elapsed"], "let NAME = elapsed EVENT to EVENT"),
    (&["mempooltrimto", "trimto", "trimpool", "pooltrim"], "trim"),
    (&["mempoolsetattribute", "setattribute", "poolset"], "set"),
    (&["devicesetmempool", "memsetmempool"], "set gpu0.pool = POOL"),
    (&["devicegetmempool", "memgetmempool", "getcurrentpool"], "expect gpu0.pool == POOL"),
    (&["mempoolcreate", "createpool", "mempool"], "pool"),
    (&["mempoolsetaccess", "setaccess", "enablepeeraccess", "deviceenablepeeraccess"], "grant"),
    (
        &["mempoolgetaccess", "getaccess", "canaccesspeer", "devicecanaccesspeer"],
        "expect DEVICE reaches POOL",
    ),
    (&["streamcreate", "streamcreatewithflags", "createstream", "queue"], "stream"),
    (&["streamcreatewithpriority"], "stream NAME priority -1"),
    (&["eventcreate", "eventcreatewithflags", "createevent"], "event"),
    (&["streamdestroy", "eventdestroy", "mempooldestroy"], "destroy"),
    (&["graphcreate", "streambegincapture", "streamendcapture"], "graph"),
    (&["graphinstantiate", "graphinstantiatewithflags"], "NAME = instantiate GRAPH"),
    (&["graphlaunch"], "launch"),
    (&["graphupload"], "upload"),
    (&["graphdestroy", "graphexecdestroy"], "destroy"),
    (&["devicereset", "deviceprimaryctxreset", "ctxdestroy"], "reset DEVICE"),
    (&["devicegraphmemtrim"], "trim gpu0.graph_pool"),
    (&["gpu"], "device"),
    (&["for", "foreach", "loop", "while", "times"], "repeat"),
    (&["assert", "asserteq", "check", "require", "ensure", "verify"], "expect"),
    (&["var", "const", "int", "auto", "val", "define"], "let"),
    (&["delay", "pause", "usleep"], "sleep"),
    (&["title", "name", "test"], "scenario"),
    (&["print", "dump", "stats"], "snapshot"),
    (&["launchkernel", "run", "call", "global"], LAUNCH),
];

/// A line with a word of the language that begins a statement or an operation.
pub(super) fn usage(word: &str) -> Option<&'static str> {
    usages(word).next()
}

/// The line with a word behind whose name and `=` it stands, as `malloc` does.
pub(super) fn named(word: &str) -> Option<&'static str> {
    NAMED.iter().find(|(known, _)| *known == word).map(|(_, line)| *line)
}

/// The form of a statement that a line with these words has.
pub(super) fn form<'w>(first: &str, mut words: impl Iterator<Item = &'w str>) -> Option<&'static str> {
    let forms = || FORMS.iter().filter(|(of, ..)| *of == first);
    words.find_map(|word| forms().find(|(_, known, _)| *known == word)).map(|(.., line)| *line)
}

/// The usual lines with a word that begins a statement or an operation: behind a stream, without one, or both.
pub fn usages(word: &str) -> impl Iterator<Item = &'static str> {
    let all = OPERATIONS.iter().chain(STATEMENTS).chain(FURTHER);
    all.filter(move |(known, _)| *known == word).map(|(_, usage)| *usage)
}

/// The words that begin a statement or an operation.
pub fn words() -> impl Iterator<Item = &'static str> {
    STATEMENTS.iter().chain(OPERATIONS).map(|(word, _)| *word)
}

/// How this language says what a word of another notation says, such as `cudaMallocAsync`.
pub fn said_here(word: &str) -> Option<&'static str> {
    let plain = word.to_ascii_lowercase().replace('_', "");
    let plain = plain.strip_prefix("cuda").unwrap_or(&plain);
    let (_, here) = FOREIGN.iter().find(|(words, _)| words.contains(&plain))?;
    usage(here).or(Some(here))
}

#[cfg(test)]
mod tests {
    use super::super::grammar::{Grammar, Rule};
    use super::*;
    use pest::Parser;

    #[test]
    fn what_is_shown_can_be_read() {
        let further = FURTHER.iter().map(|(_, line)| *line);
        let forms = FORMS.iter().map(|(.., line)| *line).chain([LAUNCH]).chain(further);
        for line in STATEMENTS.iter().chain(OPERATIONS).chain(NAMED).map(|(_, line)| *line).chain(forms) {
            assert!(Grammar::parse(Rule::statement_line, line).is_ok(), "{line}");
        }
    }

    #[test]
    fn words_of_other_notations_lead_to_words_of_this_one() {
        for (words, here) in FOREIGN {
            let line = usage(here).unwrap_or(here);
            assert!(Grammar::parse(Rule::statement_line, line).is_ok(), "{line}");
            for word in *words {
                assert!(usage(word).is_none(), "`{word}` is a word of the language");
            }
        }
        assert_eq!(said_here("cudaMallocAsync"), Some("STREAM: NAME = alloc SIZE"));
        assert_eq!(said_here("stream_sync"), Some("sync STREAM"));
        assert_eq!(said_here("fill"), None);
    }
}
