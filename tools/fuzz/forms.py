"""Forms of several words that random kernels must have: sequences, references to structs, values of ``and`` and ``or``.

A form is a text over tame values (``pairs.py``) that changes an int, ``$``. ``@1`` and ``@2`` are new names; a word in
angle brackets is replaced for each kernel: ``<int>``, ``<ints>`` (a private array of three), ``<tuple>``, ...
"""

from __future__ import annotations

import re

from tools.fuzz.expressions import Scope
from tools.fuzz.pairs import Pairs
from tools.fuzz.placed import FLOAT, PAIR
from tools.fuzz.statements import line
from tools.fuzz.tree import BOOL, INT, UINT, Expr, Kind, Lines, Stmt

__all__ = ["FORMS", "Forms"]

#: By name, the texts of each form; ``grammar.forms_of`` finds them again in a kernel.
FORMS: dict[str, tuple[str, ...]] = {
    "sum of array": ("$ += sum(<ints>)", "$ += amp.int32(sum(<floats>) * 2)", "$ += amp.int32(sum(<uints>))"),
    "sum of tuple": ("$ += sum(<tuple>)", "$ += sum(<tuple>, <int>)", "$ += sum(<tuple>, 5)"),
    "sum of vector": ("$ += sum(<vector>)",),
    "sum of generator": (
        "$ += sum(@1 * 2 for @1 in <ints>)", "$ += sum(@1 * @2 for @1, @2 in enumerate(<ints>))",
        "$ += sum(@1 for @1 in <ints> if @1 > 3)", "$ += sum(@1 for @1 in range(<int>))",
        "$ += sum(@1 - @2 for @1, @2 in zip(<ints>, <tuple>))", "$ += sum(@1 * @2 for @1 in <ints> for @2 in <tuple>)",
        "$ += amp.int32(sum(@1 * 0.5 for @1 in <floats>) * 4)",
    ),
    "min of array": ("$ += min(<ints>)", "$ += amp.int32(min(<floats>) * 2)"),
    "min of tuple": ("$ += min(<tuple>)",),
    "min of vector": ("$ -= min(<vector>)",),
    "min of generator": ("$ += min(@1 % 5 for @1 in <ints>)", "$ += min((@1 for @1 in <tuple> if @1 > 4), default=9)"),
    "max of array": ("$ += max(<uints>) > 3", "$ += max(<ints>)"),
    "max of tuple": ("$ += max(<tuple>)",),
    "max of vector": ("$ -= max(<vector>)",),
    "max of generator": ("$ += max(@1 ^ 3 for @1 in <ints>)", "$ += max((@1 for @1 in <ints> if @1 > 6), default=1)"),
    "any of array": ("$ += any(<bools>)", "if any(<ints>):\n    $ += 3"),
    "any of tuple": ("$ += 4 * any(<tuple>)", "if any((<bool>, <bool>)):\n    $ -= 5"),
    "any of generator": ("$ += any(@1 > 4 for @1 in <ints>)", "if not any(@1 == @2 for @1, @2 in enumerate(<ints>)):\n"
                         "    $ += 7", "$ += 2 if any(@1 > <int> for @1 in <tuple>) else 1"),
    "all of array": ("$ += all(<bools>)", "$ += 2 * all(<ints>)"),
    "all of tuple": ("if all((<bool>, <bool>, <int>)):\n    $ -= 5", "$ += all(<tuple>)"),
    "all of generator": ("$ += all(@1 > 2 for @1 in <ints>)", "$ += 3 if all(@1 != <int> for @1 in <tuple>) else 1"),
    "for over array": ("for @1 in <ints>:\n    $ = $ * 2 + @1", "for @1 in <floats>:\n    $ += amp.int32(@1 * 2)",
                       "for @1 in <ints>:\n    if @1 > 5:\n        continue\n    $ += @1"),
    "for over tuple": ("for @1 in (<int>, 3, <int>):\n    $ = $ * 2 + @1",
                       "for @1 in <tuple>:\n    if @1 > 3:\n        break\n    $ += @1",
                       "for @1 in (1, 4, 6):\n    if @1 == <int>:\n        continue\n    $ += @1 * <int>",
                       "for @1, @2 in ((<int>, 2), (3, <int>)):\n    $ += @1 * @2"),
    "for over vector": ("for @1 in <vector>:\n    $ = $ * 3 - @1",),
    "for over enumerate": ("for @1, @2 in enumerate(<ints>):\n    $ += @1 * @2",
                           "for @1, @2 in enumerate(<tuple>):\n    $ += @1 * 3 + @2",
                           "for @1, @2 in enumerate(<vector>, 2):\n    $ += @1 * @2"),
    "for over zip": ("for @1, @2 in zip(<ints>, <tuple>):\n    $ += @1 * @2",
                     "for @1, @2 in zip(<ints>, <uints>):\n    if @1 > @2:\n        break\n    $ += 2",
                     "for @1, @2 in zip(range(1, 9), <vector>):\n    $ += @1 * @2"),
    "for over reversed": ("for @1 in reversed(<ints>):\n    $ = $ * 2 + @1",
                          "for @1 in reversed(range(<int>)):\n    $ = $ * 2 - @1",
                          "for @1 in reversed(<tuple>):\n    $ = $ * 3 + @1"),
    "for over map": ("for @1 in map(lambda q: q * 2, <ints>):\n    $ += @1",),
    "in tuple": ("$ += <int> in (1, <int>, 5)", "if <int> in <tuple>:\n    $ += 3", "$ += (<int> in (2, 4, 6)) * 5"),
    "not in tuple": ("$ += <int> not in <tuple>", "if <int> not in (1, 2, <int>):\n    $ -= 2"),
    "in array": ("$ += <int> in <ints>", "if <int> in <ints>:\n    $ += 4"),
    "in vector": ("$ += <int> in <vector>",),
    "starred target": ("@1, *@2 = <tuple>\n$ += @1 * 2 + sum(@2)", "*@1, @2 = <tuple>\n$ += @1[1] - @2"),
    "tuple slice": ("$ += sum(<tuple>[1:])", "$ += <tuple>[:2][1]"),
    "tuple joined": ("@1 = <tuple> + (2, <int>)\n$ += @1[3] - @1[4]", "@1 = (<int>, 2) * 2\n$ += @1[2]"),
    "tuple compared": ("$ += <tuple> == (<int>, 2, 3)", "if (<int>, <int>) != (3, <int>):\n    $ += 5",
                       "$ += (<int>, 3) < (<int>, <int>)"),
    "spread argument": ("$ += max(*<tuple>)", "$ += $pick(*<tuple>)"),
    "bool private": ("@1 = amp.private(3, bool)\n@1[0] = <bool>\n@1[1] = not @1[0]\n@1[2] = @1[0] or <bool>\n"
                     "$ += @1[<int> % 3] + 2 * @1[1]",
                     "@1 = amp.private((2, 2), bool)\nfor @2 in range(4):\n    @1[@2 >> 1, @2 & 1] = $ > @2\n"
                     "if @1[1, <int> & 1]:\n    $ += 9\n@1[0, 0] &= <bool>\n$ += @1[0, 0]"),
    "reference": ("@1 = <pairs>[<int> % 3]\n@1.ma += <int>\n$ += sum(@2.ma for @2 in <same>)",
                  "@1 = <pairs>[1]\n<same>[1].ma = <int>\n$ += @1.ma * 2 + <same>[0].ma",
                  "@1 = <pair>\n@2 = @1\n@2.ma = <int>\n$ += @1.ma",
                  "@1 = <pairs>[<int> % 3]\n@1.ma *= 2\n@1.mb -= 0.5\n$ += <same>[0].ma + amp.int32(<same>[1].mb * 4)"),
    "reference rebound": (
        "@1 = <pairs>[0]\nif <bool>:\n    @1 = <same>[2]\n@1.ma += 3\n$ += <same>[0].ma + 5 * <same>[2].ma",
        "@1 = <pairs>[0]\nfor @2 in range(3):\n    if <same>[@2].ma > @1.ma:\n        @1 = <same>[@2]\n@1.ma += 9\n"
        "$ += <same>[0].ma * 100 + <same>[1].ma * 10 + <same>[2].ma",
        "@1 = <pairs>[0]\n@1.ma += 1\n@1 = <same>[1]\n@1.ma += 2\n$ += <same>[0].ma + 7 * <same>[1].ma"),
    "reference in loop": ("for @1 in range(3):\n    @2 = <pairs>[@1]\n    @2.ma += @1 + 1\n$ += <same>[2].ma",
                          "for @1 in <pairs>:\n    @1.ma += 2\n$ += <same>[0].ma - <same>[2].ma"),
    "struct copied": ("@1 = <pairs>[<int> % 3].copy()\n@1.ma += 50\n$ += @1.ma + sum(@2.ma for @2 in <same>)",
                      "@1 = <pair>\n@2 = @1.copy()\n@2.ma = 70\n$ += @1.ma + @2.ma",
                      "<pairs>[0] = <same>[1]\n<same>[1].ma += 4\n$ += <same>[0].ma * 3 + <same>[1].ma"),
    "struct argument": ("$shift(<pairs>[<int> % 3], <int>)\n$ += sum(@1.ma for @1 in <same>)",
                        "@1 = <pair>\n$shift(@1, <int>)\n$ += @1.ma",
                        "@1 = <pairs>[1]\n$ += $shifted(@1, 3)\n$ += <same>[1].ma"),
    "method": ("@1 = <body>\n@1.push(<int>)\n$ += @1.total()", "@1 = <bodies>[<int> & 1]\n@1.push(<int>)\n"
               "$ += <same>[0].total() + 3 * <same>[1].mx", "<bodies>[1].push(<int>)\n$ += <same>[1].mx"),
    "plain method": ("@1 = <body>\n$ += @1.mixed(<int>) * 2 + @1.mx", "$ += <bodies>[1].mixed(<int>) + <same>[1].mx"),
    "struct operator": (
        "@1 = <body>\n$ += (@1 - @1).total() + @1.mx", "@1 = <body>\n@2 = @1 - @1\n$ += @2.mx * 3 + @1.mx",
        "@1 = <bodies>[<int> & 1]\n@2 = (@1 - <same>[0]).total()\n$ += @2 + <same>[0].mx",
        "if <bodies>[0] < <same>[1]:\n    $ += <same>[0].mx", "$ += (<bodies>[1] - <same>[0]).mx + <same>[1].mx",
        "@1 = <body>\nfor @2 in range((@1 - @1).total() & 3):\n    $ += @1.mx + @2"),
    "property": (
        "@1 = <body>\n$ += @1.twice + @1.mx", "$ += <bodies>[<int> & 1].twice + <same>[1].mx",
        "@1 = <bodies>[0]\n@1.mk[@1.twice & 1] += 2\n$ += <same>[0].mx + @1.mk[0] * 3"),
    "part as argument": ("@1 = <body>\n$fill(@1.mk, <int>)\n$ += sum(@1.mk)",
                         "@1 = <bodies>[<int> & 1]\n$fill(@1.mk, <int>)\n$ += <same>[0].mk[1] + <same>[1].mk[2] * 2",
                         "@1 = amp.private((2, 3), amp.int32)\n@1[0, 1] = 3\n@1[0, 2] = 5\n$fill(@1[0], <int>)\n"
                         "$ += @1[0, 1] * 2 + @1[0, 2]"),
    "and value": ("$ += ($ & 3) and 7", "$ += ($ & 1) and <int>", "$ = ($ & 4) and $ + 2",
                  "$ += amp.int32(((amp.float32($ & 3) - 1.0) and 2.5) * 2)"),
    "or value": ("$ += ($ & 3) or 7", "$ = ($ & 1) or <int>", "$ += amp.int32((amp.uint32($) & 2) or <uint>)",
                 "$ += amp.int32(((amp.float32($ & 3) - 1.0) or <float>) * 2)", "$ += ($ & 1) or ($ & 2) or 9"),
    "view of bits": ("$ += <float>.view(np.int32) >> 20", "$ += amp.int32(<float>.view(np.uint32) >> 21)",
                     "$ += amp.int32(amp.asfloat(amp.asint(<float>) ^ 0) * 2)",
                     "$ += amp.asint(-<float>) >> 16", "$ += amp.int32(amp.asuint(<float>) >> 23)",
                     "$ += amp.int32((<int> * 8388608 + 1006632960).view(np.float32) * 256)"),
    "bit count": ("$ += <int>.bit_count()", "$ += ($ * 77).bit_count()"),
    "astype": ("$ += <float>.astype(np.int32)", "$ += amp.int32(<int>.astype(np.float32) * 0.5)"),
    "power by variable": ("$ += <int> ** <int>", "$ += amp.int32(<uint> ** (<uint> & 3))", "$ += 2 ** <int>",
                          "$ += (-3) ** <int>"),
    "walrus in test": ("if (@1 := $ * 2 + 1) > 9:\n    $ += @1", "while (@1 := $ & 3) > 1:\n    $ += @1",
                       "if <bool> and (@1 := <int>) > 2:\n    $ += 1"),
    "walrus in value": ("$ += (@1 := <int> + 1) * @1", "$ = $ + (@1 := <int>)\n$ += @1",
                        "$ += max((@1 := $ & 7), 3) + @1"),
    "for else": ("for @1 in range(<int>):\n    if @1 == 4:\n        break\n    $ += @1\nelse:\n    $ += 50",
                 "for @1 in <ints>:\n    if @1 == <int>:\n        break\nelse:\n    $ -= 30",
                 "for @1 in <tuple>:\n    if @1 > 6:\n        break\nelse:\n    $ += 20",
                 "for @1 in range(2):\n    for @2 in range(3):\n        if @2 == $ & 3:\n            break\n"
                 "        $ += 1\n    else:\n        continue\n    $ += 8"),
    "while else": ("@1 = <int>\nwhile @1 > 0:\n    @1 -= 2\n    if @1 == 1:\n        break\n    $ += 2\n"
                   "else:\n    $ += 40",
                   "while $ & 1:\n    $ += 3\nelse:\n    $ -= 6"),
    "while true": ("@1 = 0\nwhile True:\n    @2 = <ints>[@1]\n    @1 += 1\n    if @2 > <int> or @1 == 3:\n"
                   "        break\n$ += @2 * 5 + @1",
                   "@1 = $ & 1\nwhile True:\n    $ += <ints>[@1]\n    if @1 == 2:\n        break\n    @1 += 1\n"
                   "    if $ & 2:\n        continue\n    if <bool>:\n        break"),
    "private of small": tuple(
        f"@1 = amp.private(2, amp.{k})\n@1[0] = {value}\n@1[1] = @1[0]\n$ += @1[1]"
        for k, value in (("int8", "$ * 77 + 100"), ("uint8", "-$ * 5"), ("int16", "$ * 30011"), ("uint16", "~$"),
                         ("int8", "<far>"), ("uint8", "<far>"), ("int16", "<far>"), ("uint16", "<far>"))
    ),
    "small cast": ("$ += amp.int8(<far>)", "$ += amp.uint8($ * 91)", "$ += amp.int16(<far>)", "$ += amp.uint16(-$)",
                   "$ += amp.int8(amp.uint8(<far>))", "$ = amp.int16($ * 5000)"),
    "small store": tuple(f"<{k} row>[me] = <far>\n$ += <same>[me]" for k in ("int8", "uint8", "int16", "uint16"))
    + tuple(f"<{k} row>[me] = 9\n<same>[me] {op} <far>\n$ += <same>[me]"
            for k, op in (("int8", "+="), ("uint8", "-="), ("int16", "*="), ("uint16", "^="))),
    "subscript of tuple": (
        "$ += (<int>, 3, <int>, 7)[<int> & 3]", "$ -= ((1, <int>), (<int>, 5))[<int> & 1][<int> & 1]",
        f"$ += {tuple(n * n % 23 for n in range(20))}[<int> & 15]",
        f"$ ^= {tuple((n, n * n % 7) for n in range(17))}[<int> & 7][1]"),
    "array slice": ("$ += sum(<ints>[1:])", "for @1 in <ints>[:-1]:\n    $ = $ * 2 + @1",
                    "$ += sum(<ints>[<int> & 1 : 3]) * len(<ints>[-2:])", "$ += <ints>[<int> & 1 :][1]",
                    "$ += max(<uints>[:2]) > 3", "for @1 in <ints>[<int> & 3 :]:\n    $ = $ * 3 - @1"),
}  # fmt: skip

