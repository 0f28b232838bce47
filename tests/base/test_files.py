"""Files written whole or not at all, and what stays as it was: modes, links, devices."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fathom.base import files
from fathom.base.files import descriptor, is_stream, replacing, same

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links, modes and named pipes of POSIX systems")


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files.forget()
    return tmp_path


def write(path, text, **options):
    with replacing(path, **options) as temporary:
        temporary.write_text(text)


def test_a_new_file_gets_the_usual_mode():
    write("new.csv", "x")
    Path("usual.csv").write_text("x")
    assert Path("new.csv").stat().st_mode == Path("usual.csv").stat().st_mode
    assert {p.name for p in Path().iterdir()} == {"new.csv", "usual.csv"}


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(mode):
    Path("old.csv").write_text("old")
    Path("old.csv").chmod(mode)
    write("old.csv", "new")
    assert Path("old.csv").read_text() == "new"
    assert stat.S_IMODE(Path("old.csv").stat().st_mode) == mode


@posix
def test_a_link_is_followed_even_to_a_file_that_is_not_there_yet(somewhere):
    (somewhere / "there").mkdir()
    Path("there/old.csv").write_text("old")
    Path("link.csv").symlink_to("there/old.csv")
    Path("dangling.csv").symlink_to("there/new.csv")
    write("link.csv", "one")
    write("dangling.csv", "two")
    assert (os.readlink("link.csv"), os.readlink("dangling.csv")) == ("there/old.csv", "there/new.csv")
    assert (Path("there/old.csv").read_text(), Path("there/new.csv").read_text()) == ("one", "two")


def test_what_goes_wrong_leaves_the_old_file_and_nothing_else():
    Path("old.csv").write_text("old")

    def break_off(problem, **options):
        with replacing("old.csv", **options) as path:
            path.write_text("half")
            raise problem

    with pytest.raises(KeyError, match="cannot write old.csv: No space left on device; nothing was changed"):
        break_off(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), error=KeyError)
    with pytest.raises(RuntimeError, match="other"):
        break_off(RuntimeError("other"))
    assert Path("old.csv").read_text() == "old"
    assert [p.name for p in Path().iterdir()] == ["old.csv"]


@posix
def test_a_file_that_may_not_be_written_is_not_replaced(monkeypatch):
    Path("old.csv").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, how: False)  # the superuser may write anything
    with pytest.raises(OSError, match="cannot write old.csv: Permission denied; nothing was changed"):
        write("old.csv", "new")
    assert Path("old.csv").read_text() == "old"


@posix
def test_devices_are_written_to():
    before = os.stat("/dev/null")
    write("/dev/null", "gone")
    assert (os.stat("/dev/null").st_ino, os.stat("/dev/null").st_mode) == (before.st_ino, before.st_mode)
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="cannot write /dev/full: No space left on device$"):
            write("/dev/full", "x")


@posix
def test_a_named_pipe_reaches_its_reader_and_stays():
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_text()))
    reader.start()
    write("pipe", "through" * 50_000)  # more than a pipe holds
    reader.join(10)
    assert read == ["through" * 50_000]
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@posix
def test_a_named_pipe_without_a_reader_is_not_waited_for_for_ever(monkeypatch):
    os.mkfifo("pipe")
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    with pytest.raises(OSError, match="cannot write pipe: no process reads from this pipe"):
        write("pipe", "x")


@posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("pipe", [True, False])
@pytest.mark.slow
def test_standard_output_is_written_to_where_it_stands(name, pipe, somewhere):
    if not os.path.exists(name):
        pytest.skip(f"there is no {name}")
    code = "import sys; from fathom.base.files import replacing\nprint('before')\n"
    code += "with replacing(sys.argv[1]) as path: path.write_text('x,y\\n')\nprint('after')"
    with open("said", "w") as file:
        done = subprocess.run([sys.executable, "-c", code, name], stdout=subprocess.PIPE if pipe else file, text=True)
    assert (done.stdout if pipe else Path("said").read_text()) == "before\nx,y\nafter\n"


def test_streams_are_told_from_files():
    Path("file").write_text("")
    assert not any(map(is_stream, ("file", "nosuch", ".")))
    assert is_stream(os.devnull)
    assert descriptor("file") is None
    assert descriptor("1") is None


@posix
def test_one_file_under_many_names(somewhere):
    Path("a").write_text("")
    os.link("a", "hard")
    Path("link").symlink_to("a")
    Path("here").symlink_to(".")
    Path("b").write_text("")
    for other in ("a", "./a", "hard", "link", "here/a", "here/here/link", somewhere / "a"):
        assert same("a", other)
        assert not same("b", other)
    Path("nowhere").symlink_to("new")
    assert same("new", "nowhere")
    assert same("new", "here/new")
    assert not same("new", "old")


def test_a_process_that_ends_here_names_what_is_complete_and_removes_the_rest():
    write("done.csv", "x")
    write("done.csv", "y")
    write("gone.csv", "x")
    Path("gone.csv").unlink()
    with replacing("half.csv") as path:
        path.write_text("half")
        assert files.abandon() == [Path("done.csv")]
        assert [p.name for p in Path().iterdir()] == ["done.csv"]
        path.parent.mkdir()
        path.write_text("whole")  # as if nothing had happened
    files.forget()
    assert files.abandon() == []


def test_a_file_is_complete_from_the_moment_it_is_in_its_place(monkeypatch):
    honest, named = os.replace, []

    def replace(*paths):
        honest(*paths)
        named.extend(files.abandon())

    monkeypatch.setattr(os, "replace", replace)
    write("new.csv", "x")
    assert named == [Path("new.csv")]
