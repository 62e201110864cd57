//! Word processors, spreadsheets, presentations, books, e-mails and images: files that are made here, real ones, and damaged ones.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use ibid_reading::page::{Block, Page, PageKind, PageUnit, Skip};
use ibid_reading::{Failure, FileFormat, Reading, format_of};
use ibid_testkit::RealModels;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::stage::{read_with, reader, tables};

fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

async fn read(name: &str, bytes: &[u8]) -> Result<Reading, Failure> {
    let format = format_of(name, bytes).unwrap_or_else(|| panic!("{name} has no known format"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read_with(&reader(), file.path(), format).await
}

fn said(page: &Page) -> Vec<String> {
    page.blocks.iter().map(Block::text).collect()
}

fn name_of(page: &Page) -> (PageUnit, &str) {
    let label = page.label.as_ref().unwrap();
    (label.unit, &label.name)
}

fn word(body: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    let relations = "<Relationships><Relationship Id='r1' Type='x/styles' Target='styles.xml'/>\
        <Relationship Id='r2' Type='x/footnotes' Target='footnotes.xml'/><Relationship Id='r3' Type='x/comments' Target='comments.xml'/></Relationships>";
    let styles = "<w:styles xmlns:w='w'><w:style w:styleId='H1'><w:name w:val='heading 1'/></w:style>\
        <w:style w:styleId='Own'><w:name w:val='Own'/><w:basedOn w:val='H1'/></w:style></w:styles>";
    let notes = "<w:footnotes xmlns:w='w'><w:footnote w:id='0' w:type='separator'><w:p/></w:footnote>\
        <w:footnote w:id='2'><w:p><w:r><w:t>Since 2024.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    archive(&[
        ("[Content_Types].xml", "<Types/>"),
        ("word/document.xml", &document),
        ("word/_rels/document.xml.rels", relations),
        ("word/styles.xml", styles),
        ("word/footnotes.xml", notes),
        ("word/comments.xml", "<w:comments xmlns:w='w'><w:comment w:id='1'/></w:comments>"),
        ("docProps/core.xml", "<p xmlns:dc='dc'><dc:title>Rules of  import</dc:title></p>"),
    ])
}

#[tokio::test]
async fn a_word_document_has_headings_paragraphs_notes_and_tables() {
    let bytes = word(
        "<w:p><w:pPr><w:pStyle w:val='Own'/></w:pPr><w:r><w:t>Records</w:t></w:r></w:p>\
         <w:p><w:r><w:t>Kept for </w:t></w:r><w:del><w:r><w:delText>three</w:delText></w:r></w:del>\
         <w:ins><w:r><w:t>five</w:t></w:r></w:ins><w:r><w:t> years</w:t><w:footnoteReference w:id='2'/><w:t>.</w:t></w:r>\
         <w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r></w:p>\
         <w:p><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>first</w:t></w:r></w:p>\
         <w:tbl><w:tblPr><w:tblLook w:firstRow='1'/></w:tblPr>\
         <w:tr><w:tc><w:p><w:r><w:t>Code</w:t></w:r></w:p></w:tc><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>Rates</w:t></w:r></w:p></w:tc></w:tr>\
         <w:tr><w:tc><w:tcPr><w:vMerge w:val='restart'/></w:tcPr><w:p><w:r><w:t>8539</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>2 %</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr>\
         <w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc><w:tc><w:p><w:r><w:t>3 %</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>",
    );
    let reading = read("rules.docx", &bytes).await.unwrap();
    assert_eq!(reading.title.as_deref(), Some("Rules of import"));
    let [page] = reading.pages.as_slice() else { panic!("{reading:?}") };
    assert_eq!(name_of(page), (PageUnit::Section, "Records"));
    assert_eq!(said(page)[..4], ["Records", "Kept for five years [1/].", "[1/] Since 2024.", "- first"]);
    let table = tables(page).next().unwrap();
    assert_eq!((table.heads, table.columns.join("; ").as_str()), (1, "Code; Rates; Rates"));
    assert_eq!([table.rows[2].cell(0), table.rows[2].cell(1)], ["8539", "3 %"]);
    assert_eq!(table.rows[2].place.unwrap().bottom, 4.0, "it is the fourth thing under its heading");
    let remarks = page.remarks.join(" ");
    for left_out in ["comment", "deletion", "hidden"] {
        assert!(remarks.contains(left_out), "{remarks}");
    }
}

