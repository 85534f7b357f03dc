"""Notes on files and folders over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import Field

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json
from holdfast.api.rest.routes.memories import OF
from holdfast.domain.json_codec import encode
from holdfast.service.facades.notes import AsyncNotes, Briefing, Note

router = GuardedRouter("Notes")
Root = Annotated[str, Query(description="The folder that relative paths start from. No path may lead out of it.")]
WORKSPACE = "/workspace"


class Rooted(Body):
    root: str = WORKSPACE
    """The folder that relative paths start from. No path may lead out of it."""


class NewNote(Rooted):
    path: str
    """The file or folder."""
    text: str
    """The note."""
    metadata: dict[str, Any] | None = None
    """Metadata to store with it."""
    agent: str | None = None
    """The agent that writes it."""
    ttl: float | None = None
    """Seconds until it expires."""


class NoteSearchBody(Rooted):
    query: str
    """What to search for."""
    under: str = ""
    """Only notes on this path and inside it."""
    limit: int = Field(10, ge=1, le=1000)
    """At most this many notes."""


class Moved(Rooted):
    old: str
    """The current path."""
    new: str
    """The new path."""


@router.put(OF + "/notes", dependencies=[Depends(requires("write"))], response_model=Note)
async def write(request: Request, body: NewNote) -> Json:
    """Write the note on a path. It supersedes the previous one, which stays in the history."""
    about: Any = {"metadata": body.metadata, "agent": body.agent, "ttl": body.ttl}
    return Json(encode(await (await _notes(request, body.root)).write(body.path, body.text, **about)))


@router.get(OF + "/notes", dependencies=[Depends(requires("read"))], response_model=response_models.NotesResponse)
async def listed(request: Request, prefix: str = "", root: Root = WORKSPACE) -> Json:
    """List the notes on a path and on everything inside it, by path."""
    return Json({"notes": encode(await (await _notes(request, root)).list(prefix))})


@router.get(OF + "/notes/read", dependencies=[Depends(requires("read"))], response_model=response_models.OneNote)
async def read(request: Request, path: str, root: Root = WORKSPACE) -> Json:
    """Return the note on exactly this path, or null."""
    return Json({"note": encode(await (await _notes(request, root)).read(path))})


@router.get(OF + "/notes/entering", dependencies=[Depends(requires("read"))], response_model=Briefing)
async def entering(request: Request, directory: str = "", tokens: int = 1000, root: Root = WORKSPACE) -> Json:
    """Return a briefing on a directory: its own note, then those nearest to it by depth, newest first."""
    return Json(encode(await (await _notes(request, root)).entering(directory, tokens=tokens)))


@router.get(
    OF + "/notes/history", dependencies=[Depends(requires("read"))], response_model=response_models.NotesResponse
)
async def history(request: Request, path: str, root: Root = WORKSPACE) -> Json:
    """List every version of the note on a path, newest first."""
    return Json({"notes": encode(await (await _notes(request, root)).history(path))})


@router.post(
    OF + "/notes/search", dependencies=[Depends(requires("read"))], response_model=response_models.NotesResponse
)
async def search(request: Request, body: NoteSearchBody) -> Json:
    """Search the notes on a path and on everything inside it by meaning, words and path, best first."""
    found = await (await _notes(request, body.root)).search(body.query, under=body.under, limit=body.limit)
    return Json({"notes": encode(found)})


@router.post(
    OF + "/notes/move", dependencies=[Depends(requires("write", "read"))], response_model=response_models.NotesResponse
)
async def move(request: Request, body: Moved) -> Json:
    """Move the notes on a path and on everything inside it to another path."""
    return Json({"notes": encode(await (await _notes(request, body.root)).move(body.old, body.new))})


@router.delete(OF + "/notes", dependencies=[Depends(requires("forget"))], response_model=response_models.Removed)
async def remove(request: Request, path: str, recursive: bool = False, root: Root = WORKSPACE) -> Json:
    """Delete the note on a path with its history; `recursive` also deletes those on everything inside it."""
    return Json({"removed": await (await _notes(request, root)).remove(path, recursive=recursive)})


async def _notes(request: Request, root: str) -> AsyncNotes:
    return AsyncNotes(await profile_of(request), root)
