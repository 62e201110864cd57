//! What is typed while an answer comes.

use std::collections::VecDeque;

/// The lines that were typed meanwhile and are to be taken next.
#[derive(Default)]
pub(super) struct Typed {
    lines: VecDeque<String>,
}

impl Typed {
    /// The line that was typed first.
    pub(super) fn take(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// Waits until somebody types that the answer is to stop. What else is typed is kept for later. Where nobody sits at a
    /// terminal, nobody does.
    pub(super) async fn stop(&mut self) {
        #[cfg(unix)]
        if let Ok(terminal) = terminal::Terminal::open() {
            while let Ok(line) = terminal.line().await {
                match line.trim() {
                    "" => {}
                    "/stop" => return,
                    line => self.lines.push_back(line.to_owned()),
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
mod terminal {
    use std::fs::File;
    use std::io::{Error, IsTerminal as _, Read as _, Result};
    use std::os::fd::AsFd as _;

    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// The terminal that somebody types at. It is read only when there is a whole line, so that nothing is taken from
    /// whoever reads it afterwards.
    pub(super) struct Terminal(AsyncFd<File>);

    impl Terminal {
        pub(super) fn open() -> Result<Self> {
            let input = std::io::stdin();
            if !input.is_terminal() {
                return Err(Error::other("nobody sits there"));
            }
            let file = File::from(input.as_fd().try_clone_to_owned()?);
            #[expect(
                deprecated,
                reason = "its successor is unsafe, and wants what a file is: the owner of its number"
            )]
            AsyncFd::with_interest(file, Interest::READABLE).map(Self)
        }

        pub(super) async fn line(&self) -> Result<String> {
            self.0.readable().await?.clear_ready();
            let mut bytes = [0; 4096];
            let read = self.0.get_ref().read(&mut bytes)?;
            if read == 0 {
                return Err(Error::other("nobody sits there any more"));
            }
            Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
        }
    }
}
