#!/usr/bin/env python3
"""Compare the ICRC of RoCEv2 packets over IPv4 in a capture with what scapy makes of their fields.

usage: scapy_icrc.py [--at-most N] [--at-least N] FILE

A packet is RoCEv2 if its UDP destination port is 4791. The exit status is 0 if at least N (default 1) packets were compared and all
agree. scapy computes no ICRC for IPv6, and it is slow: --at-most ends the comparison after that many packets (default 2000).
"""
import argparse
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.contrib.roce import BTH  # noqa: E402
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from scapy.utils import PcapReader  # noqa: E402


def agrees(packet):
    """Whether scapy, given the packet without its ICRC, appends the same one."""
    ip = packet[IP]
    payload = bytes(ip[UDP].payload)
    bth = BTH(payload[:12] + b"\0\0\0\0")
    bth.remove_payload()
    bth.icrc = None
    bth.payload = Raw(payload[12:-4])
    header = ip.copy()
    header[UDP].remove_payload()
    return bytes(header / bth)[-4:] == payload[-4:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--at-most", type=int, default=2000, metavar="N", help="stop after so many packets (default 2000)")
    parser.add_argument("--at-least", type=int, default=1, metavar="N", help="fail if there are fewer packets (default 1)")
    parser.add_argument("file", help="pcap or pcapng file with Ethernet frames")
    options = parser.parse_args()
    compared = wrong = 0
    with PcapReader(options.file) as reader:
        for number, packet in enumerate(reader, 1):
            if Ether not in packet or IP not in packet or UDP not in packet or packet[UDP].dport != 4791:
                continue
            compared += 1
            if not agrees(packet):
                wrong += 1
                print(f"packet {number}: scapy computes another ICRC")
            if compared >= options.at_most:
                break
    print(f"compared {compared}, wrong {wrong}")
    return 1 if wrong or compared < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