#[tokio::test]
async fn a_word_document_has_the_pages_that_word_noted() {
    let bytes = word(
        "<w:p><w:r><w:t>one</w:t></w:r></w:p><w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>\
         <w:p><w:r><w:t>three</w:t><w:br w:type='page'/></w:r></w:p><w:p><w:r><w:t>four</w:t></w:r></w:p>",
    );
    let pages = read("rules.docx", &bytes).await.unwrap().pages;
    let texts: Vec<String> = pages.iter().map(|page| said(page).join(" ")).collect();
    assert_eq!(texts, ["one", "two three", "four"]);
    assert_eq!(name_of(&pages[0]).0, PageUnit::Page);
}

fn excel() -> Vec<u8> {
    let workbook = "<workbook xmlns:r='r'><sheets><sheet name='Rates' sheetId='1' r:id='a'/>\
        <sheet name='Old' sheetId='2' state='hidden' r:id='b'/></sheets></workbook>";
    let relations = "<Relationships><Relationship Id='a' Type='x/worksheet' Target='worksheets/sheet1.xml'/>\
        <Relationship Id='b' Type='x/worksheet' Target='worksheets/sheet2.xml'/>\
        <Relationship Id='c' Type='x/sharedStrings' Target='sharedStrings.xml'/><Relationship Id='d' Type='x/styles' Target='styles.xml'/></Relationships>";
    let strings = "<sst><si><t>Code</t></si><si><r><t>Ra</t></r><r><t>te</t></r></si><si><t>R &amp; D</t><rPh><t>x</t></rPh></si></sst>";
    let styles = "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='10'/></cellXfs></styleSheet>";
    let sheet = "<worksheet><cols><col min='4' max='4' hidden='1'/></cols><sheetData>\
        <row r='1'><c r='A1' t='inlineStr'><is><t>Rates of 2025</t></is></c></row>\
        <row r='3'><c r='A3' t='s'><v>0</v></c><c r='B3' t='s'><v>1</v></c><c r='C3' t='inlineStr'><is><t>For</t></is></c></row>\
        <row r='4'><c r='A4'><v>8539</v></c><c r='B4' s='1'><f>1/40</f><v>0.025</v></c><c r='C4' t='s'><v>2</v></c><c r='D4'><v>7</v></c></row>\
        <row r='5' hidden='1'><c r='A5'><v>1</v></c><c r='B5'><v>2</v></c></row>\
        <row r='6'><c r='B6' s='1'><v>0.5</v></c><c r='C6' t='b'><v>1</v></c></row></sheetData>\
        <mergeCells><mergeCell ref='A4:A6'/></mergeCells></worksheet>";
    archive(&[
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/sharedStrings.xml", strings),
        ("xl/styles.xml", styles),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/worksheets/sheet2.xml", "<worksheet><sheetData/></worksheet>"),
    ])
}

#[tokio::test]
async fn a_workbook_shows_its_cells_as_a_person_sees_them() {
    let pages = read("rates.xlsx", &excel()).await.unwrap().pages;
    assert_eq!(
        pages.iter().map(name_of).collect::<Vec<_>>(),
        [(PageUnit::Sheet, "Rates"), (PageUnit::Sheet, "Old")]
    );
    assert_eq!(pages[1].skipped, Some(Skip::Hidden));
    assert_eq!(pages[0].blocks[0].text(), "Rates of 2025");
    let table = tables(&pages[0]).next().unwrap();
    assert_eq!(table.columns, ["Code", "Rate", "For"]);
    let rows: Vec<Vec<&str>> =
        table.rows.iter().map(|row| (0..3).map(|column| row.cell(column)).collect()).collect();
    assert_eq!(rows[1..], [["8539", "2.50%", "R & D"], ["8539", "50.00%", "TRUE"]]);
    let place = table.rows[1].cell_place(1).unwrap();
    assert_eq!((place.left, place.top), (1.0, 3.0), "B4");
    assert!(pages[0].remarks.join(" ").contains("1 hidden rows"), "{:?}", pages[0].remarks);
}

