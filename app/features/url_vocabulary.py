"""The words that the URL kernel knows: public suffixes, and what brands go by."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kernels.arrays import Keys
from kernels.feature_hash import hash_names
from kernels.urls.words import BRAND, EXCEPTION, WILDCARD

# What phishing most often pretends to be, and the words it does so with. A new version may have others.
BRANDS = """
account adobe aliexpress alibaba amazon amex apple att bank banking bankofamerica barclays bbva binance blockchain
bradesco chase citi coinbase confirm credit dhl docusign dropbox ebay facebook fedex gmail google hotmail hsbc icloud
instagram itau itunes linkedin live login mastercard metamask microsoft natwest netflix office office365 onedrive
outlook paypal post rakuten roblox santander secure security signin spotify steam steamcommunity support taobao
telegram twitter ups update usaa usps verification verify visa wallet webmail webscr wellsfargo whatsapp yahoo
""".split()  # noqa: SIM905 - a list of words is easier to read so


@cache
def known_words() -> Keys:
    """A hash table of all of them, as the kernel looks them up: open addressing, a power of two of slots."""
    plain, wildcards, exceptions = _suffixes()
    keys = np.concatenate(
        [_keys(plain), _keys(wildcards) ^ WILDCARD, _keys(exceptions) ^ EXCEPTION, _keys(BRANDS) ^ BRAND]
    )
    slots = [0] * (1 << int(4 * keys.size).bit_length())
    for key in keys.tolist():
        slot = key & (len(slots) - 1)
        while slots[slot]:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = key
    return np.array(slots, np.uint64)


def _suffixes() -> tuple[list[str], list[str], list[str]]:
    """The public suffix list that tldextract brings along: plain ones, those of wildcards, and exceptions from them.

    The file is read without the package, whose import takes long because of what it needs to fetch newer lists.
    """
    spec = find_spec("tldextract")
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / ".tld_set_snapshot").read_text("utf-8")
    public, _, _ = text.partition("// ===BEGIN PRIVATE DOMAINS===")
    rules = [line.split()[0] for line in public.splitlines() if line.strip() and not line.startswith("//")]
    rules += [rule.encode("idna").decode() for rule in rules if not rule.isascii()]
    plain = [rule for rule in rules if rule[0] not in "*!"]
    return plain, [rule[2:] for rule in rules if rule[0] == "*"], [rule[1:] for rule in rules if rule[0] == "!"]


def _keys(words: list[str]) -> Keys:
    keys = np.empty(len(words), np.uint64)
    hash_names(np.frombuffer("\0".join(words).encode(), np.uint8), keys)
    return keys
