//! Predicts from a row: `cargo run --example predict $numbers`

use billhook::Model;
use std::error::Error;

static BLOB: &[u8] = include_bytes!("../$prefix.bhm");
$classes
fn main() -> Result<(), Box<dyn Error>> {
    let row = std::env::args()
        .skip(1)
        .map(|text| text.parse().map_err(|_| format!("{text:?} is not a number")))
        .collect::<Result<Vec<f32>, _>>()?;
    let model = Model::open(BLOB).map_err(|error| error.to_string())?;
    // A program without an allocator has arrays of these lengths.
    let mut scratch = [0; $scratch_len];
    let mut scores = [0; $n_scores];
    let answer = model.$method(&row, &mut scratch, &mut scores).map_err(|error| error.to_string())?;
    println!("{}", $answer);
    Ok(())
}
