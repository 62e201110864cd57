//! Numbers as catalogues write them: with signs of money, units, and points or commas between digits.

use ibid_core::value::Decimal;

/// The number that a cell is, whatever stands around its digits.
pub(super) fn number(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let first = text.find(|letter: char| letter.is_ascii_digit())?;
    let end = text.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let (before, digits, after) = (&text[..first], &text[first..end], &text[end..]);
    // "Model 3" and "3 doors, red" are no numbers.
    if !is_unit(after) || !is_sign(before) {
        return None;
    }
    let mark = |letter: char| matches!(letter, '.' | ',' | '\'' | ' ' | '\u{a0}' | '\u{202f}');
    if !digits.chars().all(|letter| letter.is_ascii_digit() || mark(letter)) {
        return None;
    }
    let (whole, part) = match digits.rfind(['.', ',']) {
        Some(last) if is_point(digits, last) => (&digits[..last], &digits[last + 1..]),
        _ => (digits, ""),
    };
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let number: Decimal = format!("{whole}.{part}").parse().ok()?;
    Some(if before.contains('-') { number.negated() } else { number })
}

/// Whether the last mark of a number stands before its decimals: there is another mark that does not, or not three digits follow.
fn is_point(digits: &str, last: usize) -> bool {
    let mark = &digits[last..=last];
    let others = digits[..last].contains(['.', ',']);
    let is_repeated = digits[..last].contains(mark);
    !is_repeated && (others || digits.len() - last - 1 != 3)
}

fn is_sign(before: &str) -> bool {
    before.chars().all(|letter| " $\u{20ac}\u{a3}-\u{a0}".contains(letter))
        || ["MXN", "USD", "EUR", "US$", "MX$"].contains(&before.trim())
}

/// Whether what follows a number says what it counts, and no more.
fn is_unit(after: &str) -> bool {
    let word = after.trim();
    word.is_empty()
        || (word.len() <= 6
            && word.chars().all(|letter| letter.is_alphabetic() || ".%\u{20ac}$".contains(letter)))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn cells_are_numbers_in_many_notations() {
        for (text, worth) in [
            ("289900", "289900"),
            ("$289,900.00", "289900"),
            ("289.900,50 \u{20ac}", "289900.5"),
            ("MXN 289,900", "289900"),
            ("45 000 km", "45000"),
            ("1.6", "1.6"),
            ("2,5", "2.5"),
            ("1.234.567", "1234567"),
            ("-3", "-3"),
        ] {
            assert_eq!(number(text), worth.parse().ok(), "{text}");
        }
        for text in ["", "n/a", "Mazda 3", "CX-5", "3 puertas, rojo", "2019/05"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
