//! The outside of reading processes: starting them, listening to them, outliving them.

use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::formats::FileFormat;
use crate::page::Page;
use crate::protocol::{Failure, ImageSize, ReaderMessage, Request, Work};
use crate::recognition;
use crate::sandbox::{ProcessLimits, SandboxStatus};

/// What a reading process may use.
#[derive(Clone, Copy, Debug)]
pub struct ReaderLimits {
    /// The most address space, in bytes.
    pub memory: u64,
    /// The most time on a processor to open a file.
    pub opening: Duration,
    /// The most time on a processor for each page, on average.
    pub page: Duration,
    /// The longest time without a word.
    pub silence: Duration,
    /// The most that is said of one page, in bytes.
    pub said: u64,
    /// The most pages that one process reads.
    pub pages: u32,
    /// The most pages of a file that may end their process.
    pub crashes: usize,
    /// The most pages of a file.
    pub most_pages: u32,
    /// Whether nothing is read where the kernel cannot keep a reading process from other files (Linux).
    pub require_landlock: bool,
}

impl Default for ReaderLimits {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            opening: Duration::from_secs(20),
            page: Duration::from_secs(1),
            silence: Duration::from_secs(60),
            said: 16 << 20,
            pages: 200,
            crashes: 3,
            most_pages: 50_000,
            require_landlock: true,
        }
    }
}

/// Reads documents, each in processes of its own.
#[derive(Clone, Debug)]
pub struct Reader {
    program: PathBuf,
    arguments: Vec<OsString>,
    pdfium: Option<PathBuf>,
    environment: Vec<(&'static str, &'static str)>,
    languages: Option<String>,
    limits: ReaderLimits,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// How many pages the file has.
    pub count: u32,
    /// The title that the file gives itself.
    pub title: Option<String>,
    /// The pages that were asked for.
    pub pages: Vec<Page>,
    /// How much was said of them, in bytes.
    pub said: u64,
    /// How often the reading process ended before its time.
    pub crashes: usize,
    /// What the reading process was confined by.
    pub sandbox: SandboxStatus,
}

