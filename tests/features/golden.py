"""Features that must never change silently: `python -m tests.features.golden` rewrites them."""

import json
from pathlib import Path

from app.features.featurizer import VERSIONS, Kind, features_of

FILE = Path(__file__).parent / "golden.json"
INPUTS: dict[Kind, list[str]] = {
    "url": [
        "http://www.PayPal.com.evil.co.uk/signin/login.php?id=7&next=http%3A%2F%2Fa.b#top",
        "https://user:secret@xn--pypal-4ve.com:8443//a/b_c-d/e.tar.gz",
        "http://192.168.0.1/",
        "http://p\u0430ypal.\u65e5\u672c/\u30d1\u30b9?\u043a\u043b\u044e\u0447=\u00e9",
        "",
    ],
    "text": [
        "WIN $100 now! Call 09061701461 or www.win.example",
        "\u4eca\u65e5\u306f\u3001\u3044\u3044\u5929\u6c17 \ud55c\uad6d\uc5b4 na\u00efve \ufb01ne",
        "",
    ],
}


def golden() -> dict[str, dict[str, float]]:
    """The features of every input in every version."""
    found = {}
    for version in VERSIONS:
        for kind, inputs in INPUTS.items():
            for raw in inputs:
                example = features_of(kind, raw, version).example
                found[f"{version} {kind} {raw}"] = dict(zip(example.names, example.values.tolist(), strict=True))
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
