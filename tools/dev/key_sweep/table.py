"""The committed table of the sweep's results, as lines of JSON that a test reads without transformers.

The first line is {"base": CONFIG, "loss": its loss, "transformers": VERSIONS}; each other [CHANGES, REFERENCE, OUTCOME]:
  CHANGES    {KEY: VALUE}; "(absent)" for a key that is taken away
  REFERENCE  the loss as a number; "same": loss and gradients equal the base's, bit by bit; "large": too large to
             run, so that only its defaults are compared; null: not asked, since PPC refuses the file
  OUTCOME    "refused KEY", "equal", or {"default": VALUE}: equal, and the key's default is VALUE
"""
import json
import os

from . import compare


def line(case, reference, same, result, text, default):
    if result == compare.REFUSED:
        return [case, None, f"refused {text}"]
    if "loss" in reference:
        found = "same" if same else float(f"{reference['loss']:.9g}")
    else:
        found = "large"
    return [case, found, {"default": default} if default is not None else "equal"]


def write(path, base, rows, versions):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(json.dumps({"base": base, "loss": rows[0][1]["loss"], "transformers": versions}) + "\n")
        for case, reference, same, result, text, default in rows:
            if case and (result == compare.REFUSED or "error" not in reference):
                file.write(json.dumps(line(case, reference, same, result, text, default), separators=(",", ":")) + "\n")
