"""The peak memory of reading a mail of 25 MB and turning it into features, above what a process has before."""

import subprocess
import sys
from base64 import encodebytes
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from app.features.featurizer import features_of

MAIL_BYTES = 25_000_000
HEAD = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: large\r\nMIME-Version: 1.0\r\n"
SMALL_MAIL = HEAD + b"Content-Type: text/html\r\n\r\n<p>hello</p>\r\n"
STATUS = Path("/proc/self/status")
PEAK_RESET = Path("/proc/self/clear_refs")
SHAPES = ("words", "HTML", "an attachment")


def peak_ratio(shape: str) -> float:
    """Peak memory above the baseline in sizes of the mail, the mail itself included, in a fresh process."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mail"
        path.write_bytes(large_mail(shape))
        answer = subprocess.run([sys.executable, "-m", __name__, str(path)], capture_output=True, check=True)  # noqa: S603 - our own module
    return float(answer.stdout) / MAIL_BYTES


def large_mail(shape: str, size: int = MAIL_BYTES) -> bytes:
    """A mail of that many bytes, nearly all of it random words, HTML or a base64 attachment."""
    rng = np.random.default_rng(0)
    if shape == "an attachment":
        kind, body = "application/octet-stream\r\nContent-Transfer-Encoding: base64", encodebytes(rng.bytes(size))
    elif shape == "HTML":
        kind, body = "text/html; charset=utf-8", b"<html><body>" + _words(rng, size).replace(b"e ", b"<b>x</b> ")
    else:
        kind, body = "text/plain; charset=utf-8", _words(rng, size)
    return (HEAD + f"Content-Type: {kind}\r\n\r\n".encode() + body)[:size]


def _words(rng: np.random.Generator, size: int) -> bytes:
    letters = rng.integers(ord("a"), ord("z") + 1, size, np.uint8)
    letters[rng.integers(0, size, size // 7)] = ord(" ")
    letters[::70] = ord("\n")
    return letters.tobytes()


def _measure(path: Path) -> int:
    features_of("email", SMALL_MAIL)  # loads the code
    PEAK_RESET.write_text("5", encoding="ascii")
    before = _resident_bytes("VmRSS")
    features_of("email", path.read_bytes())
    return _resident_bytes("VmHWM") - before


def _resident_bytes(name: str) -> int:
    """VmRSS is now, VmHWM the peak so far; ru_maxrss would have a part of the process that started this one."""
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    print(_measure(Path(sys.argv[1])))
