"""The commands. A file has the commands of one family, under the family's name.

`memories` and `messages` share the core verbs: together they would be longer than a file may be. `installation` has the
commands about the data folder and this installation; `serve`, `mcp`, `connect` and `transfer` each have one command.
"""
