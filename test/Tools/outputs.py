"""Every option that names an output, of every tool and of a trained program, on every input of the same command and under every name
that the input has: none is destroyed.

    outputs.py --build BUILD [--only COMMAND]

Which options there are is read from --help: an option that takes a value and is in none of the tables of outputs_tables.py fails the
test, so that a new one is put into one of them. A refusal must have status 1 and begin with "error:", name the option and the path,
and leave every file as it was. Then writes that fail, for a limit of the size of files and in a read-only folder: the
old file stays, and no temporary file is left. And writes that succeed keep links and modes.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "Integration"))
import outputs_tables as tables  # noqa: E402
import programs  # noqa: E402

NOBODY = 65534
OLD = b"the old content\n"


class Files:
    """Contents of a folder, by path: enough to see any change."""

    def __init__(self, folder):
        self.found = {}
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                status = os.lstat(path)
                content = b""
                if not os.path.islink(path) and status.st_size < 1 << 20:
                    with open(path, "rb") as file:
                        content = file.read()
                self.found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, content)

    def difference(self, other):
        paths = sorted(set(self.found) | set(other.found))
        return [path for path in paths if self.found.get(path) != other.found.get(path)]


class Suite:
    def __init__(self, scratch):
        self.scratch, self.failures, self.tried = scratch, [], 0

    def fail(self, command, text):
        self.failures.append(f"{' '.join(command)}\n    " + text.replace("\n", "\n    "))
        print("FAILED " + self.failures[-1], flush=True)

    def run(self, command, environment, **options):
        return subprocess.run(command, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600, errors="replace", **options)

    def refused(self, command, environment, words):
        """Runs a command that must change nothing and name `words`."""
        self.tried += 1
        before = Files(self.scratch)
        done = self.run(command, environment)
        changed = before.difference(Files(self.scratch))
        if done.returncode not in (1, 2) or not done.stderr.startswith("error: "):
            self.fail(command, f"status {done.returncode}, expected an error: {done.stderr}")
        elif any(word not in done.stderr.splitlines()[0] for word in words):
            self.fail(command, f"expected {words} in: {done.stderr}")
        if changed:
            self.fail(command, "changed " + " ".join(changed))

    def links(self, path):
        """Names of a file: its own, by a detour, a symbolic and a hard link."""
        yield path
        yield os.path.join(os.path.dirname(path), "..", os.path.basename(os.path.dirname(path)), os.path.basename(path))
        for make in (os.symlink, os.link):
            link = os.path.join(self.scratch, "links", f"{len(os.listdir(os.path.join(self.scratch, 'links')))}-{os.path.basename(path)}")
            make(path, link)
            yield link

    def destroys_nothing(self, command):
        """Each output of a command on each of its inputs."""
        inputs = sorted(set(command.inputs))
        for path in inputs:
            for link in self.links(path):
                for option in command.outputs:
                    self.refused([*command.words, option, link], command.environment, [option, link])
                for option in command.folders:  # the path is a file
                    self.refused([*command.words, option, link], command.environment, [option, link])
            for option, names in command.folders.items():
                for number, name in enumerate(names):
                    for make in (os.symlink, os.link):
                        folder = os.path.join(self.scratch, f"folder-{len(os.listdir(self.scratch))}")
                        os.makedirs(os.path.dirname(os.path.join(folder, name)))
                        make(path, os.path.join(folder, name))
                        self.refused([*command.words, option, folder], command.environment, [option, name])
                        shutil.rmtree(folder)
        for option in command.outputs:
            self.refused([*command.words, option, self.scratch], command.environment, [option, self.scratch, "folder"])
            self.refused([*command.words, option, ""], command.environment, [option])
        for option in command.folders:
            self.refused([*command.words, option, ""], command.environment, [option])
        new = os.path.join(self.scratch, "new")
        for first in command.outputs:
            for second in command.outputs:
                if first < second and not {first, second} & set(command.alone):
                    self.refused([*command.words, first, new, second, new], command.environment, [first, second])

    def keeps_the_old(self, command, prepare, why):
        """Each output of a command where writing fails."""
        for option in command.outputs:
            if option in command.grow:
                continue
            self.tried += 1
            folder = tempfile.mkdtemp(dir=self.scratch)
            path = os.path.join(folder, "out")
            with open(path, "wb") as file:
                file.write(OLD)
            os.chmod(path, 0o666)
            os.chmod(folder, 0o555 if why == "folder" else 0o755)
            done = self.run([*command.words, option, path], command.environment, **prepare)
            os.chmod(folder, 0o755)
            names = os.listdir(folder)
            with open(path, "rb") as file:
                content = file.read()
            if done.returncode != 1 and option not in command.goes_on or "error: " not in done.stderr and "warning: " not in done.stderr:
                self.fail([*command.words, option, path], f"{why}: status {done.returncode}: {done.stderr}")
            elif "PLEASE submit" in done.stderr or why == "folder" and (option not in done.stderr or path not in done.stderr):
                self.fail([*command.words, option, path], f"{why}: {done.stderr}")
            if content != OLD or names != ["out"]:
                self.fail([*command.words, option, path], f"{why}: the folder holds {names}, the file {content[:60]}")
            shutil.rmtree(folder)


    def replaces_as_it_is(self, command):
        """Each output through a symbolic link to an old file, and to what the shell has opened: the link and the mode stay, and what
        stands before the output in that file."""
        for option in command.outputs:
            folder = tempfile.mkdtemp(dir=self.scratch)
            old, link, log = (os.path.join(folder, name) for name in ("old", "link", "log"))
            for path in (old, log):
                with open(path, "wb") as file:
                    file.write(OLD)
            os.chmod(old, 0o640)
            os.symlink("old", link)
            self.tried += 2
            done = self.run([*command.words, option, link], command.environment)
            with open(old, "rb") as file:
                content = file.read()
            if done.returncode or sorted(os.listdir(folder)) != ["link", "log", "old"] or not os.path.islink(link):
                self.fail([*command.words, option, link], f"status {done.returncode}, {os.listdir(folder)}: {done.stderr}")
            elif content.startswith(OLD) or os.stat(old).st_mode & 0o777 not in (0o640, 0o750):
                self.fail([*command.words, option, link], f"mode {os.stat(old).st_mode:o}, content {content[:60]}")
            with open(log, "ab") as file:
                done = subprocess.run([*command.words, option, f"/dev/fd/{file.fileno()}"], env=dict(os.environ, **command.environment),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[file.fileno()])
            with open(log, "rb") as file:
                content = file.read()
            if not content.startswith(OLD) or (len(content) == len(OLD)) != bool(done.returncode) or not os.path.islink("/dev/stdout"):
                self.fail([*command.words, option, "/dev/fd/N"], f"status {done.returncode}: {done.stderr}\n{content[:60]}")
            if done.returncode and not done.stderr.startswith(f"error: {option}: cannot write /dev/fd/"):
                self.fail([*command.words, option, "/dev/fd/N"], done.stderr)
            shutil.rmtree(folder)


def options_of(text):
    """The options of a help text that take a value: `--name=<value>` of the tools, `--name VALUE` of programs."""
    return set(re.findall(r"^  (-{1,2}[\w.-]+)(?:=<|\[=<| <)", text, re.M)) | set(re.findall(r"^  (--[\w-]+) (?:[A-Z]|[a-z]\w*\|)", text, re.M))


def check_tables(suite, build, program):
    for name, words in tables.help_of(build, program).items():
        text = suite.run(words, {}).stdout
        found, known = options_of(text), tables.OUTPUTS[name] | tables.INPUTS[name] | tables.VALUES[name]
        if tables.FILE_OPTIONS_ALONE.get(name):
            found = {option for option in found if re.search(tables.FILE_OPTIONS_ALONE[name], option)}
        for option in sorted(found - known):
            suite.fail(words, f"{option} is in no table of outputs_tables.py: say there whether it names an output, an input or neither")
        for option in sorted(known - found):
            suite.fail(words, f"{option} of outputs_tables.py is not in the help")


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds the tools")
    parser.add_argument("--only", metavar="COMMAND", help="the commands whose name begins so")
    arguments = parser.parse_args()
    shared = "/tmp" if os.geteuid() == 0 else None  # where another user may look
    with tempfile.TemporaryDirectory(dir=shared) as scratch:
        os.chmod(scratch, 0o755)
        suite = Suite(scratch)
        os.mkdir(os.path.join(scratch, "links"))
        commands = tables.commands(arguments.build, scratch, lambda command: programs.run(command))
        check_tables(suite, arguments.build, commands.program)
        for command in commands.all:
            if arguments.only and not command.name.startswith(arguments.only):
                continue
            before = suite.tried
            suite.destroys_nothing(command)
            if command.writes:
                suite.replaces_as_it_is(command)
                suite.keeps_the_old(command, {"preexec_fn": limit_files}, "limit")
                other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
                suite.keeps_the_old(command, other, "folder")
            print(f"{command.name}: {suite.tried - before} tried", flush=True)
    print(f"{suite.tried} tried, {len(suite.failures)} failed")
    sys.exit(1 if suite.failures else 0)


main()
