"""Bytes of flash that probabilities and a threshold take, over a program that predicts the class.

    python benchmarks/answers.py

Five models, one for each way from scores to probabilities, in the compact layout with float features; compiled with
-Os and linked with --gc-sections. Needs avr-gcc, arm-none-eabi-gcc and riscv64-unknown-elf-gcc.
"""

import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier

import billhook as bh
from billhook.codegen import COMPILER_OPTIONS, Form, header, source

CORTEX = ("arm-none-eabi-gcc", "-mthumb", "--specs=nano.specs", "--specs=nosys.specs")
COMPILERS = {
    "AVR": ("avr-gcc", "-mmcu=atmega328p"),
    "Cortex-M0": (*CORTEX, "-mcpu=cortex-m0"),
    "Cortex-M4": (*CORTEX, "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    "RV32EC": ("riscv64-unknown-elf-gcc", "-march=rv32ec", "-mabi=ilp32e", "--specs=picolibc.specs", "-nostartfiles"),
}
PROGRAM = """#include "model.h"
float x[MODEL_N_FEATURES];
volatile int32_t out;
int main(void) { %s return 0; }
"""
PREDICT = "out = model_predict(x);"
CALLS = {
    "bytes": "uint8_t p[MODEL_N_CLASSES]; model_predict_proba8(x, p); out = p[0] + p[MODEL_N_CLASSES - 1];",
    "floats": "union { float p[MODEL_N_CLASSES]; int32_t bits; } u; model_predict_proba(x, u.p); out = u.bits;",
    "threshold": PREDICT,
}


def models():
    iris, cancer, digits = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_digits))
    boosted = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=8, random_state=0)
    voting = RandomForestClassifier(5, max_leaf_nodes=9, random_state=0)
    yield "votes, 3 classes", bh.pack(voting.fit(*iris))
    yield "votes, 2 classes", bh.pack(voting.fit(*cancer))
    yield "logistic", bh.pack(boosted.fit(*cancer))
    yield "softmax, 10 classes", bh.pack(boosted.fit(*digits))
    yield "isolation", bh.pack(IsolationForest(n_estimators=9, max_samples=32, random_state=0).fit(cancer[0]))


def flash_of(folder, compiler, call, *options):
    (folder / "main.c").write_text(PROGRAM % call)
    command = [*compiler, *COMPILER_OPTIONS, "-Os", *options, "-Wl,-emain", "main.c", "model.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    size = compiler[0].removesuffix("gcc") + "size"
    printed = subprocess.run([size, "program"], cwd=folder, check=True, capture_output=True, text=True).stdout
    text, data = printed.splitlines()[1].split()[:2]
    return int(text) + int(data)


def main():
    print(f"{'model':20} {'processor':10} {'class':>7}" + "".join(f"{'+ ' + call:>12}" for call in CALLS))
    for name, packed in models():
        for processor, compiler in COMPILERS.items():
            form = Form("compact", ("float",), is_small=processor == "AVR")
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                (folder / "model.h").write_text(header(packed, form=form))
                (folder / "model.c").write_text(source(packed, form=form))
                plain = flash_of(folder, compiler, PREDICT)
                cells = []
                for call, text in CALLS.items():
                    options = ["-DMODEL_THRESHOLD=0.7"] * (call == "threshold")
                    is_there = call != "threshold" or packed.n_classes == 2
                    cells.append(f"{flash_of(folder, compiler, text, *options) - plain:,}" if is_there else "")
            print(f"{name:20} {processor:10} {plain:7,}" + "".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
