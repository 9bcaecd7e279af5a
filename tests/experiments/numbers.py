"""What two runs must agree on."""

import msgspec


def without_seconds(found: object) -> object:
    """What was found, without the times that it took."""
    built = msgspec.to_builtins(found) if isinstance(found, msgspec.Struct) else found
    if isinstance(built, list):
        return [without_seconds(each) for each in built]
    if isinstance(built, dict):
        return {name: without_seconds(each) for name, each in built.items() if name != "seconds"}
    return built
