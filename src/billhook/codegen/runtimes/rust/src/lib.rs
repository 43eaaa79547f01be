//! Reads the models that [Billhook](https://pypi.org/project/billhook) makes: ensembles of trees in few bytes.
//!
//! A model comes as a blob, a string of bytes that `billhook emit --blob model.bhm` or `packed.to_bytes()` writes.
//! It is used where it is, in flash, in memory or in a file: nothing is allocated, and there is no `unsafe` code.
//! [`Model::open`] checks all of it once. After that no blob, not even one that somebody made up, makes a
//! prediction panic or go on for ever. Scores are whole numbers, the same to the last bit on every processor, in
//! Python and in Billhook's readers in other languages.
//!
//! ```
//! # fn main() -> Result<(), billhook::Error> {
//! // One split: a row goes left if its second number is 1.5 or less.
//! const BLOB: &[u8] = &[
//!     0x42, 0x48, 0x4D, 0x01, 0x00, 0x00, 0x00, 0x3B, 0x1C, 0x00, 0x03, 0x00, 0x04, 0x02, 0x02, 0x02,
//!     0x00, 0x01, 0x00, 0x00, 0x00, 0x08, 0x00, 0x44, 0x02, 0x00, 0x24, 0x92, 0x01, 0x24, 0x12, 0x02,
//!     0x30, 0x80, 0x95, 0x80, 0x80, 0x40, 0x1F, 0xFF, 0xFF, 0xFF, 0xF8, 0x00, 0x00, 0x00, 0x02, 0x3E,
//!     0x12, 0x49, 0x25, 0x00, 0x00, 0x00, 0x00, 0x18, 0x79, 0xCE, 0x9D,
//! ];
//! let model = billhook::Model::open(BLOB)?;
//! let mut scratch = [0; 8];
//! let mut scores = [0];
//! assert!(model.scratch_len() <= scratch.len());
//! assert_eq!(model.n_scores(), scores.len());
//! assert_eq!(model.predict(&[0.0, 1.0], &mut scratch, &mut scores)?, 0);
//! assert_eq!(model.predict(&[0.0, 2.0], &mut scratch, &mut scores)?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! The feature `std` makes [`Error`] a `std::error::Error`; without it the crate needs `core` only.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "std")]
extern crate std;

mod bits;
mod check;
mod codes;
mod error;
mod math;
mod sections;
mod trees;

pub use error::Error;

use bits::crc32;
use check::check;
use sections::{Sections, BASES, FEATURES, TREES, TURNS};

const HEADER: usize = 12;
const CHECKSUM: usize = 4;
const MOST_BYTES: usize = (1 << 29) - 1;

const LAST_WINS: u8 = 1;
const NO_MISSING: u8 = 4;
const ONE_VALUE: u8 = 8;
const TWO_CLASSES: u8 = 16;
const KNOWN: u8 = 31;

/// How scores become answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Share,
    Logistic,
    Softmax,
    Isolation,
    Number,
    Amount,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        [Kind::Share, Kind::Logistic, Kind::Softmax, Kind::Isolation, Kind::Number, Kind::Amount]
            .get(usize::from(byte))
            .copied()
    }
}

/// A model in a blob that has been checked.
///
/// All methods that predict take a row of [`n_features`](Model::n_features) numbers, a scratch of at least
/// [`scratch_len`](Model::scratch_len) places, and exactly [`n_scores`](Model::n_scores) places for the scores; what
/// was in the last two does not matter. NaN is a missing value.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    sections: Sections<'a>,
    names: &'a [u8],
    kind: Kind,
    flags: u8,
    n_features: u32,
    n_classes: u32,
    n_scores: u32,
    n_values: u32,
    scale: f32,
    base: f32,
}

