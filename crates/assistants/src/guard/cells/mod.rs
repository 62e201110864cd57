//! Whether a value belongs to what a sentence says of it. A value that stands in a cited table is right only in the row and
//! the column that the sentence names: where these are clear, the cell is looked up; where they are not, nothing is said.

mod asked;
mod clauses;
mod description;
mod prose;
mod subject;
mod units;

use std::borrow::Cow;

use ibid_core::answer::{CellQuote, Warning, WarningKind};
use ibid_core::evidence::Passage;
use ibid_core::value::{Value, Worth, agree, claimed, codes, values};

use super::lines::pieces;
use super::marks;
use super::pages::boxes_of;
use super::warning::{warning, warning_about};
use crate::language::{Language, Texts};
use crate::records::{self, Record};
use crate::source::{Origin, Source};
pub(crate) use asked::AskedCells;
use clauses::{Claim, ClaimedValue, claims_of, clauses};
use prose::Prose;
use subject::{Named, Subjects};
pub(super) use units::is_share;
pub(crate) use units::unit_name;

/// A row of a source.
struct Row<'a> {
    source: &'a Source,
    record: Record,
}

/// The rows of all tables in some sources.
fn rows_of<'a>(sources: &[&'a Source]) -> Vec<Row<'a>> {
    let of_source = |source: &&'a Source| {
        let source: &'a Source = source;
        records::of(source).into_iter().map(move |record| Row { source, record })
    };
    sources.iter().flat_map(of_source).collect()
}

/// The values of an answer that belong to another row, column, period or unit than it says. `made` are values that it has
/// made of others.
pub(super) fn misplaced(
    claims: &str,
    sources: &[&Source],
    said: &str,
    made: &[Value],
    language: Language,
) -> Vec<Warning> {
    let rows = rows_of(sources);
    let (prose, subjects) = (Prose::of(sources), Subjects::of(&rows));
    let check = Check { rows: &rows, subjects: &subjects, texts: language.texts() };
    let asked = subjects.named(said, &[]);
    let question = worded(said);
    let claims = marks::without(claims);
    let is_made = |claim: &Claim| match &claim.worth {
        ClaimedValue::Quantity(value) => made.iter().any(|other| other.worth == value.worth),
        ClaimedValue::Free => false,
    };
    let mut warnings = Vec::new();
    let mut before = Named::default();
    for span in pieces(&claims) {
        let sentence = &claims[span];
        let parted = clauses(sentence, &subjects).into_iter();
        let parted: Vec<(usize, &str, Vec<Claim>)> =
            parted.map(|(place, clause)| (place, clause, claims_of(clause, &subjects))).collect();
        let is_claim = |clause: &str, claim: &Claim| !is_made(claim) && !is_echo(clause, claim, &question);
        let claimed_in = |(_, clause, own): &(usize, &str, Vec<Claim>)| {
            own.iter().filter(|one| is_claim(clause, one)).count()
        };
        // A sentence with one value is about one row, however it is parted.
        let is_one = parted.iter().map(claimed_in).sum::<usize>() == 1;
        let whole = is_one.then(|| format!("{sentence}; {said}"));
        for (place, clause, own) in parted {
            let named = subjects.named(clause, &own).or(&before).or(&asked);
            for claim in own.iter().filter(|claim| is_claim(clause, claim)) {
                let stands = claim.stands.start + place..claim.stands.end + place;
                match prose.verdict(sentence, &Claim { stands, ..claim.clone() }) {
                    prose::Verdict::Right => {}
                    prose::Verdict::Wrong { kind, says } => warnings.push(check.in_prose(claim, kind, &says)),
                    prose::Verdict::Unclear => {
                        warnings.extend(check.one(clause, claim, &check.described(&named, whole.as_deref())));
                    }
                }
            }
            before = named;
        }
        // Years are names in tables; in prose they are claims.
        let years = claimed(sentence)
            .into_iter()
            .filter(|value| value.is_year() && subjects.is_name(sentence, value));
        for value in years {
            let (written, stands) = (value.written.clone(), value.stands.clone());
            let claim = Claim { worth: ClaimedValue::Quantity(value), written, stands };
            if let prose::Verdict::Wrong { kind, says } = prose.verdict(sentence, &claim) {
                warnings.push(check.in_prose(&claim, kind, &says));
            }
        }
    }
    warnings
}

