//! The scores of rows are those that Billhook computed in Python, to the last bit.

use billhook::Model;

static BLOB: &[u8] = include_bytes!("../$prefix.bhm");
// Floats by their bits, so that nothing is lost in print.
static ROWS: [[u32; $n_features]; $n_rows] = [
$inputs
];
static SCORES: [[i32; $n_scores]; $n_rows] = [
$outputs
];

#[test]
fn scores_are_those_of_python() {
    let model = Model::open(BLOB).expect("the blob is valid");
    let mut scratch = [0; $scratch_len];
    let mut scores = [0; $n_scores];
    for (row, expected) in ROWS.iter().zip(&SCORES) {
        let row = row.map(f32::from_bits);
        model.scores(&row, &mut scratch, &mut scores).expect("all lengths are right");
        assert_eq!(&scores, expected);
    }
}

#[test]
fn a_damaged_blob_is_refused() {
    let mut blob = BLOB.to_vec();
    blob[20] ^= 1;
    assert_eq!(Model::open(&blob).err(), Some(billhook::Error::Damaged));
}
