"""What is read of office files beside what LibreOffice makes of them: the share of its words that come out in the same order, and of the
cells of tables.

usage: office.py READ LIBPDFIUM FOLDER...

READ is the example `read` of this crate. Text documents become plain text, sheets CSV (one file for each), presentations PDF, whose words are counted
without their order, since a page of a PDF is read from the top. Needs soffice and pdftotext. Prints a line for each file that differs, and the figures
of each format.
"""

import collections
import csv
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TEXTS, SHEETS, SLIDES = {"docx", "odt"}, {"xlsx", "ods", "xls"}, {"pptx", "odp"}


def words(text):
    # Marks of lists and notes are written differently by each program.
    text = re.sub(r"\[\d+/\]", " ", text)
    return [word for word in re.findall(r"\w+", text.lower()) if word != "_"]


def convert(file, form, folder):
    command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", form]
    subprocess.run([*command, "--outdir", folder, file], check=True, capture_output=True, timeout=180)


def read(program, library, file):
    done = subprocess.run([program, library, file], capture_output=True, text=True, timeout=300)
    return None if done.returncode else [json.loads(line) for line in done.stdout.splitlines()]


def lines(page):
    for block in page["blocks"]:
        if "table" in block:
            for row in block["table"]["rows"]:
                yield " ".join(cell for cell in row["cells"] if cell)
        else:
            yield from (line["text"] for line in (block.get("text") or block["heading"])["lines"])


def value(cell):
    """A cell without the zeros behind its point, which the CSV of LibreOffice leaves out."""
    return re.sub(r"(\.\d*?)0+(?=\D*$)", r"\1", " ".join(cell.split())).replace(".%", "%")


def in_order(expected, found):
    if not expected:
        return 0
    matcher = difflib.SequenceMatcher(None, expected, found, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def of_text(file, pages, folder):
    convert(file, "txt:Text (encoded):UTF8", folder)
    text = next(folder.glob("*.txt")).read_text(encoding="utf-8-sig")
    expected, found = words(text), words("\n".join(line for page in pages for line in lines(page)))
    return in_order(expected, found), len(expected)


def of_sheets(file, pages, folder):
    # Every sheet into a file of its own, as it is shown.
    convert(file, "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1", folder)
    expected = collections.Counter()
    for sheet in folder.glob("*.csv"):
        with sheet.open(encoding="utf-8", newline="") as rows:
            expected.update(value(cell) for row in csv.reader(rows) for cell in row if cell.strip())
    found = collections.Counter()
    for page in pages:
        for block in page["blocks"]:
            if "table" in block:
                found.update(value(cell) for row in block["table"]["rows"] for cell in row["cells"] if cell)
            else:
                found.update(value(line["text"]) for line in (block.get("text") or block["heading"])["lines"])
    return sum((expected & found).values()), sum(expected.values())


def of_slides(file, pages, folder):
    convert(file, "pdf", folder)
    text = subprocess.run(["pdftotext", "-layout", next(folder.glob("*.pdf")), "-"], capture_output=True, text=True).stdout
    expected = collections.Counter(words(text))
    found = collections.Counter(words("\n".join(line for page in pages for line in lines(page))))
    return sum((expected & found).values()), sum(expected.values())


def main():
    program, library, *folders = sys.argv[1:]
    figures = collections.defaultdict(collections.Counter)
    for file in sorted(path for folder in folders for path in pathlib.Path(folder).rglob("*")):
        form = file.suffix[1:].lower()
        if form not in TEXTS | SHEETS | SLIDES or not file.is_file():
            continue
        pages = read(program, library, file)
        if pages is None:
            figures[form]["refused"] += 1
            print(f"{file}: refused")
            continue
        compare = of_text if form in TEXTS else of_sheets if form in SHEETS else of_slides
        with tempfile.TemporaryDirectory() as folder:
            try:
                same, all_of_them = compare(file, pages, pathlib.Path(folder))
            except (StopIteration, subprocess.SubprocessError) as error:
                figures[form]["not converted"] += 1
                print(f"{file}: LibreOffice does not convert it ({error})")
                continue
        figures[form].update(files=1, same=same, all=all_of_them)
        if same < all_of_them:
            print(f"{file}: {same} of {all_of_them}")
    for form, figure in figures.items():
        share = figure["same"] / max(figure["all"], 1)
        print(json.dumps({"figure": f"words or cells of {form} as LibreOffice has them", "ours": round(share, 4), **figure}))


if __name__ == "__main__":
    main()
