//! Columns, sections and the folding of rows that do not fit. Knows text and widths, nothing about runs.

use crate::base::Nanos;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// At the left.
    Left,
    /// At the right: numbers.
    Right,
    /// At the left, and it gives way when the line is too long.
    Flexible,
}

/// Rows of cells under a head.
#[derive(Clone, Debug)]
pub(super) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub(super) fn new(columns: &[(&str, Align)]) -> Self {
        let head = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { aligns: columns.iter().map(|(_, align)| *align).collect(), rows: vec![head] }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.aligns.len());
        self.rows.push(cells);
    }

    /// Whether the lines are wider, even where a column gives way.
    pub(super) fn is_wider_than(&self, width: usize) -> bool {
        self.lines(width).iter().any(|line| columns_of(line) > width)
    }

    /// The lines, the head first.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut widths: Vec<usize> = (0..self.aligns.len())
            .map(|column| self.rows.iter().map(|row| columns_of(&row[column])).max().unwrap_or(0))
            .collect();
        let total = widths.iter().sum::<usize>() + 2 * widths.len();
        for (column, align) in self.aligns.iter().enumerate() {
            if *align == Align::Flexible {
                widths[column] = widths[column].saturating_sub(total.saturating_sub(width)).max(8);
            }
        }
        self.rows.iter().map(|row| self.line(row, &widths)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, align), width) in row.iter().zip(&self.aligns).zip(widths) {
            line.push_str("  ");
            let cell = shorten(cell, *width);
            let blank = " ".repeat(width.saturating_sub(columns_of(&cell)));
            match align {
                Align::Right => line.extend([blank.as_str(), &cell]),
                Align::Left | Align::Flexible => line.extend([cell.as_str(), &blank]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// How many columns a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    text.chars().count()
}

/// The text, cut with two dots where it is too long.
pub(super) fn shorten(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{}..", kept.trim_end())
}

/// The first lines of a report: title, path and facts in one line, or as few as there is room in. A path stays whole.
pub(in crate::report) fn heading(title: &str, path: &str, facts: &str, width: usize) -> String {
    let fits = |line: &String| columns_of(line) <= width;
    let whole = if title.is_empty() { path.to_owned() } else { format!("{title}   {path}") };
    let below = format!("  {path}   {facts}");
    if let Some(line) = Some(format!("{whole}   {facts}")).filter(fits) {
        return line;
    }
    if title.is_empty() {
        return format!("{path}\n  {facts}");
    }
    let below = Some(below).filter(fits).unwrap_or_else(|| format!("  {path}\n  {facts}"));
    format!("{}\n{below}", shorten(title, width))
}

/// The text broken into lines between words; the ones after the first are indented. Blanks at its start stay.
pub(super) fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let text_alone = text.trim_start_matches(' ');
    let mut line = " ".repeat(text.len() - text_alone.len());
    for word in text_alone.split(' ') {
        let is_blank = line.trim_start().is_empty();
        if !is_blank && columns_of(&line) + 1 + columns_of(word) > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !is_blank {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// A time for people. The start of a run is in the unit that most others are in.
pub(in crate::report) fn time(at: Nanos) -> String {
    if at == Nanos::ZERO { "0us".to_owned() } else { at.human() }
}

/// A part of the report. What does not fit into its share of the lines is folded with a count.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    /// The title, and whatever must stand above the rows.
    pub(super) top: Vec<String>,
    /// The rows; the ones that are pinned stay.
    pub(super) rows: Vec<Row>,
    /// What must stand below the rows.
    pub(super) bottom: Vec<String>,
    /// What the rows are, for the count of the folded ones.
    pub(super) noun: &'static str,
    /// Rows that were not even kept.
    pub(super) lost: u64,
    /// So many rows should be shown before others get more than two.
    pub(super) wants: usize,
}

/// A row of a section.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its line.
    pub(super) text: String,
    /// Whether it must be shown.
    pub(super) pinned: bool,
}

impl Section {
    /// A section of a table under a title.
    pub(super) fn of_table(title: String, table: &Table, width: usize, noun: &'static str) -> Self {
        let mut lines = table.lines(width);
        let rows = lines.split_off(1);
        let rows = rows.into_iter().map(|text| Row { text, pinned: false }).collect();
        Self { top: vec![title, lines.remove(0)], rows, bottom: Vec::new(), noun, lost: 0, wants: 0 }
    }

    /// The lines that it takes beside its rows, with the blank one above.
    fn frame(&self) -> usize {
        1 + self.top.len() + self.bottom.len() + usize::from(self.lost > 0)
    }

    fn lines(mut self, limit: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        lines.append(&mut self.top);
        let keep = kept(&self.rows, limit);
        let folded = keep.iter().filter(|keep| !**keep).count() as u64;
        let mut told = false;
        for (row, keep) in self.rows.into_iter().zip(&keep) {
            if *keep {
                lines.push(row.text);
            } else if !std::mem::replace(&mut told, true) {
                lines.push(more(folded + self.lost, self.noun));
            }
        }
        if !told && self.lost > 0 {
            lines.push(more(self.lost, self.noun));
        }
        lines.append(&mut self.bottom);
        lines
    }
}

fn more(count: u64, noun: &str) -> String {
    format!("    .. and {count} more {noun}")
}

/// Which rows to keep so that they fill at most `limit` lines, the line about the folded ones included.
fn kept(rows: &[Row], limit: usize) -> Vec<bool> {
    if rows.len() <= limit {
        return vec![true; rows.len()];
    }
    let mut keep: Vec<bool> = rows.iter().map(|row| row.pinned).collect();
    let mut room = limit.saturating_sub(1 + keep.iter().filter(|keep| **keep).count());
    let last = keep.len() - 1;
    if room > 2 && !keep[last] {
        keep[last] = true;
        room -= 1;
    }
    for keep in keep.iter_mut().filter(|keep| !**keep).take(room) {
        *keep = true;
    }
    keep
}

/// Lays the sections out so that together they fill at most `limit` lines, pinned rows aside.
pub(super) fn lay_out(sections: Vec<Section>, limit: usize) -> Vec<String> {
    let least = |section: &Section| {
        let pinned = section.rows.iter().filter(|row| row.pinned).count();
        section.rows.len().min(2.max(pinned + 1))
    };
    let mut shares: Vec<usize> = sections.iter().map(least).collect();
    let mut taken: usize = sections.iter().zip(&shares).map(|(section, share)| section.frame() + share).sum();
    // Where there are so many sections that even that is too much, those in between give way first.
    let can_give = |section: &Section| section.rows.iter().all(|row| !row.pinned);
    let between = sections.iter().zip(&mut shares).skip(1).rev().skip(1);
    for (_, share) in between.filter(|(section, share)| **share > 1 && can_give(section)) {
        let gives_way = taken > limit;
        *share -= usize::from(gives_way);
        taken -= usize::from(gives_way);
    }
    let mut left = limit.saturating_sub(taken);
    // The last sections say what came of it all; the first ones are read first. Those in between give way.
    let order = (0..sections.len()).rev().take(1).chain(0..sections.len());
    for at in order {
        let (section, share) = (&sections[at], &mut shares[at]);
        let more = section.wants.min(section.rows.len()).saturating_sub(*share).min(left);
        *share += more;
        left -= more;
    }
    loop {
        let before = left;
        for (section, share) in sections.iter().zip(&mut shares) {
            if left > 0 && *share < section.rows.len() {
                *share += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    sections.into_iter().zip(shares).flat_map(|(section, share)| section.lines(share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(rows: usize, pinned: Option<usize>) -> Section {
        let row = |nth| Row { text: format!("row {nth}"), pinned: Some(nth) == pinned };
        let rows = (0..rows).map(row).collect();
        Section { top: vec!["title".to_owned()], rows, noun: "rows", ..Section::default() }
    }

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let lines = lay_out(vec![section(100, Some(50))], 10);
        assert_eq!(lines.len(), 10);
        assert!(lines.contains(&"row 50".to_owned()) && lines.contains(&"row 99".to_owned()), "{lines:?}");
        assert!(lines.contains(&"    .. and 93 more rows".to_owned()), "{lines:?}");
    }

    #[test]
    fn what_is_pinned_does_not_give_way() {
        let sections = vec![section(9, None), section(9, Some(4)), section(9, None), section(9, None)];
        // Each has a blank line and a title.
        assert_eq!(lay_out(sections, 15).len(), 15);
    }

    #[test]
    fn lines_are_shared() {
        let lines = lay_out(vec![section(100, None), section(3, None)], 20);
        assert_eq!(lines.len(), 20);
        assert!(lines.contains(&"row 2".to_owned()));
    }

    #[test]
    fn flexible_columns_give_way() {
        let mut table = Table::new(&[("name", Align::Flexible), ("size", Align::Right)]);
        table.row(vec!["a long name of something".to_owned(), "64 MiB".to_owned()]);
        assert_eq!(table.lines(24), ["  name              size", "  a long name..   64 MiB"]);
    }
}
