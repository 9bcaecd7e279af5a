"""Content that leaks the label: lines that other filters wrote, and lines that depend on where a mail was stored."""

import re

FILTERS = (  # anywhere in a name that begins with x-
    *("spam", "virus", "scan", "filter", "junk", "phish", "malware", "bogosity", "dspam", "gmane", "greylist", "razor"),
    *("reputation", "quarantine", "blacklist", "whitelist", "verdict", "bayes", "antivirus", "crm114", "pyzor"),
)
PRODUCTS = (  # directly after x-
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
# Marks of several filters: [SPAM], {Spam?}, *****SPAM*****, [SPAM? 12.3]; not the name of a list such as [spam-talk].
SUBJECT_MARK = re.compile(
    r"[\[({<*#]{1,10}\s{0,3}(?:(?:possible|probable|suspected|likely|definite)\s)?(?:spam|junk|bulk|uce)"
    r"[?!\s:\d./]{0,20}[\])}>*#]{1,10}",
    re.IGNORECASE,
)
REPORT = re.compile(r"\s{0,100}Spam detection software, running on")  # SpamAssassin puts it before the mail


def is_ignored(name: str) -> bool:
    """Whether header lines of this name (in lower case) are ignored."""
    return IGNORED.match(name) is not None


def strip_mark(subject: str) -> str:
    """Remove the mark that another filter put into a subject."""
    return SUBJECT_MARK.sub(" ", subject)


def is_report(text: str) -> bool:
    """Whether a part is the report of another filter about the mail."""
    return REPORT.match(text) is not None
