//! How much memory there is.

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
