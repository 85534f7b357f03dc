"""Notes on files and folders: what an agent wants to know when it comes back to them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from ..notes import AsyncNotes, Briefing, Note
from . import shapes
from .gate import needs, profile_of
from .native import OF
from .wire import Body, Json, plain

router = APIRouter(tags=["Notes"])
Root = Annotated[str, Query(description="Relative paths begin here, and none may lead out of it.")]
WORKSPACE = "/workspace"


class Rooted(Body):
    root: str = WORKSPACE


class NewNote(Rooted):
    path: str
    text: str
    metadata: dict[str, Any] | None = None
    agent: str | None = None
    ttl: float | None = None


class Sought(Rooted):
    query: str
    under: str = ""
    limit: int = Field(10, ge=1, le=1000)


class Moved(Rooted):
    old: str
    new: str


@router.put(OF + "/notes", dependencies=[Depends(needs("write"))], response_model=Note)
async def write(request: Request, body: NewNote) -> Json:
    """The note on a path, in place of the one before, which stays as its history."""
    about: Any = {"metadata": body.metadata, "agent": body.agent, "ttl": body.ttl}
    return Json(plain(await (await _notes(request, body.root)).write(body.path, body.text, **about)))


@router.get(OF + "/notes", dependencies=[Depends(needs("read"))], response_model=shapes.Notes)
async def listed(request: Request, prefix: str = "", root: Root = WORKSPACE) -> Json:
    """The notes on a path and on everything in it, by path."""
    return Json({"notes": plain(await (await _notes(request, root)).list(prefix))})


@router.get(OF + "/notes/read", dependencies=[Depends(needs("read"))], response_model=shapes.OneNote)
async def read(request: Request, path: str, root: Root = WORKSPACE) -> Json:
    """The note on exactly this path, or null."""
    return Json({"note": plain(await (await _notes(request, root)).read(path))})


@router.get(OF + "/notes/entering", dependencies=[Depends(needs("read"))], response_model=Briefing)
async def entering(request: Request, directory: str = "", tokens: int = 1000, root: Root = WORKSPACE) -> Json:
    """What was going on in a directory: its own note, then those nearest to it, the newest first."""
    return Json(plain(await (await _notes(request, root)).entering(directory, tokens=tokens)))


@router.get(OF + "/notes/history", dependencies=[Depends(needs("read"))], response_model=shapes.Notes)
async def history(request: Request, path: str, root: Root = WORKSPACE) -> Json:
    """Every version of the note on a path, newest first."""
    return Json({"notes": plain(await (await _notes(request, root)).history(path))})


@router.post(OF + "/notes/search", dependencies=[Depends(needs("read"))], response_model=shapes.Notes)
async def search(request: Request, body: Sought) -> Json:
    """The notes under a path that answer best, by meaning, words and path."""
    found = await (await _notes(request, body.root)).search(body.query, under=body.under, limit=body.limit)
    return Json({"notes": plain(found)})


@router.post(OF + "/notes/move", dependencies=[Depends(needs("write"))], response_model=shapes.Notes)
async def move(request: Request, body: Moved) -> Json:
    """Take the note on a path, and those on everything in it, along to another."""
    return Json({"notes": plain(await (await _notes(request, body.root)).move(body.old, body.new))})


@router.delete(OF + "/notes", dependencies=[Depends(needs("forget"))], response_model=shapes.Removed)
async def remove(request: Request, path: str, recursive: bool = False, root: Root = WORKSPACE) -> Json:
    """Remove a note and its history for good; with `recursive` those on everything in it as well."""
    return Json({"removed": await (await _notes(request, root)).remove(path, recursive=recursive)})


async def _notes(request: Request, root: str) -> AsyncNotes:
    return AsyncNotes(await profile_of(request), root)
