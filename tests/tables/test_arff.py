import gzip

import numpy as np
import pytest
from scipy.io import arff

from billhook.tables import Categorical, read_features, read_table

TEXT = """% A comment
@RELATION 'made up'

@attribute size REAL
@attribute 'how many' integer
@Attribute "shade's" {red,'dark blue', "x,y"}
@attribute note string
@attribute class {yes, no}
@data
% another
1.5, 3, red, 'it\\'s', yes
?,-4,'dark blue', "a, b", no

2e3,5,'x,y',?,yes
0,5,?,plain,no
"""


def test_names_types_quotes_and_comments_are_read(tmp_path):
    for path, content in (("a.arff", TEXT.encode()), ("b.arff.gz", gzip.compress(TEXT.encode()))):
        (tmp_path / path).write_bytes(content)
        table = read_table(tmp_path / path, "class")
        assert table.names == ("size", "how many", "shade's", "note")
        size, many, shade, note = table.columns
        np.testing.assert_array_equal(size, np.array([1.5, np.nan, 2000, 0], np.float32))
        assert many.tolist() == [3, -4, 5, 5]
        assert shade.categories == ("dark blue", "red", "x,y")
        assert shade.codes.tolist() == [1, 0, 2, -1]
        assert note.categories == ("a, b", "it's", "plain")
        assert table.y.tolist() == ["yes", "no", "yes", "no"]
        assert table.task == "classification"


def test_numbers_that_are_declared_as_names_are_names(tmp_path):
    rows = "0,1.5,1\n1,2.5,2\n0,?,1\n1,3,2\n"
    text = f"@relation r\n@attribute a {{0,1}}\n@attribute b numeric\n@attribute y {{1,2}}\n@data\n{rows}"
    (tmp_path / "rows.arff").write_text(text)
    table = read_table(tmp_path / "rows.arff", "y")
    expected, _ = arff.loadarff(tmp_path / "rows.arff")
    assert isinstance(table.columns[0], Categorical)
    assert [table.columns[0].categories[code] for code in table.columns[0].codes] == expected["a"].astype(
        str
    ).tolist()
    np.testing.assert_array_equal(table.columns[1], expected["b"].astype(np.float32))
    assert table.y.tolist() == expected["y"].astype(str).tolist()
    assert read_table(tmp_path / "rows.arff", "y", task="regression").y.tolist() == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1.5, 3, red, 'it\\'s', yes", "{0 1.5, 4 yes}", "line 11 of .* is sparse, .*; write the table out"),
        ("1.5, 3,", "3,", "line 11 of .* has 4 cells; there are 5 columns"),
        ("1.5, 3,", "big, 3,", "declares 'size' as REAL|declares 'size' as real, but it holds 'big'"),
        ("red, 'it", "green, 'it", "does not declare 'green' as a value of \"shade's\""),
        ("yes, no}", "Yes, no}", "does not declare 'yes' as a value of 'class'"),
        ("note string", "note relational", "line 7 of .* declares 'note' as 'relational'; known are numeric"),
        ("@attribute note string", "attribute note string", "line 7 of .* is not ARFF: 'attribute note"),
        ("@attribute note string", "@attribute", "line 7 of .* declares no attribute"),
        ("@data", "% @data", "line 11 of .* is not ARFF"),
        ("'how many'", "size", "more than one column 'size'"),
        (TEXT[TEXT.index("@data") :], "", "has no line @data"),
        (TEXT[TEXT.index("% another") :], "", "has no rows in it"),
    ],
)
def test_what_is_no_arff_is_said(old, new, message, tmp_path):
    assert old in TEXT
    (tmp_path / "rows.arff").write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "rows.arff", "class")


def test_dates_are_left_out(tmp_path):
    text = TEXT.replace("note string", "note date yyyy")
    (tmp_path / "rows.arff").write_text(text)
    table = read_features(tmp_path / "rows.arff", "class")
    assert table.left_out == {"note": "holds dates, which are not read"}


def test_weka_separates_by_blanks_and_comments_end_a_row(tmp_path):
    names = "@relation r\n@attribute a real\n@attribute b {'5%',six}\n@attribute y {u, v}\n@data\n"
    rows = "1\t'5%',u % a comment\n2,six,v\n3 six u\n4\tsix\tv\n5,'5%',u,\n6,six,v % it's\n"
    (tmp_path / "rows.txt").write_text((names + rows).replace("1\t", "1,"))
    table = read_table(tmp_path / "rows.txt", "y")
    assert table.columns[0].tolist() == [1, 2, 3, 4, 5, 6]
    assert table.columns[1].codes.tolist() == [0, 1, 1, 1, 0, 1]
    assert table.y.tolist() == ["u", "v"] * 3
