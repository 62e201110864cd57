//! Rows of a table as records: every cell with the name of its column, under the headings that govern the row.

use std::borrow::Cow;

use crate::source::NOTE_MARK;

/// At least so many digits make a code.
const SHORTEST_CODE: usize = 4;
/// Codes of the tariff schedule: those with so many digits divide those with fewer, which have the rates.
const WITH_SUFFIX: usize = 10;
const SUBHEADING: usize = 8;
const GROUP: usize = 5;

/// A heading over several columns has at least so many words.
const SHORTEST_HEADING: usize = 2;

/// Whether a line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    line.contains(" | ")
}

/// A line without the marks of notes in its cells.
pub(crate) fn without_notes(line: &str) -> Cow<'_, str> {
    if is_row(line) { NOTE_MARK.replace_all(line, "") } else { line.into() }
}

/// A table as a text has it.
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    cells: Vec<String>,
    /// The digits of its code.
    code: String,
}

impl Row {
    fn of(line: &str) -> Self {
        let cells: Vec<String> = line
            .split(" | ")
            .map(|cell| NOTE_MARK.replace_all(cell.trim_matches(['|', ' ']), "").trim().to_owned())
            .collect();
        let first = cells.first().map(String::as_str).unwrap_or_default();
        let is_code = first.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        let digits: String = first.chars().filter(char::is_ascii_digit).collect();
        let code = if is_code && digits.len() >= SHORTEST_CODE { digits } else { String::new() };
        Self { cells, code }
    }

    /// What it says, if that is a heading over the rows that follow.
    fn heading(&self) -> Option<&str> {
        let mut said = self.cells.iter().filter(|cell| !cell.is_empty());
        let (only, more) = (said.next()?, said.next());
        (more.is_none() && only.ends_with(':')).then_some(only)
    }
}

/// The names of columns as a person would say them. Of several under one heading, such as "Rates of Duty 1 General" and
/// "Rates of Duty 2", what tells them apart comes first: "Column 1 General Rates of Duty".
fn readable(columns: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = columns.iter().map(|name| name.split_whitespace().collect()).collect();
    let shared = |column: usize| {
        let others = words.iter().enumerate().filter(|(other, _)| *other != column);
        let alike =
            others.map(|(_, other)| words[column].iter().zip(other).take_while(|(a, b)| a == b).count());
        // Those under the heading share all of it, and perhaps more.
        alike.filter(|alike| *alike >= SHORTEST_HEADING).min().unwrap_or(0)
    };
    let named = (0..columns.len()).map(|column| {
        let (heading, own) = words[column].split_at(shared(column).min(words[column].len()));
        if heading.is_empty() || own.is_empty() {
            return columns[column].to_owned();
        }
        let is_number = own[0].chars().all(|letter| letter.is_ascii_digit());
        let column = if is_number { "Column " } else { "" };
        format!("{column}{} {}", own.join(" "), heading.join(" "))
    });
    named.collect()
}

impl Table {
    /// The table of these lines. The first names the columns.
    pub(super) fn of(lines: &[&str]) -> Self {
        let Some((first, rest)) = lines.split_first() else {
            return Self { columns: Vec::new(), rows: Vec::new() };
        };
        let columns: Vec<&str> = first.split(" | ").map(|name| name.trim_matches(['|', ' '])).collect();
        let columns = readable(&columns);
        // A table that goes on over pages names its columns again.
        let rows = rest.iter().filter(|line| *line != first).map(|line| Row::of(line)).collect();
        Self { columns, rows }
    }

    /// Every row that is no heading, and the headings over it.
    pub(super) fn records(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let rows = (0..self.rows.len()).filter(|row| self.rows[*row].heading().is_none());
        rows.map(|row| {
            let over = self.over(row);
            (self.record(row, &over), over.join("\n"))
        })
    }

