"""Small functions on tags, dicts, texts and intervals."""

import hashlib
import json


def version():
    """Returns the version as a tuple of numbers::Miscellaneous"""
    from epmt import _bridge
    words = _bridge.run("plimsoll", "version").decode().split()
    number = next(w for w in words if w[:1].isdigit())
    return tuple(int(n) for n in number.split("-")[0].split(".") if n.isdigit())


def tag_from_string(text, delim=";", sep=":", tag_default_value="1"):
    """Makes a dict of "key:value;key:value"::Miscellaneous

    A key without a value gets tag_default_value; a dict is returned as it is, with its values as texts."""
    if isinstance(text, dict):
        return {str(k): str(v) for k, v in text.items()}
    tag = {}
    for pair in (text or "").split(delim):
        words = [w.strip() for w in pair.split(sep)]
        if len(words) <= 2 and words[0]:
            tag[words[0]] = words[1] if len(words) == 2 else tag_default_value
    return tag


def tags_list(tags):
    """Makes a list of dicts of one tag or several, as texts or dicts::Miscellaneous"""
    if isinstance(tags, (str, dict)):
        tags = [tags]
    return [tag_from_string(t) for t in tags]


def tag_text(tag):
    """Writes a tag as "key:value;key:value"::Miscellaneous"""
    return tag if isinstance(tag, str) else ";".join(f"{k}:{v}" for k, v in tag.items())


def str_dict(d):
    """Writes a dict as a text with sorted keys::Miscellaneous"""
    return json.dumps(d, sort_keys=True)


def frozen_dict(d):
    """Makes a set of the items of a dict, which can be a key::Miscellaneous"""
    return frozenset(d.items())


def dict_filter(kvdict, keys, remove_underscores=True):
    """Copies a dict without some keys, and without those that begin with an underscore::Miscellaneous"""
    return {k: v for k, v in kvdict.items() if k not in keys and not (remove_underscores and k.startswith("_"))}


def unique_dicts(dicts, exclude=()):
    """Removes keys from dicts, then duplicates; the order stays::Miscellaneous"""
    kept = [{k: v for k, v in d.items() if k not in exclude} for d in dicts]
    return list({str_dict(d): d for d in kept if d}.values())


def fold_dicts(dicts):
    """Makes one dict of many: a value for each key, or a list of them where they differ::Miscellaneous"""
    folded = {}
    for d in dicts:
        for key, value in d.items():
            values = folded.setdefault(key, [])
            if value not in values:
                values.append(value)
    return {k: v[0] if len(v) == 1 else v for k, v in folded.items()}


def sum_dicts(x, y):
    """Adds numbers of two dicts by their keys::Miscellaneous"""
    return {k: x.get(k, 0) + y.get(k, 0) for k in list(x) + [k for k in y if k not in x]}


def merge_intervals(intervals):
    """Merges intervals that overlap or touch::Miscellaneous

    Takes [[begin, end], ...] and returns the same, sorted and without overlaps."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def encode2ints(texts):
    """Makes an integer of each text, from which decode2strings() makes it again::Miscellaneous"""
    return [int.from_bytes(t.encode(), "little") for t in texts]


def decode2strings(numbers):
    """Makes the texts again that encode2ints() got::Miscellaneous"""
    return [n.to_bytes((n.bit_length() + 7) // 8, "little").decode() for n in (int(n) for n in numbers)]


def hash_strings(texts):
    """Makes an integer of 63 bits of each text; equal texts give equal numbers::Miscellaneous"""
    return [int.from_bytes(hashlib.sha256(t.encode()).digest()[:8], "little") >> 1 for t in texts]
