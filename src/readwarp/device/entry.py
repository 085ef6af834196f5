"""How Python calls a kernel: a function that takes the arguments apart, calls the kernel, and returns its result.

Numba's own has code for each argument, for its errors and for its end: more than half of the machine code of a command.
Here loops over tables do it for all arrays. Types are not tested, since `jit.Kernel` chooses the code by them.
"""

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callwrapper import PyCallWrapper

INT, FAILED = ir.IntType(64), ir.IntType(32)


class Node(NamedTuple):
    """An argument, or an item of one that is a tuple."""

    parent: int  # the node that holds it; 0: all arguments
    item: int
    kind: Any  # Numba's type


def nodes_of(kinds: Any, parent: int = 0, first: int = 1) -> list[Node]:
    """All arguments of these types with their items, in the order in which the kernel takes them, from node 1 on."""
    nodes: list[Node] = []
    for item, kind in enumerate(kinds):
        nodes.append(Node(parent, item, kind))
        if isinstance(kind, types.BaseTuple):
            nodes += nodes_of(kind, first + len(nodes) - 1, first + len(nodes))
    return nodes


def create_entry(context: Any, library: Any, made: Any) -> None:
    """Add the function to the library, for what Numba made of the kernel."""
    module, description = context.create_module("wrapper"), made.fndesc
    callee = ir.Function(
        module,
        context.call_conv.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name,
    )
    entry: Any = Entry
    entry(context, module, callee, description, made.environment, made.call_helper, release_gil=True).build()
    library.add_ir_module(module)


class Entry(PyCallWrapper):
    """Numba's, with loops."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        nodes = dict(enumerate(nodes_of(self.fndesc.argtypes), 1))
        objects = self._objects(api, builder, args, nodes)
        environment = self.get_env(api, builder)  # type: ignore[no-untyped-call]
        leaves = {place: node.kind for place, node in nodes.items() if not isinstance(node.kind, types.BaseTuple)}
        arrays = {place: kind for place, kind in leaves.items() if isinstance(kind, types.Array)}
        values = {
            place: number(api, kind, item(builder, objects, place))
            for place, kind in leaves.items()
            if place not in arrays
        }
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, api.err_occurred())):  # a number too large
            builder.ret(api.get_null_object())
        slots = self._describe(api, builder, objects, arrays)
        for k, (place, kind) in enumerate(arrays.items()):
            fields = self.context.get_value_type(kind).as_pointer()
            values[place] = builder.load(builder.bitcast(builder.gep(slots, [INT(k)]), fields))
        thread = api.save_thread()
        call, in_order = self.context.call_conv.call_function, [values[place] for place in leaves]
        status, result = call(
            builder, self.func, self.fndesc.restype, list(leaves.values()), in_order, attrs=("noinline",)
        )
        api.restore_thread(thread)
        self._release(builder, slots, len(arrays))
        with builder.if_then(status.is_ok, likely=True):
            with builder.if_then(status.is_none):
                api.return_none()
            kind = self._simplified_return_type()  # type: ignore[no-untyped-call]
            builder.ret(api.from_native_return(kind, result, environment))
        self.context.call_conv.raise_error(builder, api, status)
        builder.ret(api.get_null_object())

    def _objects(self, api: Any, builder: Any, args: Any, nodes: dict[int, Node]) -> Any:
        """The object of each node."""
        objects = cgutils.alloca_once(builder, args.type, size=len(nodes) + 1)
        builder.store(args, objects)
        parents = table(builder, [node.parent for node in nodes.values()])
        items = table(builder, [node.item for node in nodes.values()])
        get_item = ir.FunctionType(args.type, [args.type, INT])
        get = cgutils.get_or_insert_function(self.module, get_item, "PyTuple_GetItem")
        with cgutils.for_range(builder, INT(len(nodes))) as loop:
            parent = item(builder, objects, item(builder, parents, loop.index))
            found = builder.call(get, [parent, item(builder, items, loop.index)])
            builder.store(found, builder.gep(objects, [builder.add(loop.index, INT(1))]))
        return objects

    def _describe(self, api: Any, builder: Any, objects: Any, arrays: dict[int, Any]) -> Any:
        """Numba's description of each array, in slots with room for the axes of any."""
        array: Any = types.Array
        axes = max((kind.ndim for kind in arrays.values()), default=1)
        slots = cgutils.alloca_once(builder, self.context.get_value_type(array(types.uint8, axes, "C")), len(arrays))
        failed, places = cgutils.alloca_once_value(builder, FAILED(0)), table(builder, list(arrays))
        with cgutils.for_range(builder, INT(len(arrays))) as loop:
            found = item(builder, objects, item(builder, places, loop.index))
            slot = builder.bitcast(builder.gep(slots, [loop.index]), api.voidptr)
            code = api.nrt_adapt_ndarray_from_python(found, slot)
            builder.store(builder.or_(builder.load(failed), code), failed)
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, builder.load(failed))):
            api.err_set_string("PyExc_TypeError", "not an array")
            builder.ret(api.get_null_object())
        return slots

    def _release(self, builder: Any, slots: Any, count: int) -> None:
        with cgutils.for_range(builder, INT(count)) as loop:
            owner = cgutils.gep_inbounds(builder, slots, loop.index, 0)
            release = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t])
            builder.call(cgutils.get_or_insert_function(self.module, release, "NRT_decref"), [builder.load(owner)])


def number(api: Any, kind: Any, given: Any) -> Any:
    """A number of Python or NumPy as the kernel takes it; Numba's own way, for other types, is longer."""
    if kind == types.int64:
        return api.long_as_longlong(given)
    if kind == types.float64:
        return api.float_as_double(given)
    return api.to_native_value(kind, given).value


def table(builder: Any, numbers: list[int]) -> Any:
    """A constant array of integers."""
    values = ir.Constant(ir.ArrayType(INT, len(numbers)), [INT(number) for number in numbers])
    place = cgutils.global_constant(builder, "table", values)
    return builder.bitcast(place, INT.as_pointer())


def item(builder: Any, values: Any, index: Any) -> Any:
    return builder.load(builder.gep(values, [INT(index) if isinstance(index, int) else index]))
