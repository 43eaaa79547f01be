import re
import shutil
import subprocess

import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame.columns = ["sl", "sw", "pl", "pw"]
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=8, random_state=0).fit(frame, y))
    forest.save("model.bhk")
    bh.pack(forest).save("packed.bhk")
    frame.assign(kind=y).to_csv("rows.csv", index=False)
    return tmp_path


EMIT = ["emit", "model.bhk", "--out", "c"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--threshold-bits", "exact", "--leaf-bits", "4"],
        ["--target", "arduino-uno"],
        ["--layout", "fast", "--inputs", "float,int16"],
        ["--layout", "balanced", "--leaf-bits", "5"],
        ["--optimize", "speed", "--codebook", "8", "--scales", "class", "--no-missing-values"],
    ],
)
@pytest.mark.parametrize("table", [[], ["--table", "rows.csv", "--label", "kind"]])
def test_a_saved_forest_becomes_c_that_passes_its_test(folder, options, table, capsys):
    assert main([*EMIT, *options, *table]) == 0
    printed = capsys.readouterr().out
    assert "bytes" in printed
    assert ("get another class" in printed) == bool(table)
    assert ("Accuracy" in (folder / "c" / "model.h").read_text()) == bool(table)
    subprocess.run(["make", "-C", str(folder / "c"), "test"], check=True, capture_output=True)


@pytest.mark.usefixtures("folder")
def test_packed_models_and_numbers_too(capsys):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(frame, y))
    forest.save("numbers.bhk")
    frame.assign(target=y).to_csv("numbers.csv", index=False)
    arguments = ["--table", "numbers.csv", "--label", "target"]
    assert main(["emit", "numbers.bhk", "--out", "a", *arguments]) == 0
    assert "root mean squared error" in capsys.readouterr().out
    bh.pack(forest).save("packed.bhk")
    assert main(["emit", "packed.bhk", "--out", "b", *arguments]) == 0


