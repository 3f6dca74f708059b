# SPDX-License-Identifier: Apache-2.0
"""program.py - a classifier, a generator that is stopped, saved and resumed, a server of four sessions, by the package mpk

    python3 program.py classify MODEL
    python3 program.py generate MODEL FILE begin|go-on
    python3 program.py serve MODEL
"""
from __future__ import annotations

import struct
import sys
import threading

import numpy as np

import mpk

KV = "vm.builtin.kv_state_"


def classify(path: str) -> None:
    model = mpk.open(path)
    data, extra = np.zeros((2, 20), "float32"), np.zeros((2, 12), "float32")
    for step in range(3):
        data[0, 0] = step
        scores, _ = model.default(data, extra)
        print("class", scores[0].argmax())


class Text:
    """One sequence, number 0, in a cache of its own, with functions of sessions of its own: texts of several threads wait
    for none of another."""

    def __init__(self, model: mpk.Model) -> None:
        self.model = model
        self.embed, self.prefill, self.decode = (model[name].session() for name in ("embed", "prefill", "decode"))
        self.begin, self.end, self.pop = (model[KV + name].session() for name in ("begin_forward", "end_forward", "popn"))
        self.cache = model.create_paged_kv_cache(*map(mpk.shape, (1, 64, 32, 16, 0)))

    def add(self) -> None:
        self.model[KV + "add_sequence"](self.cache, 0)

    def feed(self, tokens: list[int]) -> int:
        """The likeliest token after some. Of a call that was stopped the cache has nothing afterwards."""
        self.begin(self.cache, mpk.shape(0), mpk.shape(len(tokens)))
        try:
            hidden = self.embed(np.array(tokens, "int32"))
            logits, _ = (self.prefill if len(tokens) > 1 else self.decode)(hidden[None], self.cache)
        except mpk.Stop:
            self.end(self.cache)
            self.pop(self.cache, 0, len(tokens))
            raise
        self.end(self.cache)
        return int(logits.reshape(-1).argmax())


def generate(path: str, file: str, is_new: bool) -> None:
    text = Text(mpk.open(path))
    if is_new:
        text.add()
        token = text.feed([3, 1, 4, 1, 5])
    else:
        with open(file, "rb") as f:
            token, = struct.unpack("<i", f.read(4))
            text.cache.load(f.read())
    said = ""
    try:
        for i in range(6):
            if is_new and i == 4:  # somebody does not want to wait any longer
                other = threading.Thread(target=text.decode.stop)
                other.start()
                other.join()
            following = text.feed([token])
            print(token, end=" ")
            token = following
    except mpk.Stop:
        said = "stopped"
    print(said)
    with open(file, "wb") as f:  # what is left to feed goes before the cache
        f.write(struct.pack("<i", token) + text.cache.save())


def serve(path: str) -> None:
    model = mpk.open(path)
    said: list[list[int]] = [[], [], [], []]

    def client(i: int) -> None:
        text = Text(model)
        text.add()
        token = text.feed([3 + i, 1, 4, 1, 5])
        for _ in range(8):
            said[i].append(token)
            token = text.feed([token])

    threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for one in said:
        print(*one)


if __name__ == "__main__":
    {"classify": classify, "serve": serve,
     "generate": lambda model, file, how: generate(model, file, how == "begin")}[sys.argv[1]](*sys.argv[2:])
