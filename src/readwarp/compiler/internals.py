"""Names within Numba that it does not document, and that we build upon: no other module here imports such.

Where a Numba lacks one of them, importing this module raises ImportError, and `jit` lets Numba compile in its own way.
The C functions of Numba that machine code calls are named in `loader`, which must not import Numba.
"""

import numba
from numba.core import cgutils, ir, types
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.cpu import CPUContext
from numba.core.dispatcher import _FunctionCompiler
from numba.core.ir_utils import guard
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.runtime.context import NRTContext
from numba.core.target_extension import dispatcher_registry, target_registry
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NoPythonSupportedFeatureValidation
from numba.core.types.functions import BaseFunction
from numba.core.untyped_passes import InlineClosureLikes
from numba.cpython.slicing import fix_index
from numba.np.arrayobj import fix_integer_index, load_item, store_item

MEMBERS: dict[type, str] = {  # what we override, call or read
    BaseFunction: "get_call_type",
    CompileResult: "_replace call_helper environment fndesc library target_context",
    CPUCodeLibrary: "_optimize_functions _finalize_dynamic_globals _get_module_for_linking"
    " _ensure_finalized add_linking_library finalize",
    CPUContext: "codegen create_module get_env_name insert_user_function refresh subtarget",
    CPUDispatcher: "add_overload compile get_call_template",
    Flags: "copy no_cfunc_wrapper no_compile no_cpython_wrapper release_gil values",
    InlineClosureLikes: "run_pass",
    JITCPUCodegen: "_add_module _get_host_cpu_features _get_host_cpu_name _library_class set_env",
    Lower: "decref delvar getvar incref loadvar lower_expr lower_getitem lower_setitem storevar typeof",
    NativeLowering: "lowering_class",
    NopythonRewrites: "run_pass",
    NRTContext: "get_meminfos",
    PostProcessor: "_insert_var_dels run",
    PyCallWrapper: "build build_wrapper get_env",
    _FunctionCompiler: "_compile_core _customize_flags",
}
absent = [
    f"{kind.__name__}.{name}" for kind, names in MEMBERS.items() for name in names.split() if not hasattr(kind, name)
]
if absent:
    raise ImportError(f"Numba {numba.__version__} has no {', '.join(absent)}")
