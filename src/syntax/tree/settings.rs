//! Settings, from pest's pairs to the tree.

use super::{Node, Tree, next, parts};
use crate::syntax::ast::*;
use crate::syntax::grammar::Rule;

impl Tree<'_> {
    pub(super) fn inline_settings<'t>(
        &mut self,
        mut rest: impl Iterator<Item = Node<'t>>,
        opens: bool,
    ) -> Settings {
        match rest.next() {
            Some(inline) => Settings::Inline(parts(inline).map(|part| self.setting(part)).collect()),
            None if opens => Settings::Block(Body::default()),
            None => Settings::None,
        }
    }

    pub(in crate::syntax) fn setting(&mut self, node: Node<'_>) -> Setting {
        let mut rest = parts(node);
        Setting { name: self.name(next(&mut rest)), value: self.setting_value(next(&mut rest)) }
    }

    pub(super) fn setting_value(&mut self, node: Node<'_>) -> SettingValue {
        match node.as_rule() {
            Rule::list => SettingValue::List {
                span: self.span(&node),
                words: parts(node).map(|word| self.name(word)).collect(),
            },
            _ => SettingValue::Expression(match version(node.as_str()) {
                Some(version) => {
                    Expression { span: self.span(&node), kind: ExpressionKind::Version(version.to_owned()) }
                }
                None => self.expression(node),
            }),
        }
    }
}

/// `11.2`: only a setting has such a value.
fn version(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let (major, minor) = text.split_once('.')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then_some(text)
}
