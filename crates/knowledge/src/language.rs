//! The language of a document.

use whatlang::Lang;

/// How much of a document is looked at.
const SAMPLE: usize = 20_000;

/// The language of a text as ISO 639-1 has it, or none if it cannot be told.
pub(crate) fn of(text: &str) -> Option<&'static str> {
    let end = text.char_indices().nth(SAMPLE).map_or(text.len(), |(end, _)| end);
    let info = whatlang::detect(&text[..end])?;
    let code = match info.lang() {
        Lang::Ara => "ar",
        Lang::Cat => "ca",
        Lang::Ces => "cs",
        Lang::Cmn => "zh",
        Lang::Dan => "da",
        Lang::Deu => "de",
        Lang::Ell => "el",
        Lang::Eng => "en",
        Lang::Fin => "fi",
        Lang::Fra => "fr",
        Lang::Heb => "he",
        Lang::Hun => "hu",
        Lang::Ita => "it",
        Lang::Jpn => "ja",
        Lang::Kor => "ko",
        Lang::Nld => "nl",
        Lang::Nob => "no",
        Lang::Pol => "pl",
        Lang::Por => "pt",
        Lang::Ron => "ro",
        Lang::Rus => "ru",
        Lang::Spa => "es",
        Lang::Swe => "sv",
        Lang::Tur => "tr",
        Lang::Ukr => "uk",
        _ => return None,
    };
    (info.is_reliable() || text.len() > 400).then_some(code)
}