    fn record(&self, row: usize, over: &[String]) -> String {
        let Row { cells, .. } = &self.rows[row];
        let described = self.described(row);
        let mut lines = Vec::new();
        for (column, cell) in cells.iter().enumerate() {
            let inherited = self.inherited(row, column);
            let cell = if cell.is_empty() { inherited.unwrap_or_default() } else { cell.as_str() };
            // A suffix stands in the code already.
            let repeated = column > 0
                && self.rows[row].code.ends_with(cell)
                && cell.chars().all(|digit| digit.is_ascii_digit());
            if cell.is_empty() || repeated {
                continue;
            }
            let over = if Some(column) == described && !over.is_empty() {
                let over: Vec<&str> = over.iter().map(|heading| heading.trim_end_matches(':')).collect();
                format!("{}: ", over.join(" > "))
            } else {
                String::new()
            };
            match self.columns.get(column).filter(|name| !name.is_empty()) {
                Some(name) => lines.push(format!("{name}: {over}{cell}")),
                None => lines.push(format!("{over}{cell}")),
            }
        }
        lines.join("\n")
    }

    /// The column that says what a row is about: the longest text that is no code.
    fn described(&self, row: usize) -> Option<usize> {
        let length = |column: usize| {
            let all = self.rows.iter().filter_map(|row| row.cells.get(column));
            all.map(|cell| cell.chars().filter(|letter| letter.is_alphabetic()).count().min(60))
                .sum::<usize>()
        };
        (0..self.rows[row].cells.len()).max_by_key(|column| (length(*column), std::cmp::Reverse(*column)))
    }

    /// The cell of the nearest row above whose code this row's code goes on with.
    fn inherited(&self, row: usize, column: usize) -> Option<&str> {
        let above =
            self.parents(row).map(|parent| self.rows[parent].cells.get(column).map_or("", String::as_str));
        above.into_iter().find(|cell| !cell.is_empty())
    }

    /// The rows above whose codes this row's code goes on with, the nearest first.
    fn parents(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let code = &self.rows[row].code;
        (0..row).rev().filter(move |above| {
            let other = &self.rows[*above].code;
            !other.is_empty() && other.len() < code.len() && code.starts_with(other.as_str())
        })
    }

    /// The headings over a row, from the highest: what governs it by its code, and the nearest heading that it belongs to.
    fn over(&self, row: usize) -> Vec<String> {
        let described = self.described(row);
        let mut over: Vec<String> = self
            .parents(row)
            .filter_map(|parent| {
                self.rows[parent].cells.get(described?).filter(|cell| !cell.is_empty()).cloned()
            })
            .collect();
        let heading = (0..row).rev().find(|above| self.rows[*above].heading().is_some());
        if let Some(heading) = heading.filter(|heading| self.governs(*heading, row)) {
            over.extend(self.rows[heading].heading().map(str::to_owned));
        }
        over.reverse();
        over
    }

    /// Whether a heading is over a row: by the codes, where there are any, else up to the next heading.
    fn governs(&self, heading: usize, row: usize) -> bool {
        let code = &self.rows[row].code;
        let first = self.rows[heading..].iter().map(|row| &row.code).find(|code| !code.is_empty());
        let Some(first) = first.filter(|_| !code.is_empty()) else { return true };
        let alike = if first.len() >= WITH_SUFFIX && !first.ends_with("00") { SUBHEADING } else { GROUP };
        let alike = alike.min(first.len());
        code.get(..alike) == first.get(..alike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_under_one_heading_are_told_apart_first() {
        let columns =
            ["Code", "Rates of Duty 1 General", "Rates of Duty 1 Special", "Rates of Duty 2", "Unit of Sale"];
        let expected = [
            "Code",
            "Column 1 General Rates of Duty",
            "Column 1 Special Rates of Duty",
            "Column 2 Rates of Duty",
            "Unit of Sale",
        ];
        assert_eq!(readable(&columns), expected);
        assert_eq!(readable(&["Price in euros", "Price in euros"]), ["Price in euros"; 2]);
    }
}
