//! What a reader may have meant by a name that is not known.

/// `; did you mean A, B?`, or nothing where no name is like it.
pub(crate) fn did_you_mean<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let word = word.to_ascii_lowercase();
    let mut scored: Vec<(f64, &str)> = Vec::new();
    for name in names {
        let lower = name.to_ascii_lowercase();
        let holds = word.len() > 2 && (lower.contains(&word) || word.contains(&lower));
        let likeness = strsim::jaro_winkler(&word, &lower) + if holds { 0.5 } else { 0.0 };
        if likeness > 0.85 {
            scored.push((likeness, name));
        }
    }
    // Equal likeness: in the order of the alphabet.
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    let best: Vec<&str> = scored.into_iter().map(|(_, name)| name).take(4).collect();
    if best.is_empty() { String::new() } else { format!("; did you mean {}?", best.join(", ")) }
}
