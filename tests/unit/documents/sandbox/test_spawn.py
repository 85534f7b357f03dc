"""The child that reads: sealed, bounded, gone when it is no longer needed; its parent believes nothing unchecked."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.documents.parse.dispatch import load_library
from holdfast.documents.sandbox import frames, spawn
from holdfast.documents.types import (
    SECTION_KINDS,
    DocumentError,
    DocumentProperties,
    ParseLimits,
    Progress,
    Section,
)
from holdfast.domain.errors import InvalidInput
from support.documents.killed_parser import killed_parsers
from support.documents.parsing import ParsedDocument, parse_bytes, parse_file
from support.documents.pdf_writer import Pdf
from support.documents.samples import FILLER, MAKERS, PICTURES
from support.example_counts import example_count
from support.loop_clock import LoopClock
from support.waiting import block_until

__all__ = ["killed_parsers"]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own refusal is Linux's")
needs_documents = pytest.mark.skipif(find_spec("pypdfium2") is None, reason="holdfast[documents] is not installed")

ATTEMPTS = {
    "a socket": "import socket; socket.socket()",
    "a name": "import socket; socket.getaddrinfo('example.org', 80)",
    "a program": "import subprocess; subprocess.run(['true'])",
    "a shell": "import os; os.system('true')",
    "a fork": "import os; os.fork()",
    "a file": "open('new', 'w')",
    "a file by its number": "import os; os.open('new', os.O_CREAT | os.O_WRONLY)",
    "a removal": "import os; os.remove('kept')",
    "a new name": "import os; os.rename('kept', 'new')",
    "a signal": "import os; os.kill(os.getppid(), 0)",
}
NATIVE = {
    "a socket": "libc.socket(2, 1, 0)",
    "a pair of sockets": "libc.socketpair(1, 1, 0, (ctypes.c_int * 2)())",
    "a program": "libc.execve(b'/bin/true', None, None)",
    "a file": "libc.open(b'new', os.O_CREAT | os.O_WRONLY, 0o600)",
    "an emptied file": "libc.open(b'kept', os.O_RDWR | os.O_TRUNC)",
    "a shorter file": "libc.truncate(b'kept', 0)",
    "a removal": "libc.unlink(b'kept')",
    "a new name": "libc.rename(b'kept', b'new')",
    "a folder": "libc.mkdir(b'new', 0o700)",
    "a signal": "libc.kill(os.getppid(), 0)",
}
SECRETS = ("/etc/passwd", "/proc/self/environ", "..", "/", __file__)
SEALED = (
    "from pathlib import Path\n"
    "from holdfast.documents.sandbox.seccomp import enter_sandbox\n"
    "from holdfast.documents.types import ParseLimits\n"
    "enter_sandbox(ParseLimits(), [Path('kept')])\n"
)


def run_in_child(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "kept").write_text("as it was")
    environment = {"PYTHONPATH": str(Path(spawn.__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert [path.name for path in folder.iterdir()] == ["kept"]
    assert (folder / "kept").read_text() == "as it was"
    return done


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_a_sealed_process_cannot_reach_out(attempt: str, tmp_path: Path) -> None:
    done = run_in_child(f"{SEALED}try:\n    {attempt}\nexcept PermissionError as e:\n    print('refused', e)", tmp_path)
    assert done.stdout.startswith("refused"), done


@on_linux
@pytest.mark.parametrize("attempt", NATIVE.values(), ids=NATIVE.keys())
def test_native_code_in_a_sealed_process_cannot_reach_out_either(attempt: str, tmp_path: Path) -> None:
    code = f"import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n{SEALED}print({attempt}, ctypes.get_errno())"
    assert run_in_child(code, tmp_path).stdout.strip() == "-1 1"


@on_linux
@pytest.mark.parametrize("secret", SECRETS)
def test_a_sealed_process_reads_its_document_and_no_other_file(secret: str, tmp_path: Path) -> None:
    attempts = f"libc.open({secret.encode()!r}, 0), ctypes.get_errno(), libc.open(b'kept', 0) > 0"
    code = f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n{SEALED}print({attempts})"
    assert run_in_child(code, tmp_path).stdout.strip() == "-1 13 True"


@on_linux
def test_a_sealed_process_still_reads_and_computes(tmp_path: Path) -> None:
    code = f"import threading\n{SEALED}\nt = threading.Thread(target=lambda: print(open('kept').read()))\nt.start()"
    assert run_in_child(code, tmp_path).stdout == "as it was\n"


def test_the_child_knows_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_KEY", "secret")
    assert "secret" not in str(spawn._child_environment())
    assert set(spawn._child_environment()) == {
        "PYTHONPATH", "LC_ALL", "TZ", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    }  # fmt: skip


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """Every child that is started, to see what becomes of it."""
    started: list[asyncio.subprocess.Process] = []
    start = spawn._start_child

    async def noted(*args: object) -> asyncio.subprocess.Process:
        started.append(await start(*args))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(spawn, "_start_child", noted)
    return started


def long_text(folder: Path) -> Path:
    path = folder / "long.txt"
    path.write_text((FILLER + "\n\n") * 20_000)
    return path


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_document_that_nobody_reads_on_is_dropped_with_its_child(
    tmp_path: Path, children: list[asyncio.subprocess.Process]
) -> None:
    async with aclosing(spawn.parse_file(long_text(tmp_path))) as pieces:
        async for piece in pieces:
            if isinstance(piece, Section):
                break
    assert [child.returncode for child in children] == [-signal.SIGKILL]
    assert gone(children[0].pid)


async def test_a_cancelled_reading_leaves_no_child(tmp_path: Path, children: list[asyncio.subprocess.Process]) -> None:
    async def slowly() -> None:
        async with aclosing(spawn.parse_file(long_text(tmp_path))) as pieces:
            async for _ in pieces:
                begun.set()
                await asyncio.sleep(600)

    begun = asyncio.Event()
    reading = asyncio.create_task(slowly())
    await asyncio.wait_for(begun.wait(), 120)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert gone(children[0].pid)


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom holdfast.documents.sandbox import spawn\n"
        "async def main():\n    child = await spawn._start_child(Path(sys.argv[1]), None, spawn.ParseLimits())\n"
        "    print(child.pid, flush=True)\n    await asyncio.sleep(600)\nasyncio.run(main())"
    )
    environment = {"PYTHONPATH": str(Path(spawn.__file__).parents[3])}
    command = [sys.executable, "-c", code, str(long_text(tmp_path))]
    parent = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    block_until(lambda: gone(child))


def error_of(found: ParsedDocument) -> str:
    assert found.error is not None
    assert isinstance(found.error, InvalidInput)
    return str(found.error)


def test_each_limit_ends_the_reading_and_is_named(tmp_path: Path) -> None:
    text = ((FILLER + "\n") * 2_000).encode()
    assert "the limit is 1,000" in error_of(parse_bytes(text, tmp_path, None, ParseLimits(input_bytes=1_000)))
    assert "more than 5,000 characters" in error_of(parse_bytes(text, tmp_path, None, ParseLimits(text_chars=5_000)))
    assert "longer than 0.01 seconds" in error_of(parse_bytes(text, tmp_path, None, ParseLimits(wall_seconds=0.01)))
    assert "empty" in error_of(parse_bytes(b"", tmp_path))
    numbers = b"[" + b"[1],[2]," * 2_000_000 + b"[3]]"
    assert "memory" in error_of(parse_bytes(numbers, tmp_path, None, ParseLimits(memory_bytes=200 << 20)))


@needs_documents
def test_a_limit_of_cpu_time_ends_the_reading(tmp_path: Path) -> None:
    made = Pdf()
    for _ in range(40):
        made.text_page([FILLER[:90]] * 50)
    made.pages *= 500
    found = parse_bytes(made.bytes(), tmp_path, None, ParseLimits(total_cpu_seconds=2))
    assert "2 for all" in error_of(found)
    assert found.sections


@needs_documents
def test_a_long_document_may_take_long_but_none_of_its_parts(tmp_path: Path) -> None:
    made = Pdf()
    for _ in range(40):
        made.text_page([FILLER[:90]] * 50)
    made.pages *= 50  # 1.5 ms each: far more than a part may take, together
    found = parse_bytes(made.bytes(), tmp_path, None, ParseLimits(cpu_seconds=1))
    assert found.error is None
    assert len(found.sections) == 2_000
    stuck = b"<html><p>word" + b"<!-" * 500_000
    assert "1 seconds of CPU time for a part" in error_of(
        parse_bytes(stuck, tmp_path, None, ParseLimits(cpu_seconds=1))
    )


KILLS = {
    signal.SIGSEGV: ("11 (SIGSEGV) while reading page.md; the file is probably damaged.", "save it there again"),
    signal.SIGBUS: ("7 (SIGBUS) while reading page.md; the file is probably damaged.", "save it there again"),
    signal.SIGABRT: ("6 (SIGABRT) while reading page.md; it is probably damaged or needs more than 1,536 MiB", "save"),
    signal.SIGXCPU: ("24 (SIGXCPU) while reading page.md: it takes more than 60 seconds of CPU time", "smaller parts"),
    signal.SIGKILL: ("9 (SIGKILL) while reading page.md: the machine ran out of memory, or", "smaller parts"),
}


@on_linux
@pytest.mark.parametrize("number", KILLS, ids=lambda number: number.name)
async def test_a_killed_parser_is_told_with_its_signal_and_the_file(
    tmp_path: Path, killed_parsers: Callable[[int], None], number: signal.Signals
) -> None:
    killed_parsers(number)
    found = await parse_file(long_text(tmp_path), "page.md")
    reason, fix = KILLS[number]
    assert f"The parser was killed by signal {reason}" in error_of(found)
    assert fix in str(found.error)


@on_linux
async def test_a_signal_without_a_name_is_told_too(tmp_path: Path, killed_parsers: Callable[[int], None]) -> None:
    killed_parsers(signal.SIGRTMIN + 3)
    assert f"signal {signal.SIGRTMIN + 3} (" in error_of(await parse_file(long_text(tmp_path)))


async def test_a_slow_consumer_is_not_the_documents_fault(tmp_path: Path) -> None:
    seen, clock = 0, LoopClock()
    async with aclosing(spawn.parse_file(long_text(tmp_path), None, ParseLimits(wall_seconds=60))) as pieces:
        async for piece in pieces:
            seen += isinstance(piece, Section)
            if seen in range(1, 10):
                await asyncio.sleep(0.2)  # the pipe is full by then
                clock.advance(100)
    assert seen > 1_000


async def test_two_documents_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    samples = [maker() for maker in MAKERS[6:12]]
    for sample in samples:
        (tmp_path / sample.name).write_bytes(sample.data)
    all_found = await asyncio.gather(*(parse_file(tmp_path / sample.name, sample.name) for sample in samples))
    for sample, found in zip(samples, all_found, strict=True):
        assert found.about.format == sample.format
        assert all(planted.fact in found.text for planted in sample.facts)


@needs_documents
async def test_a_thousand_pages_come_one_by_one(tmp_path: Path, children: list[asyncio.subprocess.Process]) -> None:
    made = Pdf()
    for number in range(1, 1_001):
        made.text_page([f"Page {number} tells fact {number * 7}.", *[FILLER[:90]] * 40])
    (tmp_path / "x.pdf").write_bytes(made.bytes())
    percents, pages, peak = [], [], 0
    async with aclosing(spawn.parse_file(tmp_path / "x.pdf")) as pieces:
        async for piece in pieces:
            if isinstance(piece, Progress):
                percents.append(piece.percent)
            elif isinstance(piece, Section):
                assert f"fact {(piece.page or 0) * 7}." in piece.text
                pages.append(piece.page)
                if piece.page == 900 and sys.platform == "linux":
                    status = Path(f"/proc/{children[0].pid}/status").read_text()
                    peak = int(status.split("VmHWM:")[1].split()[0]) // 1024
    assert pages == list(range(1, 1_001))
    assert percents == sorted(set(percents))
    assert len(percents) >= 99
    assert peak < 120


@pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")
def test_it_works_on_the_servers_own_loop_too(tmp_path: Path) -> None:
    import uvloop

    async def dropped(path: Path) -> int:
        async with aclosing(spawn.parse_file(path)) as pieces:
            return sum([1 async for piece in pieces if isinstance(piece, Section)])

    path = long_text(tmp_path)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(dropped(path)) > 1_000
        assert error_of(runner.run(parse_file(path, None, ParseLimits(wall_seconds=0.01))))


def test_a_missing_library_says_how_to_get_it() -> None:
    with pytest.raises(DocumentError, match=r"pip install 'holdfast\[ocr\]'"):
        load_library("no_library_is_called_so", "ocr")


def test_formats_whose_library_is_missing_say_so_and_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the extras were not installed: the child's interpreter begins with a file that hides them."""
    hidden = ("pypdfium2", "trafilatura", "mammoth", "rapidocr")
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden}))")
    environment = spawn._child_environment()
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    monkeypatch.setattr(spawn, "_child_environment", lambda: environment)
    for maker in MAKERS:
        sample = maker()
        found = parse_bytes(sample.data, tmp_path, sample.name)
        if sample.format in ("pdf", "html", "docx"):
            assert "pip install 'holdfast[documents]'" in error_of(found)
        else:
            assert found.error is None, sample.format
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['rapidocr'] = None")
    if find_spec("PIL") is not None:
        assert "pip install 'holdfast[ocr]'" in error_of(parse_bytes(PICTURES[1]().data, tmp_path))
        scan = parse_bytes(PICTURES[0]().data, tmp_path)
        assert "This page has words of its own." in scan.text
        assert scan.about.notes == (
            "Page 2: it is a picture, and reading pictures needs OCR. "
            "In the environment of Holdfast, run: pip install 'holdfast[ocr]'",
        )


