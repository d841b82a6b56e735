"""The time that the whole run may take, shared out to its parts."""

import time


class Budget:
    """Later parts may use the time that a part leaves. A part cannot use the share of later parts."""

    def __init__(self, seconds, shares, clock=time.monotonic):
        self._clock = clock
        self._start = clock()
        self._deadlines = {}
        whole, so_far = sum(shares.values()), 0.0
        for part, share in shares.items():
            so_far += share
            self._deadlines[part] = self._start + seconds * so_far / whole
        self._part = None

    def enter(self, part):
        self._part = part

    def left(self):
        """Seconds until the part of now must be done; negative when it is late."""
        return self._deadlines[self._part] - self._clock()

    def spent(self):
        return self._clock() - self._start
