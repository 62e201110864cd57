//! All pages of a document together: what repeats on every page, tables over page breaks, the codes
//! and headings that govern a row, and pages without content.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::page::{Block, Line, Page, PageKind, Rect, Row, Skip, Table, shortened};

/// The part of a page, at its top and at its foot, where running headers stand.
const MARGIN: f32 = 0.12;
/// A line on so many pages is a running header.
const FEWEST_REPEATS: usize = 3;
/// A longer name of a governing row is cut.
const LONGEST_NAME: usize = 160;
/// Two tables whose sides are nearer than this, in points, are as wide.
const SAME_WIDTH: f32 = 6.0;
/// Rows govern each other at most so deep.
const DEEPEST: usize = 12;

/// Completes pages that were read one by one. `least` is the number of characters under which a page
/// counts as one without content.
pub fn complete(pages: &mut [Page], least: usize) {
    let repeated = running_lines(pages);
    // A text file is one page: it may be a short note, and what it begins with says nothing of the whole.
    let alone = pages.len() == 1;
    let mut last: Option<Last> = None;
    let dotted = dotted_abbreviations(pages);
    for page in pages {
        let before = page.blocks.len();
        for block in &mut page.blocks {
            if let Block::Heading { lines, .. } | Block::Text { lines } = block {
                lines.retain(|line| !is_running(line, page.number, page.height, &repeated));
            }
        }
        page.blocks.retain(|block| !matches!(block, Block::Heading { lines, .. } | Block::Text { lines } if lines.is_empty()));
        let stripped = before != page.blocks.len();
        let end = page.blocks.len();
        for (at, block) in page.blocks.iter_mut().enumerate() {
            let Block::Table(table) = block else { continue };
            // Where a sheet goes on, its reader knows.
            let knows = page.label.is_some();
            let goes_on = |before: &Last| {
                if knows { table.continues } else { before.goes_on(table, page.number, at) }
            };
            let before = last.take().filter(goes_on);
            let mut governs = Vec::new();
            if let Some(before) = before {
                if table.columns != before.columns {
                    (table.columns, table.heads) = (before.columns, 0);
                }
                table.continues = true;
                governs = before.governs;
            }
            with_dots(table, &dotted);
            govern(table, &mut governs);
            let place = Rect::around(table.rows.iter().filter_map(|row| row.place));
            let at_foot = at + 1 == end;
            last = Some(Last { page: page.number, columns: table.columns.clone(), governs, place, at_foot });
        }
        judge(page, least, stripped, alone);
    }
}

/// The table before.
struct Last {
    page: u32,
    columns: Vec<String>,
    governs: Vec<Govern>,
    place: Option<Rect>,
    /// Whether it is the last thing on its page.
    at_foot: bool,
}

impl Last {
    /// Whether a table, the so-manieth thing on its page, goes on with this one: under the same names, or as
    /// wide and right over the break of two pages without names of its own.
    fn goes_on(&self, table: &Table, page: u32, at: usize) -> bool {
        if self.columns.iter().all(String::is_empty) {
            return false;
        }
        let wide = |place: Rect| (place.left, place.right);
        let place = Rect::around(table.rows.iter().filter_map(|row| row.place));
        let alike = match (self.place.map(wide), place.map(wide)) {
            (Some(one), Some(other)) => {
                (one.0 - other.0).abs() < SAME_WIDTH && (one.1 - other.1).abs() < SAME_WIDTH
            }
            _ => false,
        };
        let over_the_break = self.at_foot && at == 0 && page == self.page + 1 && alike;
        self.columns == table.columns
            || over_the_break && self.columns.len() == table.columns.len() && !has_names(table, &self.columns)
    }
}

/// Whether the header of a table names its columns, as that of another one does, instead of being its first row.
fn has_names(table: &Table, others: &[String]) -> bool {
    let figures = |names: &[String]| {
        let said: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
        let with = said.iter().filter(|name| name.chars().any(|char| char.is_ascii_digit())).count();
        with * 2 >= said.len()
    };
    let years = table.rows.first().is_some_and(|row| {
        let mut rest = row.cells.iter().skip(1).flatten().filter(|cell| !cell.is_empty()).peekable();
        rest.peek().is_some() && rest.all(|cell| is_year(cell)) && !is_year(row.cell(0))
    });
    years || table.heads > 0 && (!figures(&table.columns) || figures(others))
}

fn is_year(cell: &str) -> bool {
    cell.len() == 4 && (cell.starts_with("19") || cell.starts_with("20")) && cell.parse::<u16>().is_ok()
}

