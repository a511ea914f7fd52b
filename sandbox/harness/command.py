"""Runs inside the sandbox: runs a shell command of a benchmark, once or several times, and answers with the CPU time of
its whole process tree, its wall time, its peak memory, its output and, where asked, a report file.

The request comes as JSON on standard input, so that the nonce is neither in argv nor in the environment; the answer is
one line on standard output. The command never shares a descriptor with this process. Orphans of the command become
children of this process, so that work which is moved out of the command's own tree is counted too, and what still runs
when the command has ended is seen.
"""

import ctypes
import hashlib
import json
import os
import resource
import select
import signal
import stat
import subprocess
import sys
import time

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
MAX_RUNS = 50
MAX_OUTPUT_BYTES = 64 * 2**20
KEPT_ERROR_BYTES = 4000
LEFTOVER_GRACE_SECONDS = 1.0


class Refused(Exception):
    """Ends the observation with a message instead of figures."""


def protect():
    """No process of this user may read this one's memory or open its descriptors; orphans come to it."""
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (AttributeError, OSError):
        # Not Linux: only where a user measures code of their own on the machine itself.
        pass


def empty(directory):
    """What an earlier run left in a temporary directory must not help a later one."""
    for parent, directories, files in os.walk(directory, topdown=False):
        for name in files + directories:
            path = os.path.join(parent, name)
            try:
                if os.path.isdir(path) and not os.path.islink(path):
                    os.rmdir(path)
                else:
                    os.unlink(path)
            except OSError:
                pass


def cpu_us(usage):
    return round((usage.ru_utime + usage.ru_stime) * 1e6)


class Output:
    """One stream of the command: counted, hashed, and kept up to a limit, from its start or its end."""

    def __init__(self, stream, kept, keeps_end):
        self.fd = stream.fileno()
        self.hash = hashlib.sha256()
        self.total = 0
        self.kept = bytearray()
        self.limit = kept
        self.keeps_end = keeps_end
        os.set_blocking(self.fd, False)

    def read(self):
        """Takes what is there; False when the stream has ended."""
        while True:
            try:
                chunk = os.read(self.fd, 65536)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self.total += len(chunk)
            self.hash.update(chunk)
            if self.keeps_end:
                self.kept = (self.kept + chunk)[-self.limit :]
            elif len(self.kept) < self.limit:
                self.kept += chunk[: self.limit - len(self.kept)]
            if self.total > MAX_OUTPUT_BYTES:
                raise Refused("The command wrote more than %d bytes." % MAX_OUTPUT_BYTES)

    def text(self):
        return self.kept.decode("utf-8", "replace")


def reap_orphans():
    """CPU time of what came to this process and has ended; whether something of it still runs."""
    used = 0
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return used, False
        if pid == 0:
            return used, True
        used += cpu_us(usage)


def run_once(command, workspace, kept_bytes, wake):
    """One run: its figures and its two outputs."""
    started = time.monotonic_ns()
    child = subprocess.Popen(
        ["sh", "-c", command],
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    out = Output(child.stdout, kept_bytes, keeps_end=False)
    err = Output(child.stderr, KEPT_ERROR_BYTES, keeps_end=True)
    streams = {out.fd: out, err.fd: err}
    try:
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                break
            ready, _, _ = select.select([wake, *streams], [], [])
            for fd in ready:
                if fd == wake:
                    os.read(wake, 4096)
                elif not streams[fd].read():
                    del streams[fd]
        child.returncode = os.waitstatus_to_exitcode(status)
        orphans_us = wait_for_orphans()
        # Work that was moved to orphans takes time as well.
        wall = time.monotonic_ns() - started
        for stream in streams.values():
            stream.read()
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        child.stdout.close()
        child.stderr.close()
    figures = {
        "exitCode": child.returncode,
        "cpuUs": cpu_us(usage) + orphans_us,
        "wallNs": wall,
        "maxRssKb": usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1),
    }
    return figures, out, err


def wait_for_orphans():
    """CPU time of the processes that the command left; refused when one does not end by itself."""
    deadline = time.monotonic() + LEFTOVER_GRACE_SECONDS
    used, alive = reap_orphans()
    while alive:
        if time.monotonic() > deadline:
            raise Refused("The command left a process running.")
        time.sleep(0.01)
        more, alive = reap_orphans()
        used += more
    return used


def identity(path):
    """Tells whether a file was written again; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def read_file(path, before, limit):
    after = identity(path)
    if after is None:
        raise Refused("The command did not write the file %s; only /tmp can be written while it is measured." % path)
    if after == before:
        raise Refused("The command did not write the file %s again." % path)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Refused("%s is no file." % path)
        content = file.read(limit + 1)
    if len(content) > limit:
        raise Refused("The file %s has more than %d bytes." % (path, limit))
    return content.decode("utf-8", "replace")


def observe(request):
    runs = min(MAX_RUNS, max(1, int(request["runs"])))
    path = request["file"] and os.path.join(request["workspace"], request["file"])
    wake, wake_write = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    figures = []
    content = None
    for _ in range(runs):
        for directory in request["scratch"]:
            empty(directory)
        before = path and identity(path)
        one, out, err = run_once(request["command"], request["workspace"], int(request["keptBytes"]), wake)
        figures.append(one)
        if one["exitCode"] != 0:
            break
        if path:
            content = read_file(path, before, int(request["keptBytes"]))
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "ok": True,
        "runs": figures,
        "stdoutSha256": out.hash.hexdigest(),
        "stdoutBytes": out.total,
        "stdout": out.text(),
        "stderr": err.text(),
        "file": content,
        "ownCpuUs": cpu_us(own),
    }


def main():
    protect()
    request = json.loads(sys.stdin.buffer.read())
    try:
        members = observe(request)
    except Refused as error:
        members = {"ok": False, "stage": "command", "message": str(error)}
    except OSError as error:
        members = {"ok": False, "stage": "command", "message": "%s: %s" % (type(error).__name__, error)}
    line = json.dumps({"nonce": request["nonce"], **members}, separators=(",", ":")) + "\n"
    sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()


main()
