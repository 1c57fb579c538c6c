use super::*;
use crate::operators::find;

fn site(file: &str) -> Site {
    let mutant = find("fn f() { go(); }").unwrap().mutants.remove(0);
    Site { file: file.to_owned(), mutant, text: "fn f() { go(); }".to_owned(), occurrence: 0, order: 0 }
}

#[test]
fn the_table_counts_by_folder_and_survivors_are_named() {
    let sites = ["rtl/l1/lsu.rs", "rtl/l1/lsu/head.rs", "rtl/choice.rs", "golden/mix.rs"].map(site);
    let caught = Outcome::Caught { by: "tb: a".to_owned() };
    let outcomes = [caught, Outcome::Survived { ran: 3, of: 5 }, Outcome::NotReached, Outcome::NotBuilt];
    let judged: Vec<_> = sites.iter().zip(outcomes).collect();
    let text = summary(&judged, 2);
    assert!(text.contains("| rtl/l1 | 2 | 1 | 0 | 1 | 0 | 50.0 % |\n"), "{text}");
    assert!(text.contains("| rtl | 1 | 0 | 0 | 0 | 1 | 0.0 % |\n"), "{text}");
    assert!(text.contains("| all | 3 | 1 | 0 | 1 | 1 | 33.3 % |\n"), "{text}");
    let survivors = "Survivors:\n\
                     rtl/choice.rs:1:10 statement deleted: go(); -> (nothing) (not reached)\n\
                     rtl/l1/lsu/head.rs:1:10 statement deleted: go(); -> (nothing) (3 of 5 tests that come past it were run)\n";
    assert!(text.ends_with(survivors), "{text}");
}

#[test]
fn results_are_there_again_when_a_run_goes_on() {
    let path = std::env::temp_dir().join(format!("mutants-{}.jsonl", std::process::id()));
    let (known, new) = (site("a.rs"), site("b.rs"));
    let results = Results::open(&path, false).unwrap();
    results.keep(&known, &Outcome::NotReached, 1.0).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"key\": \"cut").unwrap();
    let again = Results::open(&path, true).unwrap();
    assert_eq!(again.of(&known), Some(Outcome::NotReached));
    assert_eq!(again.of(&new), None);
    assert_eq!(Results::open(&path, false).unwrap().of(&known), None);
    assert!(!path.exists());
}
