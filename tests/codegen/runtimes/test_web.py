"""The reader as WebAssembly: in Node on every kind of model, and the page in a browser."""

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.codegen import _runtime_web
from billhook.codegen._runtime_web import fields_of, web_module
from billhook.interop import as_forest
from billhook.tables import EncodedColumn, Encoding
from blob_models import MODELS, blob_model, rounding_down
from browser import Browser, FolderServer

# The answers of all models to their rows, and errors, as JSON.
SCRIPT = """
import { load } from "./billhook.mjs";
import { readFile } from "node:fs/promises";

const cases = JSON.parse(await readFile("cases.json"));
const answers = [];
for (const { blob, rows, nFeatures } of cases) {
  const bytes = Buffer.from(rows, "base64");
  const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const all = [];
  for (let at = 0; at < floats.length; at += nFeatures) all.push(floats.subarray(at, at + nFeatures));
  try {
    const model = await load(Buffer.from(blob, "base64"));
    answers.push({
      scores: model.scores(all).map((scores) => Array.from(scores)),
      one: Array.from(model.scores(Array.from(all[0]))),
      predicted: model.predict(all),
      probabilities: model.isRegression ? null : model.predictProba(all),
      classes: model.classes,
      featureNames: model.featureNames,
    });
  } catch (error) {
    answers.push({ error: error.message });
  }
}
console.log(JSON.stringify(answers));
"""


@pytest.fixture(scope="module")
def module():
    try:
        return web_module()
    except bh.MissingToolError:
        pytest.skip("clang and lld are not installed: make toolchains")


def in_node(folder, module, script):
    """Return what a script prints that can import the module."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: make toolchains")
    (folder / "billhook.mjs").write_text(module)
    (folder / "main.mjs").write_text(script)
    done = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def case(packed, rows, blob=None):
    rows = np.ascontiguousarray(rows, np.float32)
    encoded = [base64.b64encode(text).decode() for text in (blob or packed.to_bytes(), rows.tobytes())]
    return {"blob": encoded[0], "rows": encoded[1], "nFeatures": packed.n_features}


def answers(folder, module, cases):
    (folder / "cases.json").write_text(json.dumps(cases))
    return json.loads(in_node(folder, module, SCRIPT))


def test_scores_are_those_of_python_to_the_last_bit(module, tmp_path):
    models = [blob_model(name) for name in MODELS]
    for (packed, rows), answer in zip(
        models, answers(tmp_path, module, [case(*model) for model in models]), strict=True
    ):
        np.testing.assert_array_equal(answer["scores"], packed.scores(rows))
        np.testing.assert_array_equal(answer["one"], packed.scores(rows)[0])
        # In 64 bits, as in Python; only functions such as exp may differ in the last of them.
        if packed.classes is None:
            np.testing.assert_allclose(answer["predicted"], packed.predict(rows), rtol=1e-13)
        else:
            assert answer["predicted"] == packed.predict(rows).tolist()
            assert answer["classes"] == packed.classes.tolist()
            np.testing.assert_allclose(answer["probabilities"], packed.predict_proba(rows), rtol=1e-12, atol=1e-15)


def test_without_names_classes_are_numbers(module, tmp_path):
    packed, rows = blob_model("two classes, boosted")
    [answer] = answers(tmp_path, module, [case(packed, rows, packed.to_bytes(names=False))])
    assert answer["classes"] == [0, 1]
    assert answer["featureNames"] is None
    np.testing.assert_allclose(answer["probabilities"], packed.predict_proba(rows), rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda blob: blob[:3], "it is cut off"),
        (lambda blob: b"PK" + blob, "it does not begin with BHM"),
        (lambda blob: blob[:50] + bytes([blob[50] ^ 4]) + blob[51:], "it is damaged: its checksum is wrong"),
        (lambda blob: blob[:-1], "its names are damaged or cut off"),
    ],
)
def test_what_is_wrong_with_a_blob_is_said(module, change, message, tmp_path):
    packed, rows = blob_model("ranks")
    [answer] = answers(tmp_path, module, [case(packed, rows, change(packed.to_bytes()))])
    assert message in answer["error"]


def test_float64_values_are_rounded_down_where_the_forest_does_so(module, tmp_path):
    packed, rows = rounding_down("exact")
    (tmp_path / "model.bhm").write_bytes(packed.to_bytes())
    script = """
