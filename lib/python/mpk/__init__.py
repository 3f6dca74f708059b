# SPDX-License-Identifier: Apache-2.0
"""Run, inspect and pack what Apache TVM compiled, without TVM.

    >>> import mpk
    >>> model = mpk.open("deploy.so")
    >>> y = model.forward(x)              # NumPy in, NumPy out; PyTorch and DLPack as well
    >>> mpk.tree("deploy.so")["tree"]     # what is in it; nothing of it runs
    >>> mpk.check("deploy.so", tvm="0.27", device_arch="sm_90")["verdict"]

`mpk.tvm` has callables for TVM's `export_library`. The programs `mpack` and `minspect` come with the package.
"""
from ._fleet import INVENTORY_COLUMNS, inventory
from ._run import (BudgetError, Error, Event, Function, Model, Shape, Stop, Tensor, Type, Value, library_version, open, register,  # pylint: disable=redefined-builtin
                   shape, unregister)
from ._tools import ToolError, check, functions, memory, program, tree, verify

__version__ = library_version()
__all__ = ["BudgetError", "Error", "Event", "Function", "INVENTORY_COLUMNS", "Model", "Shape", "Stop", "Tensor", "ToolError", "Type", "Value",
           "check", "functions", "inventory", "library_version", "memory", "open", "program", "register", "shape", "tree",
           "unregister", "verify"]
