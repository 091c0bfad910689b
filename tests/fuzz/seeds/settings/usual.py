"""User settings"""
import os
papiex_options = "PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV"  # both
epmt_output_prefix = '/tmp/epmt/'
debug = False
db_params = {
    'url': 'sqlite:///:memory:',
    'echo': None,
}
outlier_thresholds = {'z_score': 3.0, 'iqr': [20, 80], 'n': (1,)}
