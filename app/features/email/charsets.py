"""Decodes bytes by the charset that a mail names; never fails, whatever the name or the bytes."""

from encodings import normalize_encoding
from encodings.aliases import aliases

# Mail programs use these names for text in the larger charset.
WIDER = {
    "ascii": "cp1252",
    "latin_1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "cp950",
    "iso8859_9": "cp1254",
    "tis_620": "cp874",
}
NO_CHARSETS = {  # bytes-to-bytes codecs, codecs of other platforms, and punycode, which allows a denial of service
    *("base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec", "zlib_codec"),
    *("mbcs", "oem", "tactis", "punycode"),
}
UNLISTED = [("koi8_u", "koi8_u"), ("koi8_ru", "koi8_u"), ("utf_8_sig", "utf_8"), ("x_sjis", "cp932"), ("x_gbk", "gbk")]
CODECS = {
    name: WIDER.get(codec, codec)
    for name, codec in [*aliases.items(), *((codec, codec) for codec in aliases.values()), *UNLISTED]
    if codec not in NO_CHARSETS
}
UNKNOWN = "cp1252"


def decode(raw: bytes, charset: str) -> str:
    """Decode by a charset; if it is unknown or ASCII, by UTF-8 or else Windows-1252."""
    if raw.isascii() and not _is_stateful(charset):
        return raw.decode("ascii")
    codec = codec_of(charset)
    if codec == UNKNOWN:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            pass
    return raw.decode(codec, "replace").encode("utf-8", "replace").decode()  # UTF-16 and UTF-7 may give lone surrogates


def codec_of(charset: str) -> str:
    """Return Python's name for a charset.

    Uses a table of our own: Python caches every name that it looks up, and a mail may name anything.
    """
    return CODECS.get(normalize_encoding(charset).lower(), UNKNOWN) if charset.isascii() else UNKNOWN


def _is_stateful(charset: str) -> bool:
    """Whether ASCII bytes may encode other letters."""
    return charset[:3].lower() in {"iso", "hz", "hz-", "utf", "csi"} and codec_of(charset) in {
        *("hz", "utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"),
        *(
            "iso2022_jp",
            "iso2022_jp_1",
            "iso2022_jp_2",
            "iso2022_jp_2004",
            "iso2022_jp_3",
            "iso2022_jp_ext",
            "iso2022_kr",
        ),
    }