impl<'a> Model<'a> {
    /// Returns the model that a blob is.
    ///
    /// # Errors
    ///
    /// If the blob is damaged, made up, or of another version.
    pub fn open(blob: &'a [u8]) -> Result<Model<'a>, Error> {
        if !blob.starts_with(b"BHM") {
            return Err(Error::NotAModel);
        }
        let header = blob.get(..HEADER + CHECKSUM).ok_or(Error::CutOff)?;
        let (version, length, flags, kind, count_bits, zero) = match *header {
            [_, _, _, version, a, b, c, d, flags, kind, count_bits, zero, ..] => {
                (version, u32::from_be_bytes([a, b, c, d]) as usize, flags, kind, count_bits, zero)
            }
            _ => return Err(Error::CutOff),
        };
        if version != 1 {
            return Err(Error::Version(version));
        }
        if length > blob.len() || length > MOST_BYTES || length < HEADER + CHECKSUM {
            return Err(Error::CutOff);
        }
        let (core, names) = split(blob, length).ok_or(Error::CutOff)?;
        let checked = without_checksum(core).ok_or(Error::Damaged)?;
        let data = checked.get(HEADER..).ok_or(Error::CutOff)?;
        check(zero == 0 && flags & !KNOWN == 0, "it is of a kind that is not known")?;
        let kind = Kind::of(kind).ok_or(Error::Invalid("it is of a kind that is not known"))?;
        let sections = Sections::of(data, u32::from(count_bits))?;
        let n_scores = sections.count(BASES).saturating_sub(3);
        let is_regression = matches!(kind, Kind::Number | Kind::Amount);
        check(n_scores > 0 && (n_scores == 1 || !is_regression), "its bases")?;
        let is_two = flags & TWO_CLASSES != 0;
        check(!is_two || (n_scores == 1 && !is_regression), "its classes")?;
        let model = Model {
            sections,
            names,
            kind,
            flags,
            n_features: sections.number(BASES, n_scores),
            n_classes: if is_two { 2 } else { n_scores },
            n_scores,
            n_values: if flags & ONE_VALUE == 0 { n_scores } else { 1 },
            scale: f32::from_bits(sections.number(BASES, n_scores + 1)),
            base: f32::from_bits(sections.number(BASES, n_scores + 2)),
        };
        model.check()?;
        Ok(model)
    }

    /// Returns how many numbers a row has.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features as usize
    }

    /// Returns how many classes there are; 1 for a model that predicts a number.
    #[must_use]
    pub fn n_classes(&self) -> usize {
        self.n_classes as usize
    }

    /// Returns how many scores a row has: one for each class, or only one if two classes need no more.
    #[must_use]
    pub fn n_scores(&self) -> usize {
        self.n_scores as usize
    }