/// The words of a text, in lower case, with a space around each.
fn worded(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    format!(" {} ", words.join(" "))
}

/// Whether a clause repeats a value from the question, with the words before and after it: that claims nothing.
fn is_echo(clause: &str, claim: &Claim, question: &str) -> bool {
    let before = clause[..claim.stands.start].split_whitespace().next_back();
    let after = clause[claim.stands.end..].split_whitespace().next();
    let (Some(before), Some(after)) = (before, after) else { return false };
    question.contains(&worded(&format!("{before} {} {after}", claim.written)))
}

/// Whether a number in a sentence of an answer belongs to the name of a row or column in some sources.
pub(super) fn names_in(sources: &[&Source]) -> impl Fn(&str, &Value) -> bool + use<> {
    let subjects = Subjects::of(&rows_of(sources));
    move |sentence, value| subjects.is_name(sentence, value)
}

struct Check<'a> {
    rows: &'a [Row<'a>],
    subjects: &'a Subjects,
    texts: &'static Texts,
}

/// A cell by its row and column.
type Place = (usize, usize);

impl Check<'_> {
    /// What is named; or what all that was said describes, if that is sure, or if the rows that are named say nothing in the
    /// column. A code names better than any description.
    fn described<'b>(&self, named: &'b Named, said: Option<&str>) -> Cow<'b, Named> {
        let columns = self.columns_of(named);
        let Some(said) = said.filter(|said| !columns.is_empty() && codes(said).is_empty()) else {
            return Cow::Borrowed(named);
        };
        let has_cell = |row: usize| {
            let record = &self.rows[row].record;
            self.subjects.columns(record, named).iter().any(|column| record.cell(*column).is_some())
        };
        match self.subjects.described(said, has_cell) {
            (rows, is_sure) if !rows.is_empty() && (is_sure || self.meant(named, &columns).is_empty()) => {
                Cow::Owned(named.clone().of_rows(rows))
            }
            _ => Cow::Borrowed(named),
        }
    }

    fn one(&self, clause: &str, claim: &Claim, named: &Named) -> Option<Warning> {
        if named.rows.is_empty() {
            return None;
        }
        let columns = self.columns_of(named);
        let meant = self.meant(named, &columns);
        let has = |place: &Place| self.bears(*place, claim);
        if let Some(right) = meant.iter().find(|place| has(place)) {
            let wrong = units::conflict(clause, claim, &self.unit_of(*right))?;
            return Some(self.wrong_unit(claim, *right, &wrong));
        }
        let elsewhere = self.all().filter(|place| self.is_told(*place) && has(place));
        let in_named_row = |place: &Place| named.rows.contains(&place.0);
        let elsewhere: Vec<Place> = elsewhere.collect();
        let right = meant.first().copied();
        if columns.is_empty() {
            // The row is clear and the column is not: none of its cells has the value, another row has.
            let stands = elsewhere.first().copied().filter(|_| named.is_sure)?;
            return Some(self.misplaced(claim, stands, None, named.rows.first().copied(), false));
        }
        let right = right?;
        let same_row = elsewhere.iter().find(|place| in_named_row(place));
        if let Some(stands) = same_row {
            return Some(self.misplaced(claim, *stands, Some(right), None, true));
        }
        let same_column = elsewhere.iter().find(|place| self.name(**place) == self.name(right));
        let stands = same_column.or(elsewhere.first())?;
        Some(self.misplaced(claim, *stands, Some(right), None, false))
    }

    fn all(&self) -> impl Iterator<Item = Place> + '_ {
        self.rows
            .iter()
            .enumerate()
            .flat_map(|(row, of)| (0..of.record.cells.len()).map(move |column| (row, column)))
    }

    fn name(&self, (row, column): Place) -> &str {
        self.rows[row].record.columns.name(column).unwrap_or_default()
    }

    /// Whether a cell tells something of its row, and is not what the row is called by.
    fn is_told(&self, (row, column): Place) -> bool {
        let record = &self.rows[row].record;
        column > 0 && record.cell(column).is_some_and(|cell| cell.text != record.description())
    }

    /// The columns that were named, for each row.
    fn columns_of(&self, named: &Named) -> Vec<Place> {
        let of_row = |row: &usize| {
            let columns = self.subjects.columns(&self.rows[*row].record, named);
            columns.into_iter().map(|column| (*row, column)).collect::<Vec<_>>()
        };
        named.rows.iter().flat_map(of_row).collect()
    }

    /// The cells that were named: in the rows and columns, else in all columns of the rows.
    fn meant(&self, named: &Named, columns: &[Place]) -> Vec<Place> {
        let said = |place: &Place| self.rows[place.0].record.cell(place.1).is_some();
        if columns.is_empty() {
            return self.all().filter(|(row, _)| named.rows.contains(row)).filter(said).collect();
        }
        columns.iter().copied().filter(said).collect()
    }

    /// Whether a cell has a value.
    fn bears(&self, (row, column): Place, claim: &Claim) -> bool {
        let record = &self.rows[row].record;
        let Some(cell) = record.cell(column) else { return false };
        match &claim.worth {
            ClaimedValue::Free => clauses::is_free(&cell.text),
            ClaimedValue::Quantity(value) => {
                let is_share = matches!(value.worth, Worth::Percent(_))
                    && record.columns.name(column).is_some_and(is_share);
                let in_hundredths =
                    |own: Value| is_share && own.as_share().is_some_and(|own| agree(value, &own));
                values(&cell.text).into_iter().any(|own| agree(value, &own) || in_hundredths(own))
            }
        }
    }

    /// In what a cell is counted: as the cell, its column or what stands over it says.
    fn unit_of(&self, place: Place) -> Vec<units::Unit> {
        let record = &self.rows[place.0].record;
        let cell = record.cell(place.1).map_or("", |cell| cell.text.as_str());
        let over = format!("{}\n{}", record.path.join("\n"), self.rows[place.0].source.over());
        units::first_known([cell, self.name(place), &over])
    }

    /// What a row is called.
    fn row_name(&self, row: usize) -> String {
        let record = &self.rows[row].record;
        let first = record.cells.first().map_or("", |cell| cell.text.as_str());
        match (first, record.description()) {
            ("", description) => description.to_owned(),
            (first, description) if first == description || description.is_empty() => first.to_owned(),
            (first, description) => format!("{first} ({})", shortened(description)),
        }
    }

    fn misplaced(
        &self,
        claim: &Claim,
        stands: Place,
        right: Option<Place>,
        row: Option<usize>,
        is_column: bool,
    ) -> Warning {
        let texts = self.texts;
        let row = right.map(|(row, _)| row).or(row).unwrap_or(stands.0);
        let right_cell = right.and_then(|(row, column)| self.rows[row].record.cell(column));
        let names = (self.name(stands), right.map_or("", |right| self.name(right)));
        let rows = (self.row_name(stands.0), self.row_name(row));
        let is_period = if is_column {
            units::differ_in_period(names.0, names.1)
        } else {
            units::differ_in_period(&rows.0, &rows.1)
        };
        let kind = match (is_period, is_column) {
            (true, _) => WarningKind::WrongPeriod,
            (false, true) => WarningKind::WrongColumn,
            (false, false) => WarningKind::WrongRow,
        };
        let value = claim.written.trim();
        let values: [(&str, &dyn std::fmt::Display); 6] = [
            ("value", &value),
            ("stands", &names.0),
            ("asked", &names.1),
            ("other", &rows.0),
            ("row", &rows.1),
            ("right", &right_cell.map_or("", |cell| cell.text.as_str())),
        ];
        let text = match (is_column, right_cell) {
            (true, _) => &texts.wrong_column,
            (false, Some(_)) => &texts.wrong_row,
            (false, None) => &texts.other_row,
        };
        let mut found = warning_about(warning(kind, text, &values), value);
        found.cells = std::iter::once(stands).chain(right).filter_map(|place| self.quote(place)).collect();
        found
    }

    fn wrong_unit(&self, claim: &Claim, right: Place, (said, own): &(String, String)) -> Warning {
        let (row, column) = (self.row_name(right.0), self.name(right));
        let value = claim.written.trim();
        let values: [(&str, &dyn std::fmt::Display); 5] =
            [("value", &value), ("row", &row), ("column", &column), ("said", said), ("own", own)];
        let text = warning(WarningKind::WrongUnit, &self.texts.wrong_unit, &values);
        Warning { cells: self.quote(right).into_iter().collect(), ..warning_about(text, value) }
    }

    /// A value that prose has otherwise.
    fn in_prose(&self, claim: &Claim, kind: WarningKind, says: &str) -> Warning {
        let value = claim.written.trim();
        let values: [(&str, &dyn std::fmt::Display); 2] = [("value", &value), ("right", &says)];
        warning_about(warning(kind, &self.texts.says_otherwise, &values), value)
    }

    /// A cell, quoted with its place.
    fn quote(&self, (row, column): Place) -> Option<CellQuote> {
        let Row { source, record } = &self.rows[row];
        let cell = record.cell(column)?;
        let Origin::Passage(passage) = &source.origin else { return None };
        let passage: &Passage = passage;
        let span = if cell.is_inherited { record.span.clone() } else { cell.span.clone() };
        Some(CellQuote {
            source: source.number,
            document_id: passage.document.to_string(),
            page: passage.page,
            row: self.row_name(row),
            column: self.name((row, column)).to_owned(),
            text: cell.text.clone(),
            boxes: boxes_of(&passage.places, &span),
        })
    }
}

