"""How Python itself is set for what this product does."""

import gc
import sys


def tune() -> None:
    """Set the interpreter of this process; call it once, at the beginning."""
    # Judging makes many small values and no cycles; collecting rarely saves a tenth of its time.
    gc.set_threshold(50_000, 20, 20)
    # The event loop lets go of the interpreter at every read and write of a socket. A thread that settles or checks
    # would then keep it for 5 ms each time, and the next call to a model would be that much later.
    sys.setswitchinterval(0.001)
