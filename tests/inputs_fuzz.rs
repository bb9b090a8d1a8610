//! Damaged inputs of every format: no panic, no allocation out of proportion to the file, an answer at once.
//!
//! `FACTSMITH_FUZZ=1000000 cargo test --release --test inputs_fuzz` tries that many inputs of all formats together; without
//! the variable a few seconds' worth.

#[path = "inputs/fixtures.rs"]
mod fixtures;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use factsmith::facts::files::fact_map::{FactMap, Side};
use factsmith::facts::files::names::Names;
use factsmith::facts::files::rows::Pick;
use factsmith::facts::files::{Format, TableFile};
use factsmith::rng::{Rng, StreamName};
use factsmith::table::{Record, Table};
use rand::RngExt;
use zip::CompressionMethod;

use fixtures::*;

/// The system's allocator, which remembers how much is allocated and the most that ever was.
struct Watched;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// What reading a damaged file may take: readers have buffers of their own, and a byte may stand for a few numbers.
fn allowance(length: usize) -> usize {
    (512 << 10) + 128 * length
}

/// How to read the bytes of a file.
type Read = Box<dyn Fn(Vec<u8>) -> factsmith::error::Result<()>>;

/// A valid file, and how it is read.
struct Case {
    name: &'static str,
    /// Share of all inputs.
    weight: usize,
    bytes: Vec<u8>,
    read: Read,
}

fn table_of(format: Format, member: Option<&'static str>) -> Read {
    Box::new(move |bytes| TableFile::from_bytes(format, bytes, member)?.pick(&Pick::all()).map(drop))
}

fn facts_of(format: Format) -> Read {
    let words = ["Paris", "Tokyo", "Rome"].map(str::to_owned).to_vec();
    let names = Names::new(words, 3).unwrap();
    Box::new(move |bytes| {
        FactMap::from_bytes(bytes, format, Side::keys(8, None), Side::values(3, Some(&names))).map(drop)
    })
}

fn cases() -> Vec<Case> {
    let table = table(6, 4);
    let array = npy(&table, F64, false, false);
    let single = npy(&table, F32, false, false);
    let other = npy(&table, F16, true, true);
    let both = [("keys.npy", &other[..]), ("values.npy", &array[..])];
    let facts = b"key,value\n0,Paris\n1,Tokyo\n2,Rome\n3,Paris\n".to_vec();
    let records =
        [(0usize, "Paris"), (5, "Rome")].map(|(key, value)| Record::new().with("key", key).with("value", value));
    let case = |name, weight, bytes, read| Case { name, weight, bytes, read };
    vec![
        case("npy", 20, array.clone(), table_of(Format::Npy, None)),
        case("npy by columns", 10, other.clone(), table_of(Format::Npy, None)),
        case("npz stored", 10, zip(&both, CompressionMethod::Stored), table_of(Format::Npz, Some("values"))),
        case("npz deflated", 10, zip(&[("a.npy", &single)], CompressionMethod::Deflated), table_of(Format::Npz, None)),
        case(
            "safetensors",
            20,
            safetensors("embed", "F16", "[6,4]", &words(&table, F16.encode)),
            table_of(Format::Safetensors, None),
        ),
        case("csv", 10, separated(&table, ","), table_of(Format::Csv, None)),
        case("parquet list", 6, parquet_list(&table, 4), table_of(Format::Parquet, None)),
        case(
            "parquet vectors with names",
            3,
            parquet_named_vectors(&table, &["word"; 6]),
            table_of(Format::Parquet, None),
        ),
        case("parquet columns", 6, parquet_columns(&table), table_of(Format::Parquet, None)),
        case("facts csv", 6, facts, facts_of(Format::Csv)),
        case(
            "facts parquet",
            2,
            Table::from_records(&records).unwrap().to_parquet_bytes().unwrap(),
            facts_of(Format::Parquet),
        ),
    ]
}