/// The beginning of a long name.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}\u{2026}", name[..end].trim_end()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARIFF: &str = "Heading/ Subheading | Stat. Suf-fix | Article Description | Unit of Quantity | Rates of Duty 1 General | Rates of Duty 1 Special | Rates of Duty 2\n\
        8539.31.00 |  | Fluorescent, hot cathode |  | 2.4% [5/] | Free (A, AU) | 20%\n\
        8539.31.00.40 | 40 | Straight tubes | No. |  |  | \n\
        8539.51.00.00 | 00 | Light-emitting diode (LED) modules | No. | Free |  | 35%\n\
        8539.52.00 |  | Light-emitting diode (LED) lamps | No. | 2% | Free (A, AU) | 20%\n\
        8539.90.00.00 | 00 | Parts | X | 2.6% | Free (A*) | 35%";
    const SALES: &str = "Region | Sales 2022 (EUR million) | Sales 2023 (EUR million) | Share (%)\n\
        North | 12.5 | 13.1 | 40.2\n\
        South | 8.4 | 9.9 | 30.4\n\
        East and West | 7.7 | 8.0 | 29.4";

    #[track_caller]
    fn check(text: &str, said: &str, answer: &str, expected: Option<WarningKind>) {
        let sources = crate::packing::sample("en", text);
        let sources: Vec<&Source> = sources.iter().collect();
        let found = misplaced(answer, &sources, said, &[], Language::english());
        let kinds: Vec<WarningKind> = found.iter().map(|warning| warning.kind).collect();
        assert_eq!(kinds, expected.into_iter().collect::<Vec<_>>(), "{answer}: {found:?}");
    }

    #[test]
    fn a_value_of_another_column_is_told() {
        use WarningKind::WrongColumn;
        let asked = "What is the general rate of duty for 8539.52.00?";
        check(TARIFF, asked, "2% [1]", None);
        check(TARIFF, asked, "20% [1]", Some(WrongColumn));
        check(TARIFF, asked, "The general rate of duty for 8539.52.00 is 20% [1].", Some(WrongColumn));
        check(TARIFF, "", "The column 2 rate of 8539.52.00 is 20%, and the general rate is 2%.", None);
        check(TARIFF, "", "The column 2 rate of 8539.52.00 is 2%.", Some(WrongColumn));
        check(TARIFF, "", "For LED modules the general rate is free.", None);
        check(TARIFF, "", "For LED lamps the general rate is free.", Some(WrongColumn));
        check(TARIFF, "", "La tasa general de 8539.52.00 es 20 %.", Some(WrongColumn));
        check(TARIFF, "", "La tasa de la columna 2 de 8539.52.00 es del 20 %.", None);
        check(TARIFF, "", "8539.31.00.40 pays 2.4% in general.", None);
    }

    #[test]
    fn a_value_of_another_row_is_told() {
        use WarningKind::WrongRow;
        check(TARIFF, "", "The general rate of 8539.52.00 is 2.6%.", Some(WrongRow));
        check(TARIFF, "", "The general rate of LED lamps is 2.4%.", Some(WrongRow));
        check(TARIFF, "", "LED lamps pay 2% and parts 2.6%.", None);
        let asked = "What is the column 2 rate for LED modules?";
        check(TARIFF, asked, "The column 2 rate for LED modules is 20% [1].", Some(WrongRow));
        check(SALES, "", "The share of the South is 40.2%.", Some(WrongRow));
        check(SALES, "", "The share of the South is 30.4%.", None);
    }

    #[test]
    fn a_value_of_another_period_or_unit_is_told() {
        use WarningKind::{WrongPeriod, WrongUnit};
        check(SALES, "", "Sales in the North were 13.1 in 2023.", None);
        check(SALES, "", "Sales in the North were 12.5 in 2023.", Some(WrongPeriod));
        check(SALES, "", "In 2022, sales in the South were EUR 8.4 million.", None);
        check(SALES, "", "In 2022, sales in the South were USD 8.4 million.", Some(WrongUnit));
        check(SALES, "", "In 2022, sales in the South were 8.4 billion euros.", Some(WrongUnit));
    }

    #[test]
    fn prose_that_says_otherwise_is_told() {
        use WarningKind::{WrongPeriod, WrongRow, WrongUnit};
        let rules = "Records have to be kept for 5 years from the date of entry. A claim has to be made within 90 days of the notice. \
            The duty of 1990 was raised by 12% in 1994 for all importers of such goods.";
        check(rules, "", "Records have to be kept for 5 years from the date of entry.", None);
        check(rules, "", "Records have to be kept for 5 months from the date of entry.", Some(WrongUnit));
        check(rules, "", "Records have to be kept for 90 years from the date of entry.", Some(WrongRow));
        check(rules, "", "The duty was raised by 12% in 1990 for all importers.", None);
        check(rules, "", "A claim has to be made within 90 days.", None);
        let dated = "The law on customs records came into force in 1994. The law on marking came into force in 1990 for all.";
        check(dated, "", "The law on customs records came into force in 1990.", Some(WrongPeriod));
    }

    #[test]
    fn what_repeats_the_question_is_not_doubted() {
        let table = "Article | Voltage | Rate\nLamps | 1,000 V | 2%\nRelays of 60 V | 500 V | 2.7%";
        let said = "What is the rate for relays of 60 V, not exceeding 1,000 V ?";
        check(table, said, "The rate for relays of 60 V, not exceeding 1,000 V , is 2.7%.", None);
        check(
            table,
            "What is the rate for relays of 60 V?",
            "The voltage of relays of 60 V is 1,000 V.",
            Some(WarningKind::WrongRow),
        );
    }

    #[test]
    fn what_is_not_clear_is_not_doubted() {
        check(TARIFF, "", "The rate is 20%.", None);
        check(TARIFF, "", "Rates go from 2% to 35%.", None);
        check(TARIFF, "", "There are 3 rates for 8539.52.00: 2%, Free and 20%.", None);
        check(SALES, "", "All regions together sold for less than 40 million.", None);
    }
}