/// By what a line is the same on two pages: every letter of it, or all but a number that counts the pages.
fn marks(text: &str, page: u32) -> [String; 2] {
    let plain: String =
        text.chars().filter(|char| !char.is_whitespace()).flat_map(char::to_lowercase).collect();
    let end = plain.trim_end_matches(|char: char| !char.is_ascii_digit()).len();
    let start = plain[..end].trim_end_matches(|char: char| char.is_ascii_digit()).len();
    let counted = match plain[start..end].parse::<i64>() {
        Ok(number) => format!("{}#{}{}", &plain[..start], number - i64::from(page), &plain[end..]),
        Err(_) => plain.clone(),
    };
    [plain, counted]
}

fn in_margin(place: Rect, height: f32) -> bool {
    height > 0.0 && (place.bottom < MARGIN * height || place.top > (1.0 - MARGIN) * height)
}

/// The marks of lines that stand in the margin of many pages.
fn running_lines(pages: &[Page]) -> HashSet<String> {
    let mut on: HashMap<String, usize> = HashMap::new();
    for page in pages {
        let mut found: HashSet<String> = HashSet::new();
        for block in &page.blocks {
            let (Block::Heading { lines, .. } | Block::Text { lines }) = block else { continue };
            let margins =
                lines.iter().filter(|line| line.place.is_some_and(|place| in_margin(place, page.height)));
            found.extend(margins.flat_map(|line| marks(&line.text, page.number)));
        }
        for mark in found {
            *on.entry(mark).or_default() += 1;
        }
    }
    let read = pages.iter().filter(|page| !page.blocks.is_empty()).count();
    let many = |count: usize| count >= FEWEST_REPEATS && count * 3 >= read;
    on.into_iter().filter(|(_, count)| many(*count)).map(|(mark, _)| mark).collect()
}

fn is_running(line: &Line, page: u32, height: f32, repeated: &HashSet<String>) -> bool {
    line.place.is_some_and(|place| in_margin(place, height))
        && marks(&line.text, page).iter().any(|mark| repeated.contains(mark))
}

/// Short words that a column has with a dot, by the names of its table and its number. The dots that lead to
/// the next column swallow it elsewhere.
type Dotted = HashMap<Vec<String>, HashMap<usize, HashSet<String>>>;

fn dotted_abbreviations(pages: &[Page]) -> Dotted {
    let mut dotted = Dotted::new();
    for table in tables(pages) {
        for (column, cell) in table.rows.iter().flat_map(|row| row.cells.iter().enumerate()) {
            let Some(cell) = cell else { continue };
            let letters = cell.trim_end_matches('.');
            if cell.len() <= 6
                && !letters.is_empty()
                && cell.ends_with('.')
                && letters.chars().all(char::is_alphabetic)
            {
                if !dotted.contains_key(&table.columns) {
                    dotted.insert(table.columns.clone(), HashMap::new());
                }
                if let Some(columns) = dotted.get_mut(&table.columns) {
                    columns.entry(column).or_default().insert(letters.to_owned());
                }
            }
        }
    }
    dotted
}

fn tables(pages: &[Page]) -> impl Iterator<Item = &Table> {
    pages.iter().flat_map(|page| &page.blocks).filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    })
}

fn with_dots(table: &mut Table, dotted: &Dotted) {
    for (column, dotted) in dotted.get(&table.columns).into_iter().flatten() {
        let cells = table.rows.iter_mut().filter_map(|row| row.cells.get_mut(*column)?.as_mut());
        for cell in cells {
            if let Some((first, rest)) = cell.split_once(' ') {
                if dotted.contains(first) && dotted.contains(rest.trim_end_matches('.'))
                    || dotted.contains(first) && rest.len() <= 4
                {
                    *cell = format!("{first}. {rest}");
                }
            } else if dotted.contains(cell.as_str()) {
                cell.push('.');
            }
        }
    }
}

/// A row that governs those below it that are indented further.
struct Govern {
    depth: f32,
    code: Option<String>,
    name: String,
    cells: Vec<Option<String>>,
}

/// Gives rows their codes and the names of the rows that govern them.
fn govern(table: &mut Table, governs: &mut Vec<Govern>) {
    let heads = table.heads.min(table.rows.len());
    if table.rows[heads..].iter().all(|row| row.depth.is_none()) {
        return group(&mut table.rows[heads..]);
    }
    for row in &mut table.rows[heads..] {
        let Some(depth) = row.depth else { continue };
        let (code, suffix, name) = parts(row);
        row.repeated = row.cells.iter().flatten().any(|cell| cell.contains("(con.)"));
        while governs.last().is_some_and(|last| last.depth >= depth - 2.0) {
            governs.pop();
        }
        let whole = match (&code, &suffix) {
            (Some(code), Some(suffix)) => Some(format!("{code}.{suffix}")),
            (Some(code), None) => Some(code.clone()),
            (None, Some(suffix)) => governs
                .iter()
                .rev()
                .find_map(|govern| govern.code.as_ref())
                .filter(|code| code.matches('.').count() == 2)
                .map(|code| format!("{code}.{suffix}")),
            (None, None) => None,
        };
        row.path = governs.iter().map(|govern| govern.name.clone()).collect();
        row.code.clone_from(&whole);
        if code.is_none() && whole.is_some() {
            let above = governs.iter().rev().find(|govern| govern.code.is_some());
            row.inherited = above.map(|above| inherited(row, &above.cells)).unwrap_or_default();
        }
        if governs.len() < DEEPEST {
            let label = [whole.as_deref().filter(|_| code.is_some()), Some(name.as_str())];
            let name = label.into_iter().flatten().collect::<Vec<_>>().join(" ");
            governs.push(Govern {
                depth,
                code,
                name: shortened(&name, LONGEST_NAME),
                cells: row.cells.clone(),
            });
        }
    }
}

