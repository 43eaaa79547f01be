import io

from billhook.cli._progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_shown_how_far_the_work_has_come():
    out = Terminal()
    bar = ProgressBar(out, patience=0.0)
    for done in (1, 2, 3, 4):
        bar(done, 4)
    frames = out.getvalue().split("\r")
    assert "[#######.......................] 1 of 4" in frames[1]
    assert "[##############################] 4 of 4" in frames[4]
    assert frames[-2].isspace()  # wiped when done


def test_short_work_and_files_see_nothing():
    for out, patience in ((Terminal(), 60.0), (io.StringIO(), 0.0)):
        bar = ProgressBar(out, patience)
        bar(1, 2)
        bar(2, 2)
        assert out.getvalue() == ""
