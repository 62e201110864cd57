#!/usr/bin/env python3
"""Score table extraction on the ICDAR-2013 table competition PDFs.

The measure is the competition's cell adjacency score. Every table becomes a
multiset of relations (text, nearest non-empty text to the right or below,
direction); precision and recall compare a document's predicted relations with
the true ones. Predicted tables are paired with true tables of the same page,
most shared relations first; relations of unpaired tables count in full as
false or missed. A document with two truths (`-a` and `-b`) is scored against
the one that suits the prediction best.

    score.py --data DIR --ours OURS.jsonl [--pdfplumber] [--limit N]

Each line of OURS.jsonl: {"file": "x.pdf", "tables": [{"page": 1, "rows":
[["a", null], ...]}]}, null being a cell merged with its left or top neighbour.
The last line printed is a JSON summary.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from xml.etree import ElementTree

Rows = Sequence[Sequence[str | None]]
Relations = Counter[tuple[str, str, str, int]]


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell, told from others by identity; a span holds it at many places."""

    text: str


Grid = dict[tuple[int, int], Cell]


@dataclass(frozen=True)
class Table:
    """The pages a table lies on, and its cells by (row, column)."""

    pages: frozenset[int]
    grid: Grid

    def relations(self, strict: bool) -> Relations:
        """Adjacency relations between the non-empty cells."""
        texts = {cell: normalise(cell.text, strict) for cell in self.grid.values()}
        gaps: dict[tuple[Cell, Cell, str], int] = {}
        for direction, axis in (("right", 1), ("below", 0)):
            lines: dict[int, dict[int, Cell]] = {}
            for place, cell in self.grid.items():
                if texts[cell]:
                    lines.setdefault(place[1 - axis], {})[place[axis]] = cell
            for line in lines.values():
                for one, other, gap in neighbours(line):
                    gaps.setdefault((one, other, direction), gap)
        return Counter(
            (texts[one], texts[other], direction, gap if strict else 0)
            for (one, other, direction), gap in gaps.items()
        )


@dataclass(frozen=True)
class Document:
    """A PDF and its truth, in one or two versions."""

    pdf: Path
    truths: list[list[Table]]


@dataclass(frozen=True)
class Tally:
    """Relation counts, from which precision, recall and F1 follow."""

    matched: int = 0
    predicted: int = 0
    true: int = 0

    @property
    def precision(self) -> float:
        return self.matched / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.matched / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.true
        return 2 * self.matched / total if total else 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.matched + other.matched,
            self.predicted + other.predicted,
            self.true + other.true,
        )


@dataclass
class Result:
    """Scores of one extractor, document by document."""

    documents: dict[str, Tally] = field(default_factory=dict)

    @property
    def micro(self) -> Tally:
        return sum(self.documents.values(), Tally())

    def mean(self, measure: Callable[[Tally], float]) -> float:
        values = [measure(tally) for tally in self.documents.values()]
        return sum(values) / len(values) if values else 0.0

    def summary(self) -> dict[str, float]:
        figures = {
            "precision": self.micro.precision,
            "recall": self.micro.recall,
            "f1": self.micro.f1,
            "mean_f1": self.mean(attrgetter("f1")),
        }
        return {name: round(value, 4) for name, value in figures.items()}


def normalise(text: str, strict: bool = False) -> str:
    """Letters and digits only, lower-cased; strict keeps `_` for the others."""
    bare = re.sub(r"\s+", "", text)
    return re.sub(r"[^A-Za-z0-9]", "_" if strict else "", bare).lower()


def neighbours(line: dict[int, Cell]) -> Iterator[tuple[Cell, Cell, int]]:
    """Successive distinct cells of a row or column, and the blanks between."""
    places = sorted(line)
    for here, there in pairwise(places):
        if line[here] is not line[there]:
            yield line[here], line[there], there - here - 1


def table_from_rows(page: int, rows: Rows) -> Table:
    """A predicted table; a null joins the cell on its left, else that above."""
    grid: Grid = {}
    for row, texts in enumerate(rows):
        left: Cell | None = None
        for column, text in enumerate(texts):
            if text is not None:
                left = Cell(text)
            owner = left or grid.get((row - 1, column))
            if owner is not None:
                grid[row, column] = owner
    return Table(frozenset([page]), grid)


def tables_from_truth(path: Path) -> list[Table]:
    """The tables of a structure file (`-str.xml`)."""
    tables = []
    for element in ElementTree.parse(path).getroot().iter("table"):
        pages: set[int] = set()
        grid: Grid = {}
        for region in element.iter("region"):
            pages.add(int(region.attrib["page"]))
            down = int(region.get("row-increment", 0))
            across = int(region.get("col-increment", 0))
            for item in region.iter("cell"):
                cell = Cell(item.findtext("content") or "")
                top, left = int(item.attrib["start-row"]), int(item.attrib["start-col"])
                bottom = int(item.get("end-row", top))
                # us-002 spells one end-col as col-end.
                right = int(item.get("end-col", item.get("col-end", left)))
                for row in range(top + down, bottom + down + 1):
                    for column in range(left + across, right + across + 1):
                        grid[row, column] = cell
        tables.append(Table(frozenset(pages), grid))
    return tables


