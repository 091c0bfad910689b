"""EPMT's Python modules on the store of Plimsoll.

    import epmt.epmt_query as eq            (or: import epmt_query as eq, as older versions had it)
    import epmt.epmt_outliers as eod
    import epmt.epmt_stat as es
    import epmt.epmt_exp_explore as exp

`epmt python` and `epmt shell` set the path and the store. The functions call the program, which does the work, and
return what EPMT's functions return. `epmt help api` lists them; api.tsv beside this file maps each to a command.
"""