#[tokio::test]
async fn a_presentation_has_slides_with_tables_charts_and_notes() {
    let presentation =
        "<p xmlns:r='r'><sldIdLst><sldId id='256' r:id='b'/><sldId id='257' r:id='a'/></sldIdLst></p>";
    let relations = "<R><Relationship Id='a' Type='x/slide' Target='slides/slide1.xml'/><Relationship Id='b' Type='x/slide' Target='slides/slide2.xml'/></R>";
    let shape = |kind: &str, text: &str| {
        format!(
            "<sp><nvSpPr><nvPr><ph type='{kind}'/></nvPr></nvSpPr><txBody><p><r><t>{text}</t></r></p></txBody></sp>"
        )
    };
    let second = format!(
        "<sld><cSld><spTree>{}{}{}</spTree></cSld></sld>",
        shape("body", "A point"),
        shape("title", "Costs"),
        shape("ftr", "Company")
    );
    let chart = "<c><chart><title><t>Sales</t></title><ser><tx><pt idx='0'><v>2024</v></pt></tx>\
        <cat><pt idx='0'><v>North</v></pt></cat><val><pt idx='0'><v>7</v></pt></val></ser></chart></c>";
    let bytes = archive(&[
        ("[Content_Types].xml", "<Types/>"),
        ("ppt/presentation.xml", presentation),
        ("ppt/_rels/presentation.xml.rels", relations),
        ("ppt/slides/slide1.xml", "<sld show='0'><cSld><spTree/></cSld></sld>"),
        ("ppt/slides/slide2.xml", &second),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            "<R><Relationship Id='n' Type='x/notesSlide' Target='../notesSlides/n.xml'/><Relationship Id='c' Type='x/chart' Target='../charts/c.xml'/></R>",
        ),
        ("ppt/notesSlides/n.xml", &format!("<notes>{}</notes>", shape("body", "Say it slowly."))),
        ("ppt/charts/c.xml", chart),
    ]);
    let pages = read("costs.pptx", &bytes).await.unwrap().pages;
    assert_eq!(name_of(&pages[0]), (PageUnit::Slide, "Costs"));
    assert_eq!(said(&pages[0]), ["Costs", "A point", "Sales", "\t2024\nNorth\t7", "Notes", "Say it slowly."]);
    assert_eq!(pages[1].skipped, Some(Skip::Hidden));
}

