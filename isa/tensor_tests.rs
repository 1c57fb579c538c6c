use super::*;

const BOTH: [MatrixOrder; 2] = [MatrixOrder::Row, MatrixOrder::Column];

fn matrices(form: &Form) -> [(&Layout, [u16; 2]); 4] {
    let [m, n, k] = form.extent;
    [(&form.a, [m, k]), (&form.b, [k, n]), (&form.sum16, [m, n]), (&form.sum32, [m, n])]
}

/// Returns how often each position of a matrix occurs among the positions of all elements of all lanes.
fn held(layout: &Layout, products: u8, [rows, columns]: [u16; 2]) -> Vec<u32> {
    let [rows, columns] = [rows, columns].map(usize::from);
    let mut held = vec![0; usize::from(products) * rows * columns];
    for (lane, element) in (0..LANES).flat_map(|lane| (0..layout.elements()).map(move |element| (lane, element))) {
        let ElementPosition { product, row, column } = layout.place(lane, element);
        assert!(usize::from(row) < rows && usize::from(column) < columns, "{layout:?}: row {row}, column {column}");
        held[(usize::from(product) * rows + usize::from(row)) * columns + usize::from(column)] += 1;
    }
    held
}

#[test]
fn every_element_of_a_form_has_one_place() {
    for form in &FORMS {
        for (layout, extent) in matrices(form) {
            assert!(held(layout, form.products, extent).iter().all(|&count| count == 1), "{} {layout:?}", form.shape);
        }
    }
}

#[test]
fn every_element_of_a_tiling_is_held_as_often_as_any_other() {
    for tiling in &TILINGS {
        let [m, n, k] = tiling.extent;
        let factors = BOTH.into_iter().flat_map(|major| [(Matrix::A(major), [m, k]), (Matrix::B(major), [k, n])]);
        let sums = [Sum::F16, Sum::F32].map(|sum| (Matrix::Sum(sum), [m, n]));
        for (matrix, extent) in factors.chain(sums) {
            let layout = tiling.layout(matrix);
            let elements = u32::from(extent[0]) * u32::from(extent[1]);
            let copies = LANES * layout.elements() / elements;
            assert!(
                held(&layout, 1, extent.map(u16::from)).iter().all(|&count| count == copies),
                "{} {matrix:?}",
                tiling.shape
            );
        }
    }
}

#[test]
fn a_product_is_cut_as_volta_cuts_it() {
    let cut = |shape: &str, sum| {
        let form = FORMS
            .iter()
            .find(|form| form.shape == shape && form.majors == [MatrixOrder::Row, MatrixOrder::Column])
            .unwrap();
        form.steps([Factor::F16; 2], sum)
            .iter()
            .map(|step| (step.a, step.b, step.c, step.multiplications))
            .collect::<Vec<_>>()
    };
    let (one, two) = ([Some(0), None], [Some(0), Some(1)]);
    let next = [Some(2), Some(3)];
    let volta = |c, count| (two, two, c, count);
    let fourth = [two, next, [Some(4), Some(5)], [Some(6), Some(7)]];
    assert_eq!(cut("m8n8k4", Sum::F32), fourth.map(|c| volta(c, 256)));
    assert_eq!(cut("m8n8k4", Sum::F16), [two, next].map(|c| volta(c, 512)));
    assert_eq!(cut("m16n8k8", Sum::F32), [(one, one, two, 512), ([Some(1), None], one, next, 512)]);
    assert_eq!(cut("m16n8k8", Sum::F16), [(two, one, two, 1024)]);
    let (upper, lower) = ([Some(0), Some(2)], [Some(1), Some(3)]);
    assert_eq!(cut("m16n8k16", Sum::F32), [(upper, two, two, 1024), (lower, two, next, 1024)]);
    assert_eq!(cut("m16n8k16", Sum::F16), [(upper, two, one, 1024), (lower, two, [Some(1), None], 1024)]);
}

#[test]
fn no_step_wants_more_than_two_registers_of_a_matrix() {
    for form in FORMS.iter().filter(|form| !form.is_double()) {
        for sum in [Sum::F16, Sum::F32] {
            let steps = form.steps([Factor::F16; 2], sum);
            for step in &steps {
                let rows = step.c.iter().flatten().fold(0, |found, &at| {
                    found | form.sums(sum).found(at.into(), sum.per_register(), |place| place.row)
                });
                let wanted = form.a.registers(form.per_register(), |place| place.row, rows);
                assert_eq!(step.a.iter().flatten().copied().collect::<Vec<_>>(), wanted, "{} {sum:?}", form.shape);
            }
            let [m, n, k] = form.extent.map(u32::from);
            let all: u32 = steps.iter().map(|step| step.multiplications).sum();
            // Two products of 4-bit factors, or eight of single bits, take as long as one of 8-bit
            // factors.
            let per_8_bits = 8 / u32::from(form.factor_bits.min(8));
            assert_eq!(all * per_8_bits, u32::from(form.products) * m * n * k, "{} {sum:?}", form.shape);
        }
    }
}

