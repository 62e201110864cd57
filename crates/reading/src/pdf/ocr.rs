//! Pages that are images: rendered by PDFium, recognised by tesseract as a child process.

use std::io::Write;
use std::process::{Command, Stdio};

use pdfium_render::prelude::{PdfBitmapFormat, PdfPage, PdfRenderConfig};

use crate::page::{Block, Line, Rect};

/// Pixels for each point: 300 to the inch.
const SCALE: f32 = 300.0 / 72.0;
/// No side of the image is longer than this.
const MOST_PIXELS: f32 = 5000.0;
/// Words that tesseract is less sure of are noise.
const LEAST_CONFIDENCE: f32 = 20.0;

/// Recognises text in some languages.
pub(crate) struct Ocr {
    languages: String,
}

impl Ocr {
    pub(crate) fn new(languages: &str) -> Self {
        Self { languages: languages.to_owned() }
    }

    /// The paragraphs of a page of this size in points.
    pub(crate) fn read(&self, page: &PdfPage<'_>, (width, height): (f32, f32)) -> Result<Vec<Block>, String> {
        let scale = SCALE.min(MOST_PIXELS / width.max(height).max(1.0));
        let config = PdfRenderConfig::new().scale_page_by_factor(scale).set_format(PdfBitmapFormat::BGRx);
        let bitmap =
            page.render_with_config(&config).map_err(|error| format!("the page cannot be drawn: {error}"))?;
        let pixels = bitmap.as_rgba_bytes();
        let mut image = format!("P5\n{} {}\n255\n", bitmap.width(), bitmap.height()).into_bytes();
        image.extend(pixels.chunks_exact(4).map(|pixel| {
            ((u32::from(pixel[0]) * 299 + u32::from(pixel[1]) * 587 + u32::from(pixel[2]) * 114) / 1000) as u8
        }));
        let table = self.recognise(&image)?;
        Ok(blocks(&table, scale))
    }

    fn recognise(&self, image: &[u8]) -> Result<String, String> {
        let mut child = Command::new("tesseract")
            .args(["stdin", "stdout", "-l", &self.languages, "--dpi", "300", "tsv"])
            .env("OMP_THREAD_LIMIT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("tesseract does not start: {error}"))?;
        // It reads the whole image before it writes, so that writing first cannot block both.
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(image).map_err(|error| format!("tesseract ended early: {error}"))?;
        }
        let output = child.wait_with_output().map_err(|error| format!("tesseract failed: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "tesseract failed ({}); is the data for its languages {} installed?",
                output.status, self.languages
            ));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The numbers of a paragraph's block and of itself, and its lines with theirs.
type Paragraph = ((u32, u32), Vec<(u32, Line)>);

/// The paragraphs in tesseract's table of words.
fn blocks(table: &str, scale: f32) -> Vec<Block> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let &[_, _, block, paragraph, line, _, left, top, width, height, confidence, word] =
            fields.as_slice()
        else {
            continue;
        };
        let number = |text: &str| text.parse::<f32>().unwrap_or_default();
        if number(confidence) < LEAST_CONFIDENCE || word.trim().is_empty() {
            continue;
        }
        let index = |text: &str| text.parse::<u32>().unwrap_or_default();
        let (left, top) = (number(left) / scale, number(top) / scale);
        let end = (left + number(width) / scale, top + number(height) / scale);
        let place = Rect::between((left, top), end).rounded();
        let key = (index(block), index(paragraph));
        if paragraphs.last().is_none_or(|(last, _)| *last != key) {
            paragraphs.push((key, Vec::new()));
        }
        let Some((_, lines)) = paragraphs.last_mut() else { continue };
        match lines.last_mut() {
            Some((last, found)) if *last == index(line) => {
                found.text.push(' ');
                found.text.push_str(word);
                found.place = found.place.map(|whole| whole.with(place));
            }
            _ => lines.push((index(line), Line { text: word.to_owned(), place: Some(place) })),
        }
    }
    let text =
        |lines: Vec<(u32, Line)>| Block::Text { lines: lines.into_iter().map(|(_, line)| line).collect() };
    paragraphs.into_iter().map(|(_, lines)| text(lines)).collect()
}
