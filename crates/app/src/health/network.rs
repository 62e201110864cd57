//! File systems that other machines hold. Two processes that use one file there may not see each other's locks, and what was said to
//! be safe may not be.

use std::path::Path;

/// File systems by their numbers in Linux.
const KNOWN: [(u32, &str); 10] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9p, a folder of the host"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x0BD0_0BD0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x6573_5546, "FUSE, such as sshfs or a bucket"),
];

/// The kind of file system that a folder lies on, if other machines hold it.
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    let there = path.ancestors().find(|folder| folder.exists())?;
    // Relative paths end in an empty one, which is the folder that the process is in.
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    known(rustix::fs::statfs(there).ok()?.f_type as u32)
}

fn known(number: u32) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_other_machines_are_noticed_and_those_of_this_one_are_not() {
        assert_eq!(known(0x6969), Some("NFS"));
        assert_eq!(known(0xFF53_4D42), Some("SMB"));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(network_file_system(folder.path()), None);
        assert_eq!(network_file_system(&folder.path().join("not/there")), None);
        assert_eq!(network_file_system(Path::new("ibid-data")), None);
    }
}
