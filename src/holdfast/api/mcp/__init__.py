"""One profile's memory for any client of the Model Context Protocol."""

from __future__ import annotations
