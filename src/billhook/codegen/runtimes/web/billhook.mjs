// Reads any tree ensemble that Billhook packed into a blob. Needs nothing else: the program is in this file.

const PROGRAM = "$program";
const HEADER = 16;
const SMALL_SCRATCH = 7;
const ERRORS = [
  "",
  "it does not begin with BHM: it is no blob of a model",
  "another version of Billhook wrote it: use the reader of that version",
  "it is cut off",
  "it is damaged: its checksum is wrong",
  "it is no valid model",
  "it is too large",
  "there is not enough memory for it",
];

let compiled;

/** Return the model in a blob: its bytes, or the address of a file. */
export async function load(source) {
  const bytes = await bytesOf(source);
  compiled ??= WebAssembly.compile(Uint8Array.from(atob(PROGRAM), (char) => char.charCodeAt(0)));
  const instance = await WebAssembly.instantiate(await compiled, {});
  return new Model(instance.exports, bytes);
}

export class Model {
  #program;
  #row;
  #roundsDown;
  #link;
  #scale;
  #base;

  constructor(program, bytes) {
    const size = bytes.length < HEADER ? bytes.length : Math.min(bytes.length, view(bytes).getUint32(4));
    const blob = program.heap();
    this.#program = program;
    this.#reserve(blob + size);
    new Uint8Array(program.memory.buffer, blob, size).set(bytes.subarray(0, size));
    let error = program.open(blob, size, 0, 0);
    if (error === SMALL_SCRATCH) {
      const scratch = (blob + size + 7) & ~7;
      this.#row = scratch + 4 * program.scratch();
      this.#reserve(this.#row + 4 * program.features());
      error = program.open(blob, size, scratch, program.scratch());
    }
    if (error) throw new Error("the model cannot be opened: " + ERRORS[error]);

    this.#roundsDown = (bytes[8] & 2) !== 0;
    this.#link = ["identity", "logistic", "softmax", "isolation", "identity", "exp"][program.kind()];
    this.isRegression = program.kind() > 3;
    this.nFeatures = program.features();
    this.nClasses = program.classes();
    this.nScores = program.columns();
    const names = namesOf(bytes.subarray(size));
    // Behind the names they stand in full.
    this.#scale = names.scale ?? view(bytes).getFloat32(size - 12);
    this.#base = this.isRegression ? names.base ?? ("scale" in names ? 0 : view(bytes).getFloat32(size - 8)) : 0;
    this.classes = this.isRegression ? null : names.classes?.labels ?? Array.from({ length: this.nClasses }, (_, k) => k);
    if (this.classes !== null && this.classes.length !== this.nClasses)
      throw new Error("the model cannot be opened: its names have " + this.classes.length + " classes, not " + this.nClasses);
    this.featureNames = names.feature_names ?? null;
    this.columns = names.encoding?.map(columnOf) ?? null;
    this.origin = names.origin ?? "";
    Object.freeze(this);
  }

  /** The scores of a row, whole numbers that are the same on every machine; of several rows, an array of them. */
  scores(rows) {
    return this.#each(rows, (row) => this.#scoresOf(row));
  }

