//! How much memory there is, how it is cached, and what becomes of it when it is freed.

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

/// Levels of the first processor's cache; 0 where the system does not tell.
pub fn levels_of_cache() -> u32 {
    let level = |index: usize| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/level");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    (0..).map_while(level).max().unwrap_or(0)
}

/// Has the allocator keep some of what is freed; for programs, at their start.
///
/// glibc gives what is freed back to the system, at first above 128 KiB, and pages that are asked for again are cleared again: where
/// a construction's tables have about a MiB that was 5 to 8 % of its time. Once a block of its own pages is freed, blocks
/// below its size are kept, and up to twice its size for each thread. A block of 4 MiB is asked for and freed here, and
/// nothing is written to it. Other allocators are left as they are.
pub fn keep_freed() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(4 << 20)));
}
