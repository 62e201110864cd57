//! What this machine has for models: memory, cores, a GPU.

use std::fmt;
use std::path::Path;

/// What models can run on.
pub(crate) struct Machine {
    cores: usize,
    /// In GB, if it is known.
    memory: Option<u64>,
    gpu: Option<String>,
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { cores, memory: memory(), gpu: gpu() }
    }

    /// Which size of chat model runs well on it.
    pub(crate) fn advice(&self) -> &'static str {
        match (&self.gpu, self.memory.unwrap_or(8)) {
            (Some(_), 0..=11) => {
                "With its GPU, chat models up to about 4 billion parameters (4 bits) answer in seconds; `ibid models bench` measures one."
            }
            (Some(_), _) => {
                "With its GPU, chat models of 7 to 14 billion parameters (4 bits) answer in seconds, if its memory holds them; `ibid models bench` measures one."
            }
            (None, 0..=5) => {
                "Without a GPU and with little memory, take a model of a provider, or one of up to 1.5 billion parameters (4 bits) for simple questions; `ibid models bench` measures one."
            }
            (None, _) if self.cores < 8 => {
                "Without a GPU, chat models of 1.5 to 4 billion parameters (4 bits) answer in half a minute to a minute; larger ones take minutes. `ibid models bench` measures one."
            }
            (None, _) => {
                "Without a GPU, chat models of 3 to 8 billion parameters (4 bits) answer in half a minute to a minute; `ibid models bench` measures one."
            }
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cores == 1 { "" } else { "s" };
        write!(formatter, "{} core{plural}", self.cores)?;
        if let Some(memory) = self.memory {
            write!(formatter, ", {memory} GB")?;
        }
        match &self.gpu {
            Some(gpu) => write!(formatter, ", {gpu}"),
            None => write!(formatter, ", no GPU"),
        }
    }
}

fn memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some((kilobytes + (512 << 10)) >> 20)
}

/// A GPU that servers of models use: of NVIDIA or AMD by their drivers, or Apple's own.
fn gpu() -> Option<String> {
    if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        return Some("Apple GPU".to_owned());
    }
    if Path::new("/proc/driver/nvidia/version").exists() {
        return Some("NVIDIA GPU".to_owned());
    }
    Path::new("/dev/kfd").exists().then(|| "AMD GPU".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let here = Machine::here().to_string();
        assert!(here.contains("core") && here.contains("GPU"), "{here}");
        let small = Machine { cores: 2, memory: Some(4), gpu: None };
        assert_eq!(small.to_string(), "2 cores, 4 GB, no GPU");
        assert!(small.advice().contains("provider"));
    }
}