    /// Returns how many places the scratch must have at least.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        self.sections.count(FEATURES) as usize + self.n_projections() as usize
    }

    /// Returns how many sums of codes splits may test, behind the features in use.
    fn n_projections(&self) -> u32 {
        if self.flags & NO_MISSING != 0 {
            self.sections.count(TURNS)
        } else {
            0
        }
    }

    /// Returns whether the model predicts a number, not a class.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Amount)
    }

    /// Returns labels of classes and names of features as the JSON text in the blob, if it is there and not damaged.
    #[must_use]
    pub fn names(&self) -> Option<&'a str> {
        core::str::from_utf8(without_checksum(self.names)?).ok()
    }

    /// Writes the scores of a row: whole numbers, the same to the last bit everywhere.
    ///
    /// # Errors
    ///
    /// If the row, the scratch or the scores have another length than they must have.
    pub fn scores(&self, row: &[f32], scratch: &mut [u16], scores: &mut [i32]) -> Result<(), Error> {
        if row.len() != self.n_features() {
            return Err(Error::RowLength(self.n_features()));
        }
        if scores.len() != self.n_scores() {
            return Err(Error::ScoresLength(self.n_scores()));
        }
        if scratch.len() < self.scratch_len() {
            return Err(Error::ScratchLength(self.scratch_len()));
        }
        self.find_codes(row, scratch);
        self.add_trees(scratch, scores);
        Ok(())
    }

    /// Returns the number of the class that a row is predicted to have, from 0 on.
    ///
    /// # Errors
    ///
    /// As [`scores`](Model::scores), and if the model predicts a number.
    pub fn predict(&self, row: &[f32], scratch: &mut [u16], scores: &mut [i32]) -> Result<usize, Error> {
        if self.is_regression() {
            return Err(Error::Regression);
        }
        self.scores(row, scratch, scores)?;
        if let [score] = *scores {
            let is_second = if self.flags & LAST_WINS != 0 { score >= 0 } else { score > 0 };
            return Ok(usize::from(is_second && self.n_classes > 1));
        }
        // Of equal scores the first.
        let highest = scores.iter().max();
        Ok(scores.iter().position(|score| Some(score) == highest).unwrap_or(0))
    }

    /// Returns the number that is predicted for a row, in the unit of the target.
    ///
    /// # Errors
    ///
    /// As [`scores`](Model::scores), and if the model predicts a class.
    pub fn value(&self, row: &[f32], scratch: &mut [u16], scores: &mut [i32]) -> Result<f32, Error> {
        if !self.is_regression() {
            return Err(Error::Classification);
        }
        self.scores(row, scratch, scores)?;
        let raw = scores.first().map_or(0.0, |score| self.raw(*score));
        Ok(if self.kind == Kind::Amount { math::exp(raw) as f32 } else { raw as f32 })
    }

    /// Writes the probability of each class, [`n_classes`](Model::n_classes) of them.
    ///
    /// Of forests whose leaves were refined they may lie outside of 0 to 1: they are what the trees add up to.
    ///
    /// # Errors
    ///
    /// As [`predict`](Model::predict), and if there is not one place for each class.
    pub fn predict_proba(
        &self,
        row: &[f32],
        scratch: &mut [u16],
        scores: &mut [i32],
        probabilities: &mut [f32],
    ) -> Result<(), Error> {
        if self.is_regression() {
            return Err(Error::Regression);
        }
        if probabilities.len() != self.n_classes() {
            return Err(Error::ProbabilitiesLength(self.n_classes()));
        }
        self.scores(row, scratch, scores)?;
        if self.n_scores > 1 {
            self.of_many(scores, probabilities);
            return Ok(());
        }
        let raw = scores.first().map_or(0.0, |score| self.raw(*score));
        let second = match self.kind {
            Kind::Isolation => 1.0 - math::exp2((-1.0 - raw).min(0.0)),
            Kind::Share => (1.0 + raw) / 2.0,
            _ => 1.0 / (1.0 + math::exp(-raw)),
        };
        // Of a single class, the last.
        for (place, probability) in probabilities.iter_mut().rev().zip([second, 1.0 - second]) {
            *place = probability as f32;
        }
        Ok(())
    }

    fn of_many(&self, scores: &[i32], probabilities: &mut [f32]) {
        let is_softmax = self.kind == Kind::Softmax;
        let highest = scores.iter().copied().max().unwrap_or(0);
        let mut sum = 0.0;
        for (place, score) in probabilities.iter_mut().zip(scores) {
            let number = if is_softmax { math::exp(self.raw(*score) - self.raw(highest)) } else { self.raw(*score) };
            sum += number;
            *place = number as f32;
        }
        if is_softmax {
            for place in probabilities {
                *place = (f64::from(*place) / sum) as f32;
            }
        }
    }

    fn raw(&self, score: i32) -> f64 {
        f64::from(score) * f64::from(self.scale) + f64::from(self.base)
    }
}

/// Returns the bytes before a place and those from it on; not by `split_at`, in which there is a panic.
fn split(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    Some((bytes.get(..at)?, bytes.get(at..)?))
}

/// Returns the bytes before a checksum, if that is theirs.
fn without_checksum(bytes: &[u8]) -> Option<&[u8]> {
    let (checked, checksum) = split(bytes, bytes.len().checked_sub(CHECKSUM)?)?;
    let found: [u8; CHECKSUM] = checksum.try_into().ok()?;
    (crc32(checked) == u32::from_le_bytes(found)).then_some(checked)
}

impl core::fmt::Debug for Model<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Model")
            .field("n_features", &self.n_features())
            .field("n_classes", &self.n_classes())
            .field("n_trees", &self.sections.count(TREES))
            .field("n_leaves", &self.n_leaves())
            .finish()
    }
}