/// Damages a file in one of the ways that get past the first check.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    if bytes.is_empty() {
        return;
    }
    let place = rng.random_range(0..bytes.len());
    match rng.random_range(0..9) {
        0 => bytes[place] ^= 1 << rng.random_range(0..8),
        1 => bytes[place] = rng.random(),
        2 => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][rng.random_range(0..5)],
        3 => bytes.truncate(place),
        4 => {
            let word =
                [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX, 1 << 40, 1 << 62][rng.random_range(0..8)];
            let width = [2, 4, 8][rng.random_range(0..3)].min(bytes.len() - place);
            bytes[place..place + width].copy_from_slice(&word.to_le_bytes()[..width]);
        }
        5 => {
            let stop = (place + rng.random_range(1..40)).min(bytes.len());
            let piece = bytes[place..stop].to_vec();
            let target = rng.random_range(0..bytes.len());
            bytes.splice(target..target, piece);
        }
        6 => drop(bytes.drain(place..(place + rng.random_range(1..20)).min(bytes.len()))),
        7 => replace_digits(bytes, place, rng),
        _ => {
            let punctuation = b"{}[](),:'\"\n\t 0-.eL";
            bytes.insert(place, punctuation[rng.random_range(0..punctuation.len())]);
        }
    }
}

/// Replaces the next number in text by an extreme one.
fn replace_digits(bytes: &mut Vec<u8>, from: usize, rng: &mut Rng) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = bytes[from..].iter().position(is_digit).map(|start| from + start) else { return };
    let length = bytes[start..].iter().take_while(|byte| is_digit(byte)).count();
    let extremes: [&[u8]; 6] =
        [b"0", b"1", b"99999999", b"2147483648", b"9223372036854775807", b"18446744073709551616"];
    bytes.splice(start..start + length, extremes[rng.random_range(0..extremes.len())].iter().copied());
}

/// What came of the inputs of a case.
#[derive(Default)]
struct Outcome {
    inputs: usize,
    read: usize,
    most: usize,
    slowest: Duration,
}

fn attack(case: &Case, inputs: usize) -> Outcome {
    (case.read)(case.bytes.clone()).unwrap_or_else(|error| panic!("the undamaged {} is refused: {error}", case.name));
    let mut rng = StreamName::new("fuzz").with(case.bytes.len() as u64).rng();
    let mut outcome = Outcome { inputs, ..Outcome::default() };
    for _ in 0..inputs {
        let mut bytes = case.bytes.clone();
        for _ in 0..rng.random_range(1..5) {
            damage(&mut bytes, &mut rng);
        }
        let kept = bytes.clone();
        let before = ALLOCATED.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let start = Instant::now();
        match (case.read)(bytes) {
            Ok(()) => outcome.read += 1,
            Err(error) => assert_eq!(error.exit_code(), 2, "{}: {error}\n{kept:?}", case.name),
        }
        let (took, allocated) = (start.elapsed(), MOST.load(Ordering::Relaxed).saturating_sub(before));
        assert!(allocated <= allowance(kept.len()), "{}: {allocated} bytes were allocated\n{kept:?}", case.name);
        assert!(took < Duration::from_secs(5), "{} took {took:?}\n{kept:?}", case.name);
        outcome.most = outcome.most.max(allocated);
        outcome.slowest = outcome.slowest.max(took);
    }
    outcome
}

/// One test, because the allocator counts what all threads of the process do.
#[test]
fn damaged_files_end_in_an_error_or_a_table() {
    let total: usize = std::env::var("FACTSMITH_FUZZ").map_or(30_000, |text| text.parse().expect("a number of inputs"));
    for case in cases() {
        let start = Instant::now();
        let found = attack(&case, total * case.weight / 100);
        println!(
            "{:16} {:8} inputs, {:7} read, at most {:7} bytes allocated, slowest {:.1?}, {:.1?} in all",
            case.name,
            found.inputs,
            found.read,
            found.most,
            found.slowest,
            start.elapsed()
        );
    }
}
