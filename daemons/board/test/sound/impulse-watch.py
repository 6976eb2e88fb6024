"""Reads a WAV of one channel and 24 bits from a named pipe as it is written, and prints each sample that is not silent:
its value, its place in the block read, in frames, and the time of that read, in ns since 1970."""

import os
import sys
import time

PIPE = sys.argv[1]
FRAME_BYTES = 3
MOST = 1 << 16


def sound_behind_head(pipe: int) -> bytes:
    """Returns the sound that was read together with the end of the header."""
    head = b''
    while True:
        head += os.read(pipe, MOST)
        at = head.find(b'data')
        if at >= 0 and len(head) >= at + 8:
            return head[at + 8 :]


def main() -> None:
    pipe = os.open(PIPE, os.O_RDONLY)
    print('open', flush=True)
    rest = sound_behind_head(pipe)
    while True:
        block = os.read(pipe, MOST)
        instant = time.time_ns()
        if not block:
            return
        # Earlier bytes belong to the frames before this block.
        before = len(rest) // FRAME_BYTES
        rest += block
        whole = len(rest) - len(rest) % FRAME_BYTES
        if rest.count(0) != len(rest):
            for at in range(0, whole, FRAME_BYTES):
                value = int.from_bytes(rest[at : at + FRAME_BYTES], 'little', signed=True)
                if value != 0:
                    print(value, at // FRAME_BYTES - before, instant, flush=True)
        rest = rest[whole:]


main()
