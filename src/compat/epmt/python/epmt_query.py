"""The older name of epmt.epmt_query."""
import sys

from epmt import epmt_query

sys.modules[__name__] = epmt_query
