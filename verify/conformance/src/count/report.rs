// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counts of two devices as a table, and those of operations that enter the kernel beside the system calls alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// What was counted, in the order in which it is shown: operation and instructions.
pub type Counts = Vec<(String, u64)>;

/// An operation with its counts.
#[derive(Serialize)]
pub struct Row {
    operation: String,
    driver: u64,
    ntux: u64,
    /// The system calls that ntux makes, alone, if this was counted.
    floor: Option<u64>,
}

/// The operations that driver and ntux have.
pub fn rows(driver: &Counts, ntux: &Counts, floor: &Counts) -> Vec<Row> {
    let by_name = |counts: &Counts| counts.iter().cloned().collect::<BTreeMap<_, _>>();
    let (ntux, floor) = (by_name(ntux), by_name(floor));
    let row = |(operation, driver): &(String, u64)| {
        let (ntux, floor) = (*ntux.get(operation)?, floor.get(operation).copied());
        Some(Row { operation: operation.clone(), driver: *driver, ntux, floor })
    };
    driver.iter().filter_map(row).collect()
}

/// The table "user space against the driver", and the one of the floor, in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("| operation | driver | ntux | ratio |\n| --- | ---: | ---: | ---: |\n");
    for Row { operation, driver, ntux, .. } in rows {
        let ratio = *driver as f64 / (*ntux).max(1) as f64;
        let _ = writeln!(text, "| {operation} | {driver} | {ntux} | {ratio:.1} |");
    }
    text.push_str(
        "\n| operation | driver | its system calls alone | ntux | besides | ntux / driver | system calls / driver |\n",
    );
    text.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for Row { operation, driver, ntux, floor } in rows {
        let Some(floor) = floor else { continue };
        let [whole, calls] = [ntux, floor].map(|count| *count as f64 / (*driver).max(1) as f64);
        let besides = *ntux as i64 - *floor as i64;
        let _ = writeln!(text, "| {operation} | {driver} | {floor} | {ntux} | {besides} | {whole:.2} | {calls:.2} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, u64)]) -> Counts {
        list.iter().map(|(name, count)| (name.to_string(), *count)).collect()
    }

    #[test]
    fn a_row_for_each_operation_that_both_have() {
        let text = table(&rows(&counts(&[("set", 300), ("only here", 1)]), &counts(&[("set", 100)]), &counts(&[])));
        assert!(text.contains("| set | 300 | 100 | 3.0 |\n") && !text.contains("only here"), "{text}");
    }

    #[test]
    fn an_operation_stands_beside_the_system_calls_that_it_makes() {
        let (driver, ntux) = (counts(&[("set", 300), ("wake", 1000)]), counts(&[("set", 100), ("wake", 1500)]));
        let text = table(&rows(&driver, &ntux, &counts(&[("wake", 1200)])));
        assert!(text.ends_with("| wake | 1000 | 1200 | 1500 | 300 | 1.50 | 1.20 |\n"), "{text}");
        assert_eq!(text.matches("| set |").count(), 1, "{text}");
    }
}
