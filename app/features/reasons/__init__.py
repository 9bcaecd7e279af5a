"""Reasons for people: why an input has its score, in plain words, with places in the input."""

from app.features.reasons.reason import Place, Reason
from app.features.reasons.reasons import parts_of, reasons_of, wording_of

__all__ = ["Place", "Reason", "parts_of", "reasons_of", "wording_of"]
