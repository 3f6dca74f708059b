#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_image.py OUT FILE... - inputs for fuzz_image: files that are small enough to be changed well"""
import os
import shutil
import sys

out = os.path.join(sys.argv[1], "fuzz_image")
os.makedirs(out, exist_ok=True)
for name in sys.argv[2:]:
    if os.path.getsize(name) <= 32768:
        shutil.copyfile(name, os.path.join(out, name.replace("/", "-")))
