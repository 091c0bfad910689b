"""The score of the runs of the corpus: confusion matrix, accuracy, harmful advice, coverage of core time."""
from table import IDS, words

# what must be reached
RIGHT, ACCEPTABLE, UNSAMPLED, COVERED = 0.90, 0.97, 0.70, 0.95
# of the subset of `make check`, whose programs are short and have other tests beside them: of all runs, disturbed or not
CHECK_ACCEPTABLE = 0.80


class Run:
    """one case in one setting"""

    def __init__(self, case, setting):
        self.case, self.setting = case, setting
        self.found, self.all, self.harm = "", [], []
        self.status, self.seconds, self.others = None, 0.0, 0.0
        self.error = ""      # why there is no result
        self.covered = None  # named parts of core time / (granted cores x wall time)
        self.residue = None
        self.odd = []        # where its core time differs from what is known otherwise
        self.cpu = self.granted = 0.0
        self.disturbed = self.repeated = False
        self.where = self.report = None  # what `where` and `report` say

    @property
    def verdict(self):
        if self.error:
            return "error"
        if self.found == self.case.label:
            return "right"
        if self.found in self.case.second or (self.disturbed and self.found == "neighbour"):
            return "acceptable"
        if not self.setting[0] and self.found == "unmeasured":
            return "unmeasured"
        return "wrong"

    def data(self):
        return {"case": self.case.name, "setting": words(self.setting), "id": self.case.label, "found": self.found,
                "findings": self.all, "verdict": self.verdict, "harmful": self.harm, "status": self.status,
                "seconds": round(self.seconds, 2), "others_cores": round(self.others, 2), "disturbed": self.disturbed,
                "repeated": self.repeated,
                "covered": self.covered, "residue": self.residue, "odd": self.odd, "cpu": round(self.cpu, 2), "error": self.error}

    def line(self):
        mark = {"right": "ok", "acceptable": "ok (second)", "unmeasured": "unmeasured"}.get(self.verdict, self.verdict.upper())
        text = f"{mark:<12} {self.case.name:<22} {words(self.setting):<24} {self.case.label:<16} {self.found or '-':<16}"
        text += f" {self.seconds:5.1f} s"
        if self.covered is not None:
            text += f"  covered {100 * self.covered:5.1f} %"
        if self.disturbed:
            text += f"  others used {self.others:.1f} cores"
        if self.repeated:
            text += ", again"
        if self.error:
            text += f"  {self.error}"
        for odd in self.odd:
            text += f"\n             CORE TIME of {odd}"
        for harm in self.harm:
            text += f"\n             HARMFUL {harm}"
        return text.rstrip()


def matrix(runs):
    """rows: the label; columns: what was found first"""
    labels = [i for i in IDS if any(r.case.label == i for r in runs)]
    found = [i for i in IDS if any(r.found == i for r in runs)]
    found += sorted({r.found or "-" for r in runs} - set(found))
    text = ["first finding, by column:"] + [f"  {chr(97 + n) if n < 26 else chr(39 + n)} {name}" for n, name in enumerate(found)]
    text.append(" " * 18 + "".join(f"{chr(97 + n) if n < 26 else chr(39 + n):>4}" for n in range(len(found))))
    for label in labels:
        counts = [sum(r.case.label == label and (r.found or "-") == name for r in runs) for name in found]
        text.append(f"{label:<18}" + "".join(f"{c or '.':>4}" for c in counts))
    return "\n".join(text)


def share(part, whole):
    return len(part) / len(whole) if whole else None