#[tokio::test]
async fn a_text_of_libreoffice_has_its_headings_notes_and_tables() {
    let content = "<c xmlns:text='t' xmlns:office='o' xmlns:table='b'><office:body><office:text><text:tracked-changes>\
        <text:changed-region><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes>\
        <text:h text:outline-level='2'>Records</text:h><text:p>Kept<text:s/>for <text:span>five</text:span> years<text:note>\
        <text:note-body><text:p>Since 2024.</text:p></text:note-body></text:note>.<office:annotation><text:p>why?</text:p></office:annotation></text:p>\
        <text:list><text:list-item><text:p>first</text:p></text:list-item></text:list>\
        <table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Code</text:p></table:table-cell><table:table-cell><text:p>Rate</text:p></table:table-cell></table:table-row></table:table-header-rows>\
        <table:table-row><table:table-cell table:number-rows-spanned='2'><text:p>8539</text:p></table:table-cell><table:table-cell><text:p>2 %</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:covered-table-cell/><table:table-cell><text:p>3 %</text:p></table:table-cell></table:table-row></table:table></office:text></office:body></c>";
    let bytes = archive(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", content)]);
    let pages = read("rules.odt", &bytes).await.unwrap().pages;
    assert_eq!(said(&pages[0])[..4], ["Records", "Kept for five years [1/].", "[1/] Since 2024.", "- first"]);
    let table = tables(&pages[0]).next().unwrap();
    assert_eq!(
        (table.columns.join("; "), table.rows[2].cell(0), table.rows[2].cell(1)),
        ("Code; Rate".to_owned(), "8539", "3 %")
    );
    assert!(pages[0].remarks.join(" ").contains("1 comment is left out"), "{:?}", pages[0].remarks);
}

#[tokio::test]
async fn a_book_has_chapters_in_the_order_of_its_spine() {
    let bytes = archive(&[
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", "<container><rootfile full-path='OPS/book.opf'/></container>"),
        (
            "OPS/book.opf",
            "<package><metadata><title>Trade</title></metadata><manifest><item id='two' href='b.xhtml'/><item id='one' href='a%20a.xhtml'/></manifest>\
            <spine><itemref idref='one'/><itemref idref='two'/></spine></package>",
        ),
        ("OPS/a a.xhtml", "<html><body><h1>Import</h1><p>First.</p></body></html>"),
        ("OPS/b.xhtml", "<html><body><h1>Export</h1><p>Second.</p></body></html>"),
    ]);
    let reading = read("trade.epub", &bytes).await.unwrap();
    assert_eq!(reading.title.as_deref(), Some("Trade"));
    assert_eq!(
        reading.pages.iter().map(name_of).collect::<Vec<_>>(),
        [(PageUnit::Chapter, "Import"), (PageUnit::Chapter, "Export")]
    );
}

#[tokio::test]
async fn an_email_is_read_with_its_attachments() {
    use std::fmt::Write as _;
    let mut message = "From: Ana <ana@example.com>\r\nTo: Bo <bo@example.com>\r\nSubject: =?utf-8?q?A=C3=B1o_2025?=\r\nDate: Tue, 1 Jul 2025 10:00:00 +0000\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\nThe rate is in the sheet.\r\n".to_owned();
    let encoded: String = base64(&excel());
    write!(message, "--x\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=rates.xlsx\r\nContent-Transfer-Encoding: base64\r\n\r\n{encoded}\r\n").unwrap();
    message.push_str("--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\n%PDF-1.4\r\n--x--\r\n");
    let reading = read("mail.eml", message.as_bytes()).await.unwrap();
    assert_eq!(reading.title.as_deref(), Some("Año 2025"));
    assert_eq!(
        said(&reading.pages[0])[1],
        "From: Ana <ana@example.com>\nTo: Bo <bo@example.com>\nDate: 2025-07-01T10:00:00Z"
    );
    assert_eq!(said(&reading.pages[0])[2], "The rate is in the sheet.");
    assert_eq!(
        name_of(&reading.pages[1]),
        (PageUnit::Attachment, "rates.xlsx, Rates"),
        "{:?}",
        reading.pages[1].remarks
    );
    assert_eq!(tables(&reading.pages[1]).next().unwrap().rows[1].cell(1), "2.50%");
    let last = reading.pages.last().unwrap();
    assert!(
        last.remarks[0].contains("a.pdf is left out: load PDF as a file of its own"),
        "{:?}",
        last.remarks
    );
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().chain([&0, &0]).take(3).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        for at in 0..4 {
            let sign = SIGNS[(number >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(sign) });
        }
    }
    text
}

#[tokio::test]
async fn names_of_other_files_in_a_definition_are_refused() {
    let content = "<!DOCTYPE c [<!ENTITY other SYSTEM 'file:///etc/passwd'>]><c><body><text><p>&other;</p></text></body></c>";
    let bytes = archive(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", content)]);
    assert_eq!(read("rules.odt", &bytes).await.unwrap_err(), Failure::Damaged);
}

#[tokio::test]
async fn a_format_that_is_not_read_any_more_says_what_to_do() {
    let failure = read("rules.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").await.unwrap_err();
    assert!(failure.to_string().ends_with("save it as .docx or .pptx"), "{failure}");
}

#[tokio::test]
async fn an_archive_that_unpacks_to_very_much_is_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("word/document.xml", SimpleFileOptions::default()).unwrap();
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..300 {
        writer.write_all(&zeros).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    assert!(bytes.len() < 1 << 20);
    assert_eq!(read("bomb.docx", &bytes).await.unwrap_err(), Failure::TooLarge(256));
}

#[tokio::test]
async fn the_text_of_an_image_is_recognised_and_has_its_places() {
    let (folder, page) =
        (tempfile::tempdir().unwrap(), crate::stage::sample("hts-chapter-85-pages-70-71.pdf"));
    let made = std::process::Command::new("pdftoppm")
        .args(["-r", "150", "-png", "-f", "1", "-l", "1"])
        .arg(page)
        .arg(folder.path().join("page"))
        .status();
    assert!(made.unwrap().success());
    let image = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&image).unwrap();
    assert_eq!(format_of("scan", &bytes), Some(FileFormat::Image));
    let unread = read_with(&reader(), &image, FileFormat::Image).await.unwrap();
    assert_eq!((unread.pages[0].kind, unread.pages[0].skipped), (PageKind::Scanned, Some(Skip::NotRead)));
    let read = read_with(&reader().with_recognition("eng"), &image, FileFormat::Image).await.unwrap();
    let page = &read.pages[0];
    assert!(page.text().contains("8539"), "{}", page.text());
    let places = page.blocks.iter().filter_map(|block| match block {
        Block::Text { lines } => lines[0].place,
        _ => None,
    });
    assert!(places.into_iter().all(|place| place.right <= page.width && place.bottom <= page.height));
}

