"""Pure: what the settings say of prices and ceilings."""

from __future__ import annotations

import re

from ...errors import InvalidInput, shown
from ...ledger import Tariff

_PRICE = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)")
_TOKENS = re.compile(r"([\d_,]+)\s*tokens?", re.I)


def tariff(price: str | None, ceiling: str | None) -> Tariff:
    read = _PRICE.fullmatch(price) if price else None
    if price and read is None:
        raise InvalidInput(
            f"The setting llm_price is {shown(price)}; write it like 0.15/0.60, per million tokens read and written.",
            field="llm_price",
        )
    cost = (float(read[1]), float(read[2])) if read else (0.0, 0.0)
    if ceiling is None or ceiling.lower() in ("none", "off"):
        return Tariff(*cost)
    counted = _TOKENS.fullmatch(ceiling)
    if counted:
        return Tariff(*cost, float(re.sub(r"[_,]", "", counted[1])), tokens=True)
    try:
        money = float(ceiling)
    except ValueError:
        money = -1.0
    if money < 0:
        raise InvalidInput(
            f"The setting llm_ceiling is {shown(ceiling)}; write it like 2000000 tokens, or 5 for an amount of money.",
            field="llm_ceiling",
        )
    if not any(cost):
        raise InvalidInput(
            "The setting llm_ceiling is an amount of money, and llm_price is not set.", field="llm_ceiling",
            fix="Set llm_price, or give the ceiling in tokens.",
        )  # fmt: skip
    return Tariff(*cost, money)
