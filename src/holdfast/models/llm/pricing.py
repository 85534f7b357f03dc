"""Parses the settings for prices and monthly ceilings into a tariff."""

from __future__ import annotations

import re

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.usage import Tariff

_PRICE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)")
_TOKENS_PATTERN = re.compile(r"([\d_,]+)\s*tokens?", re.I)


def parse_tariff(price: str | None, ceiling: str | None) -> Tariff:
    match = _PRICE_PATTERN.fullmatch(price) if price else None
    if price and match is None:
        raise InvalidInput(
            f"The setting llm_price is {quoted_value(price)}; write it like 0.15/0.60, per million tokens read "
            f"and written.",
            field="llm_price",
        )
    cost = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    if ceiling is None or ceiling.lower() in ("none", "off"):
        return Tariff(*cost)
    counted = _TOKENS_PATTERN.fullmatch(ceiling)
    if counted:
        return Tariff(*cost, float(re.sub(r"[_,]", "", counted[1])), tokens=True)
    try:
        money = float(ceiling)
    except ValueError:
        money = -1.0
    if money < 0:
        raise InvalidInput(
            f"The setting llm_ceiling is {quoted_value(ceiling)}; write it like 2000000 tokens, or 5 for an "
            f"amount of money.",
            field="llm_ceiling",
        )
    if not any(cost):
        raise InvalidInput(
            "The setting llm_ceiling is an amount of money, and llm_price is not set.", field="llm_ceiling",
            fix="Set llm_price, or give the ceiling in tokens.",
        )  # fmt: skip
    return Tariff(*cost, money)
