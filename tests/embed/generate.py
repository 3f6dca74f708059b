# SPDX-License-Identifier: Apache-2.0
"""generate.py - a language model that is stopped, saved and resumed, with the package mpk

    python3 generate.py MODEL FILE begin COUNT     a prompt, and so many tokens; what was computed goes to FILE
    python3 generate.py MODEL FILE go-on COUNT     so many more, in another process; again to FILE

The model is as MLC-LLM makes them: embed, prefill, decode, create_paged_kv_cache. An interrupt (^C) stops it wherever it is,
and what it had is saved: the next run goes on there.
"""
from __future__ import annotations

import signal
import struct
import sys
from typing import Any, Sequence

import numpy as np

import mpk

KV = "vm.builtin.kv_state_"


class Generator:
    """Sequences of tokens in one cache, continued by the likeliest token."""

    def __init__(self, path: str, sequences: int = 2, tokens: int = 64, chunk: int = 32, page: int = 16) -> None:
        self.model = mpk.open(path)
        self.cache: Any = self.model.create_paged_kv_cache(*map(mpk.shape, (sequences, tokens, chunk, page, 0)))

    def add(self, sequence: int) -> None:
        self.model[KV + "add_sequence"](self.cache, sequence)

    def fork(self, sequence: int, child: int) -> None:
        """Another sequence with the same begin, whose memory both share."""
        self.model[KV + "fork_sequence"](self.cache, sequence, child, -1)

    def stop(self) -> None:
        """From any thread: mpk.Stop where it is, until resume()."""
        self.model.decode.stop()

    def resume(self) -> None:
        self.model.decode.resume()

    def feed(self, sequence: int, tokens: Sequence[int]) -> int:
        """Add tokens to a sequence; returns the likeliest next one. Where it is stopped, the sequence is as it was."""
        begun = False
        try:
            self.model[KV + "begin_forward"](self.cache, mpk.shape(sequence), mpk.shape(len(tokens)))
            begun = True
            hidden = self.model.embed(np.array(tokens, "int32"))
            forward = self.model.prefill if len(tokens) > 1 else self.model.decode
            logits, _ = forward(hidden[None], self.cache)
            self.model[KV + "end_forward"](self.cache)
        except mpk.Stop:
            self.resume()  # or what follows would be stopped, too
            if begun:
                self.model[KV + "end_forward"](self.cache)
                self.model[KV + "popn"](self.cache, sequence, len(tokens))
            raise
        return int(logits.reshape(-1).argmax())


def main(path: str, file: str, how: str, count: int) -> None:
    generator = Generator(path)
    if how == "begin":
        generator.add(0)
        left = [3, 1, 4, 1, 5]
    else:
        with open(file, "rb") as f:
            n, = struct.unpack("<i", f.read(4))
            left = list(struct.unpack(f"<{n}i", f.read(4 * n)))
            generator.cache.load(f.read())
    signal.signal(signal.SIGINT, lambda *_: generator.stop())
    try:
        for _ in range(count):
            left = [generator.feed(0, left)]
            print(left[0], end=" ", flush=True)
    except mpk.Stop:
        pass
    print()
    with open(file, "wb") as f:  # tokens that are not in the cache, and the cache
        f.write(struct.pack(f"<i{len(left)}i", len(left), *left))
        f.write(generator.cache.save(0))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
