//! Draws a [`Figure`]: the only code that knows plotters.

use std::sync::Once;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Circle, Cross, DynElement, IntoDynElement, PathElement};
use plotters::prelude::*;
use plotters::series::DashedLineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series};
use crate::error::{Error, Result};

/// The font lies in the program, so that no system font is needed and pictures look the same everywhere.
static FONT: &[u8] = include_bytes!("font/DejaVuSans.ttf");
const FAMILY: &str = "DejaVu Sans";

const PANEL: (u32, u32) = (430, 430);
const TITLE_HEIGHT: u32 = 44;
const KEY_WIDTH: u32 = 250;

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A font that ships with the program is valid; if not, drawing text reports it.
        let _ = register_font(FAMILY, FontStyle::Normal, FONT);
    });
}

fn size(figure: &Figure) -> (u32, u32) {
    (PANEL.0 * figure.panels.len() as u32 + KEY_WIDTH, PANEL.1 + TITLE_HEIGHT)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failure(format!("cannot draw: {error}"))
}

/// The text of an SVG file.
pub fn svg(figure: &Figure) -> Result<String> {
    register();
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size(figure)).into_drawing_area();
        draw(figure, &area).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    Ok(text.replace(&format!("font-family=\"{FAMILY}\""), &format!("font-family=\"{FAMILY}, sans-serif\"")))
}

/// The bytes of a PNG file, at twice the size of the SVG's units.
pub fn png(figure: &Figure) -> Result<Vec<u8>> {
    register();
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("figure.png");
    {
        let area = BitMapBackend::new(&path, size(figure)).into_drawing_area();
        draw(figure, &area).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    std::fs::read(&path).map_err(|error| Error::io("read", &path, &error))
}

fn colour(colour: Colour) -> RGBColor {
    match colour {
        Colour::Blue => RGBColor(0, 114, 178),
        Colour::Vermilion => RGBColor(213, 94, 0),
        Colour::Green => RGBColor(0, 158, 115),
        Colour::Purple => RGBColor(204, 121, 167),
        Colour::Grey => RGBColor(110, 110, 110),
        Colour::Orange => RGBColor(230, 159, 0),
        Colour::Sky => RGBColor(86, 180, 233),
    }
}

fn text(size: i32, shade: u8) -> TextStyle<'static> {
    (FAMILY, size).into_font().color(&RGBColor(shade, shade, shade))
}

/// An axis as plotters wants it: places from low to high, with ticks of our own.
struct Ruler {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Ruler {
    fn new(axis: &Axis) -> Self {
        Self { low: axis.place(axis.low), high: axis.place(axis.high), ticks: axis.ticks() }
    }
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }
}

type Drawn<DB> = std::result::Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn draw<DB: DrawingBackend>(figure: &Figure, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    area.fill(&WHITE)?;
    let (title, rest) = area.split_vertically(TITLE_HEIGHT);
    title.draw(&Text::new(figure.title.clone(), (16, 12), text(19, 20)))?;
    let (panels, key) = rest.split_horizontally(PANEL.0 * figure.panels.len() as u32);
    for (panel, panel_area) in figure.panels.iter().zip(panels.split_evenly((1, figure.panels.len().max(1)))) {
        draw_panel(panel, &panel_area, area)?;
    }
    draw_key(figure, &key)
}

/// `canvas` is the whole picture, whose pixels are those of the backend.
fn draw_panel<DB: DrawingBackend>(
    panel: &Panel,
    area: &DrawingArea<DB, Shift>,
    canvas: &DrawingArea<DB, Shift>,
) -> Drawn<DB> {
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(22)
        .caption(&panel.title, text(15, 40))
        .x_label_area_size(46)
        .y_label_area_size(72)
        .build_cartesian_2d(Ruler::new(&panel.x), Ruler::new(&panel.y))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(228, 228, 228))
        .axis_style(RGBColor(90, 90, 90))
        .x_desc(&panel.x.label)
        .y_desc(&panel.y.label)
        .axis_desc_style(text(15, 20))
        .label_style(text(12, 60))
        .x_label_formatter(&|place| panel.x.tick_label(*place))
        .y_label_formatter(&|place| panel.y.tick_label(*place))
        .draw()?;
    let mut marks = Vec::new();
    for series in &panel.series {
        let points: Vec<(f64, f64)> = series
            .points
            .iter()
            .filter(|(x, y)| panel.x.holds(*x) && panel.y.holds(*y))
            .map(|(x, y)| (panel.x.place(*x), panel.y.place(*y)))
            .collect();
        let style = colour(series.colour).stroke_width(2);
        match series.line {
            Line::None => {}
            Line::Solid => drop(chart.draw_series(LineSeries::new(points.iter().copied(), style))?),
            Line::Dashed => drop(chart.draw_series(DashedLineSeries::new(points.iter().copied(), 5, 4, style))?),
        }
        let pixels = points.iter().map(|place| chart.plotting_area().map_coordinate(place));
        marks.extend(pixels.filter_map(|pixel| mark::<DB>(series, pixel)));
    }
    for mark in &marks {
        canvas.draw(mark)?;
    }
    draw_notes(panel, chart.plotting_area())
}

fn draw_notes<DB: DrawingBackend, X, Y>(panel: &Panel, area: &DrawingArea<DB, Cartesian2d<X, Y>>) -> Drawn<DB>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let plot = area.strip_coord_spec();
    let (_, height) = plot.dim_in_pixel();
    let count = panel.notes.len() as i32;
    for (line, note) in (0..).zip(&panel.notes) {
        let y = if panel.notes_at_top { 8 + 17 * line } else { height as i32 - 8 - 17 * (count - line) };
        plot.draw(&Text::new(note.clone(), (10, y), text(12, 60)))?;
    }
    Ok(())
}

/// A mark at a pixel.
fn mark<'a, DB: DrawingBackend + 'a>(series: &Series, place: (i32, i32)) -> Option<DynElement<'a, DB, (i32, i32)>> {
    let colour = colour(series.colour);
    Some(match series.marker {
        Marker::None => return None,
        Marker::Disc => Circle::new(place, 4, colour.filled()).into_dyn(),
        Marker::Ring => Circle::new(place, 4, colour.stroke_width(2)).into_dyn(),
        Marker::Cross => Cross::new(place, 5, colour.stroke_width(2)).into_dyn(),
    })
}

/// One entry per label, in order of first appearance.
fn draw_key<DB: DrawingBackend>(figure: &Figure, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let mut entries: Vec<&Series> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        if !series.label.is_empty() && entries.iter().all(|entry| entry.label != series.label) {
            entries.push(series);
        }
    }
    let mut y = 46;
    for series in entries {
        let style = colour(series.colour).stroke_width(2);
        match series.line {
            Line::None => {}
            Line::Solid => area.draw(&PathElement::new(vec![(4, y), (32, y)], style))?,
            Line::Dashed => {
                for x in [4, 14, 24] {
                    area.draw(&PathElement::new(vec![(x, y), (x + 6, y)], style))?;
                }
            }
        }
        if let Some(mark) = mark::<DB>(series, (18, y)) {
            area.draw(&mark)?;
        }
        for line in series.label.split('\n') {
            let style = text(13, 20).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(line.to_owned(), (40, y), style))?;
            y += 17;
        }
        y += 8;
    }
    Ok(())
}
