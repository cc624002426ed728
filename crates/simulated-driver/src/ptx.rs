//! The entries of a PTX module, with the sizes of their parameters; nothing else of the text is looked at.
//!
//! Source: PTX ISA, "Kernel function directives: .entry" and "State spaces: parameter state space".

use crate::error::Error;

/// The most bytes that the parameters of an entry may have together (PTX ISA, `.entry`).
const PARAMETERS_MAX: usize = 32_764;

/// An entry of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The size of each parameter.
    pub(crate) sizes: Vec<usize>,
}

/// The entries of an image.
pub(crate) fn entries(image: &[u8]) -> Result<Vec<Entry>, Error> {
    let text = std::str::from_utf8(image).map_err(|_| Error::INVALID_IMAGE)?;
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    if text.trim().is_empty() || !text.chars().all(is_text) {
        return Err(Error::INVALID_IMAGE);
    }
    let tokens = tokens(text).ok_or(Error::INVALID_PTX)?;
    let mut rest = tokens.as_slice();
    let mut entries = Vec::new();
    while let Some(at) = rest.iter().position(|token| *token == ".entry") {
        let (entry, after) = entry(&rest[at + 1..]).ok_or(Error::INVALID_PTX)?;
        entries.push(entry);
        rest = after;
    }
    if entries.is_empty() { Err(Error::INVALID_PTX) } else { Ok(entries) }
}

/// The words and signs of a text, without comments and quoted texts. `None`: one of those has no end.
fn tokens(text: &str) -> Option<Vec<&str>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._$%".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if let Some(comment) = rest.strip_prefix("//") {
            2 + comment.find('\n').unwrap_or(comment.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            4 + comment.find("*/")?
        } else if let Some(quoted) = rest.strip_prefix('"') {
            2 + quoted.find('"')?
        } else {
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let length = if word > 0 { word } else { first.len_utf8() };
            tokens.push(&rest[..length]);
            length
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// The entry whose name comes first, and what is behind its parameters.
fn entry<'t, 's>(tokens: &'s [&'t str]) -> Option<(Entry, &'s [&'t str])> {
    let (name, rest) = tokens.split_first().filter(|(name, _)| is_name(name))?;
    let mut entry = Entry { name: (*name).to_owned(), sizes: Vec::new() };
    let Some(["(", rest @ ..]) = Some(rest) else { return Some((entry, rest)) };
    let end = rest.iter().position(|token| *token == ")")?;
    let (parameters, rest) = (&rest[..end], &rest[end + 1..]);
    if !parameters.is_empty() {
        entry.sizes = parameters.split(|token| *token == ",").map(parameter).collect::<Option<_>>()?;
    }
    let sum = entry.sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size))?;
    (sum <= PARAMETERS_MAX).then_some((entry, rest))
}

fn is_name(token: &str) -> bool {
    let mut letters = token.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || "_$%".contains(c))
        && letters.all(|c| c.is_ascii_alphanumeric() || "_$".contains(c))
}

/// The size of a parameter: `.param .align 8 .b8 name[64]`.
fn parameter(tokens: &[&str]) -> Option<usize> {
    let [".param", rest @ ..] = tokens else { return None };
    let width = rest.iter().find_map(|token| width(token))?;
    match rest {
        [.., name, "[", count, "]"] if is_name(name) => width.checked_mul(count.parse().ok()?),
        [.., name] if is_name(name) => Some(width),
        _ => None,
    }
}

/// The size of a fundamental type (PTX ISA, "Fundamental types").
fn width(token: &str) -> Option<usize> {
    Some(match token {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_their_parameters() {
        let text = "// .entry no(\n.version 7.0\n.target sm_52\n/* .entry neither */\n.visible .entry touch(\n\
            .param .u64 a,\n .param .u64 .ptr .global .align 8 p, .param .align 8 .b8 uses[512] ) { ret; }\n\
            .entry empty() { ret; }\n.weak .entry $bare { ret; } .file 1 \".entry x(\"";
        let named = |name: &str, sizes: &[usize]| Entry { name: name.to_owned(), sizes: sizes.to_vec() };
        let expected = [named("touch", &[8, 8, 512]), named("empty", &[]), named("$bare", &[])];
        assert_eq!(entries(text.as_bytes()).expect("it is PTX"), expected);
    }

    #[test]
    fn what_is_no_ptx() {
        for text in [
            ".version 7.0\n.target sm_52\n",
            ".entry",
            ".entry 3()",
            ".entry a(",
            ".entry a(.u64 b)",
            ".entry a(.param .u64 b,)",
            ".entry a(.param .pred b)",
            ".entry a(.param .b8 b[99999999999999999999])",
            ".entry a(.param .b64 b[4096])",
            "/* .entry a()",
        ] {
            assert_eq!(entries(text.as_bytes()), Err(Error::INVALID_PTX), "{text}");
        }
        for image in [&b""[..], b"  \n", b"\x7fELF\x02\x01\x01", b"\x50\xed\x55\xba"] {
            assert_eq!(entries(image), Err(Error::INVALID_IMAGE), "{image:?}");
        }
    }
}