impl Reader {
    /// Reads with a program that, when it is started with these arguments and one more, hands that one to
    /// [`read_in_this_process`](crate::read_in_this_process).
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            pdfium: None,
            environment: Vec::new(),
            languages: None,
            limits: ReaderLimits::default(),
        }
    }

    /// Sets a variable of the environment of the processes that read, which have hardly any otherwise.
    #[must_use]
    pub fn with_variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Reads PDFs with this library.
    #[must_use]
    pub fn with_pdfium(mut self, library: impl Into<PathBuf>) -> Self {
        self.pdfium = Some(library.into());
        self
    }

    /// Recognises text on pages that are images, in these languages, as tesseract names them.
    #[must_use]
    pub fn with_recognition(mut self, languages: impl Into<String>) -> Self {
        self.languages = Some(languages.into());
        self
    }

    /// Reads within these limits.
    #[must_use]
    pub fn within(mut self, limits: ReaderLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets so many pages end their process before the rest is left out.
    #[must_use]
    pub fn forgiving(mut self, crashes: usize) -> Self {
        self.limits.crashes = crashes;
        self
    }

    /// Starts a reading process and says what confines it on this machine.
    ///
    /// # Errors
    /// Fails when it does not start, or cannot be confined.
    pub async fn sandbox(&self) -> Result<SandboxStatus, Failure> {
        let nothing = Path::new("/dev/null");
        Ok(self.read(nothing, FileFormat::Text, 0..0, |_, _| {}).await?.sandbox)
    }

    /// Reads some pages of a file, counted from 0. Each page is shown as soon as it is read. A page that
    /// ends its process is left out, with the reason, and reading goes on behind it.
    pub async fn read(
        &self,
        file: &Path,
        kind: FileFormat,
        pages: Range<u32>,
        mut on_page: impl FnMut(&Page, u32),
    ) -> Result<Reading, Failure> {
        let mut reading = Reading::default();
        let mut next = pages.start;
        loop {
            let until = pages.end.min(next.saturating_add(self.limits.pages));
            let had = reading.pages.len();
            let ended = self.once(file, kind, next..until, &mut reading, &mut on_page).await?;
            next += u32::try_from(reading.pages.len() - had).unwrap_or_default();
            let last = pages.end.min(reading.count);
            if let Some(why) = ended {
                reading.crashes += 1;
                // A process that died after its last page has lost none.
                let one = next..last.min(until).min(next + 1);
                let lost = if reading.crashes > self.limits.crashes { next..last } else { one };
                for index in lost {
                    let page = Page::not_read(index + 1, &why);
                    on_page(&page, reading.count);
                    reading.pages.push(page);
                    next = index + 1;
                }
            }
            if next >= last {
                return Ok(reading);
            }
        }
    }

    /// One process. Says why it ended, if it ended before its time.
    async fn once(
        &self,
        file: &Path,
        kind: FileFormat,
        pages: Range<u32>,
        reading: &mut Reading,
        on_page: &mut impl FnMut(&Page, u32),
    ) -> Result<Option<String>, Failure> {
        let (first, until) = (pages.start, pages.end);
        let many = u64::from(pages.end.saturating_sub(pages.start).min(self.limits.pages));
        let seconds = self.limits.opening.as_secs() + many * self.limits.page.as_secs().max(1);
        let images = self.languages.is_some();
        let work = Work::Read { kind, pages, pdfium: self.pdfium.clone(), images };
        let file = File::open(file)
            .map_err(|error| Failure::Machine(format!("the file cannot be opened: {error}")))?;
        let mut child = self.start(work, seconds, Stdio::from(file))?;
        let Some(stdout) = child.stdout.take() else {
            return Err(Failure::Machine("the output of the reading process is not there".to_owned()));
        };
        let mut stdout = BufReader::new(stdout);
        let before = reading.pages.len();
        let opened = reading.count > 0;
        let (mut sandbox, mut is_open) = (None, false);
        let why = loop {
            let next = u32::try_from(reading.pages.len() - before).unwrap_or(u32::MAX).saturating_add(first);
            let end = until.min(reading.count);
            match self.word(&mut stdout, &mut reading.said).await {
                Ok(Some(ReaderMessage::Opened { pages, .. })) if pages > self.limits.most_pages => {
                    return Err(Failure::TooManyPages(pages));
                }
                Ok(Some(ReaderMessage::Opened { .. })) if is_open => {
                    let _ = child.kill().await;
                    break "it opened the file twice".to_owned();
                }
                Ok(Some(ReaderMessage::Opened { pages, title })) => {
                    is_open = true;
                    reading.sandbox = sandbox.unwrap_or_default();
                    reading.count = pages;
                    reading.title = title;
                }
                // Its first word is its own; what it says after it has seen the file may be the file's. It says each once:
                // otherwise it could go on for ever.
                Ok(Some(ReaderMessage::Confined(status))) if sandbox.is_none() => sandbox = Some(status),
                Ok(Some(ReaderMessage::Confined(_))) => {
                    let _ = child.kill().await;
                    break "it began twice".to_owned();
                }
                // What was asked for, in its order, and nothing else: the process may be in other hands.
                Ok(Some(ReaderMessage::Page(page) | ReaderMessage::Image { page, .. }))
                    if page.number != next + 1 || next >= end =>
                {
                    let _ = child.kill().await;
                    break format!("it spoke of page {} out of turn", page.number);
                }
                Ok(Some(ReaderMessage::Done)) if next < end => {
                    break "it ended before its last page".to_owned();
                }
                Ok(Some(ReaderMessage::Page(page))) => {
                    on_page(&page, reading.count);
                    reading.pages.push(page);
                }
                Ok(Some(ReaderMessage::Image { mut page, size })) => {
                    if let Err(why) = self.recognise(&mut page, size, &mut stdout).await {
                        let _ = child.kill().await;
                        break why;
                    }
                    on_page(&page, reading.count);
                    reading.pages.push(page);
                }
                Ok(Some(ReaderMessage::Failed(failure))) => return Err(failure),
                Ok(Some(ReaderMessage::Done)) => return Ok(None),
                Ok(None) => break describe(&mut child).await,
                Err(why) => {
                    let _ = child.kill().await;
                    break why;
                }
            }
        };
        if !opened && reading.count == 0 && reading.pages.len() == before {
            return Err(Failure::Ended(why));
        }
        Ok(Some(why))
    }

    /// Gives a page the text of its image, which comes from the process that reads it, or says on the page why not. Fails
    /// if that process breaks off.
    async fn recognise(
        &self,
        page: &mut Page,
        size: ImageSize,
        from: &mut BufReader<ChildStdout>,
    ) -> Result<(), String> {
        let Some(languages) = self.languages.clone().filter(|_| size.bytes().is_some()) else {
            return Err(format!("it sent an image of page {} that nobody asked for", page.number));
        };
        let seconds = self.limits.silence.as_secs();
        let mut started = self.start(Work::Recognise { languages }, seconds, Stdio::piped());
        let fed = recognition::hand_on(from, size, started.as_mut().ok());
        match tokio::time::timeout(self.limits.silence, fed).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(format!("its image of page {} broke off ({error})", page.number)),
            Err(_) => return Err(format!("its image of page {} took too long", page.number)),
        }
        let recognised = match started {
            Ok(child) => recognition::recognised(child, size, self.limits.silence, self.limits.said).await,
            Err(failure) => Err(failure.to_string()),
        };
        match recognised {
            Ok(blocks) => page.blocks = blocks,
            Err(why) => page.not_recognised(&why),
        }
        Ok(())
    }

    fn start(&self, work: Work, seconds: u64, input: Stdio) -> Result<Child, Failure> {
        let failed = |what: &str, error: std::io::Error| Failure::Machine(format!("{what}: {error}"));
        let (memory, require_landlock) = (self.limits.memory, self.limits.require_landlock);
        let request = Request { limits: ProcessLimits { memory, seconds, require_landlock }, work };
        let request = serde_json::to_string(&request)
            .map_err(|error| failed("the request cannot be written", error.into()))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(request).env_clear().kill_on_drop(true);
        // What is typed at a terminal is for this process: it ends the others when it wants to.
        #[cfg(unix)]
        command.process_group(0);
        for kept in ["PATH", "TESSDATA_PREFIX", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command.envs(self.environment.iter().copied());
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(|error| failed("the reading process does not start", error))
    }

    /// The next thing that a process says, none at the end, or why it is not listened to any more.
    pub(crate) async fn word(
        &self,
        from: &mut (impl AsyncBufRead + Unpin),
        said: &mut u64,
    ) -> Result<Option<ReaderMessage>, String> {
        let mut line = Vec::new();
        let mut limited = from.take(self.limits.said);
        let read = limited.read_until(b'\n', &mut line);
        let read = tokio::time::timeout(self.limits.silence, read).await;
        *said += line.len() as u64;
        match read {
            Err(_) => Err(format!("it said nothing for {} s", self.limits.silence.as_secs())),
            Ok(Err(error)) => Err(format!("its output cannot be read ({error})")),
            Ok(Ok(0)) => Ok(None),
            Ok(Ok(_)) if !line.ends_with(b"\n") && line.len() as u64 >= self.limits.said => {
                Err("it has more to say of one page than is listened to".to_owned())
            }
            // A line that breaks off is the last word of a process that died in the middle of it.
            Ok(Ok(_)) if !line.ends_with(b"\n") => Ok(None),
            Ok(Ok(_)) => match serde_json::from_slice(&line) {
                Ok(ReaderMessage::Page(page) | ReaderMessage::Image { page, .. }) if !page.is_finite() => {
                    Err("what it said is unclear (something stands infinitely far away)".to_owned())
                }
                Ok(said) => Ok(Some(said)),
                Err(error) => Err(format!("what it said is unclear ({error})")),
            },
        }
    }
}

/// How a process ended.
async fn describe(child: &mut Child) -> String {
    let Ok(Ok(status)) = tokio::time::timeout(Duration::from_secs(5), child.wait()).await else {
        let _ = child.kill().await;
        return "it closed its output and did not end".to_owned();
    };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal {
            24 => "it used more time than it has".to_owned(),
            6 | 5 | 4 | 11 | 7 => format!("it crashed or ran out of memory (signal {signal})"),
            9 => "it was killed, as a rule for want of memory or time".to_owned(),
            _ => format!("signal {signal}"),
        };
    }
    format!("it ended early ({status})")
}