LACKING = {
    "a package that another needs": ("sys.modules['lxml_html_clean'] = None", "lxml_html_clean"),
    "one that is looked for late": (
        "import types\ndef late(*_, **__):\n    import no_package_is_called_so\n"
        "sys.modules['trafilatura'] = types.SimpleNamespace(extract_with_metadata=late)",
        "no_package_is_called_so",
    ),
}


@needs_documents
@pytest.mark.parametrize(("hiding", "named"), LACKING.values(), ids=LACKING.keys())
def test_a_library_that_is_not_whole_is_no_fault_of_the_document(
    hiding: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\n{hiding}")
    environment = spawn._child_environment()
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    monkeypatch.setattr(spawn, "_child_environment", lambda: environment)
    said = error_of(parse_bytes(b"<html><body><p>The heron is a patient bird.</p></body></html>", tmp_path, "a.html"))
    assert named in said
    assert "pip install 'holdfast[documents]'" in said
    assert "broken" not in said


TEXT = st.text(max_size=300)
MAYBE = TEXT | st.none()
HEADINGS = st.lists(TEXT, max_size=10).map(tuple)
PIECES = (
    st.builds(Section, TEXT, HEADINGS, st.none() | st.integers(1, 9), st.sampled_from(SECTION_KINDS), TEXT)
    | st.builds(DocumentProperties, MAYBE, MAYBE, MAYBE, MAYBE, st.none() | st.integers(0, 9))
    | st.builds(Progress, st.integers(0, 100))
)


@settings(max_examples=example_count(300), deadline=None)
@given(PIECES)
def test_what_the_child_says_is_what_the_parent_hears(piece: Section | DocumentProperties | Progress) -> None:
    heard = [frames.decode_frame(line) for line in frames.encode_frames(piece)]
    if isinstance(piece, Section):
        text = frames.clean_text(piece.text)
        assert [each.text for each in heard if isinstance(each, Section)] == ([text] if text.strip() else [])
        assert all(each.page == piece.page and each.kind == piece.kind for each in heard if isinstance(each, Section))
    elif isinstance(piece, Progress):
        assert heard == [piece]
    assert all("\n" not in line.decode()[:-1] for line in frames.encode_frames(piece))


def test_a_long_section_travels_in_pieces_and_loses_nothing() -> None:
    text = "Some words and more of them. " * 20_000
    heard = [frames.decode_frame(line) for line in frames.encode_frames(Section(text, ("A",), 3))]
    assert "".join(each.text for each in heard if isinstance(each, Section)) == text
    assert all(len(line) < frames.MAX_LINE_BYTES for line in frames.encode_frames(Section("\u4e00\\\"'" * 60_000)))


NONSENSE = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"1",
    b"\xff",
    b"{" * 1_000,
    b"[" * 100_000,
    b'{"section":["a"]}',
    b'{"percent":"9"}',
    b'{"section":[1,[],null,"text",""]}',
    b'{"section":["a",[1],null,"text",""]}',
    b'{"section":["a",[],0,"text",""]}',
    b'{"section":["a",[],-1,"text",""]}',
    b'{"section":["a",[],null,"script",""]}',
    b'{"section":["a",[],null,["x"],""]}',
    b'{"section":["a",["' + b"h" * 400 + b'"],null,"text",""]}',
    b'{"about":[]}',
    b'{"error":5,"fix":null}',
    b'{"end":1}x',
    b'{"section":["' + b"a" * 70_000 + b'",[],null,"text",""]}',
)


@pytest.mark.parametrize("line", NONSENSE, ids=lambda line: repr(line)[:40])
def test_nonsense_from_the_child_is_an_error_of_the_document(line: bytes) -> None:
    with pytest.raises(DocumentError, match="returned invalid data"):
        frames.decode_frame(line)
