//! Markdown, HTML and plain text; scanned pages; pages without content.

use std::path::Path;
use std::process::Command;

use ibid_reading::FileFormat;
use ibid_reading::page::{Block, PageKind, Skip};

use crate::stage::{read_with, reader, sample, tables};

async fn pages(text: &str, kind: FileFormat) -> Vec<ibid_reading::page::Page> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    read_with(&reader(), file.path(), kind).await.unwrap().pages
}

#[tokio::test]
async fn markdown_has_headings_lists_and_tables() {
    let text = "# Rules\n\nFirst *words*.\n\n- one\n- two\n\n| Code | Rate |\n|---|---|\n| 8539 | 2 % |\n\n## More\n\nLast.";
    let pages = pages(text, FileFormat::Markdown).await;
    let [page] = pages.as_slice() else { panic!("one page: {pages:?}") };
    assert_eq!(page.kind, PageKind::Table);
    assert!(matches!(&page.blocks[0], Block::Heading { level: 1, .. }));
    assert_eq!(page.blocks[1].text(), "First words.");
    assert_eq!(page.blocks[2].text(), "- one\n- two");
    let table = tables(page).next().unwrap();
    assert_eq!(
        (table.columns.as_slice(), table.heads),
        (["Code".to_owned(), "Rate".to_owned()].as_slice(), 1)
    );
    assert_eq!(table.rows[1].cell(1), "2 %");
}

#[tokio::test]
async fn html_loses_its_scripts_and_keeps_its_tables() {
    let text = "<html><head><title>Duty</title><style>p{}</style></head><body><h2>Rates</h2><script>alert(1)</script>\
                <p>All <b>rates</b> are low.</p><table><tr><th>Code<th>Rate</tr><tr><td>8539<td>2 %</tr></table></body></html>";
    let pages = pages(text, FileFormat::Html).await;
    let said: Vec<String> = pages[0].blocks.iter().map(Block::text).collect();
    assert_eq!(said, ["Rates", "All rates are low.", "Code\tRate\n8539\t2 %"]);
    assert_eq!(tables(&pages[0]).next().unwrap().columns, ["Code", "Rate"]);
}

#[tokio::test]
async fn cells_of_html_reach_over_rows_and_columns() {
    let text = "<table><thead><tr><th rowspan=2>Code<th colspan=2>Rates</tr><tr><th>General<th>Special</tr></thead>\
                <tr><td rowspan=2>8539<td>2 %<td>Free</tr><tr><td>3 %<td>1 %</tr></table>";
    let pages = pages(text, FileFormat::Html).await;
    let table = tables(&pages[0]).next().unwrap();
    assert_eq!((table.heads, table.columns.join("; ").as_str()), (2, "Code; Rates General; Rates Special"));
    let last = table.rows.last().unwrap();
    assert_eq!([last.cell(0), last.cell(1), last.cell(2)], ["8539", "3 %", "1 %"]);
}

#[tokio::test]
async fn cells_of_html_that_reach_down_move_no_others() {
    for (text, expected) in [
        ("<table><tr><td rowspan=2>A<td rowspan=2>B</tr><tr></tr><tr><td>x<td>y</tr></table>", "x y"),
        ("<table><tr><td>a<td>b<td rowspan=2>c</tr><tr><td>x</tr><tr><td>p<td>q<td>r</tr></table>", "p q r"),
        (
            "<table><thead><tr><th rowspan=5>A<th>B</tr></thead><tbody><tr><td>x<td>y</tr></tbody></table>",
            "x y",
        ),
    ] {
        let pages = pages(text, FileFormat::Html).await;
        let last = tables(&pages[0]).next().unwrap().rows.last().unwrap();
        let said: Vec<&str> = (0..last.cells.len()).map(|column| last.cell(column)).collect();
        assert_eq!(said.join(" "), expected);
    }
}

#[tokio::test]
async fn a_form_feed_begins_a_page_and_pages_without_content_say_why() {
    let full = "The importer shall keep all records of entry for five years after the date of importation. "
        .repeat(3);
    let contents = "Contents\nScope ..... 1\nRates ..... 4\nPenalties ..... 12\nAppeals ..... 20\nForms ..... 31\nDefinitions ..... 44\nOffices and ports of entry ..... 57\n";
    let text = format!("{full}\u{c}This page intentionally left blank.\u{c}{contents}\u{c}short\u{c}");
    let pages = pages(&text, FileFormat::Text).await;
    let skipped: Vec<Option<Skip>> = pages.iter().map(|page| page.skipped).collect();
    assert_eq!(
        skipped,
        [None, Some(Skip::Blank), Some(Skip::Contents), Some(Skip::Short), Some(Skip::Short)]
    );
    assert_eq!(pages[4].kind, PageKind::Empty);
}

#[tokio::test]
async fn a_scanned_page_is_recognised_where_tesseract_is_and_named_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let scanned = folder.path().join("scanned.pdf");
    scan(&sample("hts-chapter-85-pages-70-71.pdf"), &scanned);
    let unread = read_with(&reader(), &scanned, FileFormat::Pdf).await.unwrap();
    assert_eq!((unread.pages[0].kind, unread.pages[0].skipped), (PageKind::Scanned, Some(Skip::NotRead)));
    let read = read_with(&reader().with_recognition("eng"), &scanned, FileFormat::Pdf).await.unwrap();
    assert_eq!((read.pages[0].kind, read.pages[0].skipped), (PageKind::Scanned, None));
    let text = read.pages[0].text();
    assert!(text.contains("Harmonized Tariff Schedule"), "{text}");
    let Some(Block::Text { lines }) = read.pages[0].blocks.first() else {
        panic!("text: {:?}", read.pages[0].blocks)
    };
    let place = lines[0].place.expect("a place");
    assert!(place.right <= read.pages[0].width && place.bottom < read.pages[0].height / 4.0, "{place:?}");
}

/// The first page of a PDF as an image in a PDF.
fn scan(source: &Path, target: &Path) {
    let image = target.with_extension("");
    let drawn = Command::new("pdftoppm")
        .args(["-r", "150", "-f", "1", "-l", "1", "-singlefile", "-gray"])
        .arg(source)
        .arg(&image)
        .status();
    assert!(drawn.expect("poppler-utils is installed").success());
    let image = std::fs::read(target.with_extension("pgm")).unwrap();
    let mut fields = image.splitn(4, |byte| byte.is_ascii_whitespace());
    let mut field = || String::from_utf8_lossy(fields.next().unwrap()).into_owned();
    let (_, width, height) = (field(), field(), field());
    let pixels = &image[image.len() - width.parse::<usize>().unwrap() * height.parse::<usize>().unwrap()..];
    let mut pdf = format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
         3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>endobj\n\
         4 0 obj<</Length 31>>stream\nq 612 0 0 792 0 0 cm /I Do Q   \nendstream endobj\n\
         5 0 obj<</Type/XObject/Subtype/Image/Width {width}/Height {height}/ColorSpace/DeviceGray/BitsPerComponent 8/Length {}>>stream\n",
        pixels.len()
    )
    .into_bytes();
    pdf.extend_from_slice(pixels);
    pdf.extend_from_slice(b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n");
    std::fs::write(target, pdf).unwrap();
}