@pytest.mark.parametrize(("options", "written"), [([], "compact"), (["--optimize", "speed"], "fast")])
def test_the_cost_of_each_layout_is_printed(folder, options, written, capsys):
    if not shutil.which("avr-gcc") or not shutil.which("simavr"):
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    assert main([*EMIT, "--target", "arduino-uno", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["layout", "bytes", "of", "flash", "of", "32,256", "cycles", "a", "row"]
    lines = lines[2:5]
    assert [line.split()[0] for line in lines] == ["compact", "balanced", "fast"]
    assert [line.split()[0] for line in lines if line.endswith("<- written")] == [written]
    assert ("goto" in (folder / "c" / "model.c").read_text()) == (written == "fast")


@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
def test_the_bytes_of_data_are_those_of_the_layout_that_is_written(folder, layout, capsys):
    assert main([*EMIT, "--layout", layout]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    if layout == "fast":
        assert said == f"{bh.load('packed.bhk').nbytes:,} bytes packed, written as code"
        return
    arrays = re.findall(r"uint8_t \w+\[\d*\][^=;]*= \{([^}]*)\}", (folder / "c" / "model.c").read_text())
    assert said == f"{sum(len(re.findall(r'[0-9a-fx]+', numbers)) for numbers in arrays):,} bytes of data"


@pytest.mark.usefixtures("folder")
def test_without_a_compiler_it_is_written_all_the_same(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert main([*EMIT, "--target", "arduino-uno"]) == 0
    assert "apt-get install gcc-avr avr-libc" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_speed_gives_way_where_there_is_no_room(capsys):
    if not shutil.which("avr-gcc") or not shutil.which("simavr"):
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    X, y = make_classification(3000, 10, n_informative=8, random_state=0)
    bh.as_forest(RandomForestClassifier(24, max_leaf_nodes=180, random_state=0).fit(X, y)).save("large.bhk")
    assert main(["emit", "large.bhk", "--out", "c", "--target", "arduino-uno", "--optimize", "speed"]) == 0
    assert "does not fit arduino-uno; wrote the balanced one" in capsys.readouterr().out
    assert main(["emit", "large.bhk", "--out", "d", "--target", "arduino-uno", "--layout", "fast"]) == 2
    assert "arduino-uno has 32,256; --layout compact takes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*EMIT, "--layout", "fats"], "no layout 'fats'; did you mean 'fast'?"),
        ([*EMIT, "--inputs", "float,int15"], "no kind of input 'int15'; did you mean 'int16'?"),
        ([*EMIT, "--inputs", ""], "no kind of input ''"),
        ([*EMIT, "--layout", ""], "no layout ''; known are compact, balanced, fast"),
        ([*EMIT, "--layout", "Fast "], "no layout 'Fast '; did you mean 'fast'?"),
        ([*EMIT, "--runtime", "C"], "no runtime 'C'; did you mean 'c'?"),
        ([*EMIT, "--runtime", "WASM"], "no runtime 'WASM'; did you mean 'web'?"),
        (["emit", "model.bhk", "--out", "", "--force"], "the name of the folder to write is empty: give '.'"),
        (["emit", "model.bhk", "--blob", ""], "the name of the file to write is empty"),
        ([*EMIT, "--codebook", "1"], "--codebook must be between 2 and 65,536, not 1"),
        ([*EMIT, "--scales", "two"], "--scales must be"),
        (
            ["emit", "packed.bhk", "--out", "c", "--leaf-bits", "4"],
            "--leaf-bits is for a forest; packed.bhk is packed",
        ),
        (["emit", "packed.bhk", "--out", "c", "--no-missing-values"], "--no-missing-values is for a forest"),
        (["emit", "nowhere.bhk", "--out", "c"], "nowhere.bhk"),
        (["emit", "rows.csv", "--out", "c"], "no model file that Billhook knows"),
        ([*EMIT, "--target", "arduino-unos"], "did you mean 'arduino-uno'?"),
        ([*EMIT, "--threshold-bits", "40"], "between 2 and 16, not 40"),
        (
            [*EMIT, "--threshold-bits", "some"],
            "--threshold-bits must be \"exact\" or a whole number from 2 to 16, not 'some'",
        ),
        ([*EMIT, "--leaf-bits", "1"], "--leaf-bits must be between 2 and 16, not 1"),
        ([*EMIT, "--table", "rows.csv"], "--table and --label go together"),
        ([*EMIT, "--table", "rows.csv", "--label", "kid"], "did you mean 'kind'?"),
        ([*EMIT, "--table", "nowhere.csv", "--label", "kind"], "nowhere.csv"),
        (["emit", "model.bhk", "--out", "."], "not empty"),
        (["emit", "model.bhk", "--out", "no/where"], "no such folder"),
        (["emit", "model.bhk", "--out", "rows.csv"], "this is a file"),
        ([*EMIT, "--name", ""], "the name that those in C begin with is empty: leave it out for 'model'"),
        ([*EMIT, "--outputs", "all", "--name", ""], "the name that those in C begin with is empty"),
        (["fit", "rows.csv", "--label", "kind", "--budget", "4KB", "--out", "c", "--name", ""], "is empty"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, arguments, message, capsys):
    before = sorted(path.name for path in folder.iterdir())
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "used"),
    [("int", "model_int"), ("1x", "model_1x"), ("ä", "model"), ("my flowers", "my_flowers"), ("iris", "iris")],
)
@pytest.mark.parametrize("options", [[], ["--runtime", "c"], ["--outputs", "all"]])
def test_a_name_that_c_cannot_have_is_said(folder, name, used, options, capsys):
    assert main([*EMIT, "--name", name, *options]) == 0
    assert list((folder / "c").glob(f"{used}*.h"))
    said = f"--name {name!r} is no name in C: files and functions are called {used!r}\n"
    assert (said in capsys.readouterr().err) == (name != used)


@pytest.mark.usefixtures("folder")
def test_the_printed_command_runs_whatever_the_folder_is_called(capsys):
    assert main(["emit", "model.bhk", "--out", "my c"]) == 0
    assert "`make -C 'my c' test` tests them." in capsys.readouterr().out


def test_a_blob_is_a_model_file_as_any_packed_one(folder, capsys):
    assert main(["emit", "model.bhk", "--blob", "model.bhm"]) == 0
    assert main(["emit", "model.bhk", "--blob", "bare.bhm", "--no-names"]) == 0
    sizes = [(folder / name).stat().st_size for name in ("model.bhm", "bare.bhm")]
    assert sizes[0] > sizes[1]
    assert f"Wrote model.bhm: {sizes[0]:,} bytes" in capsys.readouterr().out
    packed = bh.load("packed.bhk")
    assert bh.load("model.bhm") == packed
    assert bh.load("bare.bhm").feature_names is None
    assert main(["emit", "model.bhm", "--out", "c", "--table", "rows.csv", "--label", "kind"]) == 0
    subprocess.run(["make", "-C", str(folder / "c"), "test"], check=True, capture_output=True)
    assert main(["measure", "model.bhm", "rows.csv", "--label", "kind", "--target", "linux-x86_64"]) == 0
    assert main(["convert", "model.bhm", "--to", "billhook", "--out", "again.bhk"]) == 0


@pytest.mark.parametrize("path", ["model.bhk", "./model.bhk", "link.bhk"])
def test_a_blob_is_not_written_over_the_model_that_it_is_made_from(folder, path, capsys):
    (folder / "link.bhk").symlink_to("model.bhk")
    before = (folder / "model.bhk").read_bytes()
    assert main(["emit", "model.bhk", "--blob", path, "--force"]) == 2
    assert f"--blob {path} is the file that is read: name another one" in capsys.readouterr().err
    assert (folder / "model.bhk").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--blob", "new.bhm", "--out", "."], "not empty"),
        (["--blob", "new.bhm", "--out", ".", "--runtime", "c"], "not empty"),
        (["--blob", "no/where.bhm", "--out", "c"], "there is no such folder"),
        (["--blob", ".", "--out", "c"], "this is a folder"),
    ],
)
def test_a_blob_and_a_project_are_written_both_or_neither(folder, options, message, capsys):
    before = sorted(path.name for path in folder.iterdir())
    assert main(["emit", "model.bhk", *options]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_blob_may_be_put_into_the_folder_of_the_project(folder):
    assert main(["emit", "model.bhk", "--out", "c", "--blob", "c/model.bhm"]) == 0
    assert bh.load(folder / "c" / "model.bhm") == bh.load("packed.bhk")


@pytest.mark.parametrize("runtime", ["c", "web"])
def test_a_runtime_is_a_folder_of_its_own(folder, runtime, capsys):
    if runtime == "web" and not (shutil.which("clang") and shutil.which("wasm-ld")):
        pytest.skip("clang and lld are not installed: make toolchains")
    out = ["--out", "out", "--table", "rows.csv", "--label", "kind", "--name", "iris"]
    assert main(["emit", "model.bhk", "--runtime", runtime, "--blob", "model.bhm", *out]) == 0
    said = capsys.readouterr().out
    assert "Wrote" in said
    blob = (folder / "out" / "iris.bhm").read_bytes()
    n_bytes = len(bh.load("model.bhm").to_bytes(names=False))
    assert f"a blob of {n_bytes:,} bytes, {len(blob):,} with the names of classes and features\n" in said
    assert (folder / "out" / "iris.bhm").read_bytes() == (folder / "model.bhm").read_bytes()
    assert "billhook" in (folder / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--out names the folder for a project, --blob the file for the model alone"),
        (["--runtime", "c", "--blob", "x"], "--runtime needs the folder to write to"),
        (["--out", "x", "--runtime", "rost"], "there is no runtime 'rost'"),
        (["--out", "x", "--runtime", "c", "--layout", "fast"], "--layout is for C made of one model"),
        (["--out", "x", "--runtime", "c", "--no-names"], "--no-names is for C made of one model, and for --blob"),
        (["--out", "x", "--runtime", "rust", "--target", "uno"], "--target is for C; --runtime rust is the same"),
        (["--out", "x", "--runtime", "web", "--target", "uno"], "--target is for C; --runtime web is the same"),
        (["--out", "x", "--runtime", "micropython", "--target", "uno"], "--target is for C; --runtime micropython"),
        (["--blob", "x", "--target", "uno"], "--target is for a project, in the folder of --out"),
        (["--blob", "x", "--name", "iris"], "--name is for a project, in the folder of --out"),
        (["--blob", "x", "--layout", "fast"], "--layout is for a project, in the folder of --out"),
        (["--blob", "x", "--optimize", "speed"], "--optimize is for a project, in the folder of --out"),
        (["--blob", "x", "--package", "cmake"], "--package is for a project, in the folder of --out"),
        (["--blob", "x", "--inputs", "uint8"], "--inputs is for a project, in the folder of --out"),
        (["--blob", "rows.csv"], "rows.csv is there already; --force replaces it"),
    ],
)
def test_options_of_blobs_and_runtimes_that_do_not_go_together(folder, options, message, capsys):
    assert main(["emit", "model.bhk", *options]) != 0
    assert message in capsys.readouterr().err
    assert not (folder / "x").exists()
