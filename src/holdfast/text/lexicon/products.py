"""Well-known products and services by what they are, where a question asks for one by its kind."""

from __future__ import annotations

import re


def _names(text: str) -> str:
    return "|".join(re.escape(name.strip()) for name in text.split(","))


PRODUCTS: tuple[tuple[str, str], ...] = (
    (
        r"streaming|(?:tv|film|video) (?:services?|subscriptions?)",
        _names("netflix, disney+, disney plus, hulu, hbo max, hbo, prime video, amazon prime, apple tv, paramount+, "
               "mubi, now tv, crunchyroll, britbox, videoland, itvx, dazn, youtube premium"),
    ),
    (
        r"(?:music|podcast|streaming) (?:services?|apps?|subscriptions?)|listen to music",
        _names("spotify, tidal, apple music, deezer, youtube music, qobuz, amazon music, soundcloud, bandcamp"),
    ),
    (r"package managers?|(?:manage|install) (?:packages|dependencies)",
     _names("uv, poetry, pip, pipenv, conda, mamba, pdm, npm, pnpm, yarn, bun, cargo, brew, homebrew, apt, nix")),
    (r"(?:text |code )?editor|ide",
     _names("vim, neovim, nvim, emacs, helix, vscode, vs code, zed, sublime, pycharm, intellij, nano, xcode")),
    (r"shell", _names("bash, zsh, fish, nushell, powershell")),
    (r"linters?|formatters?", _names("ruff, flake8, pylint, black, eslint, prettier, biome, clippy")),
    (r"(?:test|testing) (?:tools?|frameworks?|libraries|library|runner)",
     _names("playwright, cypress, selenium, pytest, unittest, jest, vitest, mocha, junit, rspec, cucumber")),
    (r"(?:drawing|painting|design|illustration) (?:apps?|programs?|software|tools?)",
     _names("procreate, clip studio, photoshop, illustrator, affinity, krita, figma, canva, gimp")),
    (r"databases?|db|cache|(?:data|session) store|storage|backend",
     _names("postgres, postgresql, mysql, mariadb, sqlite, mongodb, mongo, redis, duckdb, dynamodb")),
    (r"(?:note|notes|note-taking) apps?", _names("notion, obsidian, evernote, onenote, logseq, apple notes")),
    (r"(?:mobile|phone) (?:company|provider|network|contract|operator)|network am i with",
     _names("o2, vodafone, giffgaff, voxi, tesco mobile, t-mobile, verizon, at&t, telekom, kpn, lebara")),
    (r"messenger|messaging app|chat app", _names("whatsapp, signal, telegram, threema, discord, slack")),
)  # fmt: skip
"""How a kind is asked for → names, both as alternatives for a pattern."""
