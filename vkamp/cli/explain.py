"""``vkamp explain``: an error's code, with a program that has it and one that has not."""

from __future__ import annotations

import re

import click
from rich.syntax import Syntax

from vkamp.cli.console import OUT, print_table, say
from vkamp.cli.examples import examples
from vkamp.errors import MESSAGES, AmpError

__all__ = ["explain"]


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain an error's CODE, as in "VKA601", with a wrong and a right example; list all codes without one."""
    if code is None:
        print_table(("code", "message"), [(each, _plain(row.text)) for each, row in sorted(MESSAGES.items())])
        return
    name = code.strip().upper()
    name = name if name.startswith("VKA") else f"VKA{name}"
    row = MESSAGES.get(name)
    if row is None:
        raise AmpError(f"there is no error {code}; `vkamp explain` lists them")
    say(f"{name}: {_plain(row.text)}", "bold")
    say(f"raised as amp.{row.error.__name__}")
    if row.help:
        say(f"help: {_plain(row.help)}")
    example = examples().get(name)
    if example is not None:
        for title, text in (("wrong", example.wrong), ("right", example.right)):
            say("")
            say(f"{title}:", "red" if title == "wrong" else "green")
            OUT.print(Syntax(text.strip("\n"), "python", background_color="default", padding=(0, 2)))
    if name.startswith("VKA7"):
        say("")
        say("`vkamp shaders --help` and docs/hand-edited-shaders.md say how an edited shader lives with its kernel")


def _plain(text: str) -> str:
    """A message's template for people: its places as words in angle brackets."""
    return re.sub(r"\{(\w+)[^}]*\}", r"<\1>", text).replace("{{", "{").replace("}}", "}")
