//! `phelsuma create`: a drive in an image file.

use crate::errors::{Failure, Outcome};
use crate::output;
use phelsuma_drive::{comes_up, does_not_fit};
use phelsuma_ftl::{Config, FtlError, Preset};
use phelsuma_nand::{Geometry, Nand};
use phelsuma_options::{ShapeArgs, check_cache_is_used, check_logical_pages, count, memory, set_parts, size};
use phelsuma_serve::device::ImageDrive;
use phelsuma_serve::image::{CreateOptions, Durability, ImageError, ImageFile, ImageNand};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Options of `create`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The image file; it must not exist yet
    image: PathBuf,
    /// Size of the drive for the host, in whole pages. The flash is larger, as --ratio says
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: u64,
    /// The FTL (see `phelsuma list`)
    #[arg(long, value_name = "NAME")]
    ftl: String,
    #[command(flatten)]
    shape: ShapeArgs,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What is wrong with an image, with its name.
pub(crate) fn image_failure(path: &Path, error: &ImageError) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let (geometry, config) = drive(args)?;
    // A drive that is not there yet has nothing to lose: it is made durable when it is done.
    let options = CreateOptions { durability: Durability::Process, ..CreateOptions::default() };
    let wrong = |error: ImageError| image_failure(&args.image, &error);
    // Nobody is to find half an image under its name, also where this is stopped.
    let making = beside(&args.image);
    if args.image.exists() {
        return Err(wrong(ImageError::Exists));
    }
    clear(&making)?;
    let nand = ImageNand::create(&making, &geometry, &config, &options).map_err(|error| match error {
        ImageError::Exists => image_failure(&making, &error),
        error => wrong(error),
    })?;
    let (file_bytes, spare_slots) = (nand.file_bytes(), nand.spare_slots());
    if let Err(failure) = formatted(nand, &making, args, &config) {
        // What is half made is taken back.
        let _ = std::fs::remove_file(&making);
        return Err(failure);
    }
    let logical_bytes = u64::from(config.logical_pages) * u64::from(geometry.page_bytes());
    let ratio = f64::from(config.logical_pages) / geometry.pages() as f64;
    if args.json {
        return output::json(&json!({
            "schema": "phelsuma.create/1",
            "image": args.image.display().to_string(),
            "ftl": config.name,
            "logical_bytes": logical_bytes,
            "capacity_bytes": geometry.capacity_bytes(),
            "ratio": ratio,
            "page_bytes": geometry.page_bytes(),
            "pages_per_block": geometry.pages_per_block(),
            "blocks": geometry.blocks(),
            "channels": geometry.channels(),
            "dies": geometry.dies_per_channel(),
            "spare_slots": spare_slots,
            "file_bytes": file_bytes,
        }));
    }
    output::print(&format!(
        "{}: {} for the host on {} of flash (ratio {ratio:.4}), {} blocks of {} pages of {}; {}; the file is {} long, \
         most of it holes\n",
        args.image.display(),
        size::show(logical_bytes),
        size::show(geometry.capacity_bytes()),
        count(geometry.blocks().into()),
        geometry.pages_per_block(),
        size::show(geometry.page_bytes().into()),
        config.name,
        size::show(file_bytes)
    ))
}

/// Where an image is until it is made.
fn beside(image: &Path) -> PathBuf {
    let mut name = image.as_os_str().to_owned();
    name.push(".making");
    name.into()
}

/// Takes away what an earlier `create` that was stopped has left, unless one is at work.
fn clear(making: &Path) -> Outcome {
    match ImageFile::open(making) {
        // What is there and cannot be opened is in the way, and says so when the image is made.
        Err(ImageError::Io { .. }) => Ok(()),
        Err(error) => Err(image_failure(making, &error)),
        Ok(file) => {
            // Somebody else's is not taken away.
            if !file.may_become_an_image() {
                return Err(image_failure(making, &ImageError::Exists));
            }
            std::fs::remove_file(making).map_err(|error| Failure::Failed(format!("{}: {error}", making.display())))
        }
    }
}

