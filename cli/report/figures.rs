//! Writes the report of `reproduce`: one HTML file with the pages of all figures, including their charts.

use maud::{Markup, PreEscaped, html};
use papers::judge::Tally;
use papers::page::{Drawing, Page};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::html::{self, Section, table, text};

/// Returns the complete HTML file of the report.
pub fn page(pages: &[Page]) -> String {
    let mut all = vec![Section::new("rows", "Rows that hold", held(pages))];
    all.extend(pages.iter().map(|page| Section::new(id(page), page.name.as_str(), body(page))));
    html::page("Reproduced figures", &html! {}, &all)
}

fn id(page: &Page) -> String {
    format!("page-{}", page.name)
}

/// Returns a table with one row per page. The row gives the number of comparisons with the paper that
/// succeed, and the number of comparisons in total. Comparisons that are marked as no evidence are counted
/// separately.
fn held(pages: &[Page]) -> Markup {
    let row = |page: &Page| {
        let Tally { passed, rows, no_evidence } = Tally::of(&page.rows);
        let link = html! { a href={ "#" (id(page)) } { (page.name) } };
        vec![link, text(passed.to_string()), text(rows.to_string()), text(no_evidence.to_string())]
    };
    let judged: Vec<_> = pages.iter().filter(|page| !page.rows.is_empty()).map(row).collect();
    html! {
        @if judged.is_empty() { p { "The pages have no rated rows." } }
        @else { (table("held", &["page", "hold", "rows", "no evidence"], &(1..4), &judged)) }
    }
}

/// Returns the body of a page with its pictures embedded. Links are reduced to their text, since their
/// targets are not in the file.
fn body(page: &Page) -> Markup {
    let file = page.name.rsplit('/').next().unwrap_or_default();
    let picture = |name: &str| {
        let named = |(suffix, _): &&(String, Drawing)| format!("{file}{suffix}.svg") == name;
        page.charts.iter().find(named).map(|(_, drawing)| html::picture(&drawing.svg()).into_string())
    };
    // An image is replaced by an embedded drawing. The alternative text of the image is then omitted.
    let mut is_drawn = false;
    let event = |event| match event {
        Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => None,
        Event::Start(Tag::Image { dest_url, .. }) => {
            let drawn = picture(&dest_url);
            is_drawn = drawn.is_some();
            drawn.map(|svg| Event::Html(svg.into()))
        }
        Event::End(TagEnd::Image) => {
            is_drawn = false;
            None
        }
        _ if is_drawn => None,
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Some(Event::Start(Tag::Heading { level: lower(level), id, classes, attrs }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(lower(level)))),
        // HTML inside a page is shown as text and not interpreted.
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        other => Some(other),
    };
    let mut text = String::new();
    let events = Parser::new_ext(&page.markdown, Options::ENABLE_TABLES).filter_map(event);
    pulldown_cmark::html::push_html(&mut text, events);
    html! { (PreEscaped(text)) }
}

/// Returns the level that a heading of a page gets in the report, below the level of the section's own
/// heading.
fn lower(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from((level as usize + 2).min(6)).unwrap_or(HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use papers::chart::Chart;
    use papers::judge::{Class, ComparisonRow};

    #[test]
    fn comparisons_that_are_no_evidence_are_not_among_the_rows_that_hold() {
        let row = ComparisonRow::claim(Class::Exact, "", "", "", true);
        let rows = vec![row.clone(), row.mark_no_evidence("")];
        let html = held(&[Page { name: "p/fig1".to_owned(), rows, ..Page::default() }]).into_string();
        assert!(html.contains("no evidence") && !html.contains(">2<"), "{html}");
        assert_eq!(html.matches(">1<").count(), 3, "{html}");
    }

    #[test]
    fn a_page_keeps_its_tables_and_pictures_but_no_link_and_no_markup_of_its_own() {
        let markdown = "# T\n\n<i>a</i> [b](c.md)\n\n![Hits](fig1-x.svg) ![Gone](other.svg)\n\n| k | n |\n|---|--:|\n| <u> | 1 |\n";
        let drawing = Drawing::Chart(Chart::new("Hits", "percent"));
        let svg = drawing.svg();
        let charts = vec![("-x".to_owned(), drawing)];
        let page = Page { name: "p/fig1".to_owned(), markdown: markdown.to_owned(), charts, ..Page::default() };
        let html = body(&page).into_string();
        assert!(html.contains("<h3>T</h3>") && html.contains("&lt;i&gt;a&lt;/i&gt; b"), "{html}");
        assert!(html.contains(&format!("<span class=\"chart\">{svg}</span> Gone")), "{html}");
        assert!(!html.contains("![") && !html.contains("alt="), "{html}");
        assert!(
            html.contains("&lt;u&gt;</td><td style=\"text-align: right\">1</td>") && !html.contains("href"),
            "{html}"
        );
    }
}
