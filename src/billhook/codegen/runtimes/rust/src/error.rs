use core::fmt;

/// What is wrong with a blob, or with what a function was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not begin as a blob does.
    NotAModel,
    /// The blob has a version that this crate does not read.
    Version(u8),
    /// There are fewer bytes than the blob says that it has.
    CutOff,
    /// The checksum is wrong.
    Damaged,
    /// The checksum is right, and what the blob says cannot be.
    Invalid(&'static str),
    /// A row has another number of features than the model; the number that it must have.
    RowLength(usize),
    /// The scratch is too short; the length that it must have at least.
    ScratchLength(usize),
    /// The slice for scores has another length than the model has scores; the length that it must have.
    ScoresLength(usize),
    /// The slice for probabilities has another length than the model has classes; the length that it must have.
    ProbabilitiesLength(usize),
    /// The model predicts a number: use `value`.
    Regression,
    /// The model predicts a class: use `predict`.
    Classification,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::NotAModel => f.write_str("the bytes do not begin with BHM: they are no blob of a model"),
            Error::Version(version) => write!(f, "the blob is of version {version}, and this crate reads version 1"),
            Error::CutOff => f.write_str("the blob is cut off, or its length cannot be"),
            Error::Damaged => f.write_str("the blob is damaged: its checksum is wrong"),
            Error::Invalid(part) => write!(f, "the blob is no valid model: {part}"),
            Error::RowLength(n) => write!(f, "a row must have {n} features"),
            Error::ScratchLength(n) => write!(f, "the scratch must have {n} places at least"),
            Error::ScoresLength(n) => write!(f, "there must be places for {n} scores"),
            Error::ProbabilitiesLength(n) => write!(f, "there must be places for {n} probabilities"),
            Error::Regression => f.write_str("the model predicts a number, not a class: use value"),
            Error::Classification => f.write_str("the model predicts a class, not a number: use predict"),
        }
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}
