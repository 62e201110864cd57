//! "Did you mean …?"

/// The candidate that looks most like `given`, if any looks like it at all.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|candidate| (strsim::jaro_winkler(given, candidate), candidate));
    let best = scored.max_by(|left, right| left.0.total_cmp(&right.0));
    best.filter(|(score, _)| *score > 0.7).map(|(_, candidate)| candidate)
}

/// The hint to the nearest candidate, or to all of them.
pub fn hint<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(given, candidates.clone()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => {
            let all: Vec<_> = candidates.into_iter().map(|candidate| format!("`{candidate}`")).collect();
            format!("there are {}", all.join(", "))
        }
    }
}
