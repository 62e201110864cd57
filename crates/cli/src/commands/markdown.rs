//! Markdown as it comes, word by word, made readable in a terminal: what is strong is bold, headings too, code has a colour,
//! and lists have dots. What cannot be told yet is held back, which is never more than a few letters.

const PLAIN: &str = "\u{1b}[0m";
const STRONG: &str = "\u{1b}[1m";
const CODE: &str = "\u{1b}[36m";

/// Puts styles into a text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Styled {
    /// What may be the beginning of a mark.
    held: String,
    /// Whether something was written on this line.
    in_line: bool,
    heading: bool,
    strong: bool,
    code: bool,
    /// Whether this is between fences.
    fenced: bool,
}

impl Styled {
    /// The next piece, as far as it can be told.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut out = String::new();
        while let Some(taken) = self.take(false, &mut out) {
            self.held.drain(..taken);
        }
        out
    }

    /// What was held back, and an end to every style.
    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        while let Some(taken) = self.take(true, &mut out) {
            self.held.drain(..taken);
        }
        if self.strong || self.code || self.heading || self.fenced {
            out.push_str(PLAIN);
        }
        *self = Self::default();
        out
    }

    /// Tells what is held as far as one mark or letter; how many bytes that was.
    fn take(&mut self, last: bool, out: &mut String) -> Option<usize> {
        let held = self.held.as_str();
        let first = held.chars().next()?;
        if !self.in_line && "#-*+`".contains(first) {
            let mark = held.len() - held.trim_start_matches(first).len();
            let rest = &held[mark..];
            if rest.is_empty() && !last {
                return None;
            }
            if first == '`' && mark >= 3 {
                // The rest of the line names a language.
                let Some(end) = held.find('\n') else { return if last { Some(held.len()) } else { None } };
                self.fenced = !self.fenced;
                out.push_str(if self.fenced { CODE } else { PLAIN });
                return Some(end + 1);
            }
            if !self.fenced && first == '#' && rest.starts_with(' ') {
                (self.heading, self.in_line) = (true, true);
                out.push_str(STRONG);
                return Some(mark + 1);
            }
            if !self.fenced && mark == 1 && first != '#' && first != '`' && rest.starts_with(' ') {
                self.in_line = true;
                out.push_str("• ");
                return Some(2);
            }
        }
        if first == '\n' {
            if self.heading {
                out.push_str(PLAIN);
            }
            (self.heading, self.in_line) = (false, false);
            out.push('\n');
            return Some(1);
        }
        if !self.fenced && first == '*' && !self.code {
            if held.len() == 1 && !last {
                return None;
            }
            if held.starts_with("**") {
                self.strong = !self.strong;
                self.in_line = true;
                out.push_str(if self.strong { STRONG } else { self.around() });
                return Some(2);
            }
        }
        if !self.fenced && first == '`' {
            self.code = !self.code;
            self.in_line = true;
            out.push_str(if self.code { CODE } else { PLAIN });
            if !self.code && self.strong {
                out.push_str(STRONG);
            }
            return Some(1);
        }
        // Lines of lists may be set in.
        self.in_line |= !first.is_whitespace();
        out.push(first);
        Some(first.len_utf8())
    }

    /// The style after something strong.
    fn around(&self) -> &'static str {
        if self.heading { "" } else { PLAIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same however it is cut.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        for size in 1..=text.chars().count() {
            let letters: Vec<char> = text.chars().collect();
            let mut styled = Styled::default();
            let mut out: String =
                letters.chunks(size).map(|piece| styled.push(&piece.iter().collect::<String>())).collect();
            out.push_str(&styled.end());
            let told = out.replace(PLAIN, "</>").replace(STRONG, "<b>").replace(CODE, "<c>");
            assert_eq!(told, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn marks_become_styles() {
        check("The rate is **2 %** [1].", "The rate is <b>2 %</> [1].");
        check("## Rates\nand *more*", "<b>Rates</>\nand *more*");
        check("- one\n  - two\n* three", "• one\n  • two\n• three");
        check("use `ibid ask` now", "use <c>ibid ask</> now");
        check("```sh\nls - **x**\n```\nend", "<c>ls - **x**\n</>end");
        check("2 * 3 - 1 = 5 # so", "2 * 3 - 1 = 5 # so");
        check("**open", "<b>open</>");
        check("-5 and *", "-5 and *");
    }
}