import { load } from "./billhook.mjs";
const model = await load(new URL("./model.bhm", import.meta.url));
const scores = (rows) => rows.map((row) => model.scores(row)[0]);
const rows = ROWS;
console.log(JSON.stringify([scores(rows), scores(rows.map((row) => Float64Array.from(row)))]));
"""
    found = json.loads(in_node(tmp_path, module, script.replace("ROWS", json.dumps(rows.tolist()))))
    assert found == [packed.scores(rows).ravel().tolist()] * 2


def test_rows_that_do_not_fit_are_refused(module, tmp_path):
    packed, _ = blob_model("ranks")
    (tmp_path / "model.bhm").write_bytes(packed.to_bytes())
    script = """
import { load } from "./billhook.mjs";
const model = await load(new URL("./model.bhm", import.meta.url));
for (const ask of [() => model.predict([1, 2]), () => model.predict(3), () => model.predictProba([0, 0, 0, 0])])
  try { ask(); } catch (error) { console.log(error.message); }
await load(12).catch((error) => console.log(error.message));
console.log(model.predict([1, null, 2, NaN]) === model.predict([[1, NaN, 2, undefined]])[0]);
"""
    assert in_node(tmp_path, module, script).splitlines() == [
        "a row has 2 values, and the model takes 4",
        "a row must be an array of numbers",
        "predictProba is for classes; this model predicts a number: use predict",
        "load takes the bytes of a model, or the address of a file with them",
        "true",
    ]


@pytest.fixture(scope="module")
def filled_in():
    """Return a table with missing and unknown cells, and a model in which missing ones count as a category."""
    rng = np.random.default_rng(0)
    columns = (
        EncodedColumn("size"),
        EncodedColumn("colour", "one_hot", ("blue", "green", "red"), "green"),
        EncodedColumn("wild", "ordered", ("no", "yes"), "yes"),
        EncodedColumn("shape", "one_hot", ("flat", "round")),
    )
    encoding = Encoding(columns)
    y = rng.integers(0, 2, 200)
    features = np.zeros((200, encoding.n_features), np.float32)
    features[:, 0] = rng.normal(size=200) + y
    features[np.arange(200), 1 + (rng.integers(0, 2, 200) + y)] = 1
    features[:, 4] = rng.integers(0, 2, 200) | y
    features[np.arange(200), 5 + (rng.integers(0, 4, 200) + y > 2)] = 1
    forest = RandomForestClassifier(8, max_leaf_nodes=12, random_state=0).fit(features, y)
    frame = pd.DataFrame(
        {
            "size": [0.5, np.nan, 0.1, 2.0, 0.0, 1.0],
            "colour": ["red", None, "pink", "blue", None, "green"],
            "wild": ["no", "no", None, "never", None, "yes"],
            "shape": ["flat", "round", None, "odd", None, "round"],
        }
    )
    return frame, bh.pack(as_forest(forest).with_encoding(encoding))


def test_records_are_encoded_as_tables_are(module, filled_in, tmp_path):
    frame, packed = filled_in
    (tmp_path / "model.bhm").write_bytes(packed.to_bytes())
    (tmp_path / "records.json").write_text(frame.to_json(orient="records"))
    script = """
import { load } from "./billhook.mjs";
import { readFile } from "node:fs/promises";
const model = await load(new URL("./model.bhm", import.meta.url));
const records = JSON.parse(await readFile("records.json"));
// A cell that is missing is null, undefined, NaN, or not there.
const others = [undefined, NaN].map((gap) => records.map((record) =>
  Object.fromEntries(Object.entries(record).map(([name, cell]) => [name, cell ?? gap]))));
