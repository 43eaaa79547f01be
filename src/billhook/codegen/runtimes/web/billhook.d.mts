/** A row of features, in the order of training; null, undefined and NaN are missing values. */
export type Row = ReadonlyArray<number | null | undefined> | Float32Array | Float64Array | Int32Array | Int16Array;
export type Label = string | number | boolean;

export interface Column {
  readonly name: string;
  readonly kind: "number" | "one_hot" | "ordered";
  readonly categories: readonly string[];
  /** The category that a missing cell counts as; null if it counts as none, as unknown ones do. */
  readonly missing: string | null;
}

export class Model {
  private constructor();
  readonly nFeatures: number;
  /** 1 for regression. */
  readonly nClasses: number;
  readonly nScores: number;
  readonly isRegression: boolean;
  /** The labels of the classes, numbers from 0 on if the blob has no names; null for regression. */
  readonly classes: readonly Label[] | null;
  /** null if the blob has no names. */
  readonly featureNames: readonly string[] | null;
  /** How the columns of a table become features; null if the model knows no table. */
  readonly columns: readonly Column[] | null;
  readonly origin: string;

  /** The scores of a row: whole numbers, the same on every machine. */
  scores(row: Row): Int32Array;
  scores(rows: readonly Row[]): Int32Array[];
  /** The label of a row's class, or a number for regression. */
  predict(row: Row): Label;
  predict(rows: readonly Row[]): Label[];
  /** The probability of each class, in the order of `classes`. */
  predictProba(row: Row): number[];
  predictProba(rows: readonly Row[]): number[][];
  /** The row of a record: an object with a value for each column of the table. Those that it lacks, null, undefined
   * and NaN are missing; a name that is no column throws a RangeError. */
  encode(record: Readonly<Record<string, Label | null | undefined>>): number[];
}

/** Return the model in a blob: its bytes, or the address of a file. Rejects what is cut off, damaged or made up. */
export function load(source: ArrayBuffer | ArrayBufferView | string | URL): Promise<Model>;