#[test]
fn every_product_of_doubles_is_in_one_step() {
    for form in FORMS.iter().filter(|form| form.is_double()) {
        let steps = form.steps([Factor::F64; 2], Sum::F64);
        let mut found = std::collections::BTreeSet::new();
        for step in &steps {
            let TensorOp { a: [Some(a), None], b: [Some(b), None], c: [Some(c), None], .. } = *step else {
                panic!("{step:?}")
            };
            let positions =
                |layout: &Layout, register: u8| (0..LANES).map(|lane| layout.place(lane, register.into())).collect();
            let [in_a, in_b, in_c]: [Vec<ElementPosition>; 3] =
                [positions(&form.a, a), positions(&form.b, b), positions(&form.sum32, c)];
            for to in &in_c {
                for left in in_a.iter().filter(|left| left.row == to.row) {
                    for right in in_b.iter().filter(|right| right.column == to.column && right.row == left.column) {
                        assert!(found.insert((left.row, left.column, right.column)), "{} twice", form.shape);
                    }
                }
            }
        }
        let [m, n, k] = form.extent.map(u32::from);
        assert_eq!(found.len() as u32, m * n * k, "{}", form.shape);
        // On an A100, products of `.f64` factors take 16 times as long as those of `.f16` factors.
        let all: u32 = steps.iter().map(|step| step.multiplications).sum();
        assert_eq!(all, 16 * m * n * k, "{}", form.shape);
        // The columns of A are added in ascending order.
        assert!(steps.is_sorted_by_key(|step| step.b), "{}", form.shape);
    }
}

#[test]
fn instructions_of_hardware_are_known_by_their_multiplications_and_their_names() {
    for opcode in ["HMMA.884.F32.F32.STEP2", "HMMA.884.F16.F16.STEP0", "HMMA.1688.F32", "HMMA.16816.F32.BF16"] {
        assert!(opcode.starts_with(instruction_of(multiplications_of(opcode).unwrap())), "{opcode}");
    }
    assert_eq!(volta_form([MatrixOrder::Column, MatrixOrder::Row]).majors, [MatrixOrder::Column, MatrixOrder::Row]);
}

/// Multiplications of one warp, worked out by hand from the shapes: rows times columns times depth, a quarter of it
/// for a warp group of four warps, and half of it for sparse factors. Then 16 times as many for `.f64`, half for 4
/// bits, and an eighth for single bits.
#[test]
fn a_recorded_product_takes_as_long_as_its_shape_says() {
    for (opcode, expected) in [
        ("HMMA.884.F32.F32.STEP3", 256),
        ("HMMA.884.F16.F16.STEP1", 512),
        ("HMMA.1684.F32.TF32", 512),
        ("HMMA.1688.F32", 1024),
        ("HMMA.16816.F32.BF16", 2048),
        ("HMMA.SP.16832.F32", 2048),
        ("IMMA.8816.S8.S8", 1024),
        ("IMMA.16832.S8.S8.SAT", 4096),
        ("IMMA.8832.S4.S4", 1024),
        ("IMMA.16864.U4.S4", 4096),
        ("BMMA.168256.AND.POPC", 4096),
        ("DMMA.884", 4096),
        ("DMMA.8x8x4", 4096),
        ("QMMA.16832.F32.E4M3.E4M3", 4096),
        ("OMMA.16864.F32.E2M1.E2M1", 4096),
        ("HGMMA.64x128x16.F32", 32_768),
        ("QGMMA.64x256x32.F32.E4M3.E4M3", 131_072),
        ("IGMMA.SP.64x64x64.S8.S8", 32_768),
    ] {
        assert_eq!(multiplications_of(opcode), Some(expected), "{opcode}");
    }
    for opcode in ["HMMA", "HMMA.F32", "IMMA.1234", "HGMMA.64x64", "HGMMA.99999x99999x99999", "DMMA.88"] {
        assert_eq!(multiplications_of(opcode), None, "{opcode}");
    }
}
