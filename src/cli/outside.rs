//! The world outside: reading and writing files, the terminal, and how a command ends.

use super::explain::wrapped_at;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything holds.
    Holds,
    /// Something does not hold.
    Fails,
    /// The input is wrong or cannot be read.
    Wrong,
    /// An answer is not possible here.
    Impossible,
}

impl Status {
    /// The worse one of two. That something fails is known, whatever is not decided.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let rank = |status| match status {
            Status::Holds => 0,
            Status::Impossible => 1,
            Status::Fails => 2,
            Status::Wrong => 3,
        };
        if rank(self) < rank(other) { other } else { self }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(status as u8)
    }
}

/// Why a command could not do its work, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// How the command ends.
    pub status: Status,
    /// What is wrong, in one line.
    pub message: String,
}

impl Complaint {
    /// The input is wrong or cannot be read.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self { status: Status::Wrong, message: message.into() }
    }

    /// There is no answer here.
    pub fn impossible(message: impl Into<String>) -> Self {
        Self { status: Status::Impossible, message: message.into() }
    }

    fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        let why = match error.kind() {
            ErrorKind::NotFound => "no such file or directory".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            ErrorKind::IsADirectory => "it is a directory".to_owned(),
            _ => error.to_string(),
        };
        Self::wrong(format!("cannot {doing} {}: {why}", path.display()))
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Complaint {}

/// The path that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// Whether a path stands for standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

/// One byte more than the largest text.
const READ_MAX: usize = crate::syntax::FILE_BYTES_MAX + 1;

/// Reads a text file, or standard input; of a text that is too large only as much as shows that it is.
pub(super) fn read(path: &Path) -> Result<String, Complaint> {
    if is_standard_input(path) {
        let bytes = read_at_most(io::stdin().lock());
        let bytes = bytes.map_err(|error| Complaint::io("read", Path::new("standard input"), &error))?;
        return text(bytes, "standard input");
    }
    if path.is_dir() {
        let path = path.display();
        return Err(Complaint::wrong(format!(
            "{path} is a directory, not a scenario: name a file, or run `millpond test {path}`"
        )));
    }
    let bytes = File::open(path).and_then(read_at_most);
    text(bytes.map_err(|error| Complaint::io("read", path, &error))?, &path.display().to_string())
}

/// Beyond the largest text there is nothing that the one complaint about it would need.
fn read_at_most(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(READ_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(mut bytes: Vec<u8>, name: &str) -> Result<String, Complaint> {
    let wrong = std::str::from_utf8(&bytes).err();
    // The end of what was read may lie inside of a character.
    if let Some(error) = wrong.filter(|error| bytes.len() == READ_MAX && error.error_len().is_none()) {
        bytes[error.valid_up_to()..].fill(b' ');
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Complaint::wrong(format!("{name} is not UTF-8 text: byte {at} is not part of a character"))
    })
}

/// Reads a text file that may not be there.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, Complaint> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Complaint::io("read", path, &error)),
    }
}

/// The entries of a folder, by name.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Complaint> {
    let complaint = |error: io::Error| Complaint::io("read", folder, &error);
    let entries = fs::read_dir(folder).map_err(complaint)?;
    let paths: Result<Vec<PathBuf>, io::Error> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(complaint)?;
    paths.sort();
    Ok(paths)
}

/// Adds the files with this extension that lie below a folder, in the order of their names.
pub(super) fn files_below(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<(), Complaint> {
    for path in entries(folder)? {
        // A link to a folder could lead round in a circle.
        if path.is_dir() && !path.is_symlink() {
            files_below(&path, extension, found)?;
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    Ok(())
}

/// The scenario files of paths: files as they are, folders with everything below them, by name.
///
/// # Errors
///
/// A path that is not there, or a folder that cannot be read.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Complaint> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            files_below(path, "scn", &mut found)?;
        } else if path.exists() {
            found.push(path.clone());
        } else {
            return Err(Complaint::wrong(format!(
                "cannot read {}: no such file or directory",
                path.display()
            )));
        }
    }
    Ok(found)
}

/// Where the output of a command goes: to the terminal or pipe, or to a file that appears only when it is whole.
#[derive(Debug)]
pub(super) enum Output {
    /// Standard output.
    Standard(BufWriter<io::Stdout>),
    /// A file, written beside its place first.
    File {
        /// What is written.
        writer: BufWriter<File>,
        /// Where it is written.
        beside: PathBuf,
        /// Where it belongs.
        place: PathBuf,
    },
}

impl Output {
    /// Opens a file beside `place`, or standard output without it. Nothing that is there is touched yet.
    pub(super) fn open(place: Option<&Path>) -> Result<Self, Complaint> {
        let Some(place) = place else { return Ok(Output::Standard(BufWriter::new(io::stdout()))) };
        let Some(name) = place.file_name().filter(|_| !place.is_dir()) else {
            return Err(Complaint::wrong(format!("cannot write {}: it is a directory", place.display())));
        };
        let mut beside_name = std::ffi::OsString::from(".");
        beside_name.push(name);
        beside_name.push(format!(".{}.new", std::process::id()));
        let beside = place.with_file_name(beside_name);
        let file = File::create(&beside).map_err(|error| Complaint::io("write", place, &error))?;
        Ok(Output::File { writer: BufWriter::new(file), beside, place: place.to_owned() })
    }

    /// Puts a finished file into its place.
    pub(super) fn close(mut self) -> Result<(), Complaint> {
        let flushed = self.flush();
        match self {
            Output::Standard(_) => {
                flushed.map_err(|error| Complaint::wrong(format!("cannot write: {error}")))
            }
            Output::File { beside, place, writer } => {
                drop(writer);
                let moved = flushed.and_then(|()| fs::rename(&beside, &place));
                moved.map_err(|error| {
                    // The complaint about the file matters more than one about its remains.
                    fs::remove_file(&beside).ok();
                    Complaint::io("write", &place, &error)
                })
            }
        }
    }

