#!/usr/bin/env python3
"""Verify the ICRC of every RoCEv2 packet in a capture, from the InfiniBand specification (annex A17.3.3) and zlib's crc32 alone.

usage: verify_icrc.py [--port PORT]... [--any-port] [--at-least N] [--kinds] FILE...

Reads pcap and pcapng files of the link types Ethernet, raw IP, Linux cooked v1 and v2, and BSD loopback. A packet is RoCEv2 if its UDP
destination port is 4791 or one of --port; with --any-port also if its BTH cannot be anything else (known opcode,
version 0, reserved bits 0, default partition key, whole words). Prints what it counted and every packet that fails. The exit
status is 0 if at least N (default 1) packets were found and all of them are right.
"""
import argparse
import collections
import struct
import sys
import zlib

ETHERNET, RAW, COOKED, COOKED2, NULL, IPV4, IPV6 = 1, 101, 113, 276, 0, 228, 229
VLAN_TYPES = (0x8100, 0x88A8)
UDP = 17
RC_HEADERS = {0x00: 12, 0x01: 12, 0x02: 12, 0x03: 16, 0x04: 12, 0x05: 16, 0x06: 28, 0x07: 12, 0x08: 12, 0x09: 16, 0x0A: 28, 0x0B: 32,
              0x0C: 28, 0x0D: 16, 0x0E: 12, 0x0F: 16, 0x10: 16, 0x11: 16, 0x12: 24, 0x13: 40, 0x14: 40, 0x16: 16, 0x17: 16, 0x64: 20}
INA_MAGIC = b"IN"
INA_KINDS = {1: "bind", 2: "data", 3: "scale", 4: "partial", 5: "result", 6: "revoked",
             16: "register", 17: "registered", 18: "unregister", 19: "refused",
             32: "connect", 33: "accept", 34: "reject", 35: "close", 36: "closed", 37: "inquire", 38: "reset"}


class BadFile(Exception):
    pass


def read_pcap(data):
    for order in "<>":
        if struct.unpack(order + "I", data[:4])[0] in (0xA1B2C3D4, 0xA1B23C4D):
            break
    else:
        raise BadFile("is no pcap or pcapng file")
    link = struct.unpack(order + "I", data[20:24])[0] & 0xFFFF
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            raise BadFile("ends within a packet")
        captured, original = struct.unpack(order + "II", data[at + 8:at + 16])
        if at + 16 + captured > len(data):
            raise BadFile("ends within a packet")
        yield link, data[at + 16:at + 16 + captured], original
        at += 16 + captured


def read_pcapng(data):
    links, order, at = [], "<", 0
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, size = struct.unpack(order + "II", data[at:at + 8])
        if size < 12 or at + size > len(data):
            raise BadFile("ends within a block")
        body = data[at + 8:at + size - 4]
        if kind == 1:
            links.append(struct.unpack(order + "H", body[:2])[0])
        elif kind == 6:
            interface, _, _, captured, original = struct.unpack(order + "IIIII", body[:20])
            yield links[interface], body[20:20 + captured], original
        elif kind == 3:
            original = struct.unpack(order + "I", body[:4])[0]
            yield links[0], body[4:4 + original], original
        at += size


def packets_of(path):
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 24:
        raise BadFile("is too short")
    return read_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else read_pcap(data)


def ip_packet(link, frame):
    """The bytes from the IP header on, or None."""
    if link == ETHERNET:
        at, kind = 14, int.from_bytes(frame[12:14], "big")
        while kind in VLAN_TYPES:
            kind = int.from_bytes(frame[at + 2:at + 4], "big")
            at += 4
        return frame[at:] if kind in (0x0800, 0x86DD) else None
    if link == COOKED:
        return frame[16:] if frame[14:16] in (b"\x08\x00", b"\x86\xdd") else None
    if link == COOKED2:
        return frame[20:] if frame[:2] in (b"\x08\x00", b"\x86\xdd") else None
    if link == NULL:
        return frame[4:]
    if link in (RAW, IPV4, IPV6):
        return frame
    raise BadFile(f"link type {link} is not known")


