//! The text of pages that are images: tesseract recognises it, in a process of its own.
//!
//! The process that reads a document starts no program. It hands out the pixels, and they go on, piece by piece, to a second
//! process, which gives up what it does not need and then becomes tesseract.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

use crate::page::{Block, Line, Rect};
use crate::protocol::{Failure, ImageSize, ReaderMessage};

/// Words that tesseract is less sure of are noise.
const LEAST_CONFIDENCE: f32 = 20.0;
/// How much of an image is in hand at once.
const PIECE: usize = 64 << 10;

/// Where tesseract is.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&folders).map(|folder| folder.join("tesseract"));
    let found = programs.into_iter().find(|program| program.is_absolute() && program.is_file());
    found.ok_or_else(|| Failure::Machine("tesseract is not installed".to_owned()))
}

/// Becomes tesseract, which reads an image from standard input. Comes back only if that fails.
#[cfg(unix)]
pub(crate) fn become_program(program: &Path, languages: &str) -> Failure {
    let error = std::os::unix::process::CommandExt::exec(
        std::process::Command::new(program)
            .args(["stdin", "stdout", "-l", languages, "--dpi", "300", "tsv"])
            // A thread would be one more process to the kernel.
            .env("OMP_THREAD_LIMIT", "1"),
    );
    Failure::Machine(format!("tesseract does not start: {error}"))
}

/// Elsewhere a process cannot become another.
#[cfg(not(unix))]
pub(crate) fn become_program(_: &Path, _: &str) -> Failure {
    Failure::Machine("text is recognised on Unix only".to_owned())
}

/// Hands an image on to a process that recognises text, or lets it pass by if that cannot be fed. Fails if the image ends
/// early.
pub(crate) async fn hand_on(
    image: &mut (impl AsyncRead + Unpin),
    size: ImageSize,
    to: Option<&mut Child>,
) -> std::io::Result<()> {
    let mut to = to.and_then(|child| child.stdin.take());
    let mut missing = size.bytes().unwrap_or_default();
    let header = format!("P5\n{} {}\n255\n", size.width, size.height);
    let mut piece = vec![0; PIECE];
    piece[..header.len()].copy_from_slice(header.as_bytes());
    let mut filled = header.len();
    loop {
        // What it does not take says nothing of the document: why, it says itself.
        let refused = match &mut to {
            Some(stdin) => stdin.write_all(&piece[..filled]).await.is_err(),
            None => false,
        };
        if refused {
            to = None;
        }
        if missing == 0 {
            return Ok(());
        }
        let most = PIECE.min(usize::try_from(missing).unwrap_or(PIECE));
        filled = image.read(&mut piece[..most]).await?;
        if filled == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        missing -= filled as u64;
    }
}

/// What a process recognised that was handed an image.
pub(crate) async fn recognised(
    mut child: Child,
    size: ImageSize,
    patience: Duration,
    most: u64,
) -> Result<Vec<Block>, String> {
    let Some(stdout) = child.stdout.take() else { return Err("tesseract cannot be heard".to_owned()) };
    let mut said = Vec::new();
    let mut limited = stdout.take(most + 1);
    let ended = async {
        limited.read_to_end(&mut said).await?;
        if said.len() as u64 > most {
            child.kill().await?;
        }
        child.wait().await
    };
    let status = match tokio::time::timeout(patience, ended).await {
        Err(_) => return Err(format!("it took tesseract more than {} s", patience.as_secs())),
        Ok(status) => status.map_err(|error| format!("tesseract failed: {error}"))?,
    };
    if said.len() as u64 > most {
        return Err("tesseract has more to say of one page than is listened to".to_owned());
    }
    if status.success() {
        return Ok(blocks(&String::from_utf8_lossy(&said), size.scale));
    }
    // It became tesseract, or says why not.
    Err(match serde_json::from_slice(&said) {
        Ok(ReaderMessage::Failed(failure)) => failure.to_string(),
        _ => format!("tesseract failed ({status}); is the data for its languages installed?"),
    })
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
