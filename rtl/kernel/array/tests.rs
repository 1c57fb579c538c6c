use super::*;
use crate::kernel::Wake;

#[derive(Clone, Debug, Default, Hash, PartialEq, serde::Serialize, serde::Deserialize, Payload)]
#[payload(shape = u32)]
struct Tag {
    #[payload(width = *shape)]
    tag: u64,
    valid: bool,
}

fn tags(collide: Collide) -> Array<Tag> {
    let spec = ArraySpec {
        path: "l1.tags".to_owned(),
        storage: Storage::Sram,
        rows: 4,
        columns: 2,
        reads: 1,
        writes: 1,
        collide,
    };
    Array::new(spec, 20)
}

fn tag(tag: u64) -> Tag {
    Tag { tag, valid: true }
}

#[test]
fn a_read_sees_old_or_new_data_as_declared() {
    let mut wake = Wake::new(&[1]);
    let at = Edge::new(5, 5, &mut wake);
    let mut old = tags(Collide::Old);
    assert_eq!(old.read(&at, 1)[0], Tag::default());
    old.write(&at, 1, 0, tag(9));
    assert_eq!(old.row(1)[0], tag(9));
    let mut new = tags(Collide::New);
    new.write(&at, 1, 0, tag(9));
    assert_eq!(new.read(&at, 1)[0], tag(9));
}

#[test]
#[should_panic(expected = "cycle 8 (tick 8), l1.tags: read 2 in one cycle, 1 read ports")]
fn a_second_read_on_one_port_names_cycle_and_array() {
    let mut wake = Wake::new(&[1]);
    let array = tags(Collide::Old);
    let at = Edge::new(8, 8, &mut wake);
    let _ = (array.read(&at, 0), array.read(&at, 1));
}

#[test]
#[should_panic(expected = "write 2 in one cycle, 1 write ports")]
fn a_second_write_on_one_port_is_a_breach() {
    let mut wake = Wake::new(&[1]);
    let mut array = tags(Collide::New);
    let at = Edge::new(8, 8, &mut wake);
    array.write(&at, 0, 0, tag(1));
    array.write(&at, 1, 0, tag(1));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "l1.tags: row access in a memory that is accessed by the cell")]
fn a_memory_accessed_by_the_cell_gives_no_rows() {
    let mut wake = Wake::new(&[1]);
    let array = tags(Collide::New).by_cell();
    assert_eq!(array.read_cell(&Edge::new(8, 8, &mut wake), 3, 0), &Tag::default());
    let _ = array.read(&Edge::new(9, 9, &mut wake), 3);
}

#[test]
fn changes_through_ports_taken_at_once_are_seen_like_writes() {
    let mut wake = Wake::new(&[1]);
    let (mut written, mut changed) = (tags(Collide::New), tags(Collide::New));
    written.record();
    changed.record();
    let at = Edge::new(8, 8, &mut wake);
    changed.take_writes(&at, 1);
    changed.change(&at, 5, |cell| *cell = tag(7));
    written.write(&at, 2, 1, tag(7));
    assert_eq!((changed.cell_at(5), changed.digest()), (&tag(7), written.digest()));
}

#[test]
#[should_panic(expected = "write 3 in one cycle, 1 write ports")]
fn more_writes_at_once_than_there_are_ports_are_a_breach() {
    let mut wake = Wake::new(&[1]);
    tags(Collide::New).take_writes(&Edge::new(8, 8, &mut wake), 3);
}

#[test]
fn every_access_through_a_port_counts_and_a_look_without_one_does_not() {
    let mut wake = Wake::new(&[1]);
    let mut array = tags(Collide::New);
    for cycle in 0..3 {
        let at = Edge::new(cycle, cycle, &mut wake);
        let _ = (array.read(&at, 0), array.row(1));
        if cycle > 0 {
            array.update(&at, 1, 0, |cell| cell.valid = true);
        }
    }
    assert_eq!(array.accesses(), Accesses { reads: 3, writes: 2 });
}

#[test]
#[should_panic(expected = "l1.tags: row 2 read in the cycle of another access to it")]
fn a_memory_that_reads_old_data_is_not_read_after_a_write() {
    let mut wake = Wake::new(&[1]);
    let mut array = tags(Collide::Old);
    let at = Edge::new(8, 8, &mut wake);
    array.update(&at, 2, 0, |cell| cell.valid = true);
    let _ = array.read(&at, 2);
}

#[test]
#[should_panic(expected = "row 2 read in the cycle of another access to it")]
fn a_forbidden_collision_is_a_breach() {
    let mut wake = Wake::new(&[1]);
    let mut array = tags(Collide::Forbidden);
    let at = Edge::new(8, 8, &mut wake);
    array.write(&at, 2, 0, tag(1));
    let _ = array.read(&at, 2);
}

#[test]
#[should_panic(expected = "tag is 0x100000, which needs more than its 20 bits")]
fn a_tag_wider_than_its_array_is_a_breach() {
    let mut wake = Wake::new(&[1]);
    tags(Collide::New).write(&Edge::new(8, 8, &mut wake), 2, 0, tag(1 << 20));
}

#[test]
#[should_panic(expected = "tag is 0x100000, which needs more than its 20 bits")]
fn a_tag_wider_than_its_array_is_a_breach_in_a_row_that_changes_as_a_whole() {
    let mut wake = Wake::new(&[1]);
    tags(Collide::New).update_row(&Edge::new(8, 8, &mut wake), 2, |row| row[1].tag = 1 << 20);
}

#[test]
#[should_panic(expected = "row 3 read, column 1 was never written")]
fn reading_a_cell_nobody_wrote_is_found_when_looked_for() {
    let mut wake = Wake::new(&[1]);
    let mut array = tags(Collide::New);
    array.refuse_unwritten();
    array.write(&Edge::new(8, 8, &mut wake), 3, 0, tag(1));
    let _ = array.read(&Edge::new(9, 9, &mut wake), 3);
}

#[test]
fn reading_one_written_cell_of_a_row_is_sound() {
    let mut wake = Wake::new(&[1]);
    let mut array = tags(Collide::New);
    array.refuse_unwritten();
    array.write(&Edge::new(8, 8, &mut wake), 3, 0, tag(1));
    assert_eq!(array.read_cell(&Edge::new(9, 9, &mut wake), 3, 0), &tag(1));
}

#[test]
fn the_digest_depends_on_contents_and_not_on_how_they_came_about() {
    let mut wake = Wake::new(&[1]);
    let (mut a, mut b) = (tags(Collide::Old), tags(Collide::New));
    a.record();
    b.record();
    a.write(&Edge::new(1, 1, &mut wake), 2, 1, tag(5));
    b.write(&Edge::new(1, 1, &mut wake), 2, 1, tag(7));
    assert_ne!(a.digest(), b.digest());
    b.update(&Edge::new(2, 2, &mut wake), 2, 1, |cell| cell.tag = 5);
    assert_eq!(a.digest(), b.digest());
    assert_eq!(a.cell_bits(), 21);
}
