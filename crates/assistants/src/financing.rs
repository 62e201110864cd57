//! Instalments, exact to the cent.

use ibid_core::value::Decimal;
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

/// Months of a year, times a hundred for percent.
const YEARLY_PERCENT: i128 = 1200;

/// How a loan is paid back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalmentPlan {
    /// In how many months.
    pub months: u32,
    /// What is paid each month but the last.
    pub instalment: Decimal,
    /// What is paid in the last month: what is left.
    pub last_instalment: Decimal,
    /// What is paid back in all.
    pub total: Decimal,
    /// How much of that is interest.
    pub interest: Decimal,
}

/// The plan that pays a loan back in equal instalments, with interest on what is left each month: the instalment is that of an
/// annuity, to the cent, and the last one settles what rounding left. None if an amount is too large, negative, or has parts of
/// cents.
pub fn plan(loan: Decimal, yearly_rate_percent: Decimal, months: u32) -> Option<InstalmentPlan> {
    let zero = Decimal::from(0);
    if months == 0 || loan < zero || yearly_rate_percent < zero || loan.places() > 2 {
        return None;
    }
    let cents = loan.scaled(2)?;
    let places = yearly_rate_percent.places();
    // The monthly rate is a fraction of whole numbers.
    let (above, below) =
        (yearly_rate_percent.scaled(places)?, YEARLY_PERCENT.checked_mul(10_i128.checked_pow(places)?)?);
    let instalment = annuity(cents, above, below, months)?;
    let mut left = cents;
    for _ in 1..months {
        left = left.checked_add(interest(left, above, below)?)?.checked_sub(instalment)?;
    }
    let last = left.checked_add(interest(left, above, below)?)?;
    let total = instalment.checked_mul(i128::from(months - 1))?.checked_add(last)?;
    let amount = |cents: i128| Decimal::of_digits(cents, 2);
    Some(InstalmentPlan {
        months,
        instalment: amount(instalment),
        last_instalment: amount(last),
        total: amount(total),
        interest: amount(total.checked_sub(cents)?),
    })
}

/// A month's interest on so many cents, to the cent.
fn interest(cents: i128, above: i128, below: i128) -> Option<i128> {
    Some((cents.checked_mul(above)?.checked_mul(2)?.checked_add(below)?).div_euclid(below.checked_mul(2)?))
}

/// The instalment in cents: with the monthly rate a/b and n months, the loan times a (a+b)ⁿ over b ((a+b)ⁿ - bⁿ).
fn annuity(cents: i128, above: i128, below: i128, months: u32) -> Option<i128> {
    let (loan, a, b) = (BigInt::from(cents), BigInt::from(above), BigInt::from(below));
    let (upper, lower) = if above == 0 {
        (loan, BigInt::from(months))
    } else {
        let grown = (&a + &b).pow(months);
        (loan * &a * &grown, &b * (&grown - b.pow(months)))
    };
    // Halves up.
    i128::try_from((upper * 2 + &lower) / (lower * 2)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn a_loan_is_paid_back_to_the_cent() {
        // 200,000 at 12 % over 48 months: 200000 × 0.01 / (1 - 1.01⁻⁴⁸) = 5266.767…
        let plan = plan(amount("200000"), amount("12"), 48).unwrap();
        assert_eq!(plan.instalment, amount("5266.77"));
        let sum = plan.instalment.times(Decimal::from(47)).and_then(|sum| sum.plus(plan.last_instalment));
        assert_eq!(sum, Some(plan.total));
        assert_eq!(plan.interest.plus(amount("200000")), Some(plan.total));
        assert!(plan.last_instalment.apart(plan.instalment).unwrap() < amount("1"), "{plan:?}");
    }

    #[test]
    fn without_interest_the_loan_is_parted() {
        let plan = plan(amount("100"), amount("0"), 3).unwrap();
        assert_eq!((plan.instalment, plan.last_instalment), (amount("33.33"), amount("33.34")));
        assert_eq!((plan.total, plan.interest), (amount("100"), amount("0")));
    }

    #[test]
    fn what_cannot_be_is_no_loan() {
        for (loan, rate, months) in
            [("-1", "10", 12), ("100", "-1", 12), ("100", "10", 0), ("0.001", "10", 12)]
        {
            assert_eq!(plan(amount(loan), amount(rate), months), None, "{loan} {rate} {months}");
        }
    }
}
