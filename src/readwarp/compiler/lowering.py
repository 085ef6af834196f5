"""Lower parts to LLVM code as Numba does, with less code for the most common operations of kernels.

For each item of an array, Numba copies the array's seven fields to the stack and looks its function up anew: 30
instructions, of which the optimiser keeps four. Here it takes ten. Loops over numbers begin with a third of the code;
their steps stay Numba's, since kernels with shorter ones were slower (docs/decisions/0009-compiling.md). Variables that
hold no references need no cleanup.
"""

from typing import Any

from readwarp.compiler import internals
from readwarp.compiler.internals import ir, types

PAIR = {"pair_first": 0, "pair_second": 1}  # fields of an iterator's answer


class PartLower(internals.Lower):
    """Numba's lowering, except for integer indexing of C-ordered arrays and for variables without references."""

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        array = self.typeof(value.name)
        if self.typeof(index.name) == types.slice2_type and array == resty and array.ndim == 1 and array.layout == "C":
            return self._slice(array, value, index)
        if not self._is_item(array, index):
            return super().lower_getitem(resty, expr, value, index, signature)
        pointer = self._item(array, value, index)
        item = internals.load_item(self.context, self.builder, array, pointer)
        return self.context.cast(self.builder, item, array.dtype, resty)

    def _slice(self, array: Any, value: Any, index: Any) -> Any:
        """Return a slice of an array, with bounds clipped to its ends."""
        builder, model, fields = self.builder, self.context.data_model_manager[array], self.loadvar(value.name)
        size = builder.extract_value(model.get(builder, fields, "shape"), 0)
        none = size.type(0)
        bounds = []
        for k in range(2):
            bound = internals.fix_index(builder, builder.extract_value(self.loadvar(index.name), k), size)
            bound = builder.select(builder.icmp_signed("<", bound, none), none, bound)
            bounds.append(builder.select(builder.icmp_signed(">", bound, size), size, bound))
        start, stop = bounds
        length = builder.select(builder.icmp_signed(">", stop, start), builder.sub(stop, start), none)
        data, old_shape = builder.gep(model.get(builder, fields, "data"), [start]), model.get(builder, fields, "shape")
        shape = builder.insert_value(old_shape, length, 0)
        for name, changed in {"nitems": length, "data": data, "shape": shape}.items():
            fields = model.set(builder, fields, changed, name)
        self.incref(array, fields)
        return fields

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array, kind = self.typeof(target_var.name), self.typeof(value_var.name)
        if not self._is_item(array, index_var) or not isinstance(kind, types.Number | types.Boolean):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, array.dtype)
        pointer = self._item(array, target_var, index_var)
        return internals.store_item(self.context, self.builder, array, value, pointer)

    def _is_item(self, array: Any, index: Any) -> bool:
        kinds = self._kinds(index)
        return (
            isinstance(array, types.Array)
            and array.layout == "C"
            and array.ndim == len(kinds)
            and isinstance(array.dtype, types.Number | types.Boolean)
            and all(isinstance(kind, types.Integer) for kind in kinds)
            and not self.context.enable_boundscheck
        )

    def _kinds(self, index: Any) -> list[Any]:
        """Return the type of each number of an index."""
        kind: Any = self.typeof(index.name)
        return [*kind] if isinstance(kind, types.UniTuple | types.Tuple) else [kind]

    def _item(self, array: Any, value: Any, index: Any) -> Any:
        """Return the address of an item; negative numbers count from the end."""
        builder, model, fields = self.builder, self.context.data_model_manager[array], self.loadvar(value.name)
        shape, place = model.get(builder, fields, "shape"), None
        for axis, kind in enumerate(self._kinds(index)):
            number, size = self.loadvar(index.name), builder.extract_value(shape, axis)
            if isinstance(self.typeof(index.name), types.BaseTuple):
                number = builder.extract_value(number, axis)
            number = internals.fix_integer_index(self.context, builder, kind, number, size)
            place = number if place is None else builder.add(builder.mul(place, size), number)
        return builder.gep(model.get(builder, fields, "data"), [place])

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "getiter" and self._is_range_by_one(expr.value):
            return self._count_up(self.loadvar(expr.value.name), resty)
        if expr.op in PAIR:
            part = self.builder.extract_value(self.loadvar(expr.value.name), PAIR[expr.op])
            self.incref(resty, part)
            return part
        return super().lower_expr(resty, expr)

    def _is_range_by_one(self, value: Any) -> bool:
        """Return whether a variable is `range(stop)` or `range(start, stop)`."""
        if not isinstance(self.typeof(value.name), types.RangeType):
            return False
        made = internals.guard(self.func_ir.get_definition, value)
        if not isinstance(made, ir.Expr) or made.op != "call" or made.vararg or len(made.args) > 2:
            return False
        return bool(getattr(self.typeof(made.func.name), "typing_key", None) is range)

    def _count_up(self, bounds: Any, kind: Any) -> Any:
        """Make the iterator of a range: where its next number and the count of those left are kept."""
        builder, model = self.builder, self.context.data_model_manager[kind]
        start, stop, step = (builder.extract_value(bounds, k) for k in range(3))
        length = builder.sub(stop, start)
        none = length.type(0)
        length = builder.select(builder.icmp_signed(">", length, none), length, none)
        place, counter = (internals.cgutils.alloca_once_value(builder, number) for number in (start, length))
        made = self.context.get_constant_undef(kind)
        for name, value in {"iter": place, "stop": stop, "step": step, "count": counter}.items():
            made = model.set(builder, made, value, name)
        return made

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if name in self._singly_assigned_vars or self._counts(name):
            super().storevar(value, name, argidx)
        else:  # nothing to release
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        if self._counts(name):
            super().delvar(name)

    def _counts(self, name: str) -> bool:
        """Return whether references to a variable are counted."""
        model = self.context.data_model_manager[self.typeof(name)]
        return bool(self.context.enable_nrt and model.contains_nrt_meminfo())
