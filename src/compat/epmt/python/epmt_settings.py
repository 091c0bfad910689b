"""The older name of epmt.epmt_settings."""
import sys

from epmt import epmt_settings

sys.modules[__name__] = epmt_settings
