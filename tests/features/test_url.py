import lzma
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.features.url import LONGEST_URL, url_features
from app.learning.example import example_of
from kernels.urls.words import GRAM
from tests.data import shared_data
from tests.reference import urls as reference

characters = (
    st.characters() | st.sampled_from("./:?#@%&=[]-_\\ aA0") | st.sampled_from(["com", "co.uk", "xn--", "paypal"])
)
urls = st.lists(characters, max_size=60).map("".join)


def found(url: str) -> dict[str, float]:
    example = url_features(url).example
    return dict(zip(example.names, example.values.tolist(), strict=True))


def test_features_of_a_url() -> None:
    features = found("http://www.PayPal.com.evil.co.uk/signin/login.php?id=7")
    exact = "name:evil domain:evil.co.uk suffix:co.uk host:paypal sub:paypal dir0:signin dir1:login.php file:login.php"
    exact += " path:login path:php query:id query:7 param:id host4:^www host4:.uk$ path4:/sig path4:p?id"
    assert [features[name] for name in exact.split()] == [1.0] * len(exact.split())
    general = "ext:php brand:paypal brand:signin brand:login subs:3 depth:2 params:1 len:host:24 shape:a6 shape:a.8"
    assert [features[name] for name in general.split()] == [0.5] * len(general.split())


@pytest.mark.parametrize(
    ("url", "flag"),
    [
        ("http://127.0.0.1/x", "is:ip"),
        ("http://[2001:db8::1]:80/x", "is:ip"),
        ("http://user:secret@a.com/", "is:userinfo"),
        ("http://xn--pypal-4ve.com/", "is:punycode"),
        ("http://xn--pypal-4ve.com/", "is:mixed-scripts"),
        ("http://p\u0430ypal.com/", "is:mixed-scripts"),
        ("http://a.com:8080/", "port:8080"),
        ("http://a.com/x%20y", "percent:1"),
        ("http://a.com/b//c", "is:double-slash"),
        ("http://a.com/b/", "is:folder"),
        ("http://paypal-secure.com/", "brand:paypal"),
    ],
)
def test_an_odd_url_has_a_flag(url: str, flag: str) -> None:
    assert flag in found(url)
    assert flag not in found("http://example.com/b")


def test_a_brand_on_its_own_site_is_not_a_feature() -> None:
    assert "brand:paypal" not in found("http://www.paypal.com/signin")


@pytest.mark.parametrize(
    "url", ["http://a.b/c", "https://a.b/c", "HTTPS://A.B/c", "a.b/c", "//a.b/c", "\t http:\\\\a.b\\c"]
)
def test_scheme_and_case_make_no_difference(url: str) -> None:
    assert found(url) == found("ftp://a.b/c")


@settings(max_examples=1500)
@given(url=urls)
@example(url="http://a..b/")
@example(url="ck")
@example(url="www.ck")
@example(url="x.city.kawasaki.jp")
@example(url="a.b.kawasaki.jp")
@example(url="//a@b@c.co.uk:80:90/x?y?z#u#v")
@example(url="a/" + "\u20ac" * 20)
@example(url="http://\u65e5\u672c.\u30c6\u30b9\u30c8\u3002jp")
def test_the_kernel_agrees_with_the_reference(url: str) -> None:
    assert found(url) == reference.features(url)


@settings(max_examples=300)
@given(url=st.text())
def test_any_string_has_features_and_their_keys_are_those_of_their_names(url: str) -> None:
    given = url_features(url).example
    assert given.keys.tolist() == example_of(found(url)).keys.tolist()
    assert len(set(given.names)) == len(given.names)


def test_the_kernel_agrees_with_the_reference_on_real_urls() -> None:
    lines = [line for name in ("phishstorm", "pdd", "jpcert-lobsters-2019_2021") for line in sample(name)]
    for url in lines:
        assert found(url) == reference.features(url), url


def sample(name: str) -> list[str]:
    """Some URLs of a shared file, always the same."""
    with lzma.open(shared_data(f"urls/{name}.tsv.xz"), "rt", encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n").split("\t", 2)[2] for line in file]
    return random.Random(1).sample(lines, 1500)  # noqa: S311 - the same ones every time


def test_a_long_url_is_truncated_with_a_note() -> None:
    url = "http://a.b/" + "/".join(map(str, range(100_000)))
    (sentence,) = url_features(url).cut
    assert f"only the first {LONGEST_URL:,} are used" in sentence
    assert found(url) == found(url[:LONGEST_URL])
    assert url_features(url[:LONGEST_URL]).cut == ()


@pytest.mark.parametrize(
    "piece", ["a/", "a.", "?", "&a", "/", "\u20ac", "a-", "paypal.", "ab", "1", "&", "//", ".", "@"]
)
def test_the_arrays_hold_all_features_of_any_url(piece: str) -> None:
    url = (piece * LONGEST_URL)[:LONGEST_URL]
    assert found(url) == reference.features(url)


def test_grams_are_of_characters_not_of_bytes() -> None:
    grams = [name for name in found("\u65e5\u672c\u8a9e\u30c6\u30b9\u30c8.jp/") if name.startswith("host4:")]
    assert {len(name) for name in grams} == {len("host4:") + GRAM}
