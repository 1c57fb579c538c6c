//! Builds the frame of an HTML page, and the elements that all reports share.

use std::ops::Range;

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Encoding of the page. The `meta` element ends with a slash, so that the page is also well-formed XML.
const ENCODING: PreEscaped<&str> = PreEscaped("<meta charset=\"utf-8\"/>");
const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));
/// Width of a bar of a sparkline, including the gap after it, and height of the sparkline, in SVG units.
const SPARK: (usize, u64) = (6, 20);

/// Section of an HTML page.
pub struct Section {
    pub id: String,
    pub title: String,
    pub body: Markup,
}

impl Section {
    pub fn new(id: impl Into<String>, title: impl Into<String>, body: Markup) -> Self {
        Self { id: id.into(), title: title.into(), body }
    }
}

/// Returns a complete HTML file: title, head, links to the sections, and the sections.
pub fn page(title: &str, head: &Markup, sections: &[Section]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (ENCODING)
                title { (title) }
                style { (STYLE) }
            }
            body {
                header {
                    h1 { (title) }
                    p.quiet { "warpsieve " (env!("CARGO_PKG_VERSION")) }
                    (head)
                }
                nav {
                    @for Section { id, title, .. } in sections { a href={ "#" (id) } { (title) } " " }
                }
                main {
                    @for Section { id, title, body } in sections { section id=(id) { h2 { (title) } (body) } }
                }
            }
        }
    };
    // XML forbids most control characters, even escaped, but a file name may contain any.
    let is_legal = |c: char| matches!(c, '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'..);
    let legal: String = page.0.chars().map(|c| if is_legal(c) { c } else { char::REPLACEMENT_CHARACTER }).collect();
    legal + "\n"
}

/// Returns a table. The columns with indices in the range `numbers` are aligned like numbers, and all other
/// columns like text.
pub fn table(id: &str, head: &[&str], numbers: &Range<usize>, rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.wide {
            table id=(id) {
                thead { tr { @for (at, cell) in head.iter().enumerate() { th.n[numbers.contains(&at)] { (cell) } } } }
                tbody {
                    @for row in rows {
                        tr { @for (at, cell) in row.iter().enumerate() { td.n[numbers.contains(&at)] { (cell) } } }
                    }
                }
            }
        }
    }
}

/// Returns a table cell that contains plain text.
pub fn text(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// Returns table cells that contain plain text.
pub fn texts(cells: Vec<String>) -> Vec<Markup> {
    cells.into_iter().map(text).collect()
}

/// Formats a fraction as a percentage.
pub fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

/// Draws a fraction from 0 to 1 as a horizontal bar.
pub fn bar(part: f64) -> Markup {
    let width = percent(part.clamp(0.0, 1.0));
    html! { svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" { rect width=(width) height="10" {} } }
}

/// Draws counts as a sparkline: a row of small bars whose heights are relative to the largest count.
pub fn spark(counts: &[u64]) -> Markup {
    let (width, height) = SPARK;
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    // The height is rounded up, so that every nonzero count is visible.
    let tall = |count: u64| (count * height).div_ceil(most);
    html! {
        svg.spark viewBox=(format!("0 0 {} {height}", width * counts.len())) {
            @for (at, &count) in counts.iter().enumerate() {
                rect x=(at * width) y=(height - tall(count)) width=(width - 1) height=(tall(count)) {}
            }
        }
    }
}

/// Embeds an SVG picture without changing its colors. The page must not recolor its letters, since some of
/// them may be on colored areas.
pub fn picture(svg: &str) -> Markup {
    html! { span.chart { (PreEscaped(svg)) } }
}

/// Embeds a chart with black letters on a white background. The page changes these colors to its own.
pub fn chart(svg: &str) -> Markup {
    html! { span.chart.themed { (PreEscaped(svg)) } }
}

/// Returns a section that stays folded until the reader opens it.
pub fn fold(label: &str, body: &Markup) -> Markup {
    html! { details { summary { (label) } (body) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_say_is_replaced_and_the_rest_escaped() {
        let page = page("a\u{1b}<b>&\"'\u{ffff}", &html! {}, &[]);
        assert!(page.contains("<title>a\u{fffd}&lt;b&gt;&amp;&quot;'\u{fffd}</title>"), "{page}");
    }

    #[test]
    fn a_count_that_is_not_nothing_is_seen() {
        let spark = spark(&[0, 1, 1_000_000]).0;
        let heights: Vec<_> = spark.split(" height=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(heights, ["0", "1", "20"]);
    }
}
