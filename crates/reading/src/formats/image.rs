//! Images: PNG and JPEG are one page, TIFF has a page for each of its images. Their text is recognised as that of scanned pages is.

use std::io::Cursor;
use std::ops::Range;

use image::imageops::FilterType;
use image::{DynamicImage, GrayImage, ImageFormat, ImageReader, Limits};
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult};

use super::blocks::page;
use crate::page::{Page, PageKind};
use crate::protocol::{Failure, ImageSize, Output};

/// No side of an image is longer than this before it is made smaller.
const LONGEST_SIDE: u32 = 30_000;
/// What decoding may take, in bytes.
const MOST_MEMORY: u64 = 600 << 20;

/// Reads some of the pages.
pub(super) fn read(
    bytes: &[u8],
    images: bool,
    wanted: Range<u32>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let format = image::guess_format(bytes).map_err(|_| Failure::Damaged)?;
    if format != ImageFormat::Tiff {
        output.opened(1, None);
        if wanted.contains(&0) {
            tell(1, one(bytes, format), images, output);
        }
        return Ok(());
    }
    let count = u32::try_from(directories(bytes)).unwrap_or(u32::MAX);
    if count == 0 {
        return Err(Failure::Damaged);
    }
    output.opened(count, None);
    for index in wanted.start..wanted.end.min(count) {
        if output.is_closed() {
            break;
        }
        tell(index + 1, of_tiff(bytes, index), images, output);
    }
    Ok(())
}

fn tell(number: u32, found: Result<GrayImage, String>, images: bool, output: &mut Output<'_>) {
    let grey = match found {
        Ok(grey) => grey,
        Err(why) => return output.page(Page::not_read(number, &why)),
    };
    // Places on it are counted in its own pixels.
    let (width, height) = (grey.width(), grey.height());
    let mut page = page(number, Vec::new());
    (page.width, page.height, page.kind) = (width as f32, height as f32, PageKind::Scanned);
    if !images {
        page.not_recognised("no text recognition is installed");
        return output.page(page);
    }
    let scale = (ImageSize::MOST_PIXELS as f32 / width.max(height).max(1) as f32).min(1.0);
    let side = |pixels: u32| ((pixels as f32 * scale) as u32).clamp(1, ImageSize::MOST_PIXELS);
    let drawn = if scale < 1.0 {
        image::imageops::resize(&grey, side(width), side(height), FilterType::Triangle)
    } else {
        grey
    };
    let size = ImageSize { width: drawn.width(), height: drawn.height(), scale };
    output.image(page, size, drawn.as_raw());
}

fn one(bytes: &[u8], format: ImageFormat) -> Result<GrayImage, String> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    reader.decode().map(on_white).map_err(|error| format!("the image cannot be decoded: {error}"))
}

/// In shades of grey; what is transparent is white, as paper is.
fn on_white(image: DynamicImage) -> GrayImage {
    if !image.color().has_alpha() {
        return image.into_luma8();
    }
    let blended = image.into_luma_alpha8();
    GrayImage::from_fn(blended.width(), blended.height(), |x, y| {
        let [grey, alpha] = blended.get_pixel(x, y).0.map(u32::from);
        image::Luma([((grey * alpha + 255 * (255 - alpha)) / 255) as u8])
    })
}

fn decoder(bytes: &[u8]) -> Result<Decoder<Cursor<&[u8]>>, String> {
    let mut limits = tiff::decoder::Limits::default();
    limits.decoding_buffer_size = MOST_MEMORY as usize;
    limits.intermediate_buffer_size = MOST_MEMORY as usize;
    let decoder = Decoder::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    Ok(decoder.with_limits(limits))
}

/// How many images a TIFF has.
fn directories(bytes: &[u8]) -> usize {
    let Ok(mut decoder) = decoder(bytes) else { return 0 };
    let mut count = 1;
    while count < 10_000 && decoder.more_images() && decoder.next_image().is_ok() {
        count += 1;
    }
    count
}

fn of_tiff(bytes: &[u8], index: u32) -> Result<GrayImage, String> {
    let undecoded = |error: &dyn std::fmt::Display| format!("the image cannot be decoded: {error}");
    let mut decoder = decoder(bytes)?;
    for _ in 0..index {
        decoder.next_image().map_err(|error| undecoded(&error))?;
    }
    let (width, height) = decoder.dimensions().map_err(|error| undecoded(&error))?;
    if width > LONGEST_SIDE || height > LONGEST_SIDE {
        return Err(undecoded(&"it is larger than images are"));
    }
    let color = decoder.colortype().map_err(|error| undecoded(&error))?;
    let decoded = decoder.read_image().map_err(|error| undecoded(&error))?;
    let pixels = match (color, decoded) {
        (ColorType::Gray(8), DecodingResult::U8(grey)) => grey,
        (ColorType::Gray(1), DecodingResult::U8(bits)) => unpacked(&bits, width, height),
        (ColorType::Gray(16), DecodingResult::U16(grey)) => {
            grey.iter().map(|grey| (grey >> 8) as u8).collect()
        }
        (ColorType::RGB(8), DecodingResult::U8(colors)) => greys(&colors, 3),
        (ColorType::RGBA(8), DecodingResult::U8(colors)) => greys(&colors, 4),
        (other, _) => return Err(undecoded(&format!("its colours ({other:?}) are not known here"))),
    };
    GrayImage::from_raw(width, height, pixels).ok_or_else(|| undecoded(&"it breaks off"))
}

/// Shades of colours.
fn greys(colors: &[u8], samples: usize) -> Vec<u8> {
    let grey = |color: &[u8]| {
        let [red, green, blue] = [color[0], color[1], color[2]].map(u32::from);
        ((red * 299 + green * 587 + blue * 114) / 1000) as u8
    };
    colors.chunks_exact(samples).map(grey).collect()
}

/// Black and white, a bit for each pixel; each row begins with a byte of its own.
fn unpacked(bits: &[u8], width: u32, height: u32) -> Vec<u8> {
    let stride = width.div_ceil(8) as usize;
    if bits.len() == width as usize * height as usize {
        return bits.iter().map(|bit| if *bit > 0 { 255 } else { 0 }).collect();
    }
    let row = |row: &[u8]| {
        (0..width as usize)
            .map(|at| if row[at / 8] >> (7 - at % 8) & 1 == 1 { 255 } else { 0 })
            .collect::<Vec<u8>>()
    };
    bits.chunks_exact(stride.max(1)).take(height as usize).flat_map(row).collect()
}
