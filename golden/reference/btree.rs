//! CPU reference: lookups of keys in a dictionary.

use std::collections::BTreeMap;

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

const NO_RECORD: i128 = -1;

/// For each queried key, the value of the record with that key, or -1 if there is no such record.
pub(super) static BTREE: Reference = Reference {
    name: "btree",
    summary: "value of the record with each queried key, -1 if there is none",
    inputs: &[input("key", ElementType::I32), input("value", ElementType::I32), input("query", ElementType::I32)],
    parameters: &[count("records"), count("queries")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [records, queries] = ["records", "queries"].map(|name| arguments.count(name));
    let key = arguments.input("key", records, "records")?;
    let value = arguments.input("value", records, "records")?;
    let query = arguments.input("query", queries, "queries")?;
    let dictionary: BTreeMap<_, _> = (0..records).map(|r| (key.integer(r), value.integer(r))).collect();
    let answer = |q: usize| dictionary.get(&query.integer(q)).copied().unwrap_or(NO_RECORD);
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, (0..queries).map(answer))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run, values};

    #[test]
    fn btree_finds_values_by_key_in_any_order() {
        let inputs = [
            ("key", &integers(&[30, 10, 20])),
            ("value", &integers(&[3, 1, 2])),
            ("query", &integers(&[10, 15, 30, 10])),
        ];
        let expected = run("btree", &inputs, &[("records", Count(3)), ("queries", Count(4))]).unwrap();
        assert_eq!(values(&expected), [1.0, -1.0, 3.0, 1.0]);
    }
}
