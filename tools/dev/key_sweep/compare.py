"""Whether PPC and the reference mean the same by a case."""
import json
import re

import numpy

from .cases import ABSENT

LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-4
ROUNDING = 1e-6  # a gradient this much smaller than all of them together is zero but for rounding
LONG = 16384     # a sequence longer than the windows that classes have by default

# Keys that do not change the loss: initial values, tokens that the data does not hold, weights besides the model's.
NOT_OF_THE_LOSS = {"initializer_range", "pad_token_id", "num_nextn_predict_layers"}

# Outcomes. The last three must not be.
EQUAL, REFUSED, NO_REFERENCE = "equal", "refused", "no reference"
SILENT, UNNAMED, WRONG_DEFAULT = "silent", "unnamed", "wrong default"


def named_key(message, case):
    """The key that a refusal names: the one of the case when it names several."""
    named = re.findall(r'key "([^"]+)"', message) + re.findall(r"[a-z_0-9]+", message)
    return next((key for key in case for name in named if name == key or name.startswith(key + ".")), None)


def difference(found, expected):
    """Text about the first thing that differs between gradients, or nothing."""
    expected = {name: numbers for name, numbers in expected.items() if numbers.size}  # experts that are none have matrices without rows
    if set(found) != set(expected):
        return f"parameters {sorted(set(found) ^ set(expected))[:3]}"
    whole = sum(float(numpy.dot(g, g)) for g in expected.values()) ** 0.5
    for name, wanted in expected.items():
        numbers = numpy.array(found[name])
        if numbers.shape != wanted.shape:
            return f"{name} has {numbers.size} elements, not {wanted.size}"
        error, norm = float(numpy.linalg.norm(numbers - wanted)), float(numpy.linalg.norm(wanted))
        if not error <= GRADIENT_TOLERANCE * norm + ROUNDING * whole:
            return f"the gradient of {name} differs by {error / max(norm, 1e-30):.1e}"
    return None


def outcome(case, ours, reference, ours_values):
    """(outcome, what to say). `ours_values`: loss and gradients of our module, when they were computed."""
    if "refused" in ours:
        key = named_key(ours["refused"], case)
        return (REFUSED, key) if key or not case else (UNNAMED, ours["refused"])
    if "error" in reference:
        return NO_REFERENCE, reference["error"]
    if "large" in reference or ours_values is None:
        return EQUAL, "by its default"
    if not abs(ours_values["loss"] - reference["loss"]) <= LOSS_TOLERANCE * abs(reference["loss"]):
        return SILENT, f"loss {ours_values['loss']:.7f}, not {reference['loss']:.7f}"
    problem = difference(ours_values["gradients"], reference["gradients"])
    return (SILENT, problem) if problem else (EQUAL, None)


def with_long_sequences(config):
    """The config for sequences of LONG tokens."""
    return config | {key: 2 * LONG for key in ("max_position_embeddings", "n_positions") if key in config}


def default_pair(config, case, default):
    """The configs of a key that is left out and of its default, which must mean one thing; none when there is no such pair."""
    gone = [key for key, value in case.items() if value == ABSENT]
    if len(case) != 1 or not gone or gone[0] in ("model_type", "architectures", "num_nextn_predict_layers"):
        return None
    try:
        json.dumps(default)
    except TypeError:
        return None
    longer = with_long_sequences(config)
    longer.pop(gone[0], None)
    return longer, longer | {gone[0]: default}