def score(runs, check=False):
    """figures, and whether each reaches its bar"""
    sampled = [r for r in runs if r.setting[0] and not r.error]
    unsampled = [r for r in runs if not r.setting[0] and not r.error]
    good = lambda them, *verdicts: [r for r in them if r.verdict in verdicts]
    covered = [r.covered for r in sampled if r.covered is not None]
    figures = {
        "runs": len(runs),
        "errors": len([r for r in runs if r.error]),
        "disturbed": len([r for r in runs if r.disturbed]),
        "acceptable_only_because_disturbed": len([r for r in runs if r.verdict == "acceptable" and r.found not in r.case.second]),
        "sampled": len(sampled),
        "sampled_right": share(good(sampled, "right"), sampled),
        "sampled_right_or_acceptable": share(good(sampled, "right", "acceptable"), sampled),
        "unsampled": len(unsampled),
        "unsampled_right_or_acceptable": share(good(unsampled, "right", "acceptable"), unsampled),
        "unsampled_right_acceptable_or_unmeasured": share(good(unsampled, "right", "acceptable", "unmeasured"), unsampled),
        "unsampled_wrong": len(good(unsampled, "wrong")),
        "harmful": sum(len(r.harm) for r in runs),
        "core_time_known": len(covered),
        "core_time_least_covered": min(covered) if covered else None,
        "core_time_most_covered": max(covered) if covered else None,
        "core_time_odd": sum(len(r.odd) for r in runs),
    }
    least, most = figures["core_time_least_covered"], figures["core_time_most_covered"]
    at_least = lambda value, bar: value is None or value >= bar
    bars = {
        f"first finding right, sampled: {RIGHT:.0%}": at_least(figures["sampled_right"], RIGHT),
        f"right or acceptable, sampled: {ACCEPTABLE:.0%}": at_least(figures["sampled_right_or_acceptable"], ACCEPTABLE),
        f"right or acceptable, unsampled: {UNSAMPLED:.0%}": at_least(figures["unsampled_right_or_acceptable"], UNSAMPLED),
        "the rest of unsampled is unmeasured, not wrong": figures["unsampled_wrong"] == 0,
        "harmful advice: none": figures["harmful"] == 0,
        "every case ran": figures["errors"] == 0,
        f"core time covered in every sampled case: {COVERED:.0%}": (not sampled or len(covered) == len(sampled)) and at_least(least, COVERED),
        "core time never exceeded": most is None or most <= 1.0 + 1e-4,
        "cores, wall time and CPU time of core time are the true ones": figures["core_time_odd"] == 0,
    }
    if check:
        figures, bars = check_score(runs, figures, bars)
    return figures, bars


def check_score(runs, figures, bars):
    """What must hold beside other tests: no wrong verdict where nobody disturbed, few where others did, and of core time
    all that does not depend on who else runs."""
    calm = [r for r in runs if not r.disturbed and not r.error]
    wrong = [r for r in calm if r.verdict == "wrong"]
    good = share([r for r in runs if r.verdict not in ("wrong", "error")], runs)
    figures = {**figures, "repeated": len([r for r in runs if r.repeated]), "undisturbed": len(calm),
               "undisturbed_right": share([r for r in calm if r.verdict == "right"], calm), "undisturbed_wrong": len(wrong),
               "right_or_acceptable": good}
    kept = [k for k in bars if k.startswith(("harmful", "every case", "core time"))]
    return figures, {"nothing wrong where others did not disturb": not wrong,
                     f"right or acceptable, also where they did: {CHECK_ACCEPTABLE:.0%}": good is None or good >= CHECK_ACCEPTABLE,
                     **{k: bars[k] for k in kept}}


def text(runs, left_out, check=False):
    figures, bars = score(runs, check)
    out = [matrix([r for r in runs if not r.error]), ""]
    for name, value in figures.items():
        out.append(f"{name.replace('_', ' '):<45} {'unknown' if value is None else f'{value:.3f}' if isinstance(value, float) else value}")
    out.append("")
    out += [f"{'reached' if reached else 'MISSED':<8} {name}" for name, reached in bars.items()]
    if left_out:
        out += ["", "left out:"] + [f"  {name}: {why}" for name, why in left_out]
    return "\n".join(out)
