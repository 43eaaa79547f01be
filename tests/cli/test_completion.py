"""Shells complete what is typed, in the shells themselves."""

import shutil
import subprocess

import pytest

from billhook.cli import main

BASH = """
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_billhook
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
CASES = [
    (["sco"], {"score"}),
    (["study", "ru"], {"run"}),
    (["fit", "--task", ""], {"classification", "regression"}),
    (["fit", "--target", "arduino-na"], {"arduino-nano", "arduino-nano-every", "arduino-nano-33-ble"}),
    (["prune", "--method", "dre"], {"drep"}),
    (["predict", "--prob"], {"--proba"}),
    (["study", "run", "--job"], {"--jobs"}),
    (["predict", "mo"], {"model.bhk"}),
    (["predict", "model.bhk", "ro"], {"rows.csv"}),
    (["predict", "--out", "ro"], {"rows.csv"}),
    (["completion", ""], {"bash", "zsh", "fish"}),
    # A folder that is called as a command is not the command.
    (["predict", "fit", "--prob"], {"--proba"}),
]


def script_for(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def shell(request):
    path = shutil.which(request.param)
    if path is None:
        pytest.skip(f"{request.param} is not installed")
    return path


@pytest.fixture
def folder(tmp_path):
    for name in ("model.bhk", "rows.csv"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash_completes_commands_options_values_and_files(shell, folder, capsys):
    script = script_for("bash", capsys)
    parts = [BASH.format(words=" ".join(f"'{word}'" for word in ["billhook", *typed])) for typed, _ in CASES]
    code = script + "\n" + "\necho ---\n".join(parts)
    done = subprocess.run([shell, "--norc", "-u", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    replies = [set(part.split()) for part in done.stdout.split("---")]
    for (typed, expected), reply in zip(CASES, replies, strict=True):
        assert reply == expected, typed


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash_completes_a_value_behind_an_equals_sign(shell, folder, capsys):
    code = script_for("bash", capsys) + BASH.format(words="billhook fit --task = cl")
    done = subprocess.run([shell, "--norc", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["classification"]


@pytest.mark.parametrize("shell", ["fish"], indirect=True)
def test_fish_completes_commands_options_values_and_files(shell, folder, capsys, tmp_path):
    script = script_for("fish", capsys)
    typed = [f"complete -C 'billhook {' '.join(words)}'" for words, _ in CASES]
    code = script + "\n" + "\necho ---\n".join(typed)
    done = subprocess.run(
        [shell, "--no-config", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "dumb"},
    )
    for (words, expected), part in zip(CASES, done.stdout.split("---"), strict=True):
        # Of each line what comes before the tab is the word, behind it is what is said of it.
        assert {line.partition("\t")[0] for line in part.splitlines() if line} >= expected, words


@pytest.mark.parametrize("shell", ["zsh"], indirect=True)
def test_zsh_finds_no_fault_and_calls_what_completes(shell, folder, capsys):
    """Its own functions are replaced by such as print what they get."""
    script = script_for("zsh", capsys)
    stubs = """
compdef() { : }
_files() { print -l *(N) }
_describe() { print -l -- ${${(P)2}%%:*} }
compadd() { shift; print -l -- "$@" }
"""
    typed = [
        f"words=({' '.join(repr(word) for word in ['billhook', *words])}); CURRENT=$#words; _billhook"
        for words, _ in CASES
    ]
    code = stubs + script + "\n" + "\necho ---\n".join(typed)
    done = subprocess.run([shell, "-f", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for (words, expected), part in zip(CASES, done.stdout.split("---"), strict=True):
        assert set(part.split()) >= expected, words


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
