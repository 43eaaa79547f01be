//! Predicts from a row: `cargo run --example predict model.bhm 5.1 3.5 1.4 0.2`

use billhook::Model;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let blob = std::fs::read(arguments.next().ok_or("name the file of a blob, then the numbers of a row")?)?;
    let row = arguments
        .map(|text| text.parse().map_err(|_| format!("{text:?} is not a number")))
        .collect::<Result<Vec<f32>, _>>()?;

    let model = Model::open(&blob).map_err(|error| error.to_string())?;
    let mut scratch = vec![0; model.scratch_len()];
    let mut scores = vec![0; model.n_scores()];
    model.scores(&row, &mut scratch, &mut scores).map_err(|error| error.to_string())?;
    println!("scores {scores:?}");
    if let Ok(value) = model.value(&row, &mut scratch, &mut scores) {
        println!("value {value}");
    } else if let Ok(class) = model.predict(&row, &mut scratch, &mut scores) {
        println!("class {class}");
    }
    Ok(())
}
