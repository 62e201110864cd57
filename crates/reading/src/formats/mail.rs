//! E-mails with their attachments: the message is a page, and each attachment has the pages of its own format.

use std::io::{Cursor, Read};

use mail_parser::{Address, MessageParser, MimeHeaders, PartType};

use super::blocks::{page, tidy};
use super::{Parsed, Parser, format_of, html, text};
use crate::child::decoded;
use crate::page::{Block, Page, PageLabel, PageUnit};
use crate::protocol::Failure;

/// So many attachments of a message are read.
const MOST_ATTACHMENTS: usize = 100;
/// From the beginning of the count of Outlook, 1601, to that of spreadsheets, in days.
const DAYS_FROM_1601: f64 = 109_205.0;

/// A message, whichever program wrote it.
struct Mail {
    subject: String,
    /// Who and when, as names and values.
    about: Vec<(&'static str, String)>,
    body: Vec<Block>,
    attachments: Vec<(String, Vec<u8>)>,
}

/// A message as it is sent.
pub(super) fn message(bytes: &[u8]) -> Result<Parsed, Failure> {
    let message = MessageParser::default().parse(bytes).ok_or(Failure::Damaged)?;
    if message.headers().is_empty() {
        return Err(Failure::Damaged);
    }
    let html = message.html_part(0).and_then(|part| match &part.body {
        PartType::Html(text) => Some(text.clone().into_owned()),
        _ => None,
    });
    let plain = || message.body_text(0).map(|body| body.into_owned()).unwrap_or_default();
    let mut mail = Mail {
        subject: message.subject().unwrap_or_default().to_owned(),
        about: vec![
            ("From", addresses(message.from())),
            ("To", addresses(message.to())),
            ("Cc", addresses(message.cc())),
            ("Date", message.date().map(|date| date.to_rfc3339()).unwrap_or_default()),
        ],
        body: match html {
            Some(html) => blocks_of(html::parse(&html)),
            None => blocks_of(text::parse(&plain().replace('\u{c}', "\n"))),
        },
        attachments: Vec::new(),
    };
    for part in message.attachments().take(MOST_ATTACHMENTS) {
        let (name, bytes) = match part.message() {
            Some(inner) => {
                (format!("{}.eml", inner.subject().unwrap_or("message")), inner.raw_message().to_vec())
            }
            None => (part.attachment_name().unwrap_or("attachment").to_owned(), part.contents().to_vec()),
        };
        mail.attachments.push((name, bytes));
    }
    Ok(mail.pages())
}

fn addresses(address: Option<&Address<'_>>) -> String {
    let named = address.into_iter().flat_map(Address::iter).map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// A message as Outlook keeps it.
pub(super) fn outlook(bytes: &[u8]) -> Result<Parsed, Failure> {
    let file = cfb::CompoundFile::open(Cursor::new(bytes)).map_err(|_| Failure::Damaged)?;
    let mut streams = Streams(file);
    let properties = streams.bytes("/__properties_version1.0").ok_or(Failure::Damaged)?;
    let mut said = |id: &str| streams.text("", id).unwrap_or_default();
    let subject = said("0037");
    let mut about = vec![("From", said("0C1A")), ("To", said("0E04")), ("Cc", said("0E03"))];
    let address = Some(said("5D01")).filter(|address| !address.is_empty()).unwrap_or_else(|| said("0C1F"));
    if !address.is_empty() && address != about[0].1 {
        about[0].1 = format!("{} <{address}>", about[0].1).trim().to_owned();
    }
    about.push(("Date", sent(&properties).unwrap_or_default()));
    let html = streams.text("", "1013").or_else(|| Some(decoded(&streams.bytes("/__substg1.0_10130102")?)));
    // Programs that write rich text write plain text beside it.
    let body = match html {
        Some(html) => blocks_of(html::parse(&html)),
        None => {
            let plain = streams.text("", "1000").unwrap_or_default();
            blocks_of(text::parse(&plain.replace('\u{c}', "\n")))
        }
    };
    let mut attachments = Vec::new();
    for number in 0..MOST_ATTACHMENTS {
        let folder = format!("/__attach_version1.0_#{number:08X}");
        if !streams.0.is_storage(&folder) {
            break;
        }
        let name = streams.text(&folder, "3707").or_else(|| streams.text(&folder, "3704"));
        let bytes = streams.bytes(&format!("{folder}/__substg1.0_37010102")).unwrap_or_default();
        attachments.push((name.unwrap_or_else(|| "attachment".to_owned()), bytes));
    }
    Ok(Mail { subject, about, body, attachments }.pages())
}

/// The parts of a message of Outlook.
struct Streams<'a>(cfb::CompoundFile<Cursor<&'a [u8]>>);

impl Streams<'_> {
    fn bytes(&mut self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.open_stream(path).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// A property that is a text, in two bytes a letter or in one.
    fn text(&mut self, folder: &str, id: &str) -> Option<String> {
        let wide = self.bytes(&format!("{folder}/__substg1.0_{id}001F"));
        let text = match wide {
            Some(bytes) => encoding_rs::UTF_16LE.decode_without_bom_handling(&bytes).0.into_owned(),
            None => decoded(&self.bytes(&format!("{folder}/__substg1.0_{id}001E"))?),
        };
        Some(text.trim_end_matches('\0').to_owned()).filter(|text| !text.trim().is_empty())
    }
}

/// When a message of Outlook was sent, from its properties of a fixed length.
fn sent(properties: &[u8]) -> Option<String> {
    let entry =
        properties.get(32..)?.chunks_exact(16).find(|entry| entry[..4] == [0x40, 0x00, 0x39, 0x00])?;
    let ticks = u64::from_le_bytes(entry[8..].try_into().ok()?);
    let days = ticks as f64 / 864e9 - DAYS_FROM_1601;
    ssfmt::format_default(days, "yyyy-mm-dd hh:mm").ok().map(|date| format!("{date} UTC"))
}

fn blocks_of((_, pages): Parsed) -> Vec<Block> {
    pages.into_iter().flat_map(|page| page.blocks).collect()
}

impl Mail {
    fn pages(self) -> Parsed {
        let mut blocks = Vec::new();
        let subject = tidy(&self.subject);
        if !subject.is_empty() {
            blocks.push(Block::Heading { level: 1, lines: subject });
        }
        let about = self.about.iter().filter(|(_, value)| !value.is_empty());
        let about: Vec<String> = about.map(|(name, value)| format!("{name}: {value}")).collect();
        blocks.push(Block::Text { lines: tidy(&about.join("\n")) });
        blocks.extend(self.body);
        let mut first = page(1, blocks);
        first.label = Some(PageLabel { unit: PageUnit::Message, name: self.subject.clone() });
        let mut pages = vec![first];
        for (name, bytes) in self.attachments {
            let label = |inner: Option<&PageLabel>| {
                let inner = inner.map(|inner| inner.name.as_str()).filter(|inner| !inner.is_empty());
                let name = inner.map_or_else(|| name.clone(), |inner| format!("{name}, {inner}"));
                Some(PageLabel { unit: PageUnit::Attachment, name })
            };
            for mut page in attached(&name, &bytes) {
                page.number = u32::try_from(pages.len() + 1).unwrap_or(u32::MAX);
                page.label = label(page.label.as_ref());
                pages.push(page);
            }
        }
        (Some(self.subject).filter(|subject| !subject.is_empty()), pages)
    }
}

/// The pages of an attachment, or one that says why there are none. A message in it is read without its own attachments.
fn attached(name: &str, bytes: &[u8]) -> Vec<Page> {
    let read = match format_of(name, bytes).map(|format| (format, format.entry().parser)) {
        None => Err("it has no format that can be read".to_owned()),
        Some((_, Parser::Text(parse))) => Ok(parse(&decoded(bytes))),
        Some((format, Parser::Whole(parse))) if !format.has_attachments() => {
            parse(bytes).map_err(|failure| failure.to_string())
        }
        Some((format, _)) => Err(format!("load {} as a file of its own", format.entry().label)),
    };
    match read {
        Ok((_, pages)) => pages,
        Err(why) => vec![Page::not_read(1, &format!("the attachment {name} is left out: {why}"))],
    }
}
