"""Translation of places: their addresses, bounds checks, loads and stores."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from vkamp.errors import Span
from vkamp.findings import AccessKind
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, VECTOR_LETTERS, Array, Scalar, Struct, Type, Vector
from vkamp.sim.memory import LETTERS
from vkamp.sim.scope import Scope
from vkamp.sim.trees import name_of, quote, sum_of


@dataclass
class Address:
    """A place as a word address: the variable, and the offset in it."""

    root: ir.Local | ir.BufferElement
    terms: list[ast.expr]
    constant: int


class Places(Scope):
    """Word addresses, and loads from and stores to them."""

    # -- addresses

    def address(self, place: ir.Place) -> Address:
        """The word address of a place; the code that computes it checks the indices."""
        if isinstance(place, ir.Local):
            return Address(place, [], 0)
        if isinstance(place, ir.BufferElement):
            return self._buffer_address(place)
        if isinstance(place, ir.FieldOf):
            inner = self.address(place.base)
            struct = place.base.type
            member = struct.field(place.name) if isinstance(struct, Struct) else None
            assert member is not None, f"{struct} has no field {place.name}"
            inner.constant += member.offset // self.program.unit
            return inner
        if isinstance(place, ir.ComponentsOf):
            inner = self.address(place.base)
            if len(place.letters) == 1:
                inner.constant += VECTOR_LETTERS.index(place.letters) * self._step(place)
            return inner
        if isinstance(place, ir.Reinterpreted):
            return self._reinterpreted_address(place)
        if isinstance(place, ir.ViewElement):
            return self._view_address(place)
        assert isinstance(place, ir.ArrayElement)
        return self._array_address(place)

    def _reinterpreted_address(self, place: ir.Reinterpreted) -> Address:
        if isinstance(place.base, ir.ArrayElement):
            # The same word, as another scalar.
            *rows, last = place.base.indices
            moved = ir.Binary(place.span, INT32, "add", _int(last), _int(place.index))
            return self._array_address(replace(place.base, indices=(*rows, moved)))
        address = self.address(place.base)
        root = address.root
        assert isinstance(root, ir.BufferElement)
        words = self.words_of(place.type)
        index = self.expr(place.index)
        address.terms.append(index if words == 1 else quote("I * P", I=index, P=words))
        site = self.site(place.span, root.buffer, "read", self.kernel.buffer(root.buffer).element, is_buffer=True)
        word = sum_of(address.terms, address.constant)
        return Address(root, [quote("M.inside(_t, S, K, N)", M=f"_mem_{root.buffer}", S=site, K=word, N=words)], 0)

    def _view_address(self, place: ir.ViewElement) -> Address:
        name, rank = ir.place_name(place.base), len(place.indices)
        site = self.site(place.span, name, "read", view_rank=rank)
        inside: list[ast.expr] = []
        for dim, (index, extent) in enumerate(zip(place.indices, place.extent, strict=True)):
            value = self.temporary("i")
            template = "0 <= (I := X) < N or _bad(_t, S, D, I, N)"
            inside.append(quote(template, I=value, X=self.expr(index), N=self.expr(extent), S=site, D=dim))
        address = self.address(place.base)
        if not inside:
            return address
        word = sum_of(address.terms, address.constant)
        found = quote("K if C else _nowhere", K=word, C=ast.BoolOp(ast.And(), inside) if len(inside) > 1 else inside[0])
        return Address(address.root, [found], 0)

    def _buffer_address(self, place: ir.BufferElement) -> Address:
        param = self.kernel.buffer(place.buffer)
        site = self.site(place.span, place.buffer, "read", param.element, is_buffer=True)
        terms = [name_of(f"_o_{place.buffer}")]
        for dim, index in enumerate(place.indices):
            checked = self._checked(index, dim, name_of(f"_n{dim}_{place.buffer}"), site)
            terms.append(quote("I * P", I=checked, P=f"_p{dim}_{place.buffer}"))
        return Address(place, terms, 0)

    def _array_address(self, place: ir.ArrayElement) -> Address:
        address = self.address(place.base)
        array = place.base.type
        assert isinstance(array, Array)
        site = self.site(place.span, ir.place_name(place.base), "read", array)
        stride = self.words_of(array.element)
        for dim in reversed(range(len(array.shape))):
            index, extent = place.indices[dim], array.shape[dim]
            if isinstance(index, ir.Const) and 0 <= index.value < extent:
                address.constant += int(index.value) * stride
            else:
                checked = self._checked(index, dim, ast.Constant(extent), site)
                address.terms.append(checked if stride == 1 else quote("I * P", I=checked, P=stride))
            stride *= extent
        return address

    def _checked(self, index: ir.Expr, dim: int, extent: ast.expr, site: int) -> ast.expr:
        return quote(
            "_i if 0 <= (_i := X) < N else _bad(_t, S, D, _i, N)",
            X=self.expr(index), N=extent, S=site, D=dim,
        )  # fmt: skip

    def access(self, address: Address, access: AccessKind, span: Span, value: Type) -> int:
        root = address.root
        if isinstance(root, ir.BufferElement):
            element = self.kernel.buffer(root.buffer).element
            return self.site(span, root.buffer, access, element, is_buffer=True, value=value)
        return self.site(span, root.variable.name, access, root.variable.type, value=value)

    def is_value(self, root: ir.Local | ir.BufferElement) -> bool:
        """Whether the place is in a struct or vector variable, which is a plain list."""
        return isinstance(root, ir.Local) and isinstance(root.variable.type, (Struct, Vector))

    def holder(self, root: ir.Local | ir.BufferElement) -> ast.expr:
        """The object that holds a variable."""
        if isinstance(root, ir.BufferElement):
            return name_of(f"_mem_{root.buffer}")
        if root.variable.storage == "tile_static":
            return name_of(f"_ts_{root.variable.name}")
        return name_of(self.local(root.variable.name))

    def _array(self, root: ir.Local | ir.BufferElement) -> ast.expr:
        """The object that holds an array; ``None`` for anything else."""
        return ast.Constant(None) if self.is_value(root) else self.holder(root)

    def words(self, root: ir.Local | ir.BufferElement) -> ast.expr:
        """The words of a variable that is not a buffer."""
        holder = self.holder(root)
        return holder if self.is_value(root) else quote("M.mem", M=holder)

    def judged(self, address: Address, access: AccessKind, word: ast.expr, site: int, kind: Scalar) -> ast.expr:
        """The address of a scalar; accesses are reported to the shadow if another thread could access it, too."""
        root = address.root
        if not self.races or self.is_value(root):
            return word
        if isinstance(root, ir.BufferElement):
            letter, count = {"read": "r", "write": "w", "atomic": "x"}[access], self.words_of(kind)
            template = "J(_t, S, K)" if count == 1 else "_each(J, _t, S, K, N)"
            return quote(template, J=f"_{letter}_{root.buffer}", S=site, K=word, N=count)
        if root.variable.storage == "private":
            return word
        return quote(f"M.{access}(_t, S, K)", M=self.holder(root), S=site, K=word)

    # -- loads

    def load_place(self, place: ir.Place, span: Span) -> ast.expr:
        """The value at a place; a struct is copied."""
        if isinstance(place, ir.Local) and isinstance(place.type, Scalar):
            return name_of(self.local(place.variable.name))
        address = self.address(place)
        site = self.access(address, "read", span, place.type)
        word = sum_of(address.terms, address.constant)
        if isinstance(place.type, Scalar):
            value = self.load_word(address, word, place.type, site)
            return value if _kept_type(place) == place.type else _bits(place.type, value)
        if isinstance(place.type, Vector):
            return self._load_vector(address, word, self.components(place), site)
        struct = place.type
        assert isinstance(struct, Struct)
        holder = self.holder(address.root)
        if self.is_value(address.root):
            return quote("_part(M, K, N, Y)", M=holder, K=word, N=self.words_of(struct), Y=self.layout(struct))
        return quote(
            "M.load_struct(_t, S, K, Y, N)",
            M=holder, S=site, K=word, Y=self.layout(struct), N=self.words_of(struct),
        )  # fmt: skip

    def components(self, place: ir.Place) -> ast.expr:
        """The layout of a vector in place, from its first word on."""
        assert isinstance(place.type, Vector)
        letters = place.letters if isinstance(place, ir.ComponentsOf) else place.type.letters
        letter, step = LETTERS[place.type.element.name], self._step(place)
        return self.constant("y", tuple((VECTOR_LETTERS.index(n) * step, letter) for n in letters))

    def _step(self, place: ir.Place) -> int:
        """The number of words from one component of a vector to the next; the components of a variable are a list."""
        root = ir.root_of(place)
        if isinstance(root, ir.Local) and isinstance(root.variable.type, Vector):
            return 1
        kind = place.type
        assert isinstance(kind, (Scalar, Vector))
        return self.words_of(kind.element if isinstance(kind, Vector) else kind)

    def _load_vector(self, address: Address, word: ast.expr, layout: ast.expr, site: int) -> ast.expr:
        """The components of a vector, in a new list."""
        holder = self.holder(address.root)
        if isinstance(address.root, ir.BufferElement):
            return quote("M.load_vector(_t, S, K, Y)", M=holder, S=site, K=word, Y=layout)
        again = word
        if not isinstance(word, ast.Constant):
            again = name_of(self.temporary("k"))
            word = quote("T := K", T=again, K=word)
        template = "_pick(M, K, Y)" if self.is_value(address.root) else "M.load_vector(_t, S, K, Y)"
        value = quote(template, M=holder, S=site, K=again, Y=layout)
        # The word comes first, because its expression names it.
        return quote("_set(_t, S, K, Y, X, A)", S=site, K=word, Y=layout, X=value, A=self._array(address.root))

    def load_word(self, address: Address, word: ast.expr, kind: Scalar, site: int) -> ast.expr:
        if isinstance(address.root, ir.BufferElement):
            name = address.root.buffer
            return quote("M[K]", M=self._typed(name, kind), K=self.judged(address, "read", word, site, kind))
        again = word
        if not isinstance(word, ast.Constant):
            again = name_of(self.temporary("k"))
            word = quote("T := K", T=again, K=word)
        value = quote("M[K]", M=self.words(address.root), K=self.judged(address, "read", word, site, kind))
        array = self._array(address.root)
        return quote("_v if (_v := X) is not None else _unset(_t, S, K, A)", X=value, S=site, K=again, A=array)

    def _typed(self, buffer: str, kind: Scalar) -> ast.expr:
        """A buffer's memory as scalars of a type."""
        letter = LETTERS[kind.name]
        self.program.letters.add(letter)
        return name_of(f"_{letter}_{buffer}")

    # -- stores

    def store(self, place: ir.Place, value: ast.expr, span: Span) -> ast.stmt:
        """``place = value``."""
        if isinstance(place, ir.Local) and not isinstance(place.type, Array):
            return self.assign_name(self.local(place.variable.name), value)
        address = self.address(place)
        site = self.access(address, "write", span, place.type)
        word = sum_of(address.terms, address.constant)
        if self.trace:
            word = quote("_stored(_t, S, K)", S=site, K=word)
        if isinstance(place.type, Scalar):
            kept = _kept_type(place)
            if kept != place.type:
                value = _bits(kept, value)
            return self.store_word(address, word, place.type, site, value)
        if isinstance(place.type, Vector):
            layout, holder = self.components(place), self.holder(address.root)
            if self.is_value(address.root):
                return ast.Expr(quote("_place(M, K, Y, X)", M=holder, K=word, Y=layout, X=value))
            store = quote("M.store_vector(_t, S, K, Y, X)", M=holder, S=site, K=word, Y=layout, X=value)
            return ast.Expr(store)
        struct, holder = place.type, self.holder(address.root)
        assert isinstance(struct, Struct)
        if self.is_value(address.root):
            return ast.Expr(quote("_put(M, K, X)", M=holder, K=word, X=value))
        stored = quote(
            "M.store_struct(_t, S, K, Y, X)",
            M=holder, S=site, K=word, Y=self.layout(struct), X=value,
        )  # fmt: skip
        return ast.Expr(stored)

    def store_word(self, address: Address, word: ast.expr, kind: Scalar, site: int, value: ast.expr) -> ast.stmt:
        if isinstance(address.root, ir.BufferElement):
            memory = self._typed(address.root.buffer, kind)
        else:
            memory = self.words(address.root)
        if self.is_value(address.root) and not isinstance(word, ast.Constant):
            return ast.Expr(quote("_store(X, M, K)", X=value, M=memory, K=word))
        judged = self.judged(address, "write", word, site, kind)
        return ast.Assign([ast.Subscript(memory, judged, ast.Store())], value)

    # -- memory that is judged already

    def read_back(self, address: Address, word: ast.expr, kind: Scalar, site: int) -> ast.expr:
        """The value at an address that was already checked."""
        races, self.races = self.races, False
        value = self.load_word(address, word, kind, site)
        self.races = races
        return value

    def store_back(self, address: Address, word: ast.expr, kind: Scalar, value: ast.expr) -> ast.stmt:
        races, self.races = self.races, False
        made = self.store_word(address, word, kind, 0, value)
        self.races = races
        return made


def _int(expr: ir.Expr) -> ir.Expr:
    return expr if expr.type == INT32 else ir.Cast(expr.span, INT32, expr)


def _kept_type(place: ir.Place) -> Type:
    """The type in which a scalar is stored: an array of the kernel stores its declared type."""
    while isinstance(place, ir.ViewElement):
        place = place.base
    if isinstance(place, ir.Reinterpreted) and isinstance(place.base, ir.ArrayElement):
        return place.base.type
    return place.type


def _bits(kind: Type, value: ast.expr) -> ast.expr:
    """The bits of a scalar as another type."""
    return quote(f"_bits_{LETTERS[str(kind)]}(X)", X=value)