  /** The label of a row's class, or a number for regression; of several rows, an array of them. */
  predict(rows) {
    return this.#each(rows, (row) => {
      if (!this.isRegression) {
        this.#put(row);
        return this.classes[this.#program.predict(this.#row)];
      }
      const raw = this.#scoresOf(row)[0] * this.#scale + this.#base;
      return this.#link === "exp" ? Math.exp(raw) : raw;
    });
  }

  /** The probability of each class, in the order of `classes`; of several rows, an array of them. */
  predictProba(rows) {
    if (this.isRegression) throw new TypeError("predictProba is for classes; this model predicts a number: use predict");
    return this.#each(rows, (row) => {
      const raw = Array.from(this.#scoresOf(row), (score) => score * this.#scale);
      if (raw.length === 1) {
        const second = secondOf(raw[0], this.#link);
        return this.nClasses === 1 ? [second] : [1 - second, second];
      }
      if (this.#link !== "softmax") return raw;
      const most = Math.max(...raw);
      const powers = raw.map((score) => Math.exp(score - most));
      const sum = powers.reduce((a, b) => a + b, 0);
      return powers.map((power) => power / sum);
    });
  }

  /** The row of a record: an object with a value for each column of the table that the model was trained on. */
  encode(record) {
    const row = [];
    const known = this.columns?.map(({ name }) => name) ?? this.featureNames;
    if (known === null) throw new Error("the blob has no names: give rows, not records");
    const unknown = Object.keys(record).filter((name) => !known.includes(name));
    if (unknown.length) throw new RangeError("the model has no column " + unknown.join(", ") + "; it has " + known.join(", "));
    if (this.columns === null) {
      for (const name of this.featureNames) row.push(record[name] ?? NaN);
      return row;
    }
    for (const { name, kind, categories, missing } of this.columns) {
      const place = categories.indexOf(isMissing(record[name]) ? missing : String(record[name]));
      if (kind === "number") row.push(record[name] ?? NaN);
      else if (kind === "ordered") row.push(place < 0 ? NaN : place);
      else categories.forEach((_, k) => row.push(k === place ? 1 : 0));
    }
    return row;
  }

  #each(rows, answer) {
    if (!isList(rows)) throw new TypeError("a row must be an array of numbers");
    return rows.length && isList(rows[0]) ? Array.from(rows, answer) : answer(rows);
  }

  #scoresOf(row) {
    this.#put(row);
    const at = this.#program.scores(this.#row);
    return new Int32Array(this.#program.memory.buffer, at, this.nScores).slice();
  }

  #put(row) {
    if (!isList(row) || row.length !== this.nFeatures)
      throw new RangeError("a row has " + (row?.length ?? "no") + " values, and the model takes " + this.nFeatures);
    const into = new Float32Array(this.#program.memory.buffer, this.#row, this.nFeatures);
    if (ArrayBuffer.isView(row)) into.set(row);
    else for (let k = 0; k < row.length; k++) into[k] = row[k] ?? NaN;
    if (!this.#roundsDown) return;
    const bits = new Int32Array(into.buffer, this.#row, this.nFeatures);
    for (let k = 0; k < row.length; k++) if (into[k] > row[k]) bits[k] += bits[k] > 0 ? -1 : 1; // the next float below
  }

  #reserve(end) {
    const memory = this.#program.memory;
    const more = end - memory.buffer.byteLength;
    if (more > 0) memory.grow(Math.ceil(more / 65536));
  }
}

function secondOf(raw, link) {
  if (link === "isolation") return 1 - 2 ** Math.min(-1 - raw, 0);
  return link === "identity" ? (1 + raw) / 2 : 1 / (1 + Math.exp(-raw));
}

/** How a column of a table becomes features; a missing cell counts as the category `missing`, unless that is null. */
function columnOf([name, kind, categories, missing = null]) {
  return { name, kind, categories, missing };
}

function isMissing(cell) {
  return cell === null || cell === undefined || Number.isNaN(cell);
}

function isList(value) {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function view(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function namesOf(bytes) {
  if (bytes.length === 0) return {};
  const end = bytes.length - 4;
  if (end < 0 || checksum(bytes.subarray(0, end)) !== view(bytes).getUint32(end, true))
    throw new Error("the model cannot be opened: its names are damaged or cut off");
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, end)));
}

function checksum(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (typeof source !== "string" && !(source instanceof URL))
    throw new TypeError("load takes the bytes of a model, or the address of a file with them");
  if (String(source).startsWith("file:") && typeof process === "object") {
    const { readFile } = await import("node:fs/promises");
    return new Uint8Array(await readFile(new URL(source)));
  }
  const answer = await fetch(source);
  if (!answer.ok) throw new Error("cannot load " + source + ": " + answer.status + " " + answer.statusText);
  return new Uint8Array(await answer.arrayBuffer());
}
