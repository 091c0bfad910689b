"""An interactive Python with EPMT's modules imported: `epmt shell`."""

import code
import sys

BANNER = """EPMT's modules: eq (epmt_query), eod (epmt_outliers), es (epmt_stat), exp (epmt_exp_explore).
eq.get_jobs(fmt='terse') lists the jobs; `epmt help api` lists the functions."""


def main():
    from epmt import epmt_exp_explore as exp
    from epmt import epmt_outliers as eod
    from epmt import epmt_query as eq
    from epmt import epmt_stat as es
    names = {"eq": eq, "eod": eod, "es": es, "exp": exp, "Job": eq.Job, "Process": eq.Process, "desc": eq.desc}
    try:
        import IPython
    except ImportError:
        try:
            import readline  # noqa: F401 lines can be edited
        except ImportError:
            pass
        code.interact(BANNER, local=names, exitmsg="")
        return
    from traitlets.config import Config
    config = Config()
    config.TerminalInteractiveShell.banner2 = BANNER + "\n"
    IPython.start_ipython(argv=sys.argv[1:], user_ns=names, config=config)


if __name__ == "__main__":
    main()
