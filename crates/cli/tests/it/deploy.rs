//! The settings in `deploy/` are known, and complete.

use std::path::Path;

use crate::{ibid, printed};

#[test]
fn the_settings_for_compose_and_kubernetes_are_known() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let compose = std::fs::read_to_string(deploy.join("compose/compose.yaml")).unwrap();
    // What the Compose file sets in the environment; a hash will do as a value for each.
    let variables = compose.lines().filter_map(|line| line.trim_start().split_once(": "));
    let variables: Vec<_> =
        variables.filter(|(name, _)| name.starts_with("IBID_") && name.contains("__")).collect();
    assert!(!variables.is_empty());
    for file in ["compose/ibid.toml", "kubernetes/base/ibid.toml"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(deploy.join(file), folder.path().join("ibid.toml")).unwrap();
        let mut command = ibid(folder.path(), &["config", "check"]);
        if file.starts_with("compose") {
            command.envs(variables.iter().map(|(name, _)| (name, "0".repeat(64))));
        }
        let checked = printed(&command.output().unwrap());
        assert!(checked.contains("engine.url") && checked.contains("store.location"), "{checked}");
    }
}
