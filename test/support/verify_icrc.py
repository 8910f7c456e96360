#!/usr/bin/env python3
"""Verifies the invariant CRC of every RoCEv2 packet of a capture (pcap or pcapng), with nothing of ina's own code.

Usage: verify_icrc.py [--port PORT]... [--at-least N] FILE...
Prints how many packets were right and wrong. Exit status 1 if one was wrong, or fewer than N (default 1) were found.
The rule is annex A17's of the InfiniBand specification: CRC-32 over 8 bytes of ones, then IP header, UDP header, BTH and the
rest, with the fields that routers may change set to ones; on the wire its least significant byte comes first.
"""
import argparse
import struct
import sys
import zlib

ETHERNET, RAW_IP, LINUX_COOKED, LINUX_COOKED_2 = 1, 101, 113, 276


def read_pcap(data):
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\x3c\x4d": ">"}[data[:4]]
    link = struct.unpack(order + "I", data[20:24])[0] & 0xFFFF
    at = 24
    while at + 16 <= len(data):
        captured, original = struct.unpack(order + "II", data[at + 8:at + 16])
        yield link, data[at + 16:at + 16 + captured], original
        at += 16 + captured


def read_pcapng(data):
    links, order, at = [], "<", 0
    while at + 12 <= len(data):
        block = data[at:at + 4]
        if block == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, length = struct.unpack(order + "II", data[at:at + 8])
        if length < 12 or at + length > len(data):
            return
        if kind == 1:
            links.append(struct.unpack(order + "H", data[at + 8:at + 10])[0])
        elif kind == 6:
            interface, _, _, captured, original = struct.unpack(order + "IIIII", data[at + 8:at + 28])
            yield links[interface], data[at + 28:at + 28 + captured], original
        at += length


def read_packets(path):
    with open(path, "rb") as file:
        data = file.read()
    return read_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else read_pcap(data)


def network_header(link, frame):
    """Ethertype and IP packet of a frame."""
    if link == RAW_IP:
        return (0x0800 if frame[:1] and frame[0] >> 4 == 4 else 0x86DD), frame
    if link == LINUX_COOKED:
        return struct.unpack(">H", frame[14:16])[0], frame[16:]
    if link == LINUX_COOKED_2:
        return struct.unpack(">H", frame[0:2])[0], frame[20:]
    if link != ETHERNET:
        sys.exit(f"link type {link} is not supported")
    kind, at = struct.unpack(">H", frame[12:14])[0], 14
    while kind in (0x8100, 0x88A8):
        kind, at = struct.unpack(">H", frame[at + 2:at + 4])[0], at + 4
    return kind, frame[at:]


def masked_ip(kind, packet):
    """IP header with its variable fields set to ones, and what follows up to the end that the header tells; None if no UDP."""
    if kind == 0x0800 and len(packet) >= 20 and packet[9] == 17:
        header, total = (packet[0] & 15) * 4, struct.unpack(">H", packet[2:4])[0]
        masked = bytearray(packet[:header])
        masked[1] = masked[8] = 0xFF
        masked[10:12] = b"\xff\xff"
        return bytes(masked), packet[header:total]
    if kind == 0x86DD and len(packet) >= 40 and packet[6] == 17:
        total = 40 + struct.unpack(">H", packet[4:6])[0]
        masked = bytes([packet[0] | 0x0F, 0xFF, 0xFF, 0xFF]) + packet[4:7] + b"\xff" + packet[8:40]
        return masked, packet[40:total]
    return None


def is_right(ip_header, udp):
    masked = bytearray(udp[:-4])
    masked[6:8] = b"\xff\xff"
    masked[12] = 0xFF
    wanted = struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip_header + bytes(masked)))
    return udp[-4:] == wanted


def main():
    arguments = argparse.ArgumentParser(description="verify the ICRC of every RoCEv2 packet of a capture")
    arguments.add_argument("--port", type=int, action="append", help="UDP port of RoCEv2 (default: 4791)")
    arguments.add_argument("--at-least", type=int, default=1, help="fewer packets than this are a failure")
    arguments.add_argument("file", nargs="+")
    options = arguments.parse_args()
    ports = set(options.port or [4791])
    right = wrong = cut = 0
    for path in options.file:
        for number, (link, frame, original) in enumerate(read_packets(path), 1):
            found = masked_ip(*network_header(link, frame))
            if found is None or len(found[1]) < 24 or not ports & set(struct.unpack(">HH", found[1][:4])):
                continue
            if len(frame) < original:
                cut += 1
            elif is_right(*found):
                right += 1
            else:
                wrong += 1
                print(f"{path}: packet {number}: wrong ICRC")
    print(f"{right} right, {wrong} wrong, {cut} cut short by the capture")
    return 1 if wrong or right < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
