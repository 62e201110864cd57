//! Decimal numbers, exact.

use std::cmp::Ordering;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number without what its notation adds: 2.50 is 25 · 10⁻¹.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    digits: i128,
    places: u32,
}

impl Decimal {
    /// The number of these digits before and after the point.
    pub(crate) fn parse(whole: &str, part: &str) -> Option<Self> {
        let part = part.trim_end_matches('0');
        let digits = format!("{whole}{part}");
        // Longer ones are no quantities.
        let number = (digits.len() <= 30).then(|| digits.parse().ok()).flatten()?;
        Some(Self { digits: number, places: u32::try_from(part.len()).ok()? }.plain())
    }

    /// The sum of two numbers, unless it is too large.
    pub fn plus(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        let digits = self.scaled(places)?.checked_add(other.scaled(places)?)?;
        Some(Self { digits, places }.plain())
    }

    /// How far two numbers are apart, unless that is too large.
    pub fn apart(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        let digits = self.scaled(places)?.checked_sub(other.scaled(places)?)?.checked_abs()?;
        Some(Self { digits, places }.plain())
    }

    /// The product of two numbers, unless it is too large.
    pub fn times(self, other: Self) -> Option<Self> {
        let digits = self.digits.checked_mul(other.digits)?;
        Some(Self { digits, places: self.places.checked_add(other.places)? }.plain())
    }

    /// This number divided by another one, to so many places, halves up.
    pub fn over(self, other: Self, places: u32) -> Option<Self> {
        if other.digits == 0 {
            return None;
        }
        let shift = 10_i128.checked_pow(places.checked_add(other.places)?)?;
        let (above, below) =
            (self.digits.checked_mul(shift)?, other.digits.checked_mul(10_i128.checked_pow(self.places)?)?);
        let digits = above.checked_mul(2)?.checked_add(below)?.div_euclid(below.checked_mul(2)?);
        Some(Self { digits, places }.plain())
    }

    /// To so many places, halves up.
    pub fn rounded(self, places: u32) -> Self {
        self.over(Self { digits: 1, places: 0 }, places).unwrap_or(self)
    }

    /// How many decimals it has.
    pub fn places(self) -> u32 {
        self.places
    }

    /// Its digits with so many places, if it has no more and they are not too many.
    pub fn scaled(self, places: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(places.checked_sub(self.places)?)?)
    }

    /// The number of these digits, so many of which are decimals.
    pub fn of_digits(digits: i128, places: u32) -> Self {
        Self { digits, places }.plain()
    }

    /// The number with the other sign.
    pub fn negated(self) -> Self {
        Self { digits: -self.digits, ..self }
    }

    /// A hundredth of it.
    pub(crate) fn hundredth(self) -> Self {
        Self { digits: self.digits, places: self.places + 2 }.plain()
    }

    fn plain(mut self) -> Self {
        while self.places > 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.places -= 1;
        }
        self
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = self.places.max(other.places);
        match (self.scaled(places), other.scaled(places)) {
            (Some(own), Some(other)) => own.cmp(&other),
            // Only one that is huge cannot be given as many places as the other has.
            (None, _) => self.digits.signum().cmp(&0),
            (_, None) => 0.cmp(&other.digits.signum()),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A number that is written with digits, a point and a sign alone.
impl FromStr for Decimal {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_plain = !whole.is_empty() && [whole, part].concat().bytes().all(|byte| byte.is_ascii_digit());
        let number = is_plain.then(|| Self::parse(whole, part)).flatten().ok_or(NotANumber)?;
        Ok(Self { digits: number.digits * sign, ..number })
    }
}

/// A text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no number")]
pub struct NotANumber;

/// As JSON, it is a number: exact in as many digits as amounts of money have.
impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = (self.places == 0).then(|| i64::try_from(self.digits).ok()).flatten();
        match whole {
            Some(whole) => serializer.serialize_i64(whole),
            None => serializer.serialize_f64(self.to_string().parse().unwrap_or(f64::MAX)),
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        number.to_string().parse().map_err(serde::de::Error::custom)
    }
}

impl From<i128> for Decimal {
    fn from(whole: i128) -> Self {
        Self { digits: whole, places: 0 }
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = self.places as usize;
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        let sign = if self.digits < 0 { "-" } else { "" };
        let point = if part.is_empty() { "" } else { "." };
        formatter.pad(&format!("{sign}{whole}{point}{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_what_they_are_worth() {
        let number = |text: &str| text.parse::<Decimal>().unwrap();
        assert_eq!(number("2.50"), number("2.5"));
        assert!(number("-3") < number("0.01") && number("10") > number("9.99"));
        assert!(
            "".parse::<Decimal>().is_err()
                && "1e5".parse::<Decimal>().is_err()
                && "-".parse::<Decimal>().is_err()
        );
    }

    #[test]
    fn a_number_stays_the_same_through_json() {
        for text in ["0", "-12.34", "289900.5", "123456789012.99"] {
            let number: Decimal = text.parse().unwrap();
            let json = serde_json::to_string(&number).unwrap();
            assert_eq!((serde_json::from_str::<Decimal>(&json).unwrap(), json.as_str()), (number, text));
        }
    }
}
