"""What a link allows: the time that the chunks of a vector take on it, and how its rate and sizes are written."""
import re

# wire/ina_header.hpp and wire/limits.hpp.
INA_FRAMING_BYTES = 24 + 4
LENGTH_MULTIPLE = 8
MOST_PAYLOAD_BYTES = 4096
# BTH, RETH and ICRC around a chunk.
ROCE_BYTES = 12 + 16 + 4
UDP_BYTES = 8
IP_BYTES = {4: 20, 6: 40}
# What the rate limit of a veth link counts: no preamble, no checksum, no gap.
ETHERNET_BYTES = 14


def parse_size(text):
    """Bytes of 4, 1K, 64M; raises ValueError."""
    match = re.fullmatch(r"([0-9]+)([KMG]?)(i?B)?", text.strip())
    if not match or int(match[1]) == 0:
        raise ValueError(f"{text!r} is no size: say e.g. 4, 1K or 64M")
    return int(match[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[match[2]]


def parse_rate(text):
    """(Mbit/s, tc's word) of 200, 200mbit, 1gbit; (None, "none") without a limit; raises ValueError."""
    if text == "none":
        return None, text
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(mbit|gbit|)", text)
    if not match or float(match[1]) == 0:
        raise ValueError(f"{text!r} is no rate: say e.g. 200mbit, 1gbit or none")
    mbit = float(match[1]) * (1000 if match[2] == "gbit" else 1)
    return mbit, f"{mbit:g}mbit"


def lanes_per_chunk(mtu, family):
    """Bytes of lanes in a full chunk."""
    payload = min(MOST_PAYLOAD_BYTES, (mtu - IP_BYTES[family] - UDP_BYTES - ROCE_BYTES) // LENGTH_MULTIPLE * LENGTH_MULTIPLE)
    return (payload - INA_FRAMING_BYTES) // LENGTH_MULTIPLE * LENGTH_MULTIPLE


def wire_bytes(payload, mtu, family):
    """Bytes on a link of all chunks of a vector, one way."""
    lanes = lanes_per_chunk(mtu, family)
    headers = INA_FRAMING_BYTES + ROCE_BYTES + UDP_BYTES + IP_BYTES[family] + ETHERNET_BYTES
    chunks = (payload + lanes - 1) // lanes
    last = payload - (chunks - 1) * lanes
    padding = -last % LENGTH_MULTIPLE
    return payload + padding + chunks * headers


def limit_us(payload, rate_mbit, mtu, family):
    """Microseconds until the last byte of the chunks has left, or None without a limit."""
    return None if rate_mbit is None else wire_bytes(payload, mtu, family) * 8 / rate_mbit
