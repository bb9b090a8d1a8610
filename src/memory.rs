//! How much memory there is, and what becomes of it when it is freed.

/// Bytes that can be had without swapping; `None` where the system does not tell.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The GiB needed and the GiB that are free, where so many bytes are more than `times` as many as are free.
pub fn shortage(bytes: f64, times: f64) -> Option<(f64, f64)> {
    let free = available()? as f64;
    let gib = |bytes: f64| bytes / 1024f64.powi(3);
    (bytes > times * free).then(|| (gib(bytes), gib(free)))
}

/// Has the allocator keep what is freed, up to 64 MiB for each thread; for programs, at their start.
///
/// glibc gives large blocks back to the system, and pages that are asked for again are cleared again: up to a tenth of the time of
/// a construction, whose tables have some MiB. It keeps twice the largest block that was freed so far, up to blocks of 32 MiB:
/// such a block is asked for and freed here; its pages are never touched. Other allocators are left as they are.
pub fn keep_freed() {
    let largest = (32 << 20) - (64 << 10);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(largest)));
}
