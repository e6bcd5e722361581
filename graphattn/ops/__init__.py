"""Every op, one file each; importing this package enters them all in the registry.

The files are found, not listed: a new file in this folder is a new op.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in sorted(iter_modules(__path__), key=lambda module: module.name):
    import_module(f"{__name__}.{_module.name}")