/// The flash and the FTL that are asked for.
fn drive(args: &Args) -> Outcome<(Geometry, Config)> {
    let preset = Preset::named(&args.ftl)?;
    let mut composition = preset.composition;
    if let Some(error) = set_parts(&mut composition, &args.shape.set, args.shape.cache)?.into_iter().next() {
        return Err(error.into());
    }
    ImageDrive::may_be(preset.name, &composition)?;
    check_cache_is_used(args.shape.cache, core::iter::once(&composition))?;
    // What is wrong with the shape is said before what does not fit it.
    let shape = args.shape.drive(None, (None, None));
    let dies = u64::from(shape.channels) * u64::from(shape.dies_per_channel);
    Geometry::new(args.shape.page, args.shape.pages_per_block, dies.max(4), shape.channels, shape.dies_per_channel)?;
    let page = u64::from(args.shape.page.max(1));
    if args.size == 0 || !args.size.is_multiple_of(page) {
        let right = args.size.checked_next_multiple_of(page).unwrap_or(page).max(page);
        return Err(Failure::Input(format!(
            "--size: {} bytes are not a whole number of pages of {}; use {right}",
            args.size,
            size::show(page)
        )));
    }
    let pages = args.size / page;
    let too_many = || {
        Failure::Input(format!(
            "--size {} is too large, because page numbers have 32 bits; use a smaller one",
            size::show(args.size)
        ))
    };
    let logical_pages = u32::try_from(pages).map_err(|_| too_many())?;
    let config = Config::new(preset.name, composition, logical_pages, args.shape.seed);
    let geometry = geometry(args, logical_pages).map_err(|failure| too_small(args, &config).unwrap_or(failure))?;
    check_logical_pages(&geometry, args.shape.ratio)?;
    memory::affordable(&geometry)?;
    config.composition.check_on(&geometry, logical_pages)?;
    Ok((geometry, config))
}

/// The flash that so many logical pages take.
fn geometry(args: &Args, logical_pages: u32) -> Outcome<Geometry> {
    let (page, per_block) = (u64::from(args.shape.page), u64::from(args.shape.pages_per_block.max(1)));
    let physical = (f64::from(logical_pages) / args.shape.ratio).ceil() as u64;
    let capacity = physical.div_ceil(per_block).saturating_mul(per_block).saturating_mul(page);
    Ok(args.shape.drive(Some(capacity), (None, None)).geometry(capacity)?)
}

/// A size that can be asked for as it is written.
fn exact(bytes: u64) -> String {
    match bytes {
        // A fraction of two digits is exact.
        _ if bytes >= 1 << 20 && (bytes * 100).is_multiple_of(1 << 20) => {
            format!("{} MiB", bytes as f64 / f64::from(1 << 20))
        }
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// Logical pages up to which sizes are tried.
const TRIED_PAGES_MAX: u64 = 1 << 22;

/// What to say where a larger drive of this kind would fit: from which size on, in whole blocks. By trying.
fn too_small(args: &Args, config: &Config) -> Option<Failure> {
    let per_block = u64::from(args.shape.pages_per_block);
    let fits = |blocks: u64| {
        let logical_pages = (blocks * per_block) as u32;
        geometry(args, logical_pages).is_ok_and(|geometry| {
            let config = Config { logical_pages, ..config.clone() };
            comes_up(&geometry, &config).is_ok()
        })
    };
    let (mut too_few, mut enough) = (u64::from(config.logical_pages) / per_block, 1);
    while enough <= too_few || !fits(enough) {
        too_few = too_few.max(enough);
        enough = enough.checked_mul(2).filter(|blocks| blocks * per_block <= TRIED_PAGES_MAX)?;
    }
    while enough - too_few > 1 {
        let between = too_few.midpoint(enough);
        *if fits(between) { &mut enough } else { &mut too_few } = between;
    }
    Some(Failure::Input(format!(
        "--size {} is too small for {} at ratio {}; use at least {}{}",
        size::show(args.size),
        config.name,
        args.shape.ratio,
        exact(enough * per_block * u64::from(args.shape.page)),
        if args.shape.cache.is_none() && config.composition.has_cache() { ", or a smaller --cache" } else { "" }
    )))
}

/// Makes the drive on the flash, gives the image its name, and closes it.
fn formatted(mut nand: ImageNand, making: &Path, args: &Args, config: &Config) -> Outcome {
    let path = &args.image;
    let refused = |error: FtlError, geometry: &Geometry| match error {
        FtlError::DoesNotFit { .. } => {
            too_small(args, config).unwrap_or_else(|| Failure::Input(does_not_fit(geometry, config, &error)))
        }
        FtlError::Unsupported(why) => Failure::Input(why.to_string()),
        other => Failure::Failed(format!("{}: {other}", path.display())),
    };
    let done = nand
        .format()
        .and_then(|(mut ftl, ready)| ftl.close(&mut nand, ready))
        .map_err(|error| refused(error, nand.geometry()));
    // Where the file could not be written the FTL knows only that it failed.
    if let Some(error) = nand.failure() {
        return Err(Failure::Failed(format!("{}: {error}", path.display())));
    }
    done?;
    let failed = |error: ImageError| Failure::Failed(format!("{}: {error}", path.display()));
    ImageFile::rename(making, path).map_err(|error| image_failure(path, &error))?;
    let closed = ImageFile::sync_with_name(path).and_then(|()| nand.close().map(drop));
    closed.map_err(|error| {
        // The name is its own by now.
        let _ = std::fs::remove_file(path);
        failed(error)
    })
}