/// What a row has from the one that governs it: the cells behind its description that are empty in it.
fn inherited(row: &Row, above: &[Option<String>]) -> BTreeMap<usize, String> {
    let described = above
        .iter()
        .skip(1)
        .position(|cell| cell.as_deref().is_some_and(describes))
        .map_or(usize::MAX, |at| at + 1);
    let given = above.iter().enumerate().skip(described.saturating_add(1));
    given
        .filter(|(column, _)| row.cell(*column).is_empty())
        .filter_map(|(column, cell)| Some((column, cell.clone().filter(|cell| !cell.is_empty())?)))
        .collect()
}

/// Gives rows the names of the groups that they stand in: rows of which only the first cell says something.
fn group(rows: &mut [Row]) {
    let mut names: Vec<String> = Vec::new();
    let mut in_names = false;
    for row in rows {
        let said = row.cells.iter().flatten().filter(|cell| !cell.is_empty()).count();
        let first = row.cell(0);
        let is_name = said == 1 && row.cells.len() > 1 && first.chars().any(char::is_alphabetic);
        if !is_name {
            row.path.clone_from(&names);
            in_names = false;
            continue;
        }
        if !in_names {
            names.clear();
        }
        if names.len() < DEEPEST {
            names.push(shortened(first.trim_end_matches(':'), LONGEST_NAME));
        }
        in_names = true;
    }
}

/// Whether a cell says in words what its row is about.
fn describes(cell: &str) -> bool {
    cell.chars().filter(|char| char.is_alphabetic()).count() >= 3
}

/// The code of a row, the suffix that completes a code above it, and its description.
fn parts(row: &Row) -> (Option<String>, Option<String>, String) {
    let bare =
        |text: &str| text.replace("(con.)", "").split(" [").next().unwrap_or_default().trim().to_owned();
    let is_code = |text: &str| {
        text.starts_with(|char: char| char.is_ascii_digit())
            && text.chars().all(|char| char.is_ascii_digit() || matches!(char, '.' | '-'))
    };
    let first = bare(row.cell(0));
    let second = bare(row.cell(1));
    let whole = first.contains('.') || first.len() == 4;
    let code = (is_code(&first) && whole).then_some(first);
    let suffix = (row.cells.len() > 3 && is_code(&second) && second.len() <= 4).then_some(second);
    let longest =
        row.cells.iter().flatten().max_by_key(|cell| cell.len()).map(String::as_str).unwrap_or_default();
    let described = row.cells.iter().skip(1).flatten().find(|cell| describes(cell));
    (code, suffix, bare(described.map_or(longest, String::as_str)).trim_end_matches(':').to_owned())
}

/// Decides whether a page has content.
fn judge(page: &mut Page, least: usize, stripped: bool, alone: bool) {
    if page.skipped.is_some() {
        return;
    }
    let text = page.text();
    let letters = text.chars().filter(|char| !char.is_whitespace()).count();
    let lower = text.to_lowercase();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    page.skipped = if letters == 0 && stripped {
        Some(Skip::HeaderOnly)
    } else if letters == 0 {
        page.kind = if page.kind == PageKind::Text { PageKind::Empty } else { page.kind };
        Some(Skip::Short)
    } else if letters < 400 && is_blank_notice(&lower) {
        Some(Skip::Blank)
    } else if letters < least && !alone {
        Some(Skip::Short)
    } else if !alone && is_contents(&lower, &lines) {
        Some(Skip::Contents)
    } else if !alone && is_index(&lower, &lines) {
        Some(Skip::Index)
    } else {
        None
    };
}

fn is_blank_notice(lower: &str) -> bool {
    [
        "intentionally left blank",
        "intentionally blank",
        "página en blanco",
        "dejada en blanco",
        "dejado en blanco",
    ]
    .iter()
    .any(|notice| lower.contains(notice))
}

