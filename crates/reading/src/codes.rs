//! Codes in a text: numbers in groups, as tariff schedules and regulations have them.

/// The codes of the form 8539.52, 8539.52.00 or 8539.52.00.40 in a text, each once, in their order.
pub fn dotted(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut codes: Vec<String> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = (at..bytes.len())
            .find(|&end| !bytes[end].is_ascii_digit() && !inner_dot(bytes, end))
            .unwrap_or(bytes.len());
        let word = &text[at..end];
        let glued = at > 0 && (bytes[at - 1].is_ascii_alphabetic() || bytes[at - 1] == b'$');
        if !glued && is_dotted(word) && !codes.iter().any(|code| code == word) {
            codes.push(word.to_owned());
        }
        at = end;
    }
    codes
}

fn inner_dot(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.'
        && at > 0
        && bytes[at - 1].is_ascii_digit()
        && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

fn is_dotted(word: &str) -> bool {
    let groups: Vec<&str> = word.split('.').collect();
    (2..=4).contains(&groups.len())
        && groups[0].len() == 4
        && groups[1..].iter().all(|group| group.len() == 2)
}

#[cfg(test)]
mod tests {
    use super::dotted;

    #[test]
    fn codes_are_found_whole() {
        assert_eq!(
            dotted(
                "8539.52.00 and 8701.21, heading 8702; not 3.14 or 12.5% or v8539.52 or $1234.56. 9903.88.03."
            ),
            ["8539.52.00", "8701.21", "9903.88.03"]
        );
        assert_eq!(dotted("8539.52.00.40"), ["8539.52.00.40"]);
    }
}
