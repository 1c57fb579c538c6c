//! Form in which the pages of a memory are saved. For each page, the saved state contains its number, the
//! mask of mapped bursts, and the bytes of all its bursts.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BURST_BYTES, Page, TABLE, Tables};

/// Saved form of a memory: number of second-level tables, and all pages that exist.
#[derive(Serialize, Deserialize)]
struct SavedPages<B> {
    tables: usize,
    pages: Vec<(usize, u64, B)>,
}

pub fn serialize<S: Serializer>(tables: &Tables, serializer: S) -> Result<S::Ok, S::Error> {
    let mut pages = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        for (place, page) in table.iter().flat_map(|table| table.iter()).enumerate() {
            if let Some(page) = page {
                pages.push((number * TABLE + place, page.mapped, page.bursts.as_flattened()));
            }
        }
    }
    SavedPages { tables: tables.len(), pages }.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tables, D::Error> {
    let SavedPages { tables: count, pages } = SavedPages::<Vec<u8>>::deserialize(deserializer)?;
    let mut tables: Tables = (0..count).map(|_| None).collect();
    for (number, mapped, bytes) in pages {
        let (bursts, rest) = bytes.as_chunks::<BURST_BYTES>();
        let bursts = bursts.try_into().ok().filter(|_| rest.is_empty());
        let table = tables.get_mut(number / TABLE);
        let (Some(bursts), Some(table)) = (bursts, table) else {
            return Err(D::Error::custom(format!(
                "page {number} of memory has {} bytes or does not exist",
                bytes.len()
            )));
        };
        let table = table.get_or_insert_with(|| Box::new([const { None }; TABLE]));
        table[number % TABLE] = Some(Box::new(Page { mapped, bursts }));
    }
    Ok(tables)
}
