//! Opens reports in Chromium and checks that figures are readable, charts are not empty, and texts fit into
//! their charts.

#![cfg_attr(not(has_chromium), allow(dead_code, reason = "without Chromium nothing is shown"))]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::report::written;

/// JavaScript that the test adds to a copy of the page. For each chart, it reports the size, whether anything
/// is drawn, which texts extend beyond the chart, and which texts overlap.
const ASK: &str = "<script>
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const charts = [...document.querySelectorAll('.chart svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent.trim(), text.getBoundingClientRect()]);
  const leaves = r => r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1;
  const isColour = colour => colour && !['none', '#000000', '#FFFFFF'].includes(colour);
  const drawn = [...svg.querySelectorAll('polyline, rect')].filter(shape => {
    const r = shape.getBoundingClientRect();
    return r.width > 1 && ['fill', 'stroke'].some(of => isColour(shape.getAttribute(of)));
  });
  return {
    width: box.width, height: box.height, drawn: drawn.length,
    leaving: texts.filter(([, r]) => leaves(r)).map(([text]) => text),
    meeting: texts.filter(([, r], at) => texts.some(([, other], to) => to < at && meet(r, other))).map(([text]) => text),
  };
});
const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
document.body.textContent = JSON.stringify({ charts, wide });
</script></body>";

/// Returns the HTML page after Chromium has rendered it and run its scripts.
fn render(folder: &Path, html: &str) -> String {
    let page = folder.join("shown.html");
    fs::write(&page, html).unwrap();
    let profile = tempfile::tempdir().unwrap();
    // Chromium reserves more address space than `scripts/mutants` allows for a test, so the limit is raised.
    let mut chromium = Command::new("sh");
    chromium.args(["-c", "ulimit -S -v $(ulimit -H -v); exec \"$0\" \"$@\"", "chromium"]);
    chromium.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]);
    chromium.args(["--disable-component-update", "--disable-sync", "--no-first-run", "--window-size=1280,900"]);
    chromium.arg(format!("--user-data-dir={}", profile.path().display())).arg("--dump-dom");
    let ended = chromium.arg(format!("file://{}", page.display())).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// Returns what the script [`ASK`] reports about a page: its charts, and whether the page is wider than the
/// window.
fn ask(folder: &Path, html: &str) -> (Vec<Value>, bool) {
    let answer = render(folder, &html.replace("</body>", ASK));
    let body = answer.split_once("<body>").unwrap().1.split_once("</body>").unwrap().0;
    let answer: Value =
        serde_json::from_str(&body.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).unwrap();
    (answer["charts"].as_array().unwrap().clone(), answer["wide"].as_bool().unwrap())
}

fn is_empty(chart: &Value) -> bool {
    chart["drawn"] == 0 || chart["width"].as_f64() < Some(300.0) || chart["height"].as_f64() < Some(100.0)
}

#[test]
#[cfg_attr(not(has_chromium), ignore = "chromium is not installed")]
fn a_browser_shows_the_figures_and_no_chart_is_empty_or_too_narrow_for_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("s.json");
    let run = ["run", "kernels/syrk/small", "--stats", stats.to_str().unwrap()];
    let html = written(folder.path(), &run);
    let statistics: Value = serde_json::from_str(&fs::read_to_string(&stats).unwrap()).unwrap();
    let cycles = warpsieve::text::format_thousands(statistics["cycles"].as_u64().unwrap());
    let dom = render(folder.path(), &html);
    assert!(dom.contains(&format!("<th>cycles</th><td class=\"cells\"><span>{cycles}</span>")), "{dom}");
    let compare = ["compare", "kernels/syrk/small", "kernels/vadd/small", "--design-set", "baseline,pric,bypass-all"];
    let compared = written(folder.path(), &compare);
    for (html, number) in [(&html, 5), (&compared, 3)] {
        let (charts, is_wide) = ask(folder.path(), html);
        assert_eq!((charts.len(), is_wide), (number, false));
        for chart in charts {
            assert!(!is_empty(&chart), "{chart}");
            for texts in ["leaving", "meeting"] {
                assert_eq!(chart[texts], Value::Array(Vec::new()), "{texts}: {chart}");
            }
        }
    }
    // Tests the JavaScript of this test file: it must detect empty charts and texts that do not fit. The page
    // is changed so that it has these faults.
    let (charts, _) = ask(folder.path(), &html.replace("#0072B2", "none"));
    assert!(charts.iter().all(is_empty), "{charts:?}");
    let (charts, is_wide) = ask(
        folder.path(),
        &html.replace("core cycles", &"core cycles ".repeat(30)).replace("<nav>", "<nav style=\"width: 200rem\">"),
    );
    assert!(is_wide && charts.iter().all(|chart| chart["leaving"] != Value::Array(Vec::new())), "{charts:?}");
}
