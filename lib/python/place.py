# SPDX-License-Identifier: Apache-2.0
"""place.py PREFIX - the folder below a prefix in which this Python looks for packages that have extension modules

Debian's Python reads dist-packages, and for /usr one folder for all of its versions; others read site-packages.
"""
import sys

prefix = sys.argv[1].rstrip("/")
is_debian = any(path.endswith("/dist-packages") for path in sys.path)
if is_debian and prefix == "/usr":
    print("/usr/lib/python3/dist-packages")
else:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    print(f"{prefix}/lib/{version}/{'dist' if is_debian else 'site'}-packages")
