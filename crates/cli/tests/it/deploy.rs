//! The settings in `deploy/` are known, and complete.

use std::path::{Path, PathBuf};

use crate::{printed, run};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// What a Compose file has inline as `ibid.toml`, with the defaults of its variables, or a hash where there is none.
fn inline_settings(compose: &str) -> String {
    let part = compose.split("\n  ibid.toml:\n    content: |\n").nth(1).unwrap();
    let lines = part.lines().take_while(|line| line.is_empty() || line.starts_with("      "));
    let mut settings = String::new();
    for line in lines {
        let mut pieces = line.trim_start().split("${");
        settings.push_str(pieces.next().unwrap());
        for piece in pieces {
            let (variable, rest) = piece.split_once('}').unwrap();
            let hash = "0".repeat(64);
            settings.push_str(variable.split_once(":-").map_or(&*hash, |(_, default)| default));
            settings.push_str(rest);
        }
        settings.push('\n');
    }
    settings
}

#[test]
fn the_settings_for_compose_and_kubernetes_are_known() {
    let compose = std::fs::read_to_string(deploy().join("compose/compose.yaml")).unwrap();
    let kubernetes = std::fs::read_to_string(deploy().join("kubernetes/base/ibid.toml")).unwrap();
    for settings in [inline_settings(&compose), kubernetes] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ibid.toml"), &settings).unwrap();
        let checked = printed(&run(folder.path(), &["config", "check"]));
        assert!(checked.contains("engine.url") && checked.contains("store.location"), "{checked}");
    }
}
