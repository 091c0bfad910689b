"""The older name of epmt.epmt_stat."""
import sys

from epmt import epmt_stat

sys.modules[__name__] = epmt_stat
