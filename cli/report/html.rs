//! The page around everything, and what all sections are made of.

use std::ops::Range;

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// An element without an end: as HTML has it, it would be no XML.
const ENCODING: PreEscaped<&str> = PreEscaped("<meta charset=\"utf-8\"/>");
const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));
/// Size of a bar in a picture of several, and the space to the next.
const SPARK: (usize, u64) = (6, 20);

/// A section: its id, its heading, and what it holds.
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

/// A whole file: a title, what stands at its head, and sections with links to each.
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
    // XML has no place for most control characters, not even escaped; a name may have any.
    let is_legal = |c: char| matches!(c, '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'..);
    let legal: String = page.0.chars().map(|c| if is_legal(c) { c } else { char::REPLACEMENT_CHARACTER }).collect();
    legal + "\n"
}

/// A table; the columns of the range are numbers.
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

/// A cell of plain text.
pub fn text(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// Cells of plain text.
pub fn texts(cells: Vec<String>) -> Vec<Markup> {
    cells.into_iter().map(text).collect()
}

/// A part of a whole in percent.
pub fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

/// A part of a whole as a bar.
pub fn bar(part: f64) -> Markup {
    let width = percent(part.clamp(0.0, 1.0));
    html! { svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" { rect width=(width) height="10" {} } }
}

/// Counts beside one another, as high as they are of the largest.
pub fn spark(counts: &[u64]) -> Markup {
    let (width, height) = SPARK;
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    // What is not nothing is seen.
    let tall = |count: u64| (count * height).div_ceil(most);
    html! {
        svg.spark viewBox=(format!("0 0 {} {height}", width * counts.len())) {
            @for (at, &count) in counts.iter().enumerate() {
                rect x=(at * width) y=(height - tall(count)) width=(width - 1) height=(tall(count)) {}
            }
        }
    }
}

/// A picture that is SVG already, in its own colours: letters may stand on fields that the page knows nothing of.
pub fn picture(svg: &str) -> Markup {
    html! { span.chart { (PreEscaped(svg)) } }
}

/// A chart on a white ground with black letters, in the colours of the page.
pub fn chart(svg: &str) -> Markup {
    html! { span.chart.themed { (PreEscaped(svg)) } }
}

/// Something that is seen once it is asked for.
pub fn folded(label: &str, body: &Markup) -> Markup {
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
