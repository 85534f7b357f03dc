"""Declares the options and arguments of a command in its function's signature, and builds click's command from it.

A parameter is `Annotated[type, Option(...)]` or `Annotated[type, Argument(...)]`. Its type is str, int, float, bool,
Path or a list of one of them, perhaps with None. A command is built when it is run or its help is shown, not before.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import click

from holdfast.domain.errors import nearest_names

Completer = Callable[[click.Context, click.Parameter, str], list[str]]
_CHOICES = re.compile(r"\[?([a-z_0-9-]+(?:\|[a-z_0-9-]+)+)\]?")
VALUE_TYPES: dict[Any, click.ParamType[Any]] = {
    str: click.STRING,
    int: click.INT,
    float: click.FLOAT,
    Path: click.Path(path_type=Path),
}


class Argument:
    """A value by its place on the command line."""

    def __init__(self, *, metavar: str, help: str) -> None:
        self.metavar = metavar
        self.help = help


class Option:
    """A value by its name; without names, by its parameter's. `callback` maps the value to what the command takes,
    `complete` gives a shell the values that start with some letters."""

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        envvar: str | None = None,
        callback: Callable[[Any], Any] | None = None,
        complete: Completer | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.envvar = envvar
        self.callback = callback
        self.complete = complete


class Commands(click.Group):
    """The commands of the command line; the help lists them by `groups`: title → names."""

    def __init__(
        self, name: str, help: str, params: list[click.Parameter], groups: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(
            name,
            help=help,
            params=params,
            context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
        )
        self._groups = groups
        self._builders: dict[str, Callable[[], click.Command]] = {}

    def add_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Callable[[], Sequence[inspect.Parameter]] | None = None,
        *,
        hidden: bool = False,
    ) -> None:
        """Add a command. `parameters` gives those it takes, where they are not in the function's own signature."""

        def build() -> click.Command:
            taken = signature_parameters(function) if parameters is None else parameters()
            return _DescribedCommand(
                name,
                callback=function,
                params=[_click_parameter(each) for each in taken],
                help=function.__doc__,
                hidden=hidden,
            )

        self._builders[name] = build

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._builders)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._builders and cmd_name not in self.commands:
            self.commands[cmd_name] = self._builders[cmd_name]()
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            shown = [name for names in self._groups.values() for name in names]
            raise click.UsageError(f"There is no command {args[0]!r}.{nearest_names(args[0], shown)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self._builders))
        for title, names in self._groups.items():
            commands = [self.get_command(ctx, name) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(widest), command.get_short_help_str(formatter.width))
                        for name, command in zip(names, commands, strict=True)
                        if command is not None
                    ]
                )


def signature_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


class _DescribedArgument(click.Argument):
    """An argument with a description, which click has only for options."""

    def __init__(self, description: str, **given: Any) -> None:
        super().__init__(**given)
        self.description = description

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        default = self.get_default(ctx, call=False)
        notes = ["[required]"] if self.required else []
        if not self.required and isinstance(default, str | int | Path):
            notes = [f"[default: {default}]"]
        return self.make_metavar(ctx), "  ".join([self.description, *notes])


class _DescribedCommand(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [each.get_help_record(ctx) for each in self.params if isinstance(each, _DescribedArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


def _click_parameter(parameter: inspect.Parameter) -> click.Parameter:
    """The parameter as click's. A list that is not given is the parameter's default."""
    if get_origin(parameter.annotation) is not Annotated:
        raise TypeError(f"The parameter {parameter.name!r} is no Option and no Argument.")
    annotation, declared = get_args(parameter.annotation)
    kind, listed = _value_type(annotation)
    required = parameter.default is inspect.Parameter.empty
    given: dict[str, Any] = {"required": required}
    if not required and not listed:
        given["default"] = parameter.default
    map_value = declared.callback if isinstance(declared, Option) else None

    def callback(_: click.Context, __: click.Parameter, value: Any) -> Any:
        if listed:
            value = list(value) if value or required else parameter.default
        return value if map_value is None else map_value(value)

    given["callback"] = callback
    if isinstance(declared, Argument):
        return _DescribedArgument(
            declared.help,
            param_decls=[parameter.name],
            type=VALUE_TYPES[kind],
            metavar=declared.metavar,
            nargs=-1 if listed else 1,
            shell_complete=_choice_completer(declared.metavar),
            **given,
        )
    names = declared.names or (f"--{parameter.name.replace('_', '-')}",)
    if kind is bool:
        given["is_flag"] = True
    else:
        given |= {"type": VALUE_TYPES[kind], "metavar": declared.metavar, "multiple": listed}
        given["shell_complete"] = declared.complete or _choice_completer(declared.metavar or "")
    return click.Option([parameter.name, *names], help=declared.help, envvar=declared.envvar, show_envvar=True, **given)


def _choice_completer(metavar: str) -> Any:
    """Completes the choices that a metavar such as json|text lists, and file names where it has FILE or DIR in it."""
    choices = _CHOICES.fullmatch(metavar)
    path_type = "file" if "FILE" in metavar else "dir" if "DIR" in metavar else None
    if choices is None and path_type is None:
        return None

    def complete(_: click.Context, __: click.Parameter, start: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        if choices is None:
            return [CompletionItem(start, path_type or "")]
        return [each for each in choices[1].split("|") if each.startswith(start)]

    return complete


def _value_type(annotation: Any) -> tuple[Any, bool]:
    """The type of a parameter's value without None, and whether there may be several."""
    options = [each for each in get_args(annotation) if each is not NoneType]
    if get_origin(annotation) is not list and options:
        (annotation,) = options
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False
