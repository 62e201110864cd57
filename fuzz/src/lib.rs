//! The fuzz targets by name: what each tries stands in the module `fuzzing` of its crate. `cargo xtask fuzz` runs them, and tests
//! try what is kept in `corpus`.

/// What tries an input. It panics where the input shows a fault.
pub type Target = fn(&[u8]);

/// All targets.
pub const TARGETS: [(&str, Target); 8] = [
    ("reader_lines", ibid_reading::fuzzing::reader_lines),
    ("page_assembly", ibid_reading::fuzzing::page_assembly),
    ("chunking", ibid_knowledge::fuzzing::chunking),
    ("guard", ibid_assistants::fuzzing::guard),
    ("format_schema", ibid_assistants::fuzzing::format_schema),
    ("chat_stream", ibid_models::fuzzing::chat_stream),
    ("written_calls", ibid_models::fuzzing::written_calls),
    ("host_rules", ibid_egress::fuzzing::host_rules),
];

/// Tries an input on a target.
///
/// # Panics
/// Panics where the input shows a fault, or there is no such target.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| target);
    target.unwrap_or_else(|| panic!("there is no target {name}"))(input);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_kept_shows_no_fault() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for (name, target) in TARGETS {
            let mut inputs = 0;
            for file in std::fs::read_dir(corpus.join(name)).unwrap() {
                let path = file.unwrap().path();
                let input = std::fs::read(&path).unwrap();
                let tried = std::panic::catch_unwind(|| target(&input));
                assert!(tried.is_ok(), "{} shows a fault", path.display());
                inputs += 1;
            }
            assert!(inputs > 5, "{name} has no corpus");
        }
    }
}
