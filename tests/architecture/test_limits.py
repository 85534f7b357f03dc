"""docs/limits.md lists every limit of holdfast.domain.limits with its value."""

from __future__ import annotations

import re

from holdfast.domain import limits
from support.paths import ROOT


def test_the_page_lists_every_limit_with_its_value() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    listed = {name: int(number) for number, name in re.findall(r"\| (\d+)[^|]* \| `(MAX_\w+)` \|", page)}
    assert listed == {name: value for name, value in vars(limits).items() if name.startswith("MAX_")}
