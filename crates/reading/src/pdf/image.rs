//! Pages that are images, as PDFium draws them.

use pdfium_render::prelude::{PdfBitmapFormat, PdfPage, PdfRenderConfig};

use crate::protocol::ImageSize;

/// Pixels for each point: 300 to the inch.
const SCALE: f32 = 300.0 / 72.0;

/// A page in shades of grey.
pub(super) struct Image {
    pub(super) size: ImageSize,
    pub(super) pixels: Vec<u8>,
}

impl Image {
    /// Draws a page of this size in points.
    pub(super) fn of(page: &PdfPage<'_>, (width, height): (f32, f32)) -> Result<Self, String> {
        // A pixel less than the most: sides are rounded.
        let most = (ImageSize::MOST_PIXELS - 1) as f32;
        let scale = SCALE.min(most / width.max(height).max(1.0));
        let config = PdfRenderConfig::new().scale_page_by_factor(scale).set_format(PdfBitmapFormat::BGRx);
        let bitmap =
            page.render_with_config(&config).map_err(|error| format!("the page cannot be drawn: {error}"))?;
        let side = |pixels: i32| u32::try_from(pixels).unwrap_or_default();
        let size = ImageSize { width: side(bitmap.width()), height: side(bitmap.height()), scale };
        let grey = |pixel: &[u8]| {
            ((u32::from(pixel[0]) * 299 + u32::from(pixel[1]) * 587 + u32::from(pixel[2]) * 114) / 1000) as u8
        };
        let pixels: Vec<u8> = bitmap.as_rgba_bytes().chunks_exact(4).map(grey).collect();
        match size.bytes() {
            Some(bytes) if bytes == pixels.len() as u64 => Ok(Self { size, pixels }),
            _ => Err("the page cannot be drawn as large as it is".to_owned()),
        }
    }
}
