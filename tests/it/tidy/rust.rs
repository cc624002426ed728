//! A Rust file as the rules see it: every path with its place, and every function with its lines.
//!
//! Paths are read from the tokens rather than from the syntax tree, so that those inside macro calls count as well.
//! A `use` tree becomes one path for each of its leaves.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::str::FromStr;
use syn::visit::{self, Visit};

/// A Rust file, read.
pub(super) struct Rust {
    /// Every path, single words included, in the order of the text.
    pub(super) paths: Vec<Path>,
    /// Every function with a body.
    pub(super) functions: Vec<Function>,
}

/// One path of the text: `crate::base::Bytes`, `println`, `unsafe`.
#[derive(Debug)]
pub(super) struct Path {
    /// Its segments; the last one may be `*`.
    pub(super) segments: Vec<String>,
    /// The module it stands in, from the crate's root.
    pub(super) module: Vec<String>,
    /// Its line, from 1.
    pub(super) line: usize,
    /// Whether it stands below `#[cfg(test)]`.
    pub(super) in_test: bool,
    /// Whether it belongs to `use` or `extern crate`.
    pub(super) imported: bool,
    /// Whether it is called as a macro.
    pub(super) is_macro: bool,
}

/// A function with a body.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

impl Rust {
    /// Reads a file; the error is the line where it is no Rust.
    pub(super) fn read(path: &str, text: &str) -> Result<Rust, usize> {
        let tokens = TokenStream::from_str(text).map_err(|error| error.span().start().line)?;
        let tree: syn::File =
            syn::parse2(tokens.clone()).map_err(|error: syn::Error| error.span().start().line)?;
        let mut functions = Functions(Vec::new());
        functions.visit_file(&tree);
        let mut reader = Reader { module: module_of(path), paths: Vec::new() };
        reader.group(tokens, is_test_file(path));
        Ok(Rust { paths: reader.paths, functions: functions.0 })
    }
}

/// The module of a file below `src`; empty for the crate's root and for files elsewhere.
pub(super) fn module_of(path: &str) -> Vec<String> {
    let Some(inside) = path.strip_prefix("src/").and_then(|path| path.strip_suffix(".rs")) else {
        return Vec::new();
    };
    let mut module: Vec<String> = inside.split('/').map(str::to_owned).collect();
    let names_its_folder = module.last().is_some_and(|name| name == "mod");
    if names_its_folder || matches!(inside, "lib" | "main") {
        module.pop();
    }
    module
}

/// Whether a file is a test module by its name, so that its parent's `#[cfg(test)]` need not be looked up.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        self.0.push(Function { name: signature.ident.to_string(), line, lines: last - line + 1 });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Collects paths while it walks the tokens.
struct Reader {
    module: Vec<String>,
    paths: Vec<Path>,
}

