#!/usr/bin/env python3
"""Compares what PPC and transformers compute for configurations that differ in a key, and writes the table of it.

    key-sweep.py --build build/dev                     compares; exit status 1 when something differs in silence
    key-sweep.py --build build/dev --update            also writes test/Inputs/KeySweep
    key-sweep.py --build build/dev --only LlamaForCausalLM --show silent
    key-sweep.py --build build/dev --public FILE       also keys and values of a file {NAME: config.json}, in place of those kept here
    key-sweep.py --keep-public FILE                    keeps a sample of them (tools/dev/key_sweep/public.json)

Each key of each configuration class is taken away and set to other values, alone and with the keys that it acts with
(tools/dev/key_sweep/cases.py). PPC must give the loss within 1e-5 and the gradients within 1e-4 of the reference, or refuse
the file by the name of a key that was changed. The environment, about 6 GB of packages outside of the repository, is made by
the first run; BUILD needs the target ppc-import-values. docs/guide/Models.md says how the table is used.
"""
import argparse
import collections
import hashlib
import json
import os
import pickle
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
TABLES = os.path.join(REPOSITORY, "test/Inputs/KeySweep")
REQUIREMENTS = os.path.join(HERE, "key_sweep/requirements.txt")
OLDER = os.path.join(HERE, "key_sweep/requirements-older.txt")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(REPOSITORY, "build/dev"), help="build folder that holds bin/ppc-import-values")
    parser.add_argument("--public", metavar="FILE", help="configurations by name, of which keys and values are taken")
    parser.add_argument("--keep-public", metavar="FILE", help="keep a sample of these configurations, and end")
    parser.add_argument("--foreign", type=int, default=30, help="keys of other published files for each architecture")
    parser.add_argument("--environment", default="/tmp/key-sweep", help="folder of the packages, and of what the reference computed")
    parser.add_argument("--only", action="append", default=[], metavar="ARCHITECTURE")
    parser.add_argument("--older", action="store_true", help="also ask the older transformers, and say where the two differ")
    parser.add_argument("--update", action="store_true", help="write the tables")
    parser.add_argument("--show", action="append", default=[], metavar="OUTCOME", help="list the cases of this outcome too")
    parser.add_argument("--seed", type=int, default=1, help="of pairs and handfuls of keys")
    parser.add_argument("--group", type=int, default=12, help="cases of each group of keys")
    parser.add_argument("--handfuls", type=int, default=20, help="random cases of each architecture")
    return parser.parse_args()


def enter_environment(folder):
    """Makes the environment where it is missing, and starts this script in it."""
    python = os.path.join(folder, "bin/python")
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    if not os.path.exists(os.path.join(folder, "complete")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", REQUIREMENTS], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--target", os.path.join(folder, "older"), "-r", OLDER], check=True)
        open(os.path.join(folder, "complete"), "w").close()
    os.execv(python, [python] + sys.argv)


