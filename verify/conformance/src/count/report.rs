//! The counts of two devices as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

/// What was counted, in the order in which it is shown: operation and instructions.
pub type Counts = Vec<(String, u64)>;

/// An operation with its counts: on the driver, on ntux.
pub type Row = (String, u64, u64);

/// The operations that both have.
pub fn both(driver: &Counts, user: &Counts) -> Vec<Row> {
    let user: BTreeMap<_, _> = user.iter().cloned().collect();
    let rows = driver.iter().map(|(operation, count)| Some((operation.clone(), *count, *user.get(operation)?)));
    rows.flatten().collect()
}

/// The table "user space against the driver", in Markdown.
pub fn table(driver: &Counts, user: &Counts) -> String {
    let mut text = String::from("| operation | driver | ntux | ratio |\n| --- | ---: | ---: | ---: |\n");
    for (operation, driver, user) in both(driver, user) {
        let ratio = driver as f64 / user.max(1) as f64;
        let _ = writeln!(text, "| {operation} | {driver} | {user} | {ratio:.1} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_operation_that_both_have() {
        let counts = |list: &[(&str, u64)]| list.iter().map(|(name, count)| (name.to_string(), *count)).collect();
        let text = table(&counts(&[("set", 300), ("only here", 1)]), &counts(&[("set", 100)]));
        assert!(text.ends_with("| set | 300 | 100 | 3.0 |\n"), "{text}");
    }
}
