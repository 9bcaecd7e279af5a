"""What gives the answer away: lines that other filters wrote, and lines that depend on where a mail was kept."""

import re

FILTERS = (  # anywhere in a name that begins with x-
    *("spam", "virus", "scan", "filter", "junk", "phish", "malware", "bogosity", "dspam", "gmane", "greylist", "razor"),
    *("reputation", "quarantine", "blacklist", "whitelist", "verdict", "bayes", "antivirus", "crm114", "pyzor"),
)
PRODUCTS = (  # right behind the x-
    *("rc-", "barracuda", "asg-", "brightmail", "brightmaildel", "miltered", "uuid", "ironport", "proofpoint", "pmx"),
    *("perlmx", "sophos", "mcafee", "tm-as", "forefront", "ms-exchange-organization", "mimecast", "messagelabs"),
    *("kaspersky", "avast", "avg-", "clam", "amavis", "rav-", "nai-", "wss-", "eset", "fortimail", "cloudmark", "cm-"),
    *("vr-", "vade", "rspamd", "spf", "dkim-result", "dmarc", "authentication", "assp", "mdaemon", "dcc-", "starscan"),
    *("classif", "text-class", "score", "trec"),
)
STORES = (  # mailboxes and training tools
    *("mozilla-", "status", "keywords", "folder", "label", "gmail-labels", "uid", "imap", "evolution", "kmail", "pop3"),
    *("original-to", "content-length", "lines"),
)
OTHERS = (  # whole names
    *(
        "status",
        "lines",
        "content-length",
        "delivered-to",
        "envelope-to",
        "replied",
        "forwarded",
        "spam",
        "received-spf",
    ),
    *(
        "authentication-results",
        "old-authentication-results",
        "dkim-filter",
        "domainkey-status",
        "spamdiagnosticoutput",
    ),
    *("arc-authentication-results", "arc-seal", "arc-message-signature"),
)
IGNORED = re.compile(
    rf"x-(?:.*(?:{'|'.join(FILTERS)})|{'|'.join(PRODUCTS)}|{'|'.join(STORES)})|(?:{'|'.join(OTHERS)})$"
)
# The marks of several filters: [SPAM], {Spam?}, *****SPAM*****, [SPAM? 12.3]; not a list's name such as [spam-talk].
SUBJECT_MARK = re.compile(
    r"[\[({<*#]{1,10}\s{0,3}(?:(?:possible|probable|suspected|likely|definite)\s)?(?:spam|junk|bulk|uce)"
    r"[?!\s:\d./]{0,20}[\])}>*#]{1,10}",
    re.IGNORECASE,
)
REPORT = re.compile(r"\s{0,100}Spam detection software, running on")  # SpamAssassin puts it before the mail itself


def is_ignored(name: str) -> bool:
    """Whether a header line of this name, in lower case, is not looked at."""
    return IGNORED.match(name) is not None


def without_mark(subject: str) -> str:
    """A subject without the mark that another filter put into it."""
    return SUBJECT_MARK.sub(" ", subject)


def is_report(text: str) -> bool:
    """Whether a part is what another filter has to say about the mail."""
    return REPORT.match(text) is not None
