//! The plot of the merge queue's policies against the bound, as a small SVG.

use windlass_core::queue::Policy;

use super::queue::{Row, saturated};

const BAD: f64 = 0.05;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 50.0;
const GROUP: f64 = 150.0;
const BAR: f64 = 24.0;

/// Bars of landed changes per test time at a bad rate of five in a hundred, one group for each number of slots.
pub fn svg(rows: &[Row]) -> String {
    let shown = |row: &&Row| row.weather.bad == BAD && row.weather.flake == 0.0 && saturated(&row.weather);
    let rows: Vec<&Row> = rows.iter().filter(shown).collect();
    let most = rows.iter().map(|row| row.bound).fold(1.0, f64::max);
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"680\" height=\"340\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"680\" height=\"340\" fill=\"#ffffff\"/>\n\
         <text x=\"50\" y=\"18\">Changes landed per test time; 5 % bad, 32 waiting. Serial, batch, chain, ladder; red: bound</text>\n",
    );
    let mut left = LEFT;
    for slots in [1, 2, 4, 8] {
        let of_slots: Vec<&&Row> = rows.iter().filter(|row| row.weather.slots == slots).collect();
        group(&mut out, &of_slots, left, most);
        out.push_str(&format!("<text x=\"{left}\" y=\"320\">{slots} slots</text>\n"));
        left += GROUP;
    }
    out.push_str("</svg>\n");
    out
}

fn group(out: &mut String, rows: &[&&Row], left: f64, most: f64) {
    let mut x = left;
    for row in rows {
        let height = row.landed_per_t / most * HEIGHT;
        let (top, label) = (300.0 - height, 296.0 - height);
        out.push_str(&format!(
            "<rect x=\"{x}\" y=\"{top:.1}\" width=\"{BAR}\" height=\"{height:.1}\" fill=\"{}\"><title>{}</title>\
             </rect>\n<text x=\"{x}\" y=\"{label:.1}\">{:.1}</text>\n",
            colour(row.weather.policy),
            row.weather.policy.word(),
            row.landed_per_t
        ));
        x += BAR + 4.0;
    }
    if let Some(row) = rows.first() {
        let top = 300.0 - row.bound / most * HEIGHT;
        let right = x - 4.0;
        out.push_str(&format!(
            "<line x1=\"{left}\" y1=\"{top:.1}\" x2=\"{right}\" y2=\"{top:.1}\" stroke=\"#c00000\"/>\n"
        ));
    }
}

fn colour(policy: Policy) -> &'static str {
    match policy {
        Policy::Serial => "#b0b0b0",
        Policy::Batch => "#8fa8c8",
        Policy::Chain => "#5b83b8",
        Policy::Ladder => "#1f5a99",
    }
}
