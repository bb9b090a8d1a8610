//! Figures: one function per figure turns tables into a [`Figure`], and one renderer draws them all.

mod axis;
mod constructions;
mod decodability;
mod fig1;
mod fig2a;
mod fig2b;
mod fig2c;
mod fig3a;
mod fig3b;
mod fig3c;
mod fig4;
mod fig5;
mod fig6;
mod fig9;
mod insertion;
mod noise_floor;
mod render;
pub mod rho_distribution;
mod scaling;
mod storage;

use std::path::Path;

pub use axis::Axis;

use crate::error::{Error, Result, unknown};
use crate::table::Table;

/// Colours that stay apart for colour-blind eyes (Okabe and Ito).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Blue,
    Vermilion,
    Green,
    Purple,
    Grey,
    Orange,
    Sky,
}

/// How points are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Disc,
    Ring,
    Cross,
    None,
}

/// How points are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    None,
    Solid,
    Dashed,
}

/// Points of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Entry in the figure's key; series of several panels with one label share it. Empty: no entry.
    pub label: String,
    pub colour: Colour,
    pub marker: Marker,
    pub line: Line,
    pub points: Vec<(f64, f64)>,
}

/// One system of axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Lines of text between the title and the plot.
    pub notes: Vec<String>,
}

/// Panels side by side under a title, with a key at the right. Fixed size; no date, no random id.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub title: String,
    pub panels: Vec<Panel>,
}

/// The tables that a figure may read, by stage name.
pub type Tables<'a> = dyn Fn(&str) -> Result<Table> + 'a;

/// A named figure.
pub struct Entry {
    pub name: &'static str,
    /// The stages whose tables it reads.
    pub stages: &'static [&'static str],
    pub make: fn(&Tables) -> Result<Figure>,
}

/// Every figure that `pipeline.toml` can name.
pub const FIGURES: [Entry; 15] = [
    Entry { name: "fig1", stages: &["constructions"], make: |tables| fig1::figure(&tables("constructions")?) },
    Entry { name: "fig2b", stages: &["constructions"], make: |tables| fig2b::figure(&tables("constructions")?) },
    Entry { name: "fig2c", stages: &["constructions"], make: |tables| fig2c::figure(&tables("constructions")?) },
    Entry {
        name: "constructions",
        stages: &["constructions"],
        make: |tables| constructions::figure(&tables("constructions")?),
    },
    Entry { name: "fig2a", stages: &["storage_cost"], make: |tables| fig2a::figure(&tables("storage_cost")?) },
    Entry { name: "fig5", stages: &["storage_cost"], make: |tables| fig5::figure(&tables("storage_cost")?) },
    Entry { name: "fig6", stages: &["storage_cost"], make: |tables| fig6::figure(&tables("storage_cost")?) },
    Entry { name: "fig4", stages: &["editing"], make: |tables| fig4::figure(&tables("editing")?) },
    Entry { name: "fig9", stages: &["language"], make: |tables| fig9::figure(&tables("language")?) },
    Entry { name: "fig3a", stages: &["ssfr"], make: |tables| fig3a::figure(&tables("ssfr")?) },
    Entry { name: "fig3b", stages: &["ssfr"], make: |tables| fig3b::figure(&tables("ssfr")?) },
    Entry { name: "fig3c", stages: &["ssfr"], make: |tables| fig3c::figure(&tables("ssfr")?) },
    Entry {
        name: "noise_floor",
        stages: &["noise_floor"],
        make: |tables| noise_floor::figure(&tables("noise_floor")?),
    },
    Entry { name: "insertion", stages: &["insertion"], make: |tables| insertion::figure(&tables("insertion")?) },
    Entry {
        name: "decodability",
        stages: &["decodability"],
        make: |tables| decodability::figure(&tables("decodability")?),
    },
];

/// The figure called `name`.
pub fn find(name: &str) -> Result<&'static Entry> {
    FIGURES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| unknown("figure", name, FIGURES.iter().map(|entry| entry.name)))
}

/// How a figure is kept in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Svg,
    Png,
}

/// The format that the extension of a path stands for.
///
/// # Errors
/// When it is neither `svg` nor `png`.
pub fn format_of(path: &Path) -> Result<Format> {
    match path.extension().unwrap_or_default().to_string_lossy().to_lowercase().as_str() {
        "svg" => Ok(Format::Svg),
        "png" => Ok(Format::Png),
        other => Err(unknown("figure format", other, ["svg", "png"]).at(path.display())),
    }
}

impl Figure {
    /// The figure as the text of an SVG file.
    pub fn svg(&self) -> Result<String> {
        render::svg(self)
    }

    /// Writes the figure to one file; the extension of the path, `svg` or `png`, says how.
    ///
    /// # Errors
    /// When the extension is another one, or the file cannot be written.
    pub fn write_file(&self, path: &Path) -> Result<()> {
        let bytes = match format_of(path)? {
            Format::Svg => self.svg()?.into_bytes(),
            Format::Png => render::png(self)?,
        };
        crate::durable::replace(path, |file| std::io::Write::write_all(file, &bytes))
    }

    /// Writes `NAME.svg` and `NAME.png` into a folder, each whole or not at all.
    pub fn write(&self, folder: &Path, name: &str) -> Result<()> {
        crate::durable::replace(&folder.join(format!("{name}.svg")), |file| {
            std::io::Write::write_all(file, self.svg().map_err(std::io::Error::other)?.as_bytes())
        })?;
        let png = render::png(self)?;
        crate::durable::replace(&folder.join(format!("{name}.png")), |file| std::io::Write::write_all(file, &png))
    }
}

/// The error of a figure for which a table holds nothing.
fn nothing_to_draw(what: &str) -> Error {
    Error::input(format!("there is nothing to draw: {what}")).fix("run a profile whose grid has these cells")
}