def split_udp(ip):
    """(bytes of the IP header, end of the UDP datagram) of an unfragmented UDP packet, or None."""
    if len(ip) < 28:
        return None
    if ip[0] >> 4 == 4:
        header, length = (ip[0] & 15) * 4, int.from_bytes(ip[2:4], "big")
        if ip[9] != UDP or int.from_bytes(ip[6:8], "big") & 0x3FFF or header < 20:
            return None
    elif ip[0] >> 4 == 6 and len(ip) >= 48:
        header, length = 40, 40 + int.from_bytes(ip[4:6], "big")
        if ip[6] != UDP:
            return None
    else:
        return None
    return (header, length) if header + 8 <= length else None


def icrc(ip, header):
    """Of an IP packet without its last four bytes: all that may change on the way counts as ones."""
    masked = bytearray(ip)
    if ip[0] >> 4 == 4:
        for at in (1, 8, 10, 11):
            masked[at] = 0xFF
    else:
        masked[0] |= 0x0F
        masked[1:4] = b"\xff\xff\xff"
        masked[7] = 0xFF
    masked[header + 6:header + 8] = b"\xff\xff"
    masked[header + 8 + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))


def is_plausible_bth(payload):
    headers = RC_HEADERS.get(payload[0]) if len(payload) >= 16 else None
    return bool(headers and len(payload) >= headers + 4 and len(payload) % 4 == 0 and payload[1] & 15 == 0 and
                payload[2:4] == b"\xff\xff" and payload[4] & 0x3F == 0 and payload[8] & 0x7F == 0)


def kind_of(payload):
    start = RC_HEADERS.get(payload[0], len(payload))
    if payload[start:start + 2] == INA_MAGIC and len(payload) >= start + 24:
        return INA_KINDS.get(payload[start + 3], "unknown kind")
    return "acknowledge" if payload[0] == 0x11 else "not ina"


def verify(path, options, counts, kinds):
    for number, (link, frame, original) in enumerate(packets_of(path), 1):
        ip = ip_packet(link, frame)
        udp = split_udp(ip) if ip is not None else None
        if not udp:
            counts["other"] += 1
            continue
        header, length = udp
        port = int.from_bytes(ip[header + 2:header + 4], "big")
        payload = ip[header + 8:length]
        if port not in options.port and not (options.any_port and is_plausible_bth(payload)):
            counts["other"] += 1
            continue
        counts["roce"] += 1
        if len(payload) >= 16:
            kinds[kind_of(payload)] += 1
        reason = None
        if len(frame) < original or length > len(ip):
            reason = "the capture has not the whole packet"
        elif len(payload) < 16:
            reason = "too short for RoCEv2"
        elif icrc(ip[:length - 4], header) != ip[length - 4:length]:
            reason = f"ICRC {ip[length - 4:length].hex()} should be {icrc(ip[:length - 4], header).hex()}"
        if reason:
            counts["wrong"] += 1
            print(f"{path}: packet {number}: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, action="append", default=[4791], help="a UDP destination port of RoCEv2, besides 4791")
    parser.add_argument("--any-port", action="store_true", help="take whatever has the BTH of a reliable connection for RoCEv2")
    parser.add_argument("--at-least", type=int, default=1, metavar="N", help="fail if there are fewer packets (default 1)")
    parser.add_argument("--kinds", action="store_true", help="print how many packets of each INA kind there are")
    parser.add_argument("file", nargs="+", help="pcap or pcapng file")
    options = parser.parse_args()
    counts, kinds = collections.Counter(), collections.Counter()
    for path in options.file:
        try:
            verify(path, options, counts, kinds)
        except (BadFile, OSError, struct.error, IndexError) as error:
            sys.exit(f"verify_icrc.py: {path}: {error}")
    print(f"roce packets {counts['roce']}, wrong {counts['wrong']}, other packets {counts['other']}")
    if options.kinds:
        print(", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    if counts["roce"] < options.at_least:
        print(f"too few: {options.at_least} expected")
        return 1
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
