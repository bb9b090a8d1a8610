//! What a run tells while it works, always on standard error.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Without a terminal, lines are at least this far apart.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Tells how far a run is and how long it will take. Time left is predicted from the costs of cells, not their number.
pub struct Progress {
    total: usize,
    threads: usize,
    total_seconds: f64,
    started: Instant,
    display: Display,
    state: Mutex<State>,
}

enum Display {
    Bar(ProgressBar),
    Lines,
    Silent,
}

struct State {
    cells: usize,
    seconds: f64,
    last_line: Instant,
}

impl Progress {
    /// Starts to tell of `total` cells that are predicted to take `total_seconds` of one core; of none, and when `quiet`, it
    /// tells nothing.
    pub fn start(total: usize, total_seconds: f64, threads: usize, quiet: bool) -> Self {
        let now = Instant::now();
        let state = Mutex::new(State { cells: 0, seconds: 0.0, last_line: now });
        let display = match (quiet || total == 0, std::io::stderr().is_terminal()) {
            (true, _) => Display::Silent,
            (false, true) => Display::Bar(bar()),
            (false, false) => Display::Lines,
        };
        let progress = Self { total, threads, total_seconds, started: now, display, state };
        progress.show(&format!(
            "computing {} on {}, {}",
            count(total, "cell"),
            count(threads, "thread"),
            about(progress.left(0.0, Duration::ZERO))
        ));
        progress
    }

    /// A cell that was predicted to take `seconds` is finished, well or not.
    pub fn finished(&self, seconds: f64) {
        let Ok(mut state) = self.state.lock() else { return };
        state.cells += 1;
        state.seconds += seconds;
        let left = self.left(state.seconds, self.started.elapsed());
        let text = format!("{} of {}, {} left", state.cells, count(self.total, "cell"), about(left));
        match &self.display {
            Display::Bar(bar) => {
                bar.set_position((1000.0 * state.seconds / self.total_seconds).min(1000.0) as u64);
                bar.set_message(text);
            }
            Display::Lines if state.cells < self.total && state.last_line.elapsed() >= BETWEEN_LINES => {
                state.last_line = Instant::now();
                tell(&text);
            }
            Display::Lines | Display::Silent => {}
        }
    }

    /// Says something at once, without damage to the bar.
    pub fn say(&self, text: &str) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| tell(text)),
            Display::Lines => tell(text),
            Display::Silent => {}
        }
    }

    /// Ends the bar and says how long it took.
    pub fn end(&self) {
        let cells = self.state.lock().map_or(0, |state| state.cells);
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
        if !matches!(self.display, Display::Silent) {
            tell(&format!("{} in {}", count(cells, "cell"), duration(self.started.elapsed().as_secs_f64())));
        }
    }

    fn show(&self, text: &str) {
        match &self.display {
            Display::Bar(bar) => bar.set_message(text.to_owned()),
            Display::Lines => tell(text),
            Display::Silent => {}
        }
    }

    /// Predicted seconds until all is done: what is left, at the speed so far.
    fn left(&self, done_seconds: f64, elapsed: Duration) -> f64 {
        let left = (self.total_seconds - done_seconds).max(0.0);
        let speed = if done_seconds > 0.0 && !elapsed.is_zero() {
            done_seconds / elapsed.as_secs_f64()
        } else {
            self.threads.min(self.total.max(1)) as f64
        };
        left / speed
    }
}

/// Writes a line to standard error; when nobody reads it any more, that stops nothing.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}

/// Text as a terminal may have it: control characters, which names in a file may hold, are written out; a line may still end.
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |letter| letter.escape_default().to_string())
}

/// The same for JSON, which stays JSON of the same content.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    written_out(text, |letter| format!("\\u{:04x}", u32::from(letter)))
}

fn written_out(text: &str, escaped: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) { shown.push_str(&escaped(letter)) } else { shown.push(letter) }
    }
    Cow::Owned(shown)
}

/// Control characters, and those that turn the direction of what follows.
fn is_hidden(letter: char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (letter.is_control() && letter != '\n' && letter != '\t')
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {elapsed:>4} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A number with its noun: "1 cell", "12 cells".
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A predicted time for people: "about 3 min".
pub fn about(seconds: f64) -> String {
    if seconds < 1.0 { "less than 1 s".to_owned() } else { format!("about {}", duration(seconds)) }
}

/// Seconds for people, in the unit that fits.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 119.5 => format!("{s:.0} s"),
        s if s < 119.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 47.5 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86400.0),
    }
}

/// A number of bytes for people, in the unit that fits.
pub fn bytes(number: f64) -> String {
    match number {
        b if b < 999.5 => format!("{b:.0} B"),
        b if b < 999.5e3 => format!("{:.0} kB", b / 1e3),
        b if b < 999.5e6 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out_and_nothing_else() {
        assert_eq!(visible("a\u{1b}[2Jb\r\u{9b}\u{202e}c\0"), "a\\u{1b}[2Jb\\r\\u{9b}\\u{202e}c\\u{0}");
        let json = serde_json::json!({"name": "a\u{1b}\u{9b}\u{202e}"}).to_string();
        assert!(visible_json(&json).is_ascii());
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&visible_json(&json)).unwrap()["name"],
            "a\u{1b}\u{9b}\u{202e}"
        );
        let plain = "Amélie → 37\n\t'ρ' 日本";
        assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn times_are_in_the_unit_that_fits() {
        let shown: Vec<String> = [0.04, 12.3, 119.0, 120.0, 3600.0, 7200.0, 1e6].map(duration).into();
        assert_eq!(shown, ["0.0 s", "12 s", "119 s", "2 min", "60 min", "2.0 h", "11.6 days"]);
        assert_eq!(about(0.2), "less than 1 s");
        assert_eq!([12.0, 1234.0, 2.5e6, 3.21e9].map(bytes), ["12 B", "1 kB", "2 MB", "3.2 GB"]);
        assert_eq!(count(1, "cell") + &count(2, "cell"), "1 cell2 cells");
    }

    #[test]
    fn of_no_cells_nothing_is_told() {
        assert!(matches!(Progress::start(0, 0.0, 0, false).display, Display::Silent));
        assert!(!matches!(Progress::start(1, 1.0, 1, false).display, Display::Silent));
    }

    #[test]
    fn time_left_follows_costs_and_not_cell_counts() {
        let progress = Progress::start(2, 100.0, 1, true);
        assert!((progress.left(0.0, Duration::ZERO) - 100.0).abs() < 1e-9);
        // The long cell of the two took 180 s instead of the predicted 90 s.
        assert!((progress.left(90.0, Duration::from_secs(180)) - 20.0).abs() < 1e-9);
    }
}