_PICK = "@amp.func\ndef {0}pick(a, b, c):\n    return a * 100 + b * 10 + c"
_SHIFT = "@amp.func\ndef {0}shift(p, n):\n    p.ma += n\n    if n > 4:\n        p.mb = 1.5"
_SHIFTED = "@amp.func\ndef {0}shifted(p, n):\n    q = p\n    q.ma += n\n    return p.ma * 2"
_FILL = "@amp.func\ndef {0}fill(values, n):\n    values[1] = n\n    values[2] += 2 * n"
_BODY = (
    "@amp.struct\nclass Body:\n    mx: amp.int32\n    my: amp.float32\n    mk: (amp.int32, (3,))\n\n"
    "    @amp.func\n    def push(self, n):\n        self.mx += n\n        if n > 3:\n            self.mk[1] = n\n\n"
    "    @amp.func\n    def total(self):\n        return self.mx * 2 + self.mk[1] + amp.int32(self.my * 2)\n\n"
    "    @amp.func\n    def __sub__(self, other):\n        self.mx += 3\n"
    "        return Body(mx=self.mx - other.mx, my=self.my)\n\n"
    "    def __lt__(self, other):\n        self.mx += 7\n        return self.mx < other.mx\n\n"
    "    @property\n    def twice(self):\n        self.mx += 5\n        return self.mx * 2\n\n"
    "    def mixed(self, n):\n        self.mx ^= n\n        return self.mk[0] + n"
)
_WORD = re.compile(r"<([a-z0-9 ]+)>")


