"""The commands, and how their errors are reported."""

from __future__ import annotations

import importlib
import os
import sys

import click
from rich.text import Text

import vkamp
from vkamp.cli.console import ERRORS, OUT
from vkamp.errors import AmpError

_SHELLS = ("bash", "zsh", "fish")


#: The modules of the commands, imported on first use: some need the whole compiler.
_COMMANDS = {
    "bench": "bench",
    "build": "building",
    "cache": "caching",
    "check": "programs",
    "doctor": "doctor",
    "explain": "explain",
    "info": "info",
    "run": "programs",
    "shaders": "shaders",
    "tile": "tiling",
    "tune": "tune",
}


class _Commands(click.Group):
    """A group that imports a command on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(importlib.import_module(f"vkamp.cli.{module}"), cmd_name)
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(vkamp.__version__, prog_name="vkamp")
def command() -> None:
    """C++ AMP's tile programs in Python, on any Vulkan device."""


@command.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes vkamp's commands in a SHELL.

    \b
    bash:  eval "$(vkamp completion bash)"     in ~/.bashrc
    zsh:   eval "$(vkamp completion zsh)"      in ~/.zshrc
    fish:  vkamp completion fish > ~/.config/fish/completions/vkamp.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(command, {}, "vkamp", "_VKAMP_COMPLETE").source())


def run(argv: list[str]) -> int:
    """Runs a command line: a user's mistake results in one message and a status, never in a traceback."""
    try:
        done = command.main(argv, prog_name="vkamp", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output has ended: nothing is printed, not even at the exit of the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (AmpError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
        if os.environ.get("VKAMP_TRACEBACK") == "1":
            raise
        OUT.file.flush()
        ERRORS.print(Text("error: ", style="bold red").append(str(error), style="not bold default"))
        return 1