def read_documents(data: Path) -> list[Document]:
    """The PDFs under a directory that have a structure file beside them."""
    documents = []
    for pdf in sorted(data.rglob("*.pdf"), key=lambda path: path.name):
        paths = [pdf.with_name(f"{pdf.stem}-str.xml")]
        if pdf.stem.endswith("a"):
            paths.append(pdf.with_name(f"{pdf.stem[:-1]}b-str.xml"))
        truths = [tables_from_truth(path) for path in paths if path.exists()]
        if truths:
            documents.append(Document(pdf, truths))
    return documents


def read_predictions(path: Path) -> dict[str, list[Table]]:
    """Predicted tables by PDF file name, from a JSON Lines file."""
    predictions: dict[str, list[Table]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            record = json.loads(line)
            tables = [table_from_rows(item["page"], item["rows"]) for item in record["tables"]]
            predictions.setdefault(Path(record["file"]).name, []).extend(tables)
    return predictions


def run_pdfplumber(pdf: Path) -> list[Table]:
    """The tables pdfplumber finds with its default settings."""
    import pdfplumber

    with pdfplumber.open(pdf) as opened:
        return [
            table_from_rows(page.page_number, rows)
            for page in opened.pages
            for rows in page.extract_tables()
        ]


def compare(predicted: list[Table], true: list[Table], strict: bool) -> Tally:
    """Relation counts of one document against one version of its truth."""
    ours = [table.relations(strict) for table in predicted]
    theirs = [table.relations(strict) for table in true]
    pairs = sorted(
        (-(ours[i] & theirs[j]).total(), i, j)
        for i, table in enumerate(predicted)
        for j, other in enumerate(true)
        if table.pages & other.pages
    )
    matched = 0
    used_ours: set[int] = set()
    used_theirs: set[int] = set()
    for negated, i, j in pairs:
        if i not in used_ours and j not in used_theirs:
            matched -= negated
            used_ours.add(i)
            used_theirs.add(j)
    return Tally(
        matched,
        sum(relations.total() for relations in ours),
        sum(relations.total() for relations in theirs),
    )


def score(
    documents: list[Document], predict: Callable[[Document], list[Table]], strict: bool = False
) -> Result:
    """Score an extractor, given as a function, over all documents."""
    result = Result()
    for document in documents:
        predicted = predict(document)
        tallies = [compare(predicted, true, strict) for true in document.truths]
        result.documents[document.pdf.name] = max(tallies, key=attrgetter("f1"))
    return result


def print_table(results: dict[str, Result]) -> None:
    """Micro and mean scores, one extractor a line."""
    print(f"{'':12}{'micro':^27}  {'mean over documents':^27}")
    print(f"{'':12}" + "  ".join(f"{'P':>9}{'R':>9}{'F1':>9}" for _ in range(2)))
    for name, result in results.items():
        micro = result.micro
        means = [result.mean(attrgetter(measure)) for measure in ("precision", "recall", "f1")]
        groups = [[micro.precision, micro.recall, micro.f1], means]
        print(f"{name:12}" + "  ".join("".join(f"{x:9.4f}" for x in group) for group in groups))


def print_documents(results: dict[str, Result]) -> None:
    """F1 of every document, one column an extractor."""
    print(f"{'document':12}{'relations':>10}" + "".join(f"{name:>12}" for name in results))
    for name, tally in next(iter(results.values())).documents.items():
        scores = "".join(f"{result.documents[name].f1:12.4f}" for result in results.values())
        print(f"{name:12}{tally.true:10}{scores}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="ICDAR-2013 adjacency score of table extraction")
    parser.add_argument("--data", type=Path, required=True, help="directory of PDFs and -str.xml")
    parser.add_argument("--ours", type=Path, required=True, help="predicted tables, JSON Lines")
    parser.add_argument("--pdfplumber", action="store_true", help="score pdfplumber as well")
    parser.add_argument("--limit", type=int, help="only the first N documents")
    parser.add_argument("--documents", action="store_true", help="print F1 per document")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="compare like the competition's tool: symbols and blank cells count",
    )
    arguments = parser.parse_args()

    documents = read_documents(arguments.data)[: arguments.limit]
    if not documents:
        parser.error(f"no PDF with a -str.xml under {arguments.data}")
    predictions = read_predictions(arguments.ours)
    missing = [item.pdf.name for item in documents if item.pdf.name not in predictions]
    if missing:
        print(f"not in {arguments.ours}: {' '.join(missing)}", file=sys.stderr)

    results = {
        "ours": score(documents, lambda item: predictions.get(item.pdf.name, []), arguments.strict)
    }
    if arguments.pdfplumber:
        results["pdfplumber"] = score(
            documents, lambda item: run_pdfplumber(item.pdf), arguments.strict
        )
    if arguments.documents:
        print_documents(results)
    print_table(results)
    summary = {name: result.summary() for name, result in results.items()}
    print(json.dumps({"documents": len(documents), **summary}))


if __name__ == "__main__":
    main()
