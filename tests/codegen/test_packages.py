"""Emitted projects as packages of build systems, by the tools of these as far as they run without a network."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.cli import main

X, y = load_iris(return_X_y=True)
ALL = ("cmake", "esp-idf", "platformio", "zephyr")
# The functions of ESP-IDF and of Zephyr that the files call: each makes a library of the sources that it is given.
STAND_INS = """
cmake_minimum_required(VERSION 3.15)
project(stand_in C)
function(idf_component_register)
    cmake_parse_arguments(GIVEN "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
    if(GIVEN_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "what is ${GIVEN_UNPARSED_ARGUMENTS}?")
    endif()
    list(TRANSFORM GIVEN_INCLUDE_DIRS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    add_library(idf_${name} ${GIVEN_SRCS})
    target_include_directories(idf_${name} PUBLIC ${GIVEN_INCLUDE_DIRS})
    if(TARGET idf_component AND name STREQUAL "main")
        target_link_libraries(idf_${name} PUBLIC idf_component)
    endif()
endfunction()
macro(zephyr_library)
    add_library(zephyr_model)
endmacro()
macro(zephyr_library_sources)
    target_sources(zephyr_model PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
    target_include_directories(zephyr_model PUBLIC ${ARGN})
endmacro()
"""


@pytest.fixture(scope="module", params=[None, "c"], ids=["model", "reader"])
def project(request, tmp_path_factory):
    """A project with all packages; its name has a capital, and means something to CMake."""
    out = tmp_path_factory.mktemp("all") / "component"
    model = RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X, y)
    bh.emit(bh.pack(model), out, name="Test", runtime=request.param, package=ALL, X=X)
    return out


def sources_of(project):
    """Return the source and the header that a program with the model has."""
    return ("billhook.c", "Test_blob.h") if (project / "billhook.c").exists() else ("Test.c", "Test.h")


def cmake(*arguments):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed: make toolchains")
    # No Makefile of the user's own settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "CMAKE"))}
    command = ["cmake", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def test_cmake_installs_a_package_that_another_project_finds(project, tmp_path):
    cmake("-S", project, "-B", tmp_path / "build", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}")
    cmake("--build", tmp_path / "build")
    done = subprocess.run([tmp_path / "build" / "selftest"], check=True, capture_output=True, text=True)
    assert re.search(r"(\d+) of \1 rows as expected", done.stdout)
    cmake("--install", tmp_path / "build")
    example = tmp_path / "example"
    shutil.copytree(project / "examples" / "cmake", example)  # away from the sources of the model
    cmake("-S", example, "-B", example / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    cmake("--build", example / "build")
    done = subprocess.run([example / "build" / "example"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() in map(str, set(y))


# What an open model takes differs with what counts in it: of two programs, both must have the same.
ASKING = """#include <stdio.h>
#include "billhook.h"
#include "Test_blob.h"
int main(void)
{
    static int32_t scratch[TEST_SCRATCH];
    bh_model model;
    int error = bh_open(&model, Test_blob, sizeof Test_blob, scratch, TEST_SCRATCH);
    printf("%d, %lu features, %d bytes\\n", error, (unsigned long)BH_N_FEATURES(&model), (int)sizeof(bh_count));
    return 0;
}
"""


def test_an_installed_package_has_the_settings_of_its_library(tmp_path):
    model = RandomForestClassifier(4, max_leaf_nodes=6, random_state=0).fit(X, y)
    bh.emit(bh.pack(model), tmp_path / "c", name="Test", runtime="c", package=("cmake", "platformio"), X=X)
    (tmp_path / "c" / "billhook_config.h").write_text("#define BH_COUNT uint16_t\n")
    cmake("-S", tmp_path / "c", "-B", tmp_path / "build", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}")
    cmake("--build", tmp_path / "build")
    cmake("--install", tmp_path / "build")
    example = tmp_path / "example"
    shutil.copytree(tmp_path / "c" / "examples" / "cmake", example)
    (example / "main.c").write_text(ASKING)
    cmake("-S", example, "-B", example / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    cmake("--build", example / "build")
    done = subprocess.run([example / "build" / "example"], check=True, capture_output=True, text=True)
    assert done.stdout == "0, 4 features, 2 bytes\n"
    # Which PlatformIO takes along too.
    assert "billhook_config.h" in json.loads((tmp_path / "c" / "library.json").read_text())["export"]["include"]


def test_another_version_is_not_found(project, tmp_path):
    cmake("-S", project, "-B", tmp_path / "build", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}")
    cmake("--build", tmp_path / "build")
    cmake("--install", tmp_path / "build")
    shutil.copytree(project / "examples" / "cmake", tmp_path / "example")
    lists = tmp_path / "example" / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("Test_model 1", "Test_model 2"))
    with pytest.raises(subprocess.CalledProcessError) as raised:
        cmake("-S", lists.parent, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    assert 'compatible with requested version "2"' in " ".join(raised.value.stderr.split())


def test_platformio_packs_the_library(project, tmp_path):
    pytest.importorskip("platformio")
    environment = {**os.environ, "PLATFORMIO_CORE_DIR": str(tmp_path), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}
    command = [sys.executable, "-m", "platformio", "pkg", "pack", str(project), "-o", str(tmp_path / "test.tar.gz")]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    with tarfile.open(tmp_path / "test.tar.gz") as packed:
        files = {*sources_of(project), "library.json", "examples/platformio/src/main.c"}
        assert files <= set(packed.getnames())


def test_platformio_compiles_the_model_alone(project):
    library = json.loads((project / "library.json").read_text())
    assert library["build"]["srcFilter"] == [
        "-<*>",
        f"+<{sources_of(project)[0]}>",
    ]  # not the self-test, nor the examples
    assert (project / library["headers"]).exists()
    assert not {"name", "version", "description", "keywords", "frameworks", "platforms"} - set(library)


def test_the_component_manager_of_esp_idf_takes_the_files(project, tmp_path):
    pytest.importorskip("idf_component_manager")
    copy = tmp_path / "component"
    shutil.copytree(project, copy)
    environment = {**os.environ, "IDF_TOOLS_PATH": str(tmp_path), "IDF_COMPONENT_CHECK_NEW_VERSION": "0"}
    tool = [sys.executable, "-c", "from idf_component_manager.cli.core import initialize_cli; initialize_cli()()"]
    for arguments in (["manifest", "lint", "."], ["component", "pack", "--name", "test"]):
        done = subprocess.run([*tool, *arguments], cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (copy / "dist" / "test_1.0.0.tgz").exists()
    used = yaml.safe_load((project / "examples" / "esp-idf" / "main" / "idf_component.yml").read_text())
    assert (project / "examples" / "esp-idf" / "main" / used["dependencies"]["test"]["override_path"]).samefile(
        project
    )


def test_the_component_and_its_example_compile(project, tmp_path):
    main_folder = project / "examples" / "esp-idf" / "main"
    lists = f"set(ESP_PLATFORM 1)\nadd_subdirectory({project} c)\nadd_subdirectory({main_folder} m)\n"
    (tmp_path / "CMakeLists.txt").write_text(STAND_INS + lists)
    cmake("-S", tmp_path, "-B", tmp_path / "build")
    cmake("--build", tmp_path / "build")
    assert sorted(path.name for path in tmp_path.rglob("*.a")) == ["libidf_component.a", "libidf_main.a"]


def test_the_module_of_zephyr_has_what_its_schema_asks_for(project):
    module = yaml.safe_load((project / "zephyr" / "module.yml").read_text())
    # As the schema in Zephyr's scripts/zephyr_module.py has them.
    assert set(module) <= {"name", "build", "tests", "samples", "boards", "blobs"}
    assert set(module["build"]) <= {"cmake", "kconfig", "cmake-ext", "kconfig-ext", "depends", "settings"}
    assert (project / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (project / module["build"]["kconfig"]).is_file()
    symbol = "BILLHOOK_TEST"
    assert (project / "zephyr" / "Kconfig").read_text().startswith(f"config {symbol}\n\tbool ")
    assert f"CONFIG_{symbol}=y\n" in (project / "examples" / "zephyr" / "prj.conf").read_text()


@pytest.mark.parametrize("is_on", [True, False])
def test_the_module_of_zephyr_compiles_if_it_is_switched_on(project, is_on, tmp_path):
    program = project / "examples" / "zephyr" / "src" / "main.c"
    lists = f"set(CONFIG_BILLHOOK_TEST {int(is_on)})\nadd_subdirectory({project / 'zephyr'} z)\n"
    lists += (
        f"if(TARGET zephyr_model)\nadd_executable(app {program})\ntarget_link_libraries(app zephyr_model)\nendif()"
    )
    (tmp_path / "CMakeLists.txt").write_text(STAND_INS + lists)
    cmake("-S", tmp_path, "-B", tmp_path / "build")
    cmake("--build", tmp_path / "build")
    assert (tmp_path / "build" / "app").exists() == is_on


@pytest.mark.parametrize("runtime", [None, "c"])
@pytest.mark.parametrize("package", ALL)
def test_a_package_has_its_files_and_an_example(package, runtime, tmp_path):
    model = RandomForestRegressor(2, max_leaf_nodes=5, random_state=0).fit(*load_diabetes(return_X_y=True))
    written = bh.emit(model, tmp_path / "c", runtime=runtime, package=package)
    files = {path.relative_to(tmp_path / "c") for path in written}
    assert {path.parts[1] for path in files if path.parts[0] == "examples"} == {package}
    assert f"`examples/{package}`" in (tmp_path / "c" / "README.md").read_text()
    [program] = [path for path in written if path.name == "main.c" and "examples" in path.parts]
    options = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "-o", str(tmp_path / "main.o")]
    subprocess.run(["gcc", *options, "-I", str(tmp_path / "c"), str(program)], check=True)
    bh.emit(model, tmp_path / "d", runtime=runtime)
    assert "examples" not in (tmp_path / "d" / "README.md").read_text()


@pytest.mark.parametrize("runtime", ["rust", "web", "micropython"])
def test_a_package_is_for_c(runtime, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    packed = bh.pack(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match=f"package is for C; runtime='{runtime}' writes no package for zephyr"):
        bh.emit(packed, "d", runtime=runtime, package="zephyr")
    packed.save("model.bhk")
    assert main(["emit", "model.bhk", "--out", "d", "--runtime", runtime, "--package", "zephyr"]) == 2
    assert f"--package is for C; --runtime {runtime} writes none" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_packages_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    bh.as_forest(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X, y)).save("model.bhk")
    assert main(["emit", "model.bhk", "--out", "c", "--package", "zephyr, platformio", "--no-names"]) == 0
    assert (tmp_path / "c" / "zephyr" / "module.yml").exists()
    assert (tmp_path / "c" / "library.json").exists()
    assert "class_name" not in (tmp_path / "c" / "examples" / "zephyr" / "src" / "main.c").read_text()
    assert main(["emit", "model.bhk", "--out", "e", "--runtime", "c", "--package", "platformio"]) == 0
    assert (tmp_path / "e" / "library.json").exists()
    assert main(["emit", "model.bhk", "--out", "d", "--package", "zephir"]) == 2
    assert "no package for 'zephir'; did you mean 'zephyr'?" in capsys.readouterr().err
    with pytest.raises(TypeError, match="package must name one or several of cmake, esp-idf"):
        bh.emit(bh.load("model.bhk"), "d", package=1)
    assert not (tmp_path / "d").exists()
