"""The older name of epmt.epmtlib."""
import sys

from epmt import epmtlib

sys.modules[__name__] = epmtlib