const without = records.map((record) =>
  Object.fromEntries(Object.entries(record).filter(([, cell]) => cell !== null)));
const answers = [records, ...others, without].map((all) =>
  model.predictProba(all.map((record) => model.encode(record))));
console.log(JSON.stringify([model.columns.map(({ missing }) => missing), answers]));
"""
    missing, answers = json.loads(in_node(tmp_path, module, script))
    assert missing == [None, "green", "yes", None]
    expected = packed.predict_proba(frame)
    for answer in answers:
        np.testing.assert_allclose(answer, expected, rtol=1e-12)


def test_a_record_with_a_name_that_is_no_column_is_refused(module, filled_in, tmp_path):
    (tmp_path / "table.bhm").write_bytes(filled_in[1].to_bytes())
    X, y = load_iris(return_X_y=True, as_frame=True)
    (tmp_path / "rows.bhm").write_bytes(bh.pack(RandomForestClassifier(2, random_state=0).fit(X, y)).to_bytes())
    script = """
import { load } from "./billhook.mjs";
for (const name of ["table", "rows"]) {
  const model = await load(new URL(`./${name}.bhm`, import.meta.url));
  try { model.encode({ coulor: "red", "sepal length (cm)": 1 }); } catch (error) { console.log(error.message); }
}
"""
    assert in_node(tmp_path, module, script).splitlines() == [
        "the model has no column coulor, sepal length (cm); it has size, colour, wild, shape",
        f"the model has no column coulor; it has {', '.join(X.columns)}",
    ]


def test_the_program_is_small_and_imports_nothing(module):
    program = base64.b64decode(re.search(r'PROGRAM = "([^"]+)"', module)[1])
    assert program[:4] == b"\0asm"
    assert len(program) <= 8 * 1024
    # Sections follow a header of 8 bytes, each with its number and its length; number 2 are imports.
    at, sections = 8, []
    while at < len(program):
        sections.append(program[at])
        at, length, shift = at + 1, 0, 0
        while True:
            length |= (program[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if program[at - 1] < 128:
                break
        at += length
    assert 2 not in sections


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(_runtime_web, "which", lambda _: None)
    monkeypatch.setattr(_runtime_web, "find_spec", lambda _: None)
    web_module.cache_clear()
    with pytest.raises(bh.MissingToolError, match="apt-get install clang lld; elsewhere: pip install ziglang"):
        bh.emit(blob_model("steps")[0], tmp_path / "out", runtime="web")
    assert not (tmp_path / "out").exists()


def test_zig_compiles_it_where_clang_cannot(monkeypatch, tmp_path):
    pytest.importorskip("ziglang")
    monkeypatch.setattr(_runtime_web, "which", lambda _: None)
    web_module.cache_clear()
    try:
        packed, rows = blob_model("steps")
        [answer] = answers(tmp_path, web_module(), [case(packed, rows)])
    finally:
        web_module.cache_clear()
    np.testing.assert_array_equal(answer["scores"], packed.scores(rows))


@pytest.fixture(scope="module")
def flowers():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame["colour"] = np.where(y == 1, "red", np.where(np.arange(150) % 3 == 0, "</script>", "blue"))
    frame["wild"] = np.where((y == 2) | (np.arange(150) % 9 == 0), "yes", "no")
    table = frame.assign(kind=np.array(["setosa", "versi<b>color", "virginica"])[y])
    return frame, bh.fit_table(table, "kind", budget=700, n_trials=1).packed


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: make toolchains")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


WAIT = """new Promise((done) => {
  const look = () => document.getElementById("verdict").textContent !== "\\u2026" || error.textContent
    ? done(document.getElementById("verdict").textContent) : requestAnimationFrame(look);
  const error = document.getElementById("error");
  look();
})"""
SHARES = "Array.from(document.querySelectorAll('#bars dd:nth-of-type(2n)'), (cell) => cell.textContent)"
SET = """(() => {{ const field = document.getElementById("field-{k}"); field.value = {value};
  field.dispatchEvent(new Event("input", {{ bubbles: true }})); }})()"""


IN_PAGE = """<!DOCTYPE html><title>models</title><script type="module">
import { load } from "./billhook.mjs";
window.answers = (async () => {
  const said = [];
  for (const [name, nFeatures, bits] of await (await fetch("rows.json")).json()) {
    const model = await load(new URL(name, import.meta.url));
    const floats = new Float32Array(Uint32Array.from(bits).buffer);
    const rows = Array.from({ length: floats.length / nFeatures },
      (_, k) => floats.subarray(k * nFeatures, (k + 1) * nFeatures));
    said.push(model.scores(rows).map((scores) => Array.from(scores)));
  }
  return said;
})();
</script>"""


def test_scores_in_a_browser_are_those_of_python_to_the_last_bit(module, browser, tmp_path):
    """The module as a page loads it, with models by their addresses."""
    models = [blob_model(name) for name in MODELS]
    (tmp_path / "billhook.mjs").write_text(module)
    (tmp_path / "index.html").write_text(IN_PAGE)
    about = []
    for number, (packed, rows) in enumerate(models):
        (tmp_path / f"{number}.bhm").write_bytes(packed.to_bytes())
        bits = np.ascontiguousarray(rows, np.float32).view(np.uint32).ravel().tolist()
        about.append([f"{number}.bhm", packed.n_features, bits])
    (tmp_path / "rows.json").write_text(json.dumps(about))
    with FolderServer(tmp_path) as address:
        browser.show(f"{address}/index.html")
        said = browser.run("window.answers")
    for (packed, rows), scores in zip(models, said, strict=True):
        np.testing.assert_array_equal(scores, packed.scores(rows))


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_a_number_ranges_a_fourth_beyond_where_it_makes_a_difference(unit):
    X = np.random.default_rng(0).normal(size=(400, 1)) * unit
    model = RandomForestRegressor(3, max_leaf_nodes=30, random_state=0).fit(X, X[:, 0] / unit)
    packed = bh.pack(model)
    values = packed.typical_values()[0]
    low, high = float(values.min()), float(values.max())
    (field,) = fields_of(packed, X.astype(np.float32))
    assert field["low"] == pytest.approx(low - 0.25 * (high - low), rel=1e-3)
    assert field["high"] == pytest.approx(high + 0.25 * (high - low), rel=1e-3)
    assert field["start"] == pytest.approx(np.median(X), rel=1e-2, abs=1e-3 * unit)


def test_the_page_predicts_from_its_form_without_a_network(flowers, browser, tmp_path):
    frame, packed = flowers
    bh.emit(packed, tmp_path / "out", runtime="web", name="Flowers & <more>")
    browser.open(tmp_path / "out" / "index.html")
    browser.run(WAIT)
    fields = fields_of(packed, np.zeros((1, packed.n_features), np.float32))
    assert {"colour"} <= {field["name"] for field in fields if field["kind"] != "number"}
    rows = [0, 20, 55, 70, 101, 149]
    expected = packed.predict_proba(frame)
    for row in rows:
        for k, field in enumerate(fields):
            cell = frame[field["name"]].iloc[row]
            value = cell if field["kind"] == "number" else field["categories"].index(cell)
            browser.run(SET.format(k=k, value=json.dumps(str(value))))
        assert browser.run("document.getElementById('verdict').textContent") == packed.predict(frame)[row]
        shown = browser.run(
            "Array.from(document.querySelectorAll('#bars dd:nth-of-type(2n)'), (cell) => cell.textContent)"
        )
        assert [float(text.removesuffix(" %")) for text in shown] == pytest.approx(100 * expected[row], abs=0.051)
    assert browser.run("document.title") == "Flowers & <more>"
    assert browser.said == []
    assert browser.requests == [(tmp_path / "out" / "index.html").as_uri()]


@pytest.mark.usefixtures("module")
def test_the_page_tells_missing_from_unknown(filled_in, browser, tmp_path):
    frame, packed = filled_in
    bh.emit(packed, tmp_path / "out", runtime="web")
    browser.open(tmp_path / "out" / "index.html")
    browser.run(WAIT)
    fields = fields_of(packed, np.zeros((1, packed.n_features), np.float32))
    for row, shares in enumerate(packed.predict_proba(frame)):
        for k, field in enumerate(fields):
            cell = frame[field["name"]].iloc[row]
            if field["kind"] == "number":
                value = "" if np.isnan(cell) else cell
            elif cell in field["categories"]:
                value = field["categories"].index(cell)
            else:
                value = "" if pd.isna(cell) and field["missing"] is not None else -1
            browser.run(SET.format(k=k, value=json.dumps(str(value))))
        shown = [float(text.removesuffix(" %")) for text in browser.run(SHARES)]
        assert shown == pytest.approx(100 * shares, abs=0.051)


@pytest.mark.usefixtures("module")
def test_the_page_of_a_regression_shows_its_number_and_takes_missing_values(browser, tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    packed = bh.pack(RandomForestRegressor(4, max_leaf_nodes=12, random_state=0).fit(X, y))
    bh.emit(packed, tmp_path / "out", runtime="web", X=X)
    browser.open(tmp_path / "out" / "index.html", width=390, height=800)
    first = float(browser.run(WAIT))
    assert y.min() < first < y.max()
    fields = fields_of(packed, X.to_numpy(np.float32))
    for k in range(len(fields)):
        browser.run(SET.format(k=k, value='""'))
    missing = packed.predict(np.full((1, packed.n_features), np.nan))[0]
    assert float(browser.run(WAIT)) == pytest.approx(missing, rel=1e-5)
    assert browser.run("document.documentElement.scrollWidth") <= 390


TYPE = "(() => { const field = document.getElementById('field-0'); field.focus(); field.select(); })()"
ERROR = "document.getElementById('error').textContent"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("missing_values", [True, False])
def test_the_page_says_what_is_wrong_in_its_form(missing_values, browser, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X, y)
    packed = bh.pack(forest, leaf_bits=5, missing_values=missing_values)
    name = packed.feature_names[packed.used.min()]
    bh.emit(packed, tmp_path / "out", runtime="web", X=X)
    browser.open(tmp_path / "out" / "index.html")
    first = browser.run(WAIT)
    browser.run(TYPE)
    browser.call("Input.insertText", text="1e")
    assert browser.run(ERROR) == f"{name}: this is not a number."
    assert browser.run("document.getElementById('verdict').textContent") == "\u2026"
    browser.run(SET.format(k=0, value='""'))
    said = "" if missing_values else f"{name}: give a number. The model knows no missing values."
    assert browser.run(ERROR) == said
    assert bool(browser.run(SHARES)) == missing_values
    browser.run(SET.format(k=0, value=json.dumps(str(X[name].median()))))
    assert browser.run(ERROR) == ""
    assert browser.run("document.getElementById('verdict').textContent") == first


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(("width", "height", "share"), [(390, 844, 0.5), (1280, 900, 1.0)])
def test_long_names_of_many_classes_leave_room_for_the_form(width, height, share, browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = np.array([f"a class whose name is rather long, as people write them, number {k}" for k in range(20)])
    forest = RandomForestClassifier(20, max_leaf_nodes=24, random_state=0)
    packed = bh.pack(forest.fit(X, y[np.digitize(X[:, 0], np.linspace(-1.5, 1.5, 19))]), leaf_bits=5)
    bh.emit(packed, tmp_path / "out", runtime="web", X=X)
    browser.open(tmp_path / "out" / "index.html", width=width, height=height)
    browser.run(WAIT)
    assert len(browser.run(SHARES)) == 12
    assert browser.run("document.getElementById('answer').offsetHeight") < share * height
    assert browser.run("document.documentElement.scrollWidth") <= width
