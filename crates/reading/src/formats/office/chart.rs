//! Charts: the numbers that they draw, as a table under the names of their series.

use roxmltree::Node;

use super::grid::{Cell, Grid};
use super::package::{attribute, below, child, xml};
use crate::formats::blocks::tidy;
use crate::page::Block;
use crate::protocol::Failure;

/// A chart has at most so many points.
const MOST_POINTS: usize = 10_000;

/// The title of a chart, if it has one, and its numbers.
pub(super) fn blocks(text: &str) -> Result<Vec<Block>, Failure> {
    let document = xml(text)?;
    let mut blocks = Vec::new();
    let Some(chart) = document.descendants().find(|node| node.tag_name().name() == "chart") else {
        return Ok(blocks);
    };
    if let Some(title) = child(chart, "title") {
        let words: Vec<&str> = title
            .descendants()
            .filter(|node| node.tag_name().name() == "t")
            .filter_map(|node| node.text())
            .collect();
        let lines = tidy(&words.join(" "));
        if !lines.is_empty() {
            blocks.push(Block::Text { lines });
        }
    }
    let series: Vec<Node<'_, '_>> =
        chart.descendants().filter(|node| node.tag_name().name() == "ser").collect();
    let Some(first) = series.first() else { return Ok(blocks) };
    let categories = child(*first, "cat").or_else(|| child(*first, "xVal")).map(points).unwrap_or_default();
    let columns: Vec<(String, Vec<String>)> = series
        .iter()
        .map(|one| {
            let name = below(*one, &["tx"]).map(points).unwrap_or_default().join(" ");
            (name, child(*one, "val").or_else(|| child(*one, "yVal")).map(points).unwrap_or_default())
        })
        .collect();
    let mut grid = Grid::default();
    let names = std::iter::once(String::new()).chain(columns.iter().map(|(name, _)| name.clone()));
    grid.push(names.map(Cell::Own).collect(), Vec::new());
    let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or_default();
    for row in 0..rows {
        let category = categories.get(row).cloned().unwrap_or_else(|| (row + 1).to_string());
        let values = columns.iter().map(|(_, values)| values.get(row).cloned().unwrap_or_default());
        grid.push(std::iter::once(category).chain(values).map(Cell::Own).collect(), Vec::new());
    }
    blocks.extend(grid.finish(1));
    Ok(blocks)
}

/// The points of some data by their numbers, as they were when the file was saved.
fn points(data: Node<'_, '_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Of several levels of names, the first is the finest.
    let level = data.descendants().find(|node| node.tag_name().name() == "lvl").unwrap_or(data);
    for point in level.descendants().filter(|node| node.tag_name().name() == "pt") {
        let index =
            attribute(point, "idx").and_then(|index| index.parse::<usize>().ok()).unwrap_or(found.len());
        let value = child(point, "v").and_then(|value| value.text()).unwrap_or_default();
        if index < MOST_POINTS {
            found.resize(found.len().max(index + 1), String::new());
            found[index] = value.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    found
}
