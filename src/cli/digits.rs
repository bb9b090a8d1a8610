//! Numbers for people.

/// A number with `digits` digits that mean something, whatever its size.
pub fn significant(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let power = number.abs().log10().floor() as i32;
    if (-4..7).contains(&power) {
        format!("{number:.0$}", (digits as i32 - 1 - power).max(0) as usize)
    } else {
        format!("{number:.0$e}", digits - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_numbers_keep_their_digits() {
        for (number, wanted) in [
            (2.4321, "2.43"),
            (0.25266, "0.253"),
            (0.00031415, "0.000314"),
            (1.5e-9, "1.50e-9"),
            (31234.0, "31234"),
            (4.2e12, "4.20e12"),
            (-17.26, "-17.3"),
            (0.0, "0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(significant(number, 3), wanted);
        }
    }
}