class Lines:
    """A program that answers each line of JSON with one."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Remembered:
    """Answers of a reference, kept beside the environment, so that a second sweep after a change to PPC is quick."""

    def __init__(self, folder, version, compute):
        self.path, self.compute, self.answers, self.gradients, self.asked = \
            os.path.join(folder, f"answers-{version}.pickle"), compute, {}, {}, 0
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                self.answers, self.gradients = pickle.load(file)

    def ask(self, config):
        key = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).digest()
        if key not in self.answers:
            answer = dict(self.compute(config))
            if "gradients" in answer:
                parts = answer.pop("gradients")
                digest = hashlib.sha256(b"".join(name.encode() + numbers.tobytes() for name, numbers in sorted(parts.items()))).digest()
                self.gradients[digest] = parts
                answer["digest"] = digest
            self.answers[key] = answer
            self.asked += 1
            if self.asked % 2000 == 0:
                self.save()
        return self.answers[key]

    def complete(self, config):
        answer = self.ask(config)
        return {**answer, "gradients": self.gradients[answer["digest"]]} if "digest" in answer else answer

    def save(self):
        if self.asked:
            with open(self.path + ".new", "wb") as file:
                pickle.dump((self.answers, self.gradients), file)
            os.replace(self.path + ".new", self.path)


class Sweep:
    def __init__(self, options):
        from key_sweep import public, reference
        self.options, self.reference = options, reference
        import transformers
        self.versions = [transformers.__version__]
        self.answers = Remembered(options.environment, transformers.__version__, reference.compute)
        self.ppc = Lines([os.path.join(options.build, "bin/ppc-import-values")])
        self.values, self.counts, self.keys = {}, collections.Counter(), set()
        self.problems = 0
        self.sample = public.read(options.public)
        if options.older:
            path = os.path.join(options.environment, "older")
            self.older_program = Lines([sys.executable, "-m", "key_sweep.reference"], {**os.environ, "PYTHONPATH": path + os.pathsep + HERE})
            self.versions.append(self.older_program.ask("version"))
            self.older = Remembered(options.environment, self.versions[-1], self.older_program.ask)

    def import_config(self, config, sequence=None):
        answer = self.ppc.ask({"config": config, **({"sequence": sequence} if sequence else {})})
        if "loss" in answer:
            self.values[answer["module"]] = answer
        return answer

    def default_problem(self, config, case):
        """What the class says for a key that is left out must import as what the missing key does."""
        from key_sweep import compare
        key = next(iter(case), None)
        default = self.reference.default_of(config, key) if key else None
        pair = compare.default_pair(config, case, default)
        if not pair:
            return None, None
        absent, present = (self.import_config(each, compare.LONG) for each in pair)
        if "refused" in absent or "refused" in present or absent["module"] == present["module"]:
            return default, None
        return default, f"left out, {key} does not import as {json.dumps(default)}"

    def case(self, name, case):
        """One row: what the reference says, and the outcome."""
        from key_sweep import cases, compare
        config = cases.applied(name, case)
        ours = self.import_config(config)
        # What PPC refuses by name needs no reference.
        reference = {} if case and "refused" in ours and compare.named_key(ours["refused"], case) else self.answers.complete(config)
        result, text = compare.outcome(case, ours, reference, self.values.get(ours.get("module")))
        default = None
        if result in (compare.EQUAL, compare.NO_REFERENCE):
            default, problem = self.default_problem(config, case)
            if problem:
                result, text = compare.WRONG_DEFAULT, problem
        return config, reference, ours, result, text, default

    def architecture(self, name):
        from key_sweep import cases, compare
        from key_sweep.models import BASES
        own = self.reference.class_keys(BASES[name])
        if self.options.older:
            own = sorted(set(own) | set(self.older_program.ask({"keys of": BASES[name]})))
        rows, base = [], None
        for case in cases.changes(name, own, self.options.seed, self.options.group, self.options.handfuls, self.sample, self.options.foreign):
            config, reference, ours, result, text, default = self.case(name, case)
            base = base or (reference, ours)
            same = "digest" in reference and (reference["loss"], reference["digest"]) == (base[0]["loss"], base[0]["digest"])
            if result == compare.EQUAL and same and ours["module"] != base[1]["module"] and not compare.NOT_OF_THE_LOSS & set(case):
                text = "another module for what changes nothing"
            if result == compare.EQUAL and not same and "loss" in reference and ours["module"] == base[1]["module"]:
                text = f"the same module, within rounding: {reference['loss'] - base[0]['loss']:.1e}"
            self.counts[result] += 1
            self.keys |= {(name, key) for key in case}
            bad = result in (compare.SILENT, compare.UNNAMED, compare.WRONG_DEFAULT)
            self.problems += bad
            if bad or result in self.options.show or (result == compare.EQUAL and text and "--" not in text and "default" not in text):
                print(f"{result}: {name} {json.dumps(case)}: {text}", flush=True)
            if self.options.older and result != compare.REFUSED:
                self.compare_older(name, case, config, reference, result)
            rows.append((case, reference, same, result, text, default))
        print(f"# {name}: {len(rows)} cases", flush=True)
        return rows

    def compare_older(self, name, case, config, reference, result):
        older = self.older.ask(config)
        if "loss" in older and "loss" in reference and abs(older["loss"] - reference["loss"]) > 1e-5 * abs(reference["loss"]):
            self.counts["versions differ"] += 1
            print(f"versions differ ({result}): {name} {json.dumps(case)}: {reference['loss']:.6f}, older {older['loss']:.6f}", flush=True)


def main():
    options = arguments()
    options.build, options.environment = os.path.abspath(options.build), os.path.abspath(options.environment)
    if options.keep_public:
        sys.path.insert(0, HERE)
        from key_sweep import public
        return public.write(public.sample_of(json.load(open(options.keep_public))))
    enter_environment(options.environment)
    sys.path.insert(0, HERE)
    from key_sweep import table
    from key_sweep.models import BASES
    sweep = Sweep(options)
    for name in options.only or BASES:
        rows = sweep.architecture(name)
        if options.update:
            table.write(os.path.join(TABLES, name + ".jsonl"), BASES[name], rows, sweep.versions)
        sweep.answers.save()
        if options.older:
            sweep.older.save()
    total = sum(count for outcome, count in sweep.counts.items() if outcome != "versions differ")
    print(f"{len(options.only or BASES)} architectures, {len(sweep.keys)} keys of them, {total} cases: " +
          ", ".join(f"{count} {outcome}" for outcome, count in sorted(sweep.counts.items())))
    sys.exit(1 if sweep.problems else 0)


if __name__ == "__main__":
    main()
