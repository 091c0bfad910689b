"""The older name of epmt.epmt_outliers."""
import sys

from epmt import epmt_outliers

sys.modules[__name__] = epmt_outliers
