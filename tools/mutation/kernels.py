"""The extension of the kernels, compiled in a folder of its own, with one file changed."""

import hashlib
import shutil
import subprocess
import sysconfig
from pathlib import Path

SUPPORT = """
#ifdef _WIN32
#error not here
#endif
extern void __gcov_dump(void);
extern void __gcov_reset(void);
__attribute__((visibility("default"))) void mutants_dump(void) { __gcov_dump(); }
__attribute__((visibility("default"))) void mutants_reset(void) { __gcov_reset(); }
"""
PLAIN = ("-O1",)
COUNTED = ("-O0", "--coverage", "-fprofile-update=atomic")
OPTIONS = ("-std=c11", "-w", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno")
OPTIONS += ("-fno-trapping-math", f"-I{sysconfig.get_path('include')}")


class Kernels:
    """A copy of the package `billhook` in `folder`, with the extension made of it; `changes` are compiled anew."""

    def __init__(self, source, folder, options=PLAIN):
        self.options, self.package, self.objects = options, folder / "billhook", folder / "objects"
        shutil.copytree(source, self.package, ignore=shutil.ignore_patterns("__pycache__", "_native*.so", "*.pyd"))
        self.objects.mkdir()
        self.sources = sorted((self.package / "kernels").glob("*.c"))
        self.library = self.package / "kernels" / "_native.abi3.so"
        if "--coverage" in options:
            support = self.package / "kernels" / "mutants_support.c"
            support.write_text(SUPPORT)
            self.sources.append(support)
        self.needs = {path: self._compile(path) for path in self.sources}
        self._link()
        self.plain = self._digest()

    def _compile(self, path):
        """Compile a file; return what it includes."""
        made = self.objects / f"{path.stem}.o"
        command = ["gcc", *OPTIONS, *self.options, "-MMD", "-MF", made.with_suffix(".d"), "-c", path.name, "-o", made]
        subprocess.run(command, cwd=path.parent, check=True, capture_output=True, timeout=300)
        words = made.with_suffix(".d").read_text().replace("\\\n", " ").split()
        return {Path(word).name for word in words[1:]}

    def _link(self):
        objects = [self.objects / f"{path.stem}.o" for path in self.sources]
        coverage = ["--coverage"] if "--coverage" in self.options else []
        self.library.unlink(missing_ok=True)  # who has loaded it keeps what it was
        command = ["gcc", "-shared", *coverage, *objects, "-o", self.library, "-lm"]
        subprocess.run(command, check=True, capture_output=True)

    def _digest(self):
        return hashlib.sha256(self.library.read_bytes()).hexdigest()

    def change(self, name, text):
        """Compile with other text in a file; return whether it compiles, and to something else."""
        path = self.package.parent / name
        kept = path.read_text()
        path.write_text(text)
        users = [source for source in self.sources if path.name in self.needs[source]]
        try:
            for source in users:
                self._compile(source)
            self._link()
        except subprocess.SubprocessError:
            return "does not compile"
        finally:
            path.write_text(kept)
        return "the same machine code" if self._digest() == self.plain else None

    def restore(self, name):
        """Compile a file as it was."""
        for source in self.sources:
            if Path(name).name in self.needs[source]:
                self._compile(source)
        self._link()
