"""What makes an emitted project a package of a build system: its description, and an example that uses it."""

import json
from collections.abc import Iterable
from typing import Literal, get_args

from billhook._checks import resolve_name
from billhook.codegen._example import Example
from billhook.codegen._resources import filled_template

PackageName = Literal["cmake", "esp-idf", "platformio", "zephyr"]
VERSION = "1.0.0"
# Names that CMake keeps for itself.
RESERVED = frozenset({"all", "clean", "depend", "edit_cache", "help", "install", "package", "rebuild_cache", "test"})
# Programs must be compiled with the settings of the library, if there are any.
INSTALL_SETTINGS = "install(FILES {} DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}} OPTIONAL)\n"
USES = {
    "cmake": "CMake: `cmake -B build && cmake --build build && cmake --install build`, and then `find_package`.",
    "esp-idf": "ESP-IDF: this folder is a component; `idf_component.yml` of the example has its path.",
    "platformio": "PlatformIO: this folder is a library; `lib_deps` of the example has its path.",
    "zephyr": "Zephyr: this folder is a module; `CMakeLists.txt` and `prj.conf` of the example switch it on.",
}


def packages_named(names: str | Iterable[str]) -> tuple[PackageName, ...]:
    """Return the checked names of what the project is to be a package for."""
    if not isinstance(names, str | Iterable):
        raise TypeError(f"package must name one or several of {', '.join(get_args(PackageName))}, not {names!r}")
    known: dict[str, PackageName] = {name: name for name in get_args(PackageName)}
    given = (names,) if isinstance(names, str) else tuple(names)
    return tuple(dict.fromkeys(resolve_name(name, known, "there is no package for") for name in given))


def package_files(example: Example, packages: Iterable[PackageName]) -> dict[str, str]:
    """Return the texts of the files that packages need, by their path."""
    asked = set(packages)
    values = _values(example)
    files = {}
    if "cmake" in asked or "esp-idf" in asked:
        parts = ["CMakeLists_esp_idf.txt"] * ("esp-idf" in asked) + ["CMakeLists.txt"] * ("cmake" in asked)
        files["CMakeLists.txt"] = "\n".join(_filled(part, values) for part in parts)
    if "cmake" in asked:
        files["examples/cmake/CMakeLists.txt"] = _filled("cmake_example.txt", values)
        files["examples/cmake/main.c"] = _program(example)
    if "esp-idf" in asked:
        folder = "examples/esp-idf"
        files |= {
            "idf_component.yml": _filled("idf_component.yml", values),
            f"{folder}/CMakeLists.txt": _filled("esp_idf_example.txt", values),
            f"{folder}/main/CMakeLists.txt": _filled("esp_idf_main.txt", values),
            f"{folder}/main/idf_component.yml": _filled("esp_idf_main.yml", values),
            f"{folder}/main/main.c": _program(example, main="void app_main(void)", end=""),
        }
    if "platformio" in asked:
        files |= {
            "library.json": json.dumps(_library(values, example), indent=2) + "\n",
            "examples/platformio/platformio.ini": _filled("platformio.ini", values),
            "examples/platformio/src/main.c": _program(example),
        }
    if "zephyr" in asked:
        files |= {
            "zephyr/module.yml": _filled("zephyr_module.yml", values),
            "zephyr/CMakeLists.txt": _filled("zephyr_CMakeLists.txt", values),
            "zephyr/Kconfig": _filled("zephyr_Kconfig", values),
            "examples/zephyr/CMakeLists.txt": _filled("zephyr_example.txt", values),
            "examples/zephyr/prj.conf": _filled("zephyr_prj.conf", values) + _printing(example),
            "examples/zephyr/src/main.c": _program(example),
        }
    return files


def package_notes(packages: Iterable[PackageName]) -> str:
    """Return what a README says about packages."""
    lines = [f"- {USES[name]} `examples/{name}`" for name in packages]
    return "\n".join(["", "This folder is also a package, with an example:", "", *lines, ""]) if lines else ""


def _values(example: Example) -> dict[str, object]:
    """Return what stands for the names in the templates."""
    prefix = example.prefix
    beside = [f"${{CMAKE_CURRENT_LIST_DIR}}/../{source}" for source in example.sources]
    return {
        "prefix": prefix,
        "target": f"{prefix}_model" if prefix.lower() in RESERVED else prefix,
        "component": prefix.lower(),
        "symbol": f"BILLHOOK_{prefix.upper()}",
        "version": VERSION,
        "what": example.what,
        "n_features": example.n_features,
        "sources": " ".join(example.sources),
        "quoted_sources": " ".join(f'"{source}"' for source in example.sources),
        "sources_beside": "\n        ".join(beside),
        "headers": " ".join(example.headers),
        "self_test": example.self_test,
        "install_settings": INSTALL_SETTINGS.format(example.settings) if example.settings else "",
    }


def _filled(name: str, values: dict[str, object]) -> str:
    return filled_template(f"packages/{name}", **values)


def _library(values: dict[str, object], example: Example) -> dict[str, object]:
    """Return the description of a PlatformIO library; the self-test and the copies for Arduino are not compiled."""
    prefix = example.prefix
    compiled = [f"+<{source}>" for source in example.sources]
    settings = [example.settings] if example.settings else []
    return {
        "name": prefix,
        "version": VERSION,
        "description": f"{values['what']} from {values['n_features']} features: a tree ensemble written by Billhook",
        "keywords": ["machine learning", "tree ensemble"],
        "headers": example.headers[0],
        "frameworks": "*",
        "platforms": "*",
        "build": {"srcDir": ".", "includeDir": ".", "srcFilter": ["-<*>", *compiled]},
        "export": {
            "include": [
                *example.sources,
                *example.headers,
                *settings,
                "library.json",
                "README.md",
                "examples/platformio",
            ]
        },
    }


def _program(example: Example, *, main: str = "int main(void)", end: str = "    return 0;\n") -> str:
    """Return a program that predicts for one row."""
    return filled_template(
        f"packages/{example.program}",
        prefix=example.prefix,
        upper=example.prefix.upper(),
        type=example.type_,
        filled="".join(f"    {statement}\n" for statement in example.filled),
        answer="".join(f"    {statement}\n" for statement in example.printed),
        main=main,
        end=end,
    )


def _printing(example: Example) -> str:
    """Return the setting of Zephyr without which floats are not printed."""
    return "CONFIG_CBPRINTF_FP_SUPPORT=y\n" if example.prints_floats else ""
