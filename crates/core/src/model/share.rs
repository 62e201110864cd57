//! The share that a process has of an account's limits.

/// Which of the processes that use an account at a provider this one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountShare {
    /// Its number among them, from 0.
    pub index: u32,
    /// How many they are.
    pub of: u32,
}

impl AccountShare {
    /// That of a process which has the account to itself.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Its part of a number. All parts together are the number, and they differ by at most one.
    pub fn part_of(self, number: usize) -> usize {
        let of = usize::try_from(self.of.max(1)).unwrap_or(usize::MAX);
        let index = usize::try_from(self.index).unwrap_or(usize::MAX);
        number / of + usize::from(index < number % of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_processes_are_the_whole() {
        for of in 1..7 {
            let parts: Vec<usize> = (0..of).map(|index| AccountShare { index, of }.part_of(16)).collect();
            assert_eq!(parts.iter().sum::<usize>(), 16);
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1, "{parts:?}");
        }
        assert_eq!(AccountShare::WHOLE.part_of(3), 3);
        assert_eq!(AccountShare { index: 2, of: 3 }.part_of(2), 0, "whose turn comes with another number");
    }
}
