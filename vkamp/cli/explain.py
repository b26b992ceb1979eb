"""``vkamp explain``: explains an error by a program that has it, vkamp's message, and a correct program."""

from __future__ import annotations

import textwrap

import click
from rich.syntax import Syntax

from vkamp.cli.console import OUT, print_table, say
from vkamp.cli.examples import examples
from vkamp.errors import AmpError
from vkamp.messages import MESSAGES

_PAGE = "docs/errors.md has all codes on one page"


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain an error's CODE, as in "VKA601", with a wrong and a right example; list all codes without one."""
    if code is None:
        print_table(("code", "message, as in its example"), [(each, examples()[each].headline) for each in MESSAGES])
        say("")
        say(f"`vkamp explain CODE` shows the example; {_PAGE}")
        return
    name = code.strip().upper()
    name = name if name.startswith("VKA") else f"VKA{name}"
    if name not in MESSAGES:
        raise AmpError(f"there is no error {code}; `vkamp explain` lists them")
    example = examples()[name]
    say(f"{name}: {example.headline}", "bold")
    say(f"{'given' if example.kind.endswith('Warning') else 'raised'} as amp.{example.kind}")
    if example.programs:
        wrong, right = example.programs
        _show("wrong:", "red", wrong, "python")
        _show("what vkamp says:", "red", example.message, "text")
        _show("right:", "green", right, "python")
    else:
        _show("an edited shader with this mistake:", "red", example.message, "text")
        say("")
        say("`vkamp shaders --help` and docs/hand-edited-shaders.md say how an edited shader follows its kernel")
    say("")
    say(_PAGE)


def _show(title: str, style: str, text: str, language: str) -> None:
    say("")
    say(title, style)
    # As plain text, which a narrow pipe does not cut off.
    lines = textwrap.indent(text.strip("\n"), "  ")
    OUT.print(Syntax("", language, background_color="default").highlight(lines), end="")