/// Real files, as other programs wrote them.
fn real_files() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&RealModels::find().path("office"), &mut found);
    found.sort();
    assert!(found.len() > 100, "{found:?}");
    found
}

#[tokio::test]
async fn every_real_file_is_read_or_refused_with_a_reason() {
    for file in real_files() {
        let bytes = std::fs::read(&file).unwrap();
        match read(&file.to_string_lossy(), &bytes).await {
            Ok(reading) => {
                assert_eq!(
                    (reading.crashes, reading.pages.len()),
                    (0, reading.count as usize),
                    "{}",
                    file.display()
                );
            }
            // It names another file, which is not opened.
            Err(Failure::Damaged) if file.ends_with("nasty.odt") => {}
            Err(failure) => panic!("{}: {failure}", file.display()),
        }
    }
}

/// A file of whose parts one is changed at some places.
fn mutated(bytes: &[u8], seed: u64) -> Option<Vec<u8>> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most.max(1) as u64) as usize
    };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut parts = Vec::new();
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).ok()?;
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes).ok()?;
        parts.push((part.name().ok()?.into_owned(), bytes));
    }
    let written: Vec<usize> = (0..parts.len())
        .filter(|part| parts[*part].0.ends_with(".xml") && !parts[*part].1.is_empty())
        .collect();
    let part = *written.get(next(written.len()))?;
    let text = &mut parts[part].1;
    for _ in 0..=next(8) {
        let at = next(text.len());
        match next(5) {
            0 => text[at] = b"<>&/\"'9A"[next(8)],
            1 => drop(text.splice(at..(at + next(200)).min(text.len()), [])),
            2 => {
                let piece = text[at..(at + next(2000)).min(text.len())].to_vec();
                let to = next(text.len());
                text.splice(to..to, piece);
            }
            3 => text.truncate(at.max(1)),
            _ => {
                let digit = text.iter().skip(at).position(u8::is_ascii_digit);
                if let Some(digit) = digit {
                    text.splice(at + digit..=at + digit, *b"99999999");
                }
            }
        }
        if text.is_empty() {
            break;
        }
    }
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.start_file(name, SimpleFileOptions::default()).ok()?;
        writer.write_all(&bytes).ok()?;
    }
    Some(writer.finish().ok()?.into_inner())
}

/// `IBID_MUTATIONS=200` for so many of each kind.
#[tokio::test]
async fn damaged_files_end_with_pages_or_a_reason() {
    let most = std::env::var("IBID_MUTATIONS").ok().and_then(|most| most.parse().ok()).unwrap_or(12);
    let files = real_files();
    for ending in ["docx", "pptx", "xlsx", "odt", "ods", "odp"] {
        let of_kind: Vec<&PathBuf> =
            files.iter().filter(|file| file.extension().is_some_and(|found| found == ending)).collect();
        let mut ends = (0, 0, 0);
        for seed in 0..most {
            let file = of_kind[seed as usize % of_kind.len()];
            let Some(bytes) = mutated(&std::fs::read(file).unwrap(), seed) else { continue };
            match read(&format!("file.{ending}"), &bytes).await {
                Ok(reading) if reading.crashes == 0 => ends.0 += 1,
                Ok(_) | Err(Failure::Ended(_)) => ends.2 += 1,
                Err(_) => ends.1 += 1,
            }
        }
        println!("{ending}: {} read, {} refused, {} ended their process", ends.0, ends.1, ends.2);
        assert_eq!(ends.2, 0, "{ending}: a parser ended its process");
    }
}
