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

/// Sizes in the units of the SVG; a picture in pixels has [`PIXELS`] to the unit.
const PANEL: (u32, u32) = (430, 430);
const TITLE_HEIGHT: u32 = 44;
const HEAD_HEIGHT: u32 = 24;
const NOTE_HEIGHT: u32 = 17;
const KEY_WIDTH: u32 = 260;
const PIXELS: u32 = 2;

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A font that ships with the program is valid; if not, drawing text reports it.
        let _ = register_font(FAMILY, FontStyle::Normal, FONT);
    });
}

/// Lines of notes of the panel that has most: all panels leave that much room.
fn note_lines(figure: &Figure) -> u32 {
    figure.panels.iter().map(|panel| panel.notes.len() as u32).max().unwrap_or(0)
}

fn size(figure: &Figure, scale: u32) -> (u32, u32) {
    let height = TITLE_HEIGHT + HEAD_HEIGHT + note_lines(figure) * NOTE_HEIGHT + PANEL.1;
    (scale * (figure.panels.iter().map(width).sum::<u32>() + KEY_WIDTH), scale * height)
}

/// A panel is as wide as any other but for its labels.
fn width(panel: &Panel) -> u32 {
    (PANEL.0 as i32 + label_width(&panel.y) - NUMBER_WIDTH) as u32
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failure(format!("cannot draw: {error}"))
}

/// The text of an SVG file.
pub fn svg(figure: &Figure) -> Result<String> {
    register();
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size(figure, 1)).into_drawing_area();
        draw(figure, &area, 1).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    Ok(text.replace(&format!("font-family=\"{FAMILY}\""), &format!("font-family=\"{FAMILY}, sans-serif\"")))
}

/// The bytes of a PNG file.
pub fn png(figure: &Figure) -> Result<Vec<u8>> {
    register();
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("figure.png");
    {
        let area = BitMapBackend::new(&path, size(figure, PIXELS)).into_drawing_area();
        draw(figure, &area, PIXELS).map_err(failed)?;
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

fn draw<DB: DrawingBackend>(figure: &Figure, area: &DrawingArea<DB, Shift>, scale: u32) -> Drawn<DB> {
    let k = scale as i32;
    area.fill(&WHITE)?;
    let (title, rest) = area.split_vertically(scale * TITLE_HEIGHT);
    title.draw(&Text::new(figure.title.clone(), (16 * k, 14 * k), text(19 * k, 20)))?;
    let head = scale * (HEAD_HEIGHT + note_lines(figure) * NOTE_HEIGHT);
    let mut rest = rest;
    for panel in &figure.panels {
        let (panel_area, right) = rest.split_horizontally(scale * width(panel));
        rest = right;
        let (head, plot) = panel_area.split_vertically(head);
        draw_head(panel, &head, k)?;
        draw_plot(panel, &plot, area, k)?;
    }
    draw_key(figure, &rest, k)
}

/// Title and notes of a panel, above its plot.
fn draw_head<DB: DrawingBackend>(panel: &Panel, area: &DrawingArea<DB, Shift>, k: i32) -> Drawn<DB> {
    area.draw(&Text::new(panel.title.clone(), (84 * k, 2 * k), text(15 * k, 20)))?;
    for (line, note) in (0..).zip(&panel.notes) {
        let y = (HEAD_HEIGHT as i32 + NOTE_HEIGHT as i32 * line) * k;
        area.draw(&Text::new(note.clone(), (84 * k, y), text(12 * k, 80)))?;
    }
    Ok(())
}

/// `canvas` is the whole picture, whose pixels are those of the backend.
fn draw_plot<DB: DrawingBackend>(
    panel: &Panel,
    area: &DrawingArea<DB, Shift>,
    canvas: &DrawingArea<DB, Shift>,
    k: i32,
) -> Drawn<DB> {
    let mut chart = ChartBuilder::on(area)
        .margin(10 * k)
        .margin_top(4 * k)
        .margin_right(22 * k)
        .x_label_area_size(46 * k)
        .y_label_area_size(label_width(&panel.y) * k)
        .build_cartesian_2d(Ruler::new(&panel.x), Ruler::new(&panel.y))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(228, 228, 228))
        .axis_style(RGBColor(90, 90, 90).stroke_width(k as u32))
        .x_desc(&panel.x.label)
        .y_desc(&panel.y.label)
        .axis_desc_style(text(15 * k, 20))
        .label_style(text(12 * k, 60))
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
        let pixels = points.iter().map(|place| chart.plotting_area().map_coordinate(place));
        marks.extend(pixels.filter_map(|pixel| mark::<DB>(series, pixel, k)));
        let style = colour(series.colour).stroke_width(2 * k as u32);
        match series.line {
            Line::None => {}
            Line::Solid => drop(chart.draw_series(LineSeries::new(points, style))?),
            Line::Dashed => drop(chart.draw_series(DashedLineSeries::new(points, 5 * k, 4 * k, style))?),
        }
    }
    marks.iter().try_for_each(|mark| canvas.draw(mark))
}

/// Room for the numbers of a vertical axis.
const NUMBER_WIDTH: i32 = 74;

/// Room for the labels of a vertical axis: numbers are short, names take about seven units a letter.
fn label_width(axis: &Axis) -> i32 {
    let longest = axis.names.iter().map(|name| name.chars().count() as i32).max();
    longest.map_or(NUMBER_WIDTH, |letters| 7 * letters + 12)
}

/// A mark at a pixel.
fn mark<'a, DB: DrawingBackend + 'a>(
    series: &Series,
    place: (i32, i32),
    k: i32,
) -> Option<DynElement<'a, DB, (i32, i32)>> {
    let colour = colour(series.colour);
    let stroke = colour.stroke_width(2 * k as u32);
    Some(match series.marker {
        Marker::None => return None,
        Marker::Disc => Circle::new(place, 4 * k, colour.filled()).into_dyn(),
        Marker::Ring => Circle::new(place, 5 * k, stroke).into_dyn(),
        Marker::Cross => Cross::new(place, 5 * k, stroke).into_dyn(),
    })
}

/// One entry per label that has points, in order of first appearance.
fn draw_key<DB: DrawingBackend>(figure: &Figure, area: &DrawingArea<DB, Shift>, k: i32) -> Drawn<DB> {
    let mut entries: Vec<&Series> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        let is_shown = !series.label.is_empty() && !series.points.is_empty();
        if is_shown && entries.iter().all(|entry| entry.label != series.label) {
            entries.push(series);
        }
    }
    let mut y = (HEAD_HEIGHT as i32 + 10) * k;
    for series in entries {
        let style = colour(series.colour).stroke_width(2 * k as u32);
        let dashes: &[(i32, i32)] = match series.line {
            Line::None => &[],
            Line::Solid => &[(4, 32)],
            Line::Dashed => &[(4, 10), (14, 20), (24, 30)],
        };
        for (from, to) in dashes {
            area.draw(&PathElement::new(vec![(from * k, y), (to * k, y)], style))?;
        }
        if let Some(mark) = mark::<DB>(series, (18 * k, y), k) {
            area.draw(&mark)?;
        }
        for line in series.label.split('\n') {
            let style = text(13 * k, 20).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(line.to_owned(), (42 * k, y), style))?;
            y += 17 * k;
        }
        y += 9 * k;
    }
    Ok(())
}
