import pytest

from billhook._files import atomic_folder, atomic_write


def tree_of(folder):
    """Return the texts of all files in a folder by their path."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_new_folder_appears_when_all_is_written(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        write(folder, a="1", sub__b="2")
        assert not (tmp_path / "out").exists()
    assert tree_of(tmp_path) == {"out/a": "1", "out/sub/b": "2"}


def write_and_fail(path, error, **texts):
    with atomic_folder(path, replace=True) as folder:
        write(folder, **texts)
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_there_is_no_new_folder(tmp_path, error):
    with pytest.raises(error):
        write_and_fail(tmp_path / "out", error, a="1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_an_old_folder_is_as_it_was(tmp_path, error):
    write(tmp_path, a="old", sub__b="old")
    with pytest.raises(error):
        write_and_fail(tmp_path, error, a="new", sub__b="new")
    assert tree_of(tmp_path) == {"a": "old", "sub/b": "old"}


def test_files_are_replaced_and_others_stay(tmp_path):
    write(tmp_path, a="old", mine="precious", sub__b="old", sub__mine="precious")
    with atomic_folder(tmp_path, replace=True) as folder:
        write(folder, a="new", sub__b="new", other__c="new")
    kept = {"mine": "precious", "sub/mine": "precious"}
    assert tree_of(tmp_path) == {"a": "new", "sub/b": "new", "other/c": "new", **kept}


def test_some_folders_are_replaced_as_a_whole(tmp_path):
    write(tmp_path, a="old", sub__b="old", sub__stale="old")
    with atomic_folder(tmp_path, replace=True, whole=("sub",)) as folder:
        write(folder, sub__b="new")
    assert tree_of(tmp_path) == {"a": "old", "sub/b": "new"}


def test_if_a_file_cannot_be_moved_those_before_it_are_moved_back(tmp_path):
    write(tmp_path, a="old", z="a file, where a folder is to be")
    with pytest.raises(OSError), atomic_folder(tmp_path, replace=True) as folder:
        write(folder, a="new", b="new", z__c="new")
    assert tree_of(tmp_path) == {"a": "old", "z": "a file, where a folder is to be"}


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    write(tmp_path, a="old")
    with pytest.raises(FileExistsError, match="not empty; force=True replaces files in it"), atomic_folder(tmp_path):
        pass
    with pytest.raises(NotADirectoryError, match="this is a file"), atomic_folder(tmp_path / "a"):
        pass
    with pytest.raises(FileNotFoundError, match="no such folder"), atomic_folder(tmp_path / "nowhere" / "out"):
        pass
    assert tree_of(tmp_path) == {"a": "old"}


def test_an_empty_name_is_not_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the name of the folder to write is empty"), atomic_folder("", replace=True):
        pass
    with pytest.raises(ValueError, match="the name of the file to write is empty"), atomic_write(""):
        pass
    assert list(tmp_path.iterdir()) == []
