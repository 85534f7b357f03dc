"""Anthropic's memory tool (`memory_20250818`) over a profile, for the SDK's tool runner. Needs the package `anthropic`.

Errors that the model can correct become the SDK's ToolError; a broken disk or an unreachable server stays an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from holdfast import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    NotFound,
    Profile,
)
from holdfast.integrations.memory_files import MemoryFiles
from holdfast.integrations.sync_or_async import AwaitableProfile, run_without_loop

if TYPE_CHECKING:
    from holdfast.domain.ports.profile import AsyncProfile

CacheControl = BetaCacheControlEphemeralParam | None


@contextmanager
def _tool_errors() -> Iterator[None]:
    try:
        yield
    except (InvalidInput, NotFound, AlreadyExists, Conflict) as error:
        raise ToolError(str(error)) from error


class HoldfastMemoryTool(BetaAbstractMemoryTool):
    """The memory tool's files under /memories, stored in a profile."""

    def __init__(self, profile: Profile, *, cache_control: CacheControl = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = MemoryFiles(AwaitableProfile(profile))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        with _tool_errors():
            return run_without_loop(self._files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        with _tool_errors():
            return run_without_loop(self._files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        with _tool_errors():
            return run_without_loop(self._files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        with _tool_errors():
            return run_without_loop(self._files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        with _tool_errors():
            return run_without_loop(self._files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        with _tool_errors():
            return run_without_loop(self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        with _tool_errors():
            return run_without_loop(self._files.clear())


class AsyncHoldfastMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same as HoldfastMemoryTool, over a profile of an AsyncHoldfast."""

    def __init__(self, profile: AsyncProfile, *, cache_control: CacheControl = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = MemoryFiles(profile)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        with _tool_errors():
            return await self._files.view(command.path, command.view_range)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        with _tool_errors():
            return await self._files.create(command.path, command.file_text)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        with _tool_errors():
            return await self._files.str_replace(command.path, command.old_str, command.new_str)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        with _tool_errors():
            return await self._files.insert(command.path, command.insert_line, command.insert_text)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        with _tool_errors():
            return await self._files.delete(command.path)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        with _tool_errors():
            return await self._files.rename(command.old_path, command.new_path)

    async def clear_all_memory(self) -> str:
        with _tool_errors():
            return await self._files.clear()
