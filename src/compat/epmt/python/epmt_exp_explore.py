"""The older name of epmt.epmt_exp_explore."""
import sys

from epmt import epmt_exp_explore

sys.modules[__name__] = epmt_exp_explore
