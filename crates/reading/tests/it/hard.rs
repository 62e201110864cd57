//! Files that are broken, or meant to break a reader: each ends with a ledger or a reason, in time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibid_reading::{Failure, FileFormat, ReaderLimits};
use ibid_testkit::test_set;

use crate::stage::{read_with, reader, sample};

/// However broken a file is, it is done with by then: the limits of time, and what a busy machine adds.
const LONGEST: Duration = Duration::from_secs(120);

/// What can be said of a file.
#[derive(Debug, Default)]
struct Said {
    read: usize,
    refused: usize,
    pages: usize,
}

async fn survive(files: &[PathBuf]) -> Said {
    let mut said = Said::default();
    for file in files {
        let began = Instant::now();
        match read_with(&reader(), file, FileFormat::Pdf).await {
            Ok(reading) => {
                assert_eq!(
                    reading.pages.len(),
                    reading.count as usize,
                    "{}: a page is missing",
                    file.display()
                );
                for (page, number) in reading.pages.iter().zip(1..) {
                    assert_eq!(page.number, number, "{}", file.display());
                    assert!(
                        page.skipped.is_some() || !page.blocks.is_empty(),
                        "{}: page {number} holds nothing and does not say why",
                        file.display()
                    );
                }
                said.read += 1;
                said.pages += reading.pages.len();
            }
            Err(failure) => {
                assert!(!matches!(failure, Failure::Library(_)), "{failure}");
                said.refused += 1;
            }
        }
        assert!(began.elapsed() < LONGEST, "{} took {:?}", file.display(), began.elapsed());
    }
    said
}

#[tokio::test]
#[ignore = "needs the test sets beside the project; `.ci/run` runs it by name"]
async fn hard_files_end_with_a_ledger_or_a_reason_on_test_sets() {
    let data = test_set("pdf_robustness");
    let list = std::fs::read_to_string(data.join("HARD.tsv")).unwrap();
    let files = list.lines().skip(1).filter_map(|line| line.split('\t').nth(2));
    let files: Vec<PathBuf> =
        files.map(|file| data.parent().unwrap().join(file)).filter(|file| file.exists()).collect();
    assert!(files.len() > 300, "only {} of the hard files are there", files.len());
    let said = survive(&files).await;
    assert!(said.read > said.refused, "{said:?}");
}

#[tokio::test]
async fn mutated_files_end_with_a_ledger_or_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read(sample("hts-chapter-85-pages-70-71.pdf")).unwrap();
    let mut files = Vec::new();
    for seed in 0..500_u64 {
        let path = folder.path().join(format!("{seed}.pdf"));
        std::fs::write(&path, mutated(&source, seed)).unwrap();
        files.push(path);
    }
    let said = survive(&files).await;
    assert!(said.read > 100, "{said:?}");
}

/// Flipped bits, cut ends, repeated parts: the same for the same seed.
fn mutated(source: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut bytes = source.to_vec();
    match seed % 4 {
        0 => bytes.truncate(next(source.len())),
        1 => {
            for _ in 0..1 + next(20) {
                let at = next(bytes.len());
                bytes[at] ^= 1 << next(8);
            }
        }
        2 => {
            let (from, length) = (next(source.len()), next(5000));
            let part = source[from..source.len().min(from + length)].to_vec();
            let at = next(bytes.len());
            bytes.splice(at..at, part);
        }
        _ => {
            for _ in 0..1 + next(2000) {
                let at = next(bytes.len());
                bytes[at] = next(256) as u8;
            }
        }
    }
    bytes
}

/// A page whose content claims to be far larger than any memory.
fn bomb() -> Vec<u8> {
    use std::io::Write;
    let mut layers = vec![b' '; 64 << 20];
    layers.extend_from_slice(b"BT (x) Tj ET");
    let mut filters = String::new();
    for _ in 0..2 {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&layers).unwrap();
        layers = encoder.finish().unwrap();
        filters.push_str(" /FlateDecode");
    }
    let mut pdf = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents[".to_vec();
    for _ in 0..200 {
        pdf.extend_from_slice(b"4 0 R ");
    }
    pdf.extend_from_slice(
        format!("]>>endobj\n4 0 obj<</Length {}/Filter[{filters}]>>stream\n", layers.len()).as_bytes(),
    );
    pdf.extend_from_slice(&layers);
    pdf.extend_from_slice(b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n");
    pdf
}

#[tokio::test]
async fn a_bomb_ends_its_process_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bomb.pdf");
    std::fs::write(&file, bomb()).unwrap();
    let limits = ReaderLimits {
        memory: 512 << 20,
        opening: Duration::from_secs(5),
        silence: Duration::from_secs(20),
        ..ReaderLimits::default()
    };
    let began = Instant::now();
    let result = read_with(&reader().within(limits), &file, FileFormat::Pdf).await;
    if let Ok(reading) = result {
        assert!(reading.pages.iter().all(|page| page.skipped.is_some()), "{reading:?}");
    }
    assert!(began.elapsed() < LONGEST);
}

#[tokio::test]
async fn a_process_that_says_nothing_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("silent");
    std::fs::write(&program, "#!/bin/sh\nsleep 60\n").unwrap();
    let mut permissions = std::fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&program, permissions).unwrap();
    let limits = ReaderLimits { silence: Duration::from_millis(300), ..ReaderLimits::default() };
    let silent = ibid_reading::Reader::new(&program, Vec::<String>::new()).within(limits);
    let failure =
        read_with(&silent, Path::new("/dev/null"), FileFormat::Text).await.expect_err("it cannot be read");
    assert!(failure.to_string().contains("said nothing"), "{failure}");
}

#[tokio::test]
async fn a_password_is_asked_for_by_name() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/locked.pdf");
    let failure = read_with(&reader(), &file, FileFormat::Pdf).await.expect_err("it is locked");
    assert_eq!(failure, Failure::Password);
}