/// Whether most lines end with the number of a page.
fn is_contents(lower: &str, lines: &[&str]) -> bool {
    let named = ["contents", "table of contents", "índice", "indice", "contenido", "tabla de contenido"];
    let named = lower.lines().take(6).any(|line| named.contains(&line.trim().trim_end_matches(':')));
    let ends: Vec<&&str> = lines.iter().filter(|line| ends_with_page(line)).collect();
    let number = |line: &&&str| {
        line.split_whitespace().next_back().and_then(|last| last.trim_start_matches('.').parse::<u32>().ok())
    };
    let numbers: Vec<u32> = ends.iter().filter_map(number).collect();
    let share = if named { 3 } else { 6 };
    lines.len() >= 4
        && ends.len() * 10 >= lines.len() * share
        && numbers.is_sorted()
        && numbers.first() < numbers.last()
        && (named || lines.iter().any(|line| line.contains("...")))
}

fn ends_with_page(line: &str) -> bool {
    let last = line.split_whitespace().next_back().unwrap_or_default().trim_start_matches('.');
    line.split_whitespace().count() > 1
        && !last.is_empty()
        && last.len() <= 5
        && last.chars().all(|char| char.is_ascii_digit() || matches!(char, 'i' | 'v' | 'x' | '-'))
}

/// Whether a page lists terms and their pages.
fn is_index(lower: &str, lines: &[&str]) -> bool {
    let named = lower
        .lines()
        .take(4)
        .any(|line| matches!(line.trim(), "index" | "índice alfabético" | "índice analítico"));
    let listed = |line: &&&str| {
        line.rsplit_once(',').is_some_and(|(_, last)| {
            let last = last.trim();
            !last.is_empty()
                && last.len() <= 7
                && last.chars().all(|char| char.is_ascii_digit() || matches!(char, '-' | '–' | ' '))
        })
    };
    named && lines.len() >= 6 && lines.iter().filter(listed).count() * 2 > lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(heads: usize, rows: &[[&str; 2]]) -> Block {
        let place = Some(Rect { left: 50.0, top: 60.0, right: 500.0, bottom: 700.0 });
        let cells = |row: &[&str; 2]| row.iter().map(|cell| Some((*cell).to_owned())).collect();
        let rows: Vec<Row> =
            rows.iter().map(|row| Row { cells: cells(row), place, ..Row::default() }).collect();
        let columns = (0..2).map(|column| rows[0].cell(column).to_owned()).collect();
        Block::Table(Table { columns, heads, rows, continues: false })
    }

    fn pages(first: Block, second: Block) -> Vec<Table> {
        let mut pages: Vec<Page> = [first, second]
            .into_iter()
            .zip(1..)
            .map(|(block, number)| Page {
                kind: PageKind::Table,
                skipped: None,
                remarks: Vec::new(),
                blocks: vec![block],
                ..Page::not_read(number, "")
            })
            .collect();
        complete(&mut pages, 0);
        tables(&pages).cloned().collect()
    }

    #[test]
    fn a_table_that_goes_on_without_a_header_keeps_its_names() {
        let found =
            pages(table(1, &[["Port", "Fee"], ["Bilbao", "25"]]), table(1, &[["17", "30"], ["18", "35"]]));
        assert!(found[1].continues);
        assert_eq!((found[1].columns.as_slice(), found[1].heads), (found[0].columns.as_slice(), 0));
    }

    #[test]
    fn a_table_with_names_of_its_own_begins_anew() {
        let found =
            pages(table(1, &[["Port", "Fee"], ["Bilbao", "25"]]), table(1, &[["Ship", "Flag"], ["A", "ES"]]));
        assert!(!found[1].continues);
        assert_eq!((found[1].columns.join(" ").as_str(), found[1].heads), ("Ship Flag", 1));
    }

    #[test]
    fn a_row_with_one_name_governs_those_below_it() {
        let block =
            table(1, &[["Item", "Total"], ["Assets", ""], ["Cash", "5"], ["Debts", ""], ["Loans", "3"]]);
        let found = pages(block.clone(), block);
        let paths: Vec<String> = found[0].rows.iter().map(|row| row.path.join(" > ")).collect();
        assert_eq!(paths, ["", "", "Assets", "", "Debts"]);
    }

    #[test]
    fn years_name_columns() {
        let found =
            pages(table(1, &[["Item", "Total"], ["a", "5"]]), table(0, &[["EUR m", "2023"], ["b", "6"]]));
        assert!(!found[1].continues);
    }

    #[test]
    fn a_dot_is_given_back_only_in_the_column_that_has_it() {
        let block = table(1, &[["Unit", "Dutiable"], ["No.", "Yes"], ["No", "No"]]);
        let found = pages(block.clone(), block);
        assert_eq!([found[0].rows[2].cell(0), found[0].rows[2].cell(1)], ["No.", "No"]);
    }
}
