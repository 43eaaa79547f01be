"""Programs that are compiled from sources in a folder."""

import shutil

import pytest

from billhook.codegen import TOOLCHAINS
from billhook.codegen._toolchains import compile_program, run_program


def test_what_has_changed_in_a_folder_is_compiled_anew(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: make toolchains")
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\nint model(void);\n'
        'int main(void) { printf("%d %d", NUMBER, model()); return 0; }\n'
    )
    said = []
    for number, answer in ((1, 2), (1, 3), (4, 3)):
        (tmp_path / "model.h").write_text(f"#define NUMBER {number}\n")
        (tmp_path / "model.c").write_text(f"int model(void) {{ return {answer}; }}\n")
        program = compile_program(tmp_path, TOOLCHAINS["any"], "model.c")
        said.append(run_program(program, TOOLCHAINS["any"])[0])
    assert said == ["1 2", "1 3", "4 3"]
    assert len(list(tmp_path.glob("main-*.o"))) == 2  # not for each program
