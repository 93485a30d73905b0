//! Columns for people.

/// Rows under headings, each column as wide as it needs; the last one is not padded.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(heading.chars().count())
    };
    let widths: Vec<usize> =
        headings.iter().enumerate().map(|(column, heading)| width(column, heading)).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(headings.to_vec());
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_aligned_and_nothing_trails() {
        let rows = vec![vec!["a".to_owned(), "ä".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(super::table(&["N", "LAST"], &rows), "N     LAST\na     ä\nlong\n");
    }
}