class Forms(Pairs):
    """Makes the forms."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.has_body = False
        #: Containers with an element of a small type for each thread.
        self.small_rows: dict[str, str] = {}

    def stated(self, what: str, scope: Scope, v: str, lines: Lines, in_function: bool, where: str) -> None:
        """A statement of a kind, or a form, that changes ``v``."""
        if not what.startswith("form "):
            super().stated(what, scope, v, lines, in_function, where)
            return
        texts = FORMS[what[5:]]
        if in_function:
            texts = tuple(t for t in texts if " row>" not in t) or FORMS["small cast"]
        if where == "static for":
            # Each unrolled copy has its own arrays, and a name that a loop binds refers to elements of one array.
            texts = tuple(t for t in texts if "    @2 = <pairs>" not in t)
        text = self.random.choice(texts)
        names = {n: self.fresh("y") for n in ("1", "2")}
        text = re.sub(r"@(\d)", lambda found: names[found[1]], text)
        text = re.sub(r"\$([a-z]+)", lambda found: self.helper(found[1]), text).replace("$", v)
        args: list[Expr] = []
        last = ""

        def hole(found: re.Match[str]) -> str:
            nonlocal last
            if found[1] == "same":
                return last
            made = self.word(found[1], scope, lines)
            if isinstance(made, str):
                last = made
                return made
            args.append(made)
            return f"{{{len(args) - 1}}}"

        text = _WORD.sub(hole, text)
        lines.append(Stmt([(text, tuple(args), None)]))

    def helper(self, name: str) -> str:
        """A function beside the kernel."""
        prefix = self.fresh("with") + "_"
        if "shift" in name:
            self.needs_pair()
        text = {"pick": _PICK, "shift": _SHIFT, "shifted": _SHIFTED, "fill": _FILL}[name]
        self.beside.append(Stmt([(text.replace("{0}", prefix), (), None)], fixed=True))
        return prefix + name

    def word(self, word: str, scope: Scope, lines: Lines) -> Expr | str:
        """The replacement of a word in angle brackets: an expression, or the name of an object that is created for
        it."""
        kinds: dict[str, Kind] = {"int": INT, "uint": UINT, "float": FLOAT, "bool": BOOL}
        if word in kinds:
            return self.tame(scope, kinds[word], lines)
        if word == "far":
            return self.make(scope, INT, 1)
        if word in ("ints", "uints", "floats", "pairs"):
            return self.filled(scope, {"ints": INT, "uints": UINT, "floats": FLOAT, "pairs": PAIR}[word], lines)
        if word.endswith(" row"):
            return self.small_rows.setdefault(word.split()[0], self.fresh("kept"))
        if word in ("body", "bodies"):
            return self.body_value(word, scope, lines)
        name = self.fresh("y")
        made = {"tuple": "({0}, {1}, {2})", "vector": "amp.int3({0}, {1}, {2})"}
        if word in made:
            parts = [self.tame(scope, INT, lines), self.number(INT), self.tame(scope, INT, lines)]
            lines.append(line(f"{name} = {made[word]}", *parts))
        elif word == "bools":
            lines.append(line(f"{name} = amp.private(2, bool)"))
            lines += [line(f"{name}[{n}] = {{0}}", self.tame(scope, BOOL, lines)) for n in range(2)]
        else:
            assert word == "pair", word
            return str(self.tame(scope, PAIR, lines))
        return name

    def body_value(self, word: str, scope: Scope, lines: Lines) -> str:
        """A struct with methods, or a private array of two."""
        if not self.has_body:
            self.has_body = True
            self.beside.append(Stmt([(_BODY, (), None)], fixed=True))
        name = self.fresh("y")
        if word == "body":
            values = self.tame(scope, INT, lines), self.tame(scope, FLOAT, lines)
            lines.append(line(f"{name} = Body(mx={{0}}, my={{1}})", *values))
            return name
        lines.append(line(f"{name} = amp.private(2, Body)"))
        for n in range(2):
            values = self.tame(scope, INT, lines), self.tame(scope, FLOAT, lines)
            lines.append(line(f"{name}[{n}] = Body(mx={{0}}, my={{1}})", *values))
        return name