impl Reader {
    fn group(&mut self, tokens: TokenStream, in_test: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match attribute(&tokens, at) {
                Some(words) if is_cfg_test(&words) => {
                    let end = end_of_item(&tokens, at + 2);
                    self.group(tokens[at + 2..end].iter().cloned().collect(), true);
                    end
                }
                Some(words) if words.first().is_some_and(|word| word == "ignore") => {
                    let place = Place { in_test, imported: false };
                    self.push(vec!["#[ignore]".to_owned()], &tokens[at], place, false);
                    at + 2
                }
                _ => self.token(&tokens, at, in_test),
            };
        }
    }

    /// Reads one token, or the path that starts there; returns where to go on.
    fn token(&mut self, tokens: &[TokenTree], at: usize, in_test: bool) -> usize {
        match &tokens[at] {
            TokenTree::Group(group) => {
                self.group(group.stream(), in_test);
                at + 1
            }
            TokenTree::Ident(word) if word == "mod" => match (tokens.get(at + 1), tokens.get(at + 2)) {
                (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) => {
                    self.module.push(name.to_string());
                    self.group(body.stream(), in_test);
                    self.module.pop();
                    at + 3
                }
                _ => at + 1,
            },
            TokenTree::Ident(word) if word == "use" => {
                let start = if is_separator(tokens, at + 1) { at + 3 } else { at + 1 };
                self.branch(tokens, start, Vec::new(), Place { in_test, imported: true })
            }
            TokenTree::Ident(word) if word == "crate" && follows(tokens, at, "extern") => {
                self.branch(tokens, at + 1, Vec::new(), Place { in_test, imported: true })
            }
            TokenTree::Ident(_) => self.branch(tokens, at, Vec::new(), Place { in_test, imported: false }),
            _ => at + 1,
        }
    }

    /// Reads a path, or a tree of paths below `prefix`; returns where it ends.
    fn branch(
        &mut self,
        tokens: &[TokenTree],
        mut at: usize,
        mut prefix: Vec<String>,
        place: Place,
    ) -> usize {
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(word)) => prefix.push(word.to_string()),
                star if is_mark(star, '*') => prefix.push("*".to_owned()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let leaves: Vec<TokenTree> = group.stream().into_iter().collect();
                    let branches = leaves.split(|token| is_mark(Some(token), ','));
                    for leaf in branches.filter(|leaf| !leaf.is_empty()) {
                        self.branch(leaf, 0, prefix.clone(), place);
                    }
                    return at + 1;
                }
                _ => return at + 1,
            }
            let continues = is_separator(tokens, at + 1) && starts_branch(tokens.get(at + 3));
            if !continues {
                let is_macro = is_mark(tokens.get(at + 1), '!') && !is_mark(tokens.get(at + 2), '=');
                if prefix.len() > 1 && prefix.last().is_some_and(|word| word == "self") {
                    prefix.pop();
                }
                self.push(prefix, &tokens[at], place, is_macro);
                return at + 1;
            }
            at += 3;
        }
    }

    fn push(&mut self, segments: Vec<String>, token: &TokenTree, place: Place, is_macro: bool) {
        let Place { in_test, imported } = place;
        let line = token.span().start().line;
        self.paths.push(Path { segments, module: self.module.clone(), line, in_test, imported, is_macro });
    }
}

/// Where a path stands.
#[derive(Clone, Copy)]
struct Place {
    in_test: bool,
    imported: bool,
}

/// The tokens of the outer attribute at this place, as text.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<Vec<String>> {
    match (&tokens[at], tokens.get(at + 1)) {
        (TokenTree::Punct(hash), Some(TokenTree::Group(body)))
            if hash.as_char() == '#' && body.delimiter() == Delimiter::Bracket =>
        {
            Some(body.stream().into_iter().map(|token| token.to_string().replace(' ', "")).collect())
        }
        _ => None,
    }
}

fn is_cfg_test(words: &[String]) -> bool {
    matches!(words, [cfg, condition] if cfg == "cfg" && (condition == "(test)" || condition.starts_with("(all(test,")))
}

/// The place after the item that starts here: after its `;`, or after its body.
fn end_of_item(tokens: &[TokenTree], start: usize) -> usize {
    let is_semicolon = |at: usize| is_mark(tokens.get(at), ';');
    let is_body =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let last = (start..tokens.len()).find(|at| is_semicolon(*at) || is_body(&tokens[*at]));
    match last {
        // `use a::{b, c};` and `const A: B = B { .. };` go on to their `;`.
        Some(at) if is_semicolon(at + 1) => at + 2,
        Some(at) => at + 1,
        None => tokens.len(),
    }
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_mark(tokens.get(at), ':') && is_mark(tokens.get(at + 1), ':')
}

/// Whether a path goes on with this token: a turbofish does not.
fn starts_branch(token: Option<&TokenTree>) -> bool {
    match token {
        Some(TokenTree::Ident(_)) => true,
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        _ => is_mark(token, '*'),
    }
}

fn follows(tokens: &[TokenTree], at: usize, word: &str) -> bool {
    at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(before) if before == word)
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == mark)
}
