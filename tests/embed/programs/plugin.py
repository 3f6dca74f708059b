# SPDX-License-Identifier: Apache-2.0
"""plugin.py - functions of a plug-in that models call, and that go again: plugin.py MODEL, registered.so of the tests"""
from __future__ import annotations

import gc
import sys
import weakref

import numpy as np

import mpk


class Plugin:
    """What models call by name while it is there."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        mpk.register("test.vm.identity", self.identity)

    def identity(self, x: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.factor * x

    def close(self) -> None:
        mpk.unregister("test.vm.identity")


def main(path: str) -> None:
    model = None
    for i in range(20):
        plugin = Plugin(10.0 + i)
        model = model or mpk.open(path)
        y = model.identity(np.ones((1, 4), "float32"))
        assert (y == -plugin.factor).all(), y
        plugin.close()
        gone = weakref.ref(plugin)
        del plugin
        gc.collect()
        assert gone() is None
        try:
            model.identity(np.ones((1, 4), "float32"))
        except mpk.Error as e:
            if not i:
                print(e)
    print("came and went")


main(sys.argv[1])
