//! Which form a document has: by its first bytes, then by its name.

use crate::Kind;

/// The form of a document, or none if it is none that can be read.
pub fn kind_of(name: &str, beginning: &[u8]) -> Option<Kind> {
    let window = &beginning[..beginning.len().min(1024)];
    if window.windows(5).any(|bytes| bytes == b"%PDF-") {
        return Some(Kind::Pdf);
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let text = !window.contains(&0) || window.starts_with(&[0xff, 0xfe]) || window.starts_with(&[0xfe, 0xff]);
    let start = String::from_utf8_lossy(window).trim_start().to_ascii_lowercase();
    match extension.as_deref() {
        Some("pdf") => Some(Kind::Pdf),
        _ if !text => None,
        Some("html" | "htm" | "xhtml") => Some(Kind::Html),
        _ if start.starts_with("<!doctype html") || start.starts_with("<html") => Some(Kind::Html),
        Some("md" | "markdown") => Some(Kind::Markdown),
        Some("txt" | "text" | "csv" | "tsv" | "log" | "rst" | "adoc") | None => Some(Kind::Text),
        Some(_) => is_words(window).then_some(Kind::Text),
    }
}

/// Whether these bytes look like written text.
fn is_words(bytes: &[u8]) -> bool {
    let odd =
        bytes.iter().filter(|byte| **byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)).count();
    !bytes.is_empty() && odd * 50 < bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_count_more_than_the_name() {
        assert_eq!(kind_of("tariff.txt", b"%PDF-1.7 ..."), Some(Kind::Pdf));
        assert_eq!(kind_of("rules", b"<!DOCTYPE html><html>"), Some(Kind::Html));
        assert_eq!(kind_of("rules.md", b"# Rules"), Some(Kind::Markdown));
        assert_eq!(kind_of("rules.dat", b"Plain words."), Some(Kind::Text));
        assert_eq!(kind_of("rules.zip", b"PK\x03\x04\x00\x00\x00"), None);
    }
}
