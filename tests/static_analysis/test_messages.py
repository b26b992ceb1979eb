"""The whole text of each refusal: the barrier, the condition that diverges, and why it does."""

# ruff: noqa: E501 -- whole messages, as they are

from __future__ import annotations

import dataclasses
import textwrap

import pytest

from tests.static_analysis.build import (
    Source,
    add,
    back,
    barrier,
    binary,
    call,
    count,
    element,
    eq,
    func,
    get,
    index,
    item,
    kernel,
    leave,
    let,
    local,
    lt,
    param,
    scalar,
    shared,
    skip,
    tile_static_barrier,
    var,
    when,
)
from vkamp.check.uniformity import check_uniformity
from vkamp.errors import CompileError
from vkamp.ir import nodes as ir

WAIT = "t_idx.barrier.wait()"
X, ROW = var("x"), var("row")
FLAG = shared("flag", 1)


def message(program: ir.Kernel) -> str:
    with pytest.raises(CompileError) as caught:
        check_uniformity(program)
    return str(caught.value)


def dedent(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_under_an_if_on_the_local_id() -> None:
    source = Source(
        "if.py",
        """
        @amp.kernel
        def k(t_idx):
            if t_idx.local[0] == 0:
                t_idx.barrier.wait()
        """,
    )
    condition = eq(local(0, source.at(3, "t_idx.local[0]")), 0, source.at(3, "t_idx.local[0] == 0"))
    program = kernel(when(condition, barrier(span=source.at(4, WAIT))))
    assert message(program) == dedent(
        """
        VKA601: some threads of the tile may not reach this barrier: it is under a condition that may differ between them
         --> if.py:4, in k
          |
        4 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: this condition may differ between the threads of the tile
         --> if.py:3, in k
          |
        3 | if t_idx.local[0] == 0:
          |    ^^^^^^^^^^^^^^^^^^^
          = note: `t_idx.local` is different in each thread of the tile
         --> if.py:3, in k
          |
        3 | if t_idx.local[0] == 0:
          |    ^^^^^^^^^^^^^^
          = help: move the barrier out of the `if`, so that every thread waits, and guard only the loads and stores
        """
    )


#: The message of a barrier whose condition comes through a variable and a function.
THROUGH_A_FUNCTION = """
        VKA601: some threads of the tile may not reach this barrier: it is under a condition that may differ between them
          --> variable.py:10, in k
           |
        10 | t_idx.barrier.wait()
           | ^^^^^^^^^^^^^^^^^^^^
           = note: this condition may differ between the threads of the tile
          --> variable.py:9, in k
           |
         9 | if y < 3:
           |    ^^^^^
           = note: `y` is assigned a value here that may differ between the threads of the tile
          --> variable.py:8, in k
           |
         8 | y = double(x)
           |     ^^^^^^^^^
           = note: `v` of `double` is given this
          --> variable.py:8, in k
           |
         8 | y = double(x)
           |            ^^
           = note: `x` is assigned a value here that may differ between the threads of the tile
          --> variable.py:7, in k
           |
         7 | x = t_idx.local[1] - n
           | ^^^^^^^^^^^^^^^^^^^^^^
           = note: `t_idx.local` is different in each thread of the tile
          --> variable.py:7, in k
           |
         7 | x = t_idx.local[1] - n
           |     ^^^^^^^^^^^^^^
           = help: move the barrier out of the `if`, so that every thread waits, and guard only the loads and stores
        """


def test_through_a_variable_and_a_function() -> None:
    source = Source(
        "variable.py",
        """
        @amp.func
        def double(v):
            return v + v

        @amp.kernel
        def k(t_idx, n):
            x = t_idx.local[1] - n
            y = double(x)
            if y < 3:
                t_idx.barrier.wait()
        """,
    )
    v, y = param("v"), var("y")
    double = func("double", [v], back(add(get(v), get(v)), span=source.at(3, "return v + v")), results=[X.type])
    program = kernel(
        let(
            X, binary("sub", local(1, source.at(7, "t_idx.local[1]")), scalar()), source.at(7, "x = t_idx.local[1] - n")
        ),
        call(double, get(X, source.at(8, "x)")), to=y, span=source.at(8, "double(x)")),
        when(lt(get(y), 3, source.at(9, "y < 3")), barrier(span=source.at(10, WAIT))),
        functions=[double],
    )
    assert message(program) == dedent(THROUGH_A_FUNCTION)


def test_after_a_divergent_return() -> None:
    source = Source(
        "padded.py",
        """
        @amp.kernel
        def k(t_idx, matrix):
            if t_idx.global_[0] >= matrix.extent[0]:
                return
            t_idx.barrier.wait_with_tile_static_memory_fence()
        """,
    )
    where = source.at(3, "t_idx.global_[0]")
    program = kernel(
        when(
            ir.Compare(
                source.at(3, "t_idx.global_[0] >= matrix.extent[0]"),
                eq(0, 0).type,
                "ge",
                index("global", 0, where),
                ir.BufferExtent(where, X.type, "matrix", 0),
            ),
            back(span=source.at(4, "return")),
        ),
        tile_static_barrier(source.at(5, "t_idx.barrier.wait_with_tile_static_memory_fence()")),
    )
    assert message(program) == dedent(
        """
        VKA603: some threads of the tile may not reach this barrier: it is where some of them may have returned
         --> padded.py:5, in k
          |
        5 | t_idx.barrier.wait_with_tile_static_memory_fence()
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = note: some threads of the tile may return here while others go on
         --> padded.py:4, in k
          |
        4 | return
          | ^^^^^^
          = note: this condition may differ between the threads of the tile
         --> padded.py:3, in k
          |
        3 | if t_idx.global_[0] >= matrix.extent[0]:
          |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = note: `t_idx.global_` is different in each thread of the tile
         --> padded.py:3, in k
          |
        3 | if t_idx.global_[0] >= matrix.extent[0]:
          |    ^^^^^^^^^^^^^^^^
          = help: keep all threads alive up to the last barrier: instead of returning, guard the loads and stores by an `if` (in a padded domain, one that excludes the threads outside the data)
        """
    )


def test_in_a_loop_of_divergent_length() -> None:
    source = Source(
        "loop.py",
        """
        @amp.kernel
        def k(t_idx, data):
            for row in range(data[0]):
                t_idx.barrier.wait()
            data[t_idx.local] = 1
        """,
    )
    where = source.at(3, "data[0]")
    stop = get(element("data", 0, span=where), where)
    program = kernel(
        count(ROW, stop, barrier(span=source.at(4, WAIT)), span=source.at(3, "for row in range(data[0])")),
        let(element("data", local(0)), 1, source.at(5, "data[t_idx.local] = 1")),
    )
    assert message(program) == dedent(
        """
        VKA602: some threads of the tile may not reach this barrier: it is in a loop whose number of iterations may differ between them
         --> loop.py:4, in k
          |
        4 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: the number of iterations depends on this, which may differ between the threads of the tile
         --> loop.py:3, in k
          |
        3 | for row in range(data[0]):
          |                  ^^^^^^^
          = note: a value loaded from `data` may differ between the threads of the tile: the kernel changes `data`
         --> loop.py:3, in k
          |
        3 | for row in range(data[0]):
          |                  ^^^^^^^
          = note: `data` is changed here
         --> loop.py:5, in k
          |
        5 | data[t_idx.local] = 1
          | ^^^^^^^^^^^^^^^^^^^^^
          = help: if the value is the same for all threads of the tile, say so: `amp.uniform(...)`; otherwise let all threads of the tile run the loop to the same bound, and guard the loads and stores in it by an `if`
        """
    )


#: The messages of a barrier that a jump of some threads leaves behind.
DIVERGENT_JUMPS = {
    "break": """
        VKA604: some threads of the tile may not reach this barrier: it is in a loop that some of them may leave by `break`
         --> break.py:4, in k
          |
        4 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: some threads of the tile may `break` here while others go on
         --> break.py:6, in k
          |
        6 | break
          | ^^^^^
          = note: this condition may differ between the threads of the tile
         --> break.py:5, in k
          |
        5 | if row == t_idx.local[0]:
          |    ^^^^^^^^^^^^^^^^^^^^^
          = note: `t_idx.local` is different in each thread of the tile
         --> break.py:5, in k
          |
        5 | if row == t_idx.local[0]:
          |           ^^^^^^^^^^^^^^
          = help: let all threads of the tile run the same number of iterations, and guard the loads and stores in it by an `if` instead of the `break`
        """,
    "continue": """
        VKA604: some threads of the tile may not reach this barrier: it is in a loop whose rest some of them may skip by `continue`
         --> continue.py:4, in k
          |
        4 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: some threads of the tile may `continue` here while others go on
         --> continue.py:6, in k
          |
        6 | continue
          | ^^^^^^^^
          = note: this condition may differ between the threads of the tile
         --> continue.py:5, in k
          |
        5 | if row == t_idx.local[0]:
          |    ^^^^^^^^^^^^^^^^^^^^^
          = note: `t_idx.local` is different in each thread of the tile
         --> continue.py:5, in k
          |
        5 | if row == t_idx.local[0]:
          |           ^^^^^^^^^^^^^^
          = help: let all threads of the tile run the same number of iterations, and guard the loads and stores in it by an `if` instead of the `continue`
        """,
}


@pytest.mark.parametrize("jump", DIVERGENT_JUMPS)
def test_before_a_divergent_jump(jump: str) -> None:
    source = Source(
        f"{jump}.py",
        f"""
        @amp.kernel
        def k(t_idx):
            for row in range(8):
                t_idx.barrier.wait()
                if row == t_idx.local[0]:
                    {jump}
        """,
    )
    condition = eq(get(ROW), local(0, source.at(5, "t_idx.local[0]")), source.at(5, "row == t_idx.local[0]"))
    statement = leave if jump == "break" else skip
    program = kernel(
        count(
            ROW,
            8,
            barrier(span=source.at(4, WAIT)),
            when(condition, statement(source.at(6, jump))),
        )
    )
    assert message(program) == dedent(DIVERGENT_JUMPS[jump])


def test_in_a_called_function() -> None:
    source = Source(
        "callee.py",
        """
        @amp.func
        def inner(t_idx):
            t_idx.barrier.wait()

        @amp.func
        def outer(t_idx):
            inner(t_idx)

        @amp.kernel
        def k(t_idx):
            if t_idx.local[0] == 0:
                outer(t_idx)
        """,
    )
    inner = func("inner", [], barrier(span=source.at(3, WAIT)))
    outer = func("outer", [], call(inner, span=source.at(7, "inner(t_idx)")))
    condition = eq(local(0, source.at(11, "t_idx.local[0]")), 0, source.at(11, "t_idx.local[0] == 0"))
    program = kernel(when(condition, call(outer, span=source.at(12, "outer(t_idx)"))), functions=[inner, outer])
    assert message(program) == dedent(
        """
        VKA605: some threads of the tile may not reach this barrier: `outer` is called under a condition that may differ between them
          --> callee.py:3, in k
           |
         3 | t_idx.barrier.wait()
           | ^^^^^^^^^^^^^^^^^^^^
           = note: this condition may differ between the threads of the tile
          --> callee.py:11, in k
           |
        11 | if t_idx.local[0] == 0:
           |    ^^^^^^^^^^^^^^^^^^^
           = note: `t_idx.local` is different in each thread of the tile
          --> callee.py:11, in k
           |
        11 | if t_idx.local[0] == 0:
           |    ^^^^^^^^^^^^^^
           = note: called from here
          --> callee.py:7, in k
           |
         7 | inner(t_idx)
           | ^^^^^^^^^^^^
           = note: called from here
          --> callee.py:12, in k
           |
        12 | outer(t_idx)
           | ^^^^^^^^^^^^
           = help: call `outer` where all threads of the tile call it, and guard only its loads and stores
        """
    )


def test_by_an_argument() -> None:
    source = Source(
        "argument.py",
        """
        @amp.func
        def f(t_idx, v):
            if v < 3:
                t_idx.barrier.wait()

        @amp.kernel
        def k(t_idx):
            f(t_idx, 1)
            f(t_idx, t_idx.local[0])
        """,
    )
    v = param("v", span=source.at(2, "v)"))
    f = func("f", [v], when(lt(get(v, source.at(3, "v")), 3, source.at(3, "v < 3")), barrier(span=source.at(4, WAIT))))
    program = kernel(
        call(f, 1, span=source.at(8, "f(t_idx, 1)")),
        call(f, local(0, source.at(9, "t_idx.local[0]")), span=source.at(9, "f(t_idx, t_idx.local[0])")),
        functions=[f],
    )
    assert message(program) == dedent(
        """
        VKA601: some threads of the tile may not reach this barrier: it is under a condition that may differ between them
         --> argument.py:4, in k
          |
        4 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: this condition may differ between the threads of the tile
         --> argument.py:3, in k
          |
        3 | if v < 3:
          |    ^^^^^
          = note: `v` of `f` is given this
         --> argument.py:9, in k
          |
        9 | f(t_idx, t_idx.local[0])
          |          ^^^^^^^^^^^^^^
          = note: `t_idx.local` is different in each thread of the tile
         --> argument.py:9, in k
          |
        9 | f(t_idx, t_idx.local[0])
          |          ^^^^^^^^^^^^^^
          = note: called from here
         --> argument.py:9, in k
          |
        9 | f(t_idx, t_idx.local[0])
          | ^^^^^^^^^^^^^^^^^^^^^^^^
          = help: move the barrier out of the `if`, so that every thread waits, and guard only the loads and stores
        """
    )


def test_by_tile_static_memory_stored_since_the_barrier() -> None:
    source = Source(
        "flag.py",
        """
        @amp.kernel
        def k(t_idx):
            flag = amp.tile_static(1, amp.int32)
            t_idx.barrier.wait()
            if t_idx.local == (0, 0):
                flag[0] = 1
            if flag[0] == 1:
                t_idx.barrier.wait()
        """,
    )
    read = get(item(FLAG, 0, span=source.at(7, "flag[0]")), source.at(7, "flag[0]"))
    program = kernel(
        barrier(span=source.at(4, WAIT)),
        when(
            eq(local(0, source.at(5, "t_idx.local")), 0, source.at(5, "t_idx.local == (0, 0)")),
            let(item(FLAG, 0), 1, source.at(6, "flag[0] = 1")),
        ),
        when(eq(read, 1, source.at(7, "flag[0] == 1")), barrier(span=source.at(8, WAIT))),
    )
    assert message(program) == dedent(
        """
        VKA601: some threads of the tile may not reach this barrier: it is under a condition that may differ between them
         --> flag.py:8, in k
          |
        8 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: this condition may differ between the threads of the tile
         --> flag.py:7, in k
          |
        7 | if flag[0] == 1:
          |    ^^^^^^^^^^^^
          = note: no barrier orders tile_static memory between a store and this read of `flag`
         --> flag.py:7, in k
          |
        7 | if flag[0] == 1:
          |    ^^^^^^^
          = note: the store to `flag`
         --> flag.py:6, in k
          |
        6 | flag[0] = 1
          | ^^^^^^^^^^^
          = help: put `t_idx.barrier.wait_with_tile_static_memory_fence()` between the store to `flag` and this read; otherwise move the barrier out of the `if`, so that every thread waits, and guard only the loads and stores
        """
    )


def test_by_a_variable_that_some_threads_assign() -> None:
    source = Source(
        "assigned.py",
        """
        @amp.kernel
        def k(t_idx):
            x = 0
            if t_idx.local[0] == 0:
                x = 1
            while x == 0:
                t_idx.barrier.wait()
        """,
    )
    condition = eq(local(0, source.at(4, "t_idx.local[0]")), 0, source.at(4, "t_idx.local[0] == 0"))
    program = kernel(
        let(X, 0, source.at(3, "x = 0")),
        when(condition, let(X, 1, source.at(5, "x = 1"))),
        ir.While(
            source.at(6, "while x == 0"),
            eq(get(X, source.at(6, "x")), 0, source.at(6, "x == 0")),
            (barrier(span=source.at(7, WAIT)),),
        ),
    )
    assert message(program) == dedent(
        """
        VKA602: some threads of the tile may not reach this barrier: it is in a loop whose number of iterations may differ between them
         --> assigned.py:7, in k
          |
        7 | t_idx.barrier.wait()
          | ^^^^^^^^^^^^^^^^^^^^
          = note: this condition may differ between the threads of the tile
         --> assigned.py:6, in k
          |
        6 | while x == 0:
          |       ^^^^^^
          = note: `x` is assigned here by only some threads of the tile
         --> assigned.py:5, in k
          |
        5 | x = 1
          | ^^^^^
          = note: this condition may differ between the threads of the tile
         --> assigned.py:4, in k
          |
        4 | if t_idx.local[0] == 0:
          |    ^^^^^^^^^^^^^^^^^^^
          = note: `t_idx.local` is different in each thread of the tile
         --> assigned.py:4, in k
          |
        4 | if t_idx.local[0] == 0:
          |    ^^^^^^^^^^^^^^
          = help: let all threads of the tile run the loop to the same bound, and guard the loads and stores in it by an `if`
        """
    )


def test_in_a_kernel_without_tiles() -> None:
    # The verifier refuses such IR; the analysis does not rely on it.
    program = dataclasses.replace(kernel(barrier()), tile=None)
    assert message(program) == dedent(
        """
        VKA600: a barrier needs tiles, but the domain of this launch has none
         --> nowhere.py:1
          = help: launch over a tiled domain, `extent.tile(...)`: a barrier synchronizes the threads of a tile
        """
    )
