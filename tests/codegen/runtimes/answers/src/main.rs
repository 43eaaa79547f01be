//! Reads blobs with rows from standard input and writes what the models answer, as `tests/blob_answers.py` has it.

use billhook::{Error, Model};
use std::io::{self, Read, Write};

const REFUSED: u8 = 0;
const ANSWERED: u8 = 1;
const OTHER_ROWS: u8 = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let mut rest = &input[..];
    let mut out = Vec::new();
    while !rest.is_empty() {
        let [n_bytes, n_rows, n_features] = [0, 4, 8].map(|at| number(&rest[at..]));
        let (blob, after) = rest[12..].split_at(n_bytes);
        let (rows, after) = after.split_at(4 * n_rows * n_features);
        rest = after;
        let rows: Vec<f32> = rows.chunks(4).map(|cell| f32::from_bits(number(cell) as u32)).collect();
        answer(blob, &rows, n_rows, n_features, &mut out)?;
    }
    io::stdout().write_all(&out)?;
    Ok(())
}

fn number(bytes: &[u8]) -> usize {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
}

fn answer(blob: &[u8], rows: &[f32], n_rows: usize, n_features: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let model = match Model::open(blob) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            out.push(REFUSED);
            return Ok(());
        }
    };
    let mut scratch = vec![0xAAAA; model.scratch_len()];
    let mut scores = vec![-1; model.n_scores()];
    if model.n_features() != n_features {
        // Somebody changed the blob: there must be an answer, whatever it is.
        if model.n_features() < 1 << 20 {
            model.scores(&vec![1.5; model.n_features()], &mut scratch, &mut scores)?;
        }
        let refused = model.scores(&rows[..n_features], &mut scratch, &mut scores);
        assert_eq!(refused, Err(Error::RowLength(model.n_features())));
        out.push(OTHER_ROWS);
        return Ok(());
    }
    out.push(ANSWERED);
    out.push(u8::from(model.is_regression()));
    for size in [model.n_scores(), model.n_classes()] {
        out.extend((size as u32).to_le_bytes());
    }
    let mut probabilities = vec![-1.0; model.n_classes()];
    for row in 0..n_rows {
        let row = &rows[row * n_features..][..n_features];
        model.scores(row, &mut scratch, &mut scores)?;
        out.extend(scores.iter().flat_map(|score| score.to_le_bytes()));
        if model.is_regression() {
            let value = model.value(row, &mut scratch, &mut scores)?;
            out.extend(value.to_le_bytes());
        } else {
            let class = model.predict(row, &mut scratch, &mut scores)?;
            out.extend((class as u32).to_le_bytes());
            model.predict_proba(row, &mut scratch, &mut scores, &mut probabilities)?;
            out.extend(probabilities.iter().flat_map(|probability| probability.to_le_bytes()));
        }
    }
    Ok(())
}
