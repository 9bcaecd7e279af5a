"""The words that the URL kernel knows: public suffixes and names of brands."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kernels.arrays import Keys
from kernels.feature_hash import hash_names
from kernels.urls.words import BRAND, EXCEPTION, WILDCARD

# Brands that phishing imitates most often, and the words it uses for that. A new version may have others.
BRANDS = """
account adobe aliexpress alibaba amazon amex apple att bank banking bankofamerica barclays bbva binance blockchain
bradesco chase citi coinbase confirm credit dhl docusign dropbox ebay facebook fedex gmail google hotmail hsbc icloud
instagram itau itunes linkedin live login mastercard metamask microsoft natwest netflix office office365 onedrive
outlook paypal post rakuten roblox santander secure security signin spotify steam steamcommunity support taobao
telegram twitter ups update usaa usps verification verify visa wallet webmail webscr wellsfargo whatsapp yahoo
""".split()  # noqa: SIM905 - easier to read than a list literal


@cache
def known_words() -> Keys:
    """Return the kernel's hash table of all words: open addressing, with a power of two of slots."""
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
    """Return the rules of the public suffix list in tldextract: plain suffixes, wildcards, and exceptions to wildcards.

    Reads the file without importing the package: the import is slow, because it loads an HTTP client for updates.
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