    /// Gives the new file the permissions of the one that it replaces.
    fn keep(&self, permissions: fs::Permissions) -> io::Result<()> {
        match self {
            Output::Standard(_) => Ok(()),
            Output::File { writer, .. } => writer.get_ref().set_permissions(permissions),
        }
    }

    /// Removes what was written beside the place.
    pub(super) fn give_up(self) {
        if let Output::File { beside, writer, .. } = self {
            drop(writer);
            fs::remove_file(beside).ok();
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Standard(writer) => quiet(writer.write(bytes)),
            Output::File { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(writer) => quiet(writer.flush()),
            Output::File { writer, .. } => writer.flush(),
        }
    }
}

/// Whether two paths lead to the same file; one that is not there yet is in the same folder under the same name.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let named = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
        fs::canonicalize(path).ok().or_else(named)
    };
    one == other || real(one).is_some_and(|path| real(other) == Some(path))
}

/// Refuses to write to a file that the same command reads.
pub(super) fn check_output<'p>(
    place: Option<&Path>,
    read: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Complaint> {
    let is_read = |place: &&Path| {
        read.into_iter().any(|read| !is_standard_input(read) && read.exists() && is_same(place, read))
    };
    match place.filter(is_read) {
        None => Ok(()),
        Some(place) => Err(Complaint::wrong(format!(
            "cannot write {}: this command reads it; give another name",
            place.display()
        ))),
    }
}

/// Ends the process without a word when the reader of a pipe has gone: nobody is left who would want the rest.
fn quiet<T>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        result => result,
    }
}

/// Writes a file with the folders above it, whole or not at all.
pub(super) fn write(place: &Path, text: &str) -> Result<(), Complaint> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(|error| Complaint::io("create", folder, &error))?;
    }
    let mut output = Output::open(Some(place))?;
    if let Err(error) = output.write_all(text.as_bytes()) {
        output.give_up();
        return Err(Complaint::io("write", place, &error));
    }
    output.close()
}

/// Writes a file that must not be there yet.
pub(super) fn create(file: &Path, text: &str) -> Result<(), Complaint> {
    let created = File::options().write(true).create_new(true).open(file);
    let written = created.and_then(|mut created| created.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Complaint::wrong(format!("{} exists already", file.display())),
        _ => Complaint::io("write", file, &error),
    })
}

/// Writes a new text into a file that is there, whole or not at all. Links and permissions stay.
pub(super) fn rewrite(file: &Path, text: &str) -> Result<(), Complaint> {
    let complaint = |error: io::Error| Complaint::io("write", file, &error);
    let place = fs::canonicalize(file).map_err(complaint)?;
    let permissions = fs::metadata(&place).map_err(complaint)?.permissions();
    if permissions.readonly() {
        return Err(Complaint::wrong(format!("cannot write {}: it is read-only", file.display())));
    }
    let mut output = Output::open(Some(&place))?;
    let written = output.write_all(text.as_bytes()).and_then(|()| output.keep(permissions));
    if let Err(error) = written {
        output.give_up();
        return Err(complaint(error));
    }
    output.close()
}

/// Prints to standard output.
pub(super) fn print(text: &str) -> Result<(), Complaint> {
    let mut output = Output::open(None)?;
    let written = output.write_all(text.as_bytes());
    written.map_err(|error| Complaint::wrong(format!("cannot write: {error}")))?;
    output.close()
}

/// Prints to standard output for a command whose work goes on when nobody reads it; whether somebody did.
pub(super) fn print_if_read(text: &str) -> Result<bool, Complaint> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Complaint::wrong(format!("cannot write: {error}"))),
    }
}

/// Prints to standard error; there is nobody to tell when that fails.
pub(super) fn print_error(text: &str) {
    io::stderr().write_all(text.as_bytes()).ok();
}

/// Says why a command could not do its work, in as many lines as the terminal takes for it.
pub(super) fn complain(complaint: &Complaint) {
    let (on, off) = if colour(&io::stderr()) { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    let text = wrapped_at("error: ", &complaint.message, 2, error_width());
    // A path that is as long as a line stays behind the word.
    let message = text.strip_prefix("error:").unwrap_or(&text).trim_start();
    print_error(&format!("{on}error{off}: {message}"));
}

/// Whether to use colours on this stream: on a terminal whose user does not object (no-color.org).
pub(super) fn colour(stream: &impl IsTerminal) -> bool {
    let objects = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !objects && !is_dumb
}

/// Columns of the terminal, at most 120; 80 where there is none.
pub(super) fn width() -> usize {
    let stdout = io::stdout();
    columns(stdout.is_terminal().then(|| terminal_size::terminal_size_of(&stdout)).flatten())
}

/// The same of the terminal that errors go to.
fn error_width() -> usize {
    let stderr = io::stderr();
    columns(stderr.is_terminal().then(|| terminal_size::terminal_size_of(&stderr)).flatten())
}

fn columns(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    size.map_or(80, |(terminal_size::Width(width), _)| usize::from(width).clamp(60, 120))
}

/// A path as a person in the current folder would write it.
pub(super) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let inside = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    inside.unwrap_or_else(|| path.to_owned()).display().to_string()
}

/// A path as a word of a shell's command: in quotes where a sign in it would mean something else.
pub(super) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path;
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_are_one_word() {
        let quoted = |path: &str| quoted(Path::new(path));
        assert_eq!(quoted("scenarios/a-1.scn"), "scenarios/a-1.scn");
        assert_eq!(quoted("my files/a$b"), "'my files/a$b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
