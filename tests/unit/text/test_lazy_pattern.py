"""A pattern that is compiled at its first use."""

from __future__ import annotations

import re

import pytest

from holdfast.text.lazy_pattern import lazy_pattern


def test_a_lazy_pattern_does_what_the_pattern_does() -> None:
    lazy, eager = lazy_pattern(r"(?P<word>t\w+)", re.I), re.compile(r"(?P<word>t\w+)", re.I)
    text = "Tea or toast"
    assert [each.span("word") for each in lazy.finditer(text)] == [each.span("word") for each in eager.finditer(text)]
    assert lazy.sub("x", text) == eager.sub("x", text)
    assert (lazy.pattern, lazy.flags) == (eager.pattern, eager.flags)


def test_it_is_compiled_at_its_first_use_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def compile(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return real(source, flags)

    monkeypatch.setattr(re, "compile", compile)
    pattern = lazy_pattern("tea")
    assert compiled == []
    assert [bool(pattern.search(text)) for text in ("green tea", "coffee")] == [True, False]
    assert compiled == ["tea"]
